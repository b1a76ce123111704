/** `gatehouse publish`, and feeds in `gatehouse stream`, against a running server. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Feed, Gatehouse, password } from '../../packages/client/src/index.ts'
import { ADMIN } from '../support/demo-user.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { runInProcess } from '../support/in-process.ts'
import { type Finished, launchGatehouse } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const LATE_MS = 30_000
const home = mkdtempSync(join(tmpdir(), 'gatehouse-publish-'))
const passwordFile = join(home, 'password')
const environment = { XDG_CONFIG_HOME: home }
const login = ['--username', 'admin', '--password-file', passwordFile]
let place: TestPlace
let leave: () => Promise<void>
let server: TestServer
let port: number
let gate: Gatehouse
let feed: Feed

const start = (): Promise<TestServer> =>
  startTestServer(place, { flags: { '--demo': 'true', '--port': String(port), '--stream-drain-time': '0' } })

before(async () => {
  ;({ place, leave } = await openPlace('sqlite'))
  port = await freePort()
  server = await start()
  writeFileSync(passwordFile, `${ADMIN.password}\n`)
  gate = new Gatehouse(server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  feed = gate.feed('Orders')
  const body = { name: 'Orders', keep: 'all', history: { messages: 100_000, time: '1 hour' } }
  await gate.request('/admin/feeds', { method: 'POST', body })
})
after(async () => {
  gate.close()
  await server.stop()
  await leave()
  rmSync(home, { recursive: true, force: true })
})

const publish = (args: readonly string[], stdin = ''): Promise<Finished> =>
  runInProcess(['publish', ...args, '--server', server.issuer, ...login], { environment, stdin })

const line = (topic: string, data: unknown): string => `${JSON.stringify({ Topic: topic, Data: data })}\n`

test('one message, digit for digit, once for a key', async () => {
  const data = '{"price": 1.10,\n "size": 12345678901234567890.0}'
  const first = await publish(['Orders', 'a/b c', data, '--key', 'k-1'])
  assert.match(first.stdout, /^published at \S+\n$/, first.stderr)
  assert.equal((await publish(['Orders', 'a/b c', data, '--key', 'k-1'])).stdout, first.stdout)
  const reply = await gate.request('/feeds/Orders/a%2Fb%20c?last=5')
  assert.ok((await reply.text()).endsWith(`"Data":${data}}]}`))
  for (const [args, text] of [
    [['Orders', 'a'], /as JSON after the topic/],
    [['Orders', 'a', '{'], /not JSON/],
    [['Orders', 'a', '1', '--skip', '1'], /--skip/],
  ] as const) {
    const refused = await publish(args)
    assert.deepEqual([refused.status, text.test(refused.stderr)], [2, true], refused.stderr)
  }
  assert.match((await publish(['Nothing', 'a', '1'])).stderr, /feed\.unknown|no feed/)
})

test('25,000 lines of stdin go in order, empty ones are skipped', async () => {
  const lines = Array.from({ length: 25_000 }, (_, index) => line('many', index))
  const { status, stdout, stderr } = await publish(['Orders'], `\n${lines.join('')}\n`)
  assert.deepEqual([status, stdout], [0, '25000 messages published\n'], stderr)
  const [topic] = await Array.fromAsync(feed.topics({ prefix: 'many' }))
  assert.equal(topic?.messages, 25_000)
  const last = await feed.last('many', 1_000)
  assert.ok(last.every(({ data }, index) => data === 24_000 + index))
})

test('a bad line ends it after those before, and says how to continue', async () => {
  const stdin = `${line('bad', 1)}${line('bad', 2)}{"Topic":"bad"}\n${line('bad', 4)}`
  const { status, stderr } = await publish(['Orders'], stdin)
  assert.equal(status, 1)
  assert.match(stderr, /Line 3 has no "Data"; null is a value\npublished up to line 2; continue with --skip 2\n$/)
  const again = await publish(['Orders', '--skip', '2'], stdin.replace('{"Topic":"bad"}', '{"Topic":"bad","Data":3}'))
  assert.equal(again.stdout, '2 messages published\n')
  assert.deepEqual(
    (await feed.last('bad', 10)).map(({ data }) => data),
    [1, 2, 3, 4],
  )
  const refused = await publish(['Orders'], line('*', 1))
  assert.match(refused.stderr, /feed\.bad_topic[^\n]*\nnothing was published\n$/)
  // With a key: all in one request, which can be repeated.
  for (let time = 0; time < 2; time++)
    await publish(['Orders', '--key', 'lines-1'], line('keyed', 1) + line('keyed', 2))
  assert.equal((await feed.last('keyed', 10)).length, 2)
})

test('lines are published as they arrive, before the end of the input', async (t) => {
  const running = launchGatehouse(['publish', 'Orders', '--server', server.issuer, ...login], { environment })
  t.after(() => running.child.kill('SIGKILL'))
  running.child.stdin?.write(line('live', 1))
  await until('the first is there', LATE_MS, async () => (await feed.last('live', 5)).length === 1)
  running.child.stdin?.end(line('live', 2).trim())
  assert.equal(await running.ended, 0, running.output().stderr)
  assert.equal((await feed.last('live', 5)).length, 2)
})

test('stream: subscriptions of feeds show positions and patterns, and resume over a restart', async (t) => {
  const session = launchGatehouse(['stream', server.issuer, '--wait', '0.5', ...login], { environment })
  t.after(() => session.child.kill('SIGKILL'))
  const messages = (): { Topic: string; Action?: string; Data?: unknown; [member: string]: unknown }[] =>
    session
      .output()
      .stdout.split('\n')
      .slice(0, -1)
      .map((text) => JSON.parse(text))
  const data = (pattern: string | undefined): unknown[] =>
    messages()
      .filter(({ Action, Pattern, Data }) => Action === 'Publish' && Pattern === pattern && Data !== undefined)
      .map(({ Data }) => Data)
  for (const text of ['sub Orders/desk/1', 'sub Orders/desk/* {"Last": 5}', 'sub Orders/quiet {}'])
    session.child.stdin?.write(`${text}\n`)
  await until('all are confirmed', LATE_MS, () => messages().filter(({ Action }) => Action === 'Sub').length === 3)
  await feed.publish('desk/1', 1)
  await until('it is shown twice', LATE_MS, () => data(undefined).length === 1 && data('desk/*').length === 1)
  assert.ok(messages().every(({ Action, Position }) => Action === 'Sub' || typeof Position === 'string'))
  await server.stop()
  await until('the loss is told', LATE_MS, () => session.output().stderr.includes('; reconnecting\n'))
  server = await start()
  await feed.publishAll([
    { topic: 'desk/1', data: 2 },
    { topic: 'desk/2', data: 3 },
    { topic: 'quiet', data: 4 },
  ])
  await until('what was missed is shown', LATE_MS, () => data(undefined).length >= 3 && data('desk/*').length >= 3)
  assert.deepEqual(
    [data(undefined).toSorted(), data('desk/*')],
    [
      [1, 2, 4],
      [1, 2, 3],
    ],
  )
  await feed.remove('desk/2')
  await until('the removal is shown', LATE_MS, () => messages().some(({ Removed }) => Removed === true))
  session.child.stdin?.end()
  assert.equal(await session.ended, 0, session.output().stderr)
})
