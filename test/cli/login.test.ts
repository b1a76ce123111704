/** Administration of a running server: device login, stored credentials, requests, refresh and logout. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { createGate } from '../../packages/server/src/cli/gate.ts'
import { credentialsFile, writeLogin } from '../../packages/server/src/cli/sign-in/credentials.ts'
import { loginAuth } from '../../packages/server/src/cli/sign-in/sign-in.ts'
import { type Database, openDatabase } from '../../packages/server/src/store/database/database.ts'
import { createStores, type WritableStores as Stores } from '../../packages/server/src/store/stores.ts'
import { createCertificate } from '../support/certificate.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { type Finished, launchGatehouse, runGatehouse } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const home = mkdtempSync(join(tmpdir(), 'gatehouse-login-'))
const file = join(home, 'gatehouse', 'credentials.json')
const passwordFile = join(home, 'password')
let opened: { place: TestPlace; leave(): Promise<void> }
let server: TestServer
let database: Database
let stores: Stores

before(async () => {
  opened = await openPlace('sqlite')
  server = await startTestServer(opened.place, { flags: { '--demo': 'true' } })
  database = await openDatabase({ dataFolder: opened.place.dataFolder, url: '' })
  stores = createStores(database, Date.now)
  writeFileSync(passwordFile, 'admin-please-change\n')
})
after(async () => {
  await server.stop()
  await database.close()
  await opened.leave()
  rmSync(home, { recursive: true, force: true })
})

const remote = (...args: string[]): Promise<Finished> =>
  runInProcess([...args, '--server', server.issuer], { environment: { XDG_CONFIG_HOME: home } })

/** The server is in the environment, as it is in the demonstration by default. */
const here = (args: readonly string[], stdin = ''): Promise<Finished> =>
  runInProcess(args, { environment: { XDG_CONFIG_HOME: home, GATEHOUSE_SERVER: server.issuer }, stdin })

/** Confirms the first pending device code as alice. */
async function approve(): Promise<void> {
  const alice = await stores.users.findByUsername('alice')
  const pending = () =>
    database.db
      .selectFrom('device_codes')
      .select(['user_code', 'client_id', 'scopes'])
      .where('state', '=', 'pending')
      .executeTakeFirst()
  await until('a device code is pending', 20_000, async () => (await pending()) !== undefined)
  const code = await pending()
  const userId = alice?.id ?? ''
  // As the page does: what alice does not hold is not granted.
  const rights = alice?.rights ?? new Set()
  const scopes = (code?.scopes.split(' ') ?? []).filter((scope) => !scope.includes('/') || rights.has(scope))
  await stores.consents.allow(userId, code?.client_id ?? '', scopes)
  await stores.deviceCodes.decide(code?.user_code ?? '', {
    userId,
    sessionId: undefined,
    scopes,
    authTime: Date.now(),
    amr: ['pwd'],
  })
}

test('commands with --server need a login', async () => {
  const { status, stderr } = await remote('user', 'list')
  assert.equal(status, 1)
  assert.match(stderr, /You are not logged in to .* Run: \.\/gatehouse login --server/)
})

test('a login without options has what the user holds, says so, and is stored in a private file', async () => {
  const running = here(['login'])
  await approve()
  const { status, stdout, stderr } = await running
  assert.equal(status, 0, stderr)
  const [, , who, rights, place] = stdout.split('\n')
  assert.match(stdout, /^Open http.*\nand confirm the code [\w-]+\n/)
  assert.equal(who, `Logged in to ${server.issuer} as alice (Alice Liddell).`)
  assert.equal(rights, 'Rights: Platform/Market Platform/News Platform/OrderPad Platform/Trading')
  assert.equal(place, `The tokens are in ${file}`)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const { accessToken, refreshToken } = JSON.parse(readFileSync(file, 'utf8'))[server.issuer]
  assert.ok(!stdout.includes(accessToken) && !stdout.includes(refreshToken))
})

