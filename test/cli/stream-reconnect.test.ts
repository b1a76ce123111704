/** `gatehouse stream` over time: tokens that expire or are revoked, restarts of the server, and an operator who ends it. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Gatehouse, password } from '../../packages/client/src/index.ts'
import { ADMIN, ALICE } from '../support/demo-user.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { launchGatehouse, runGatehouse } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const LATE_MS = 30_000
const TICKER = fileURLToPath(new URL('../../examples/ticker/ticker.ts', import.meta.url))
const home = mkdtempSync(join(tmpdir(), 'gatehouse-reconnect-'))
const passwordFile = join(home, 'password')
const environment = { XDG_CONFIG_HOME: home }
let place: TestPlace
let leave: () => Promise<void>
let server: TestServer
let port: number

const start = (flags: Record<string, string> = {}): Promise<TestServer> =>
  startTestServer(place, {
    flags: {
      '--demo': 'true',
      '--port': String(port),
      '--stream-controllers': TICKER,
      '--stream-drain-time': '0',
      ...flags,
    },
  })

before(async () => {
  const opened = await openPlace('sqlite')
  place = opened.place
  leave = opened.leave
  port = await freePort()
  process.env.TICKER_INTERVAL_MS = '50'
  writeFileSync(passwordFile, `${ALICE.password}\n`)
  server = await start({ '--access-token-lifetime': '3' })
})
after(async () => {
  await server.stop()
  await leave()
  rmSync(home, { recursive: true, force: true })
})

const byPassword = () => ['--username', 'alice', '--password-file', passwordFile]

/** A session in a pipe whose input stays open. */
function open(t: TestContext, ...args: string[]) {
  const session = launchGatehouse(['stream', server.issuer, '--wait', '0.5', ...args], { environment })
  t.after(() => session.child.kill('SIGKILL'))
  const messages = (): { Topic: string; Action?: string; Data: Record<string, unknown> }[] =>
    session
      .output()
      .stdout.split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  const count = (topic: string): number => messages().filter(({ Topic }) => Topic === topic).length
  return { ...session, messages, count, say: (line: string) => session.child.stdin?.write(`${line}\n`) }
}

test('an expiring token is renewed on the open socket, in both versions of the protocol', async (t) => {
  const login = ['login', '--server', server.issuer, ...byPassword()]
  assert.equal((await runGatehouse(login, { environment })).status, 0)
  // By a password, and by the stored login.
  const sessions = [
    { session: open(t, ...byPassword()), sub: 'sub Auth/Identify', isConfirmed: true },
    { session: open(t, '--version', '2.0'), sub: '{"Controller":"Auth","Topic":"Identify","Action":"Sub"}' },
  ]
  const renewed = sessions.map(async ({ session, sub, isConfirmed }) => {
    session.say(sub)
    session.say('sub Ticker/Price/ACME')
    const expiries = () =>
      new Set(
        session
          .messages()
          .filter(({ Topic }) => Topic === 'Identify')
          .map(({ Data }) => Data?.ExpiryDate)
          .filter((date) => date !== undefined),
      )
    await until('the token was renewed twice', LATE_MS, () => expiries().size >= 3)
    const prices = session.count('Price/ACME')
    await until('prices go on', LATE_MS, () => session.count('Price/ACME') > prices)
    session.child.stdin?.end()
    assert.equal(await session.ended, 0)
    assert.equal(session.output().stderr, '', 'the connection was never lost')
    // The user sees none of the messages that keep the session going.
    assert.ok(session.messages().every(({ Topic }) => ['Identify', 'Price/ACME'].includes(Topic)))
    const identities = session.messages().filter(({ Topic }) => Topic === 'Identify')
    if (isConfirmed) assert.equal(identities.shift()?.Action, 'Sub')
    assert.equal(identities[0]?.Data.Result, 'Success', 'the topic sends its state first')
  })
  await Promise.all(renewed)
  await server.stop()
  server = await start()
})

test('after a restart subscriptions go on with a fresh token, and what was typed meanwhile is sent', async (t) => {
  const session = open(t, ...byPassword())
  session.say('sub Ticker/Price/ACME')
  await until('prices arrive', LATE_MS, () => session.count('Price/ACME') > 2)
  await server.stop()
  await until('the loss is told', LATE_MS, () => session.output().stderr.includes('; reconnecting\n'))
  session.say('Platform/QueryServerInfo')
  server = await start()
  await until('the session is back', LATE_MS, () => session.output().stderr.endsWith('connected again\n'))
  const prices = session.count('Price/ACME')
  await until('prices go on', LATE_MS, () => session.count('Price/ACME') > prices + 2)
  await until('the request is answered', LATE_MS, () => session.count('QueryServerInfo') === 1)
  assert.match(
    session.output().stderr,
    /^gatehouse: closed with 1012[^\n]*; reconnecting\ngatehouse: connected again\n$/,
  )
  session.child.stdin?.end()
  assert.equal(await session.ended, 0)
})

test('a revoked token is replaced at once, and the subscriptions that it ended are opened again', async (t) => {
  const session = open(t, ...byPassword())
  session.say('sub Ticker/Price/ACME')
  await until('prices arrive', LATE_MS, () => session.count('Price/ACME') > 2)
  const admin = new Gatehouse(server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  t.after(() => admin.close())
  // A key that is withdrawn takes all tokens with it that it signed.
  const [key] = await Array.fromAsync(admin.admin.keys.list())
  await admin.request(`/admin/keys/${key?.kid}?compromised=true`, { method: 'DELETE' })
  await until('the subscription has ended', LATE_MS, () => session.messages().some(({ Action }) => Action === 'Unsub'))
  const prices = session.count('Price/ACME')
  await until('prices go on', LATE_MS, () => session.count('Price/ACME') > prices + 2)
  assert.equal(session.output().stderr, '')
  session.child.stdin?.end()
  assert.equal(await session.ended, 0)
})

test('a session that an operator ends is over, and the status is 1', async (t) => {
  const session = open(t, ...byPassword())
  session.say('sub Ticker/Price/ACME')
  await until('prices arrive', LATE_MS, () => session.count('Price/ACME') > 0)
  const admin = new Gatehouse(server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  t.after(() => admin.close())
  const [alice] = await Array.fromAsync(admin.admin.users.list({ prefix: 'alice' }))
  await admin.admin.streams.clear({ user: String(alice?.id) })
  assert.equal(await session.ended, 1)
  assert.match(session.output().stderr, /^gatehouse: closed with 4000[^\n]*\n$/)
})