test('the login serves queries, imports, exports and streams', async () => {
  const query = await here(['query', '--csv', "SELECT name FROM instruments WHERE symbol = 'ACME'"])
  assert.deepEqual([query.stdout, query.stderr], ['name\r\nAcme Engineering\r\n', ''])
  const rows = join(home, 'quotes.csv')
  writeFileSync(rows, 'symbol,quoted_at,bid,ask,bid_size,ask_size\nACME,2030-01-01T00:00:00Z,1.0000,2.0000,10,10\n')
  const imported = await here(['import', rows, '--table', 'quotes'])
  assert.equal(imported.status, 0, imported.stderr)
  const exported = await here(['export', "SELECT bid FROM quotes WHERE quoted_at = TIMESTAMP '2030-01-01T00:00:00Z'"])
  assert.equal(exported.stdout, 'bid\r\n1.0000\r\n')
  const stream = await here(['stream'], 'Auth/QueryIdentify\n')
  assert.match(stream.stdout, /alice/, stream.stderr)
  const anonymous = await here(['stream', '--anonymous'], 'Auth/QueryIdentify\n')
  assert.doesNotMatch(anonymous.stdout, /alice/)
  // Alice is no administrator.
  const refused = await here(['user', 'list'])
  assert.match(refused.stderr, /\(403\)/)
})

test('whoami says as whom commands act, and with which rights', async () => {
  const { stdout, stderr } = await here(['whoami'])
  const lines = stdout.trimEnd().split('\n')
  assert.deepEqual(
    lines.slice(0, 6).map((line) => line.split(/ {2,}/)),
    [
      ['user', 'alice (Alice Liddell)'],
      ['server', server.issuer],
      ['id', (await stores.users.findByUsername('alice'))?.id],
      ['client', 'gatehouse-cli'],
      ['roles', 'trader'],
      ['rights', 'Platform/Market Platform/News Platform/OrderPad Platform/Trading'],
    ],
    stderr,
  )
  assert.match(lines[6] ?? '', /^token {2,}expires at \S+Z, and is then renewed$/)
  const json = await here(['whoami', '--json', '--username', 'admin', '--password-file', passwordFile])
  assert.partialDeepStrictEqual(JSON.parse(json.stdout), { username: 'admin', roles: ['admin'] })
})

test('token prints an access token of the login, and nothing else', async () => {
  const { stdout, stderr } = await here(['token'])
  assert.equal(stderr, '')
  assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/)
  const reply = await fetch(`${server.issuer}/connect/userinfo`, {
    headers: { authorization: `Bearer ${stdout.trim()}` },
  })
  assert.equal(reply.status, 200)
})

test('a flag that names the data of this machine overrides GATEHOUSE_SERVER, and is refused beside --server', async () => {
  const folder = join(home, 'elsewhere')
  const { status, stderr } = await here(['user', 'list', '--data', folder])
  assert.equal(status, 1)
  assert.ok(stderr.includes(folder), stderr)
  const both = await here(['user', 'list', '--data', folder, '--server', server.issuer])
  assert.deepEqual([both.status, /Give --server or --data: /.test(both.stderr)], [2, true], both.stderr)
})

test('--scope requests less, and the command reports what was not granted', async () => {
  const environment = { XDG_CONFIG_HOME: join(home, 'less'), GATEHOUSE_SERVER: `${server.issuer}/` }
  const scopes = ['--scope', 'openid profile', '--scope', 'Platform/Market', '--scope', 'Platform/Nonsense']
  const login = ['login', '--username', 'admin', '--password-file', passwordFile]
  const { stdout, stderr } = await runInProcess([...login, ...scopes], { environment })
  assert.match(
    stdout,
    /^Logged in to \S+ as admin \(Demo Administrator\)\.\nRights: Platform\/Market\nNot granted: Platform\/Nonsense\nThe login expires at \S+Z: /,
    stderr,
  )
  assert.match((await runInProcess(['user', 'list'], { environment })).stderr, /\(403\)/)
  const wrong = await runInProcess(['login', '--username', 'admin', '--password-file', readRows('wrong')], {
    environment,
  })
  assert.equal(wrong.status, 1)
  assert.match(wrong.stderr, /did not sign in admin: .* is wrong \(a user with a second factor must log in on a page: /)
})

/** A file with one line. */
function readRows(line: string): string {
  const path = join(home, 'line.txt')
  writeFileSync(path, `${line}\n`)
  return path
}

test('without a terminal the password is the first line of stdin', async () => {
  const environment = { XDG_CONFIG_HOME: join(home, 'piped') }
  const login = (stdin: string, ...options: readonly string[]) =>
    runInProcess(['login', '--username', 'alice', '--server', server.issuer, ...options], { environment, stdin })
  for (const options of [[], ['--password-stdin']])
    assert.match((await login('wonderland-1\n', ...options)).stdout, /^Logged in to \S+ as alice /)
  const both = await login('wonderland-1\n', '--password-stdin', '--password-file', passwordFile)
  assert.match(both.stderr, /Give --password-file or --password-stdin, not both\n$/)
  const none = await login('')
  assert.deepEqual(
    [none.status, none.stderr.split('\n')[0]],
    [2, 'gatehouse: Without a terminal the password must be the first line of stdin or of --password-file FILE'],
  )
})

test('the login of an administrator serves the administration', async () => {
  const login = await remote('login', '--username', 'admin', '--password-file', passwordFile)
  assert.match(login.stdout, /as admin .*\nRights: Identity\/Admin Platform\/Admin /, login.stderr)
  const users = await remote('user', 'list', '--json')
  assert.equal(users.status, 0, users.stderr)
  assert.equal(JSON.parse(users.stdout).items[1].username, 'alice')
  assert.match((await remote('audit', 'verify')).stdout, /^The audit log is intact/)
  const exported = (await remote('audit', 'export')).stdout.trimEnd().split('\n')
  assert.ok(exported.every((line) => JSON.parse(line).hash.length === 64))
  const client = JSON.parse((await remote('client', 'add', 'far', '--grant', 'client_credentials', '--json')).stdout)
  assert.ok(client.client_secret.length >= 43)
  const added = await runInProcess(['user', 'add', 'far-away', '--role', 'admin', '--server', server.issuer], {
    environment: { XDG_CONFIG_HOME: home },
    stdin: 'long enough 2\n',
  })
  assert.match(added.stdout, /^User far-away was added as usr_/, added.stderr)
  assert.ok(await stores.users.findByUsername('far-away'))
  const refused = await remote('user', 'show', 'nobody')
  assert.deepEqual([refused.status, refused.stderr], [1, 'gatehouse: There is no user "nobody" (404)\n'])
  const settings = JSON.parse((await remote('settings', 'list', '--json')).stdout)
  assert.ok(settings.items.some(({ name }: { name: string }) => name === 'limit_token'))
})

test('an expired token is refreshed and stored', async () => {
  const all = JSON.parse(readFileSync(file, 'utf8'))
  const before = all[server.issuer]
  writeFileSync(file, JSON.stringify({ [server.issuer]: { ...before, expiresAt: 0 } }), { mode: 0o600 })
  assert.equal((await remote('role', 'list')).status, 0)
  const renewed = JSON.parse(readFileSync(file, 'utf8'))[server.issuer]
  assert.notEqual(renewed.refreshToken, before.refreshToken)
})

test('of callers at the same time one refreshes the token, which is valid once, and the others use what it got', async () => {
  const { XDG_CONFIG_HOME: usual } = process.env
  process.env.XDG_CONFIG_HOME = home
  const expired = { ...JSON.parse(readFileSync(file, 'utf8'))[server.issuer], expiresAt: 0 }
  writeFileSync(file, JSON.stringify({ [server.issuer]: expired }), { mode: 0o600 })
  try {
    const tokens = await Promise.all(
      [1, 2, 3, 4].map(() => createGate(server.issuer, loginAuth(server.issuer)).auth.token()),
    )
    assert.equal(new Set(tokens).size, 1)
  } finally {
    if (usual === undefined) delete process.env.XDG_CONFIG_HOME
    else process.env.XDG_CONFIG_HOME = usual
  }
})

test('a command never continues with the login of another user, and does not undo it', async () => {
  const { XDG_CONFIG_HOME: usual } = process.env
  const environment = { XDG_CONFIG_HOME: join(home, 'two') }
  const logIn = (username: string, word: string) =>
    runInProcess(['login', '--username', username, '--server', server.issuer], { environment, stdin: `${word}\n` })
  assert.equal((await logIn('alice', 'wonderland-1')).status, 0)
  process.env.XDG_CONFIG_HOME = environment.XDG_CONFIG_HOME
  const [one, other] = [1, 2].map(() => createGate(server.issuer, loginAuth(server.issuer)))
  try {
    const before = (await one?.auth.token()) ?? ''
    const renewed = (await other?.auth.token(before)) ?? ''
    assert.deepEqual([await one?.auth.token(before), renewed === before], [renewed, false], 'what another command got')
    assert.equal((await logIn('admin', 'admin-please-change')).status, 0)
    const stored = readFileSync(credentialsFile(environment), 'utf8')
    // The renewal that was refused, and one that was in flight during the login.
    await assert.rejects(async () => one?.auth.token(renewed), /^CommandError: Another user or client has logged in/)
    await other?.auth.keep({ accessToken: renewed })
    assert.equal(readFileSync(credentialsFile(environment), 'utf8'), stored)
    const { stdout } = await runInProcess(['whoami', '--server', server.issuer], { environment })
    assert.match(stdout, /admin \(Demo Administrator\)/)
  } finally {
    one?.close()
    other?.close()
    if (usual === undefined) delete process.env.XDG_CONFIG_HOME
    else process.env.XDG_CONFIG_HOME = usual
  }
})

test('the login of a disabled user is reported as ended, also by a running live query', async (t) => {
  const environment = { XDG_CONFIG_HOME: join(home, 'disabled'), GATEHOUSE_SERVER: server.issuer }
  const login = await runInProcess(['login', '--username', 'alice', '--password-file', readRows('wonderland-1')], {
    environment,
  })
  assert.equal(login.status, 0, login.stderr)
  const live = launchGatehouse(['query', '--live', 'SELECT symbol FROM instruments'], { environment })
  t.after(() => live.child.kill())
  await until('the result is shown', 20_000, () => live.output().stdout.includes('ACME'))
  assert.equal((await remote('user', 'disable', 'alice', '--yes')).status, 0)
  const over = `gatehouse: The login is no longer valid. Run: ./gatehouse login --server ${server.issuer}\n`
  assert.equal(await live.ended, 1)
  assert.ok(live.output().stderr.endsWith(over), live.output().stderr)
  assert.equal((await runInProcess(['query', 'SELECT 1 AS a'], { environment })).stderr, over)
  assert.equal((await remote('user', 'enable', 'alice')).status, 0)
})

test('a credentials file that other users can read is not used', async () => {
  chmodSync(file, 0o644)
  const { status, stderr } = await remote('role', 'list')
  assert.equal(status, 1)
  assert.match(stderr, /Other users can read/)
  chmodSync(file, 0o600)
})

test('logout revokes and deletes the tokens', async () => {
  const { accessToken } = JSON.parse(readFileSync(file, 'utf8'))[server.issuer]
  assert.equal((await remote('logout')).status, 0)
  assert.ok(!readFileSync(file, 'utf8').includes(accessToken))
  const answer = await fetch(`${server.issuer}/admin/users`, { headers: { authorization: `Bearer ${accessToken}` } })
  assert.equal(answer.status, 401)
  assert.equal((await remote('logout')).status, 1)
})

test('an address that is not the issuer is refused', async () => {
  const { status, stderr } = await runInProcess(['login', '--server', server.issuer.replace('localhost', '127.0.0.1')])
  assert.equal(status, 1)
  assert.match(stderr, /The issuer of http:\/\/127\.0\.0\.1:\d+ is http:\/\/localhost:\d+: use that/)
})

test('an unreachable server, or a proxy that answers with a page, is reported in one line', async () => {
  const proxy = createServer((_request, response) => response.end('<h1>Back soon</h1>')).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const { port } = proxy.address() as AddressInfo
  const address = `http://127.0.0.1:${port}`
  const folder = join(home, 'unreachable')
  const environment = { XDG_CONFIG_HOME: folder }
  writeLogin(
    address,
    { clientId: 'x', accessToken: 'x', expiresAt: Number.MAX_SAFE_INTEGER, refreshToken: undefined },
    credentialsFile(environment),
  )
  const list = () => runInProcess(['user', 'list', '--server', address], { environment })
  assert.deepEqual(await list(), {
    status: 1,
    stdout: '',
    stderr: `gatehouse: ${address} is not a Gatehouse server: its answer is not JSON\n`,
  })
  proxy.close()
  proxy.closeAllConnections()
  const unreachable = await list()
  assert.equal(unreachable.status, 1)
  assert.match(unreachable.stderr, /^gatehouse: \S* cannot be reached [^\n]*ECONNREFUSED[^\n]*\n$/)
})

test('a damaged credentials file is reported and not used', async () => {
  const environment = { XDG_CONFIG_HOME: join(home, 'damaged') }
  const damaged = credentialsFile(environment)
  mkdirSync(dirname(damaged), { recursive: true })
  for (const content of [
    'null',
    '[]',
    '{',
    '"x"',
    `{"${server.issuer}":null}`,
    `{"${server.issuer}":{"accessToken":1}}`,
  ]) {
    writeFileSync(damaged, content, { mode: 0o600 })
    const { status, stderr } = await runInProcess(['user', 'list', '--server', server.issuer], { environment })
    assert.deepEqual(
      { status, stderr },
      { status: 1, stderr: `gatehouse: ${damaged} is damaged: remove it and log in again.\n` },
    )
  }
})

test('a client that the server does not know is named, with the command that registers it', async () => {
  for (const way of [[], ['--username', 'admin', '--password-file', passwordFile]]) {
    const { status, stderr } = await remote('login', '--client', 'nobody', ...way)
    assert.equal(status, 1)
    assert.match(
      stderr,
      /invalid_client.*\nhint: is the client nobody registered, and enabled\? .* client add nobody --public /,
    )
  }
})

test('the certificate of an own CA: the error says what to set, and the settings file may set it', async (t) => {
  // It would override the file.
  delete process.env.NODE_EXTRA_CA_CERTS
  const { cert, key } = createCertificate(['localhost'])
  let requests = 0
  const tls = createTlsServer({ cert, key }, (_request, response) => {
    requests += 1
    response.writeHead(404).end()
  }).listen(0, 'localhost')
  t.after(() => tls.close())
  await once(tls, 'listening')
  const address = `https://localhost:${(tls.address() as AddressInfo).port}`
  const [authority, settings] = [join(home, 'ca.pem'), join(home, 'ca.env')]
  writeFileSync(authority, cert)
  const login = (...args: string[]) =>
    runGatehouse(['login', '--server', address, ...args], { environment: { XDG_CONFIG_HOME: join(home, 'tls') } })
  assert.match(
    (await login()).stderr,
    /\(self-signed certificate; if the certificate was signed by your own CA, set NODE_EXTRA_CA_CERTS [^\n]*\)\n$/,
  )
  assert.equal(requests, 0)
  writeFileSync(settings, `NODE_EXTRA_CA_CERTS=${authority}\n`)
  assert.doesNotMatch((await login('--settings-file', settings)).stderr, /certificate/)
  assert.ok(requests > 0)
  writeFileSync(settings, 'NODE_EXTRA_CA_CERTS=/nowhere/ca.pem\n')
  assert.match(
    (await login('--settings-file', settings)).stderr,
    /NODE_EXTRA_CA_CERTS in \S+: \/nowhere\/ca\.pem cannot/,
  )
})
