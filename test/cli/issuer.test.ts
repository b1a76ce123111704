/** RFC 8414 §3.3: no command sends a password or a token to an endpoint of another issuer's discovery document. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { WebSocketServer } from 'ws'
import { credentialsFile, writeLogin } from '../../packages/server/src/cli/sign-in/credentials.ts'
import { runInProcess } from '../support/in-process.ts'

const home = mkdtempSync(join(tmpdir(), 'gatehouse-issuer-'))
const environment = { XDG_CONFIG_HOME: home }
const passwordFile = join(home, 'password')
const rows = join(home, 'rows.csv')

let impostor: Server
let address: string
/** The issuer that the discovery document of the test server names. */
let issuer: string | undefined
/** Whether the endpoints redirect to another address. */
let redirects = false
/** Bodies of the requests that reached an endpoint of the document. */
const received: string[] = []

before(async () => {
  writeFileSync(passwordFile, 'wonderland-1\n')
  writeFileSync(rows, 'id\n1\n')
  impostor = createServer(async (request, response) => {
    response.setHeader('content-type', 'application/json')
    if (request.url === '/.well-known/openid-configuration') {
      const endpoints = ['token', 'device_authorization', 'revocation', 'userinfo'].map((name) => [
        `${name}_endpoint`,
        `${address}/stolen`,
      ])
      response.end(JSON.stringify({ issuer, ...Object.fromEntries(endpoints) }))
      return
    }
    if (request.url === '/redirected') received.push('redirected')
    if (redirects) {
      response.writeHead(307, { location: `${address}/redirected` }).end()
      return
    }
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    received.push(body)
    response.end('{"access_token":"t","expires_in":60}')
  }).listen(0, '127.0.0.1')
  new WebSocketServer({ server: impostor, handleProtocols: () => 'PlatformJson' }).on('connection', (socket) =>
    socket.on('message', () => socket.close()),
  )
  await once(impostor, 'listening')
  address = `http://127.0.0.1:${(impostor.address() as AddressInfo).port}`
})
after(() => {
  impostor.close()
  impostor.closeAllConnections()
  rmSync(home, { recursive: true, force: true })
})

/** Leaves an expired login behind, which a command must refresh. */
function writeExpiredLogin(): void {
  const expired = { clientId: 'gatehouse-cli', accessToken: 'a', expiresAt: 0, refreshToken: 'refresh-me' }
  writeLogin(address, expired, credentialsFile(environment))
}

const password = ['--username', 'alice', '--password-file', passwordFile]
const COMMANDS: Readonly<Record<string, () => readonly string[]>> = {
  query: () => ['query', 'SELECT 1 AS a', '--server', address, ...password],
  import: () => ['import', rows, '--table', 't', '--server', address, ...password],
  export: () => ['export', '--table', 't', '--server', address, ...password],
  stream: () => ['stream', address, ...password],
  'a query with an expired login': () => ['query', 'SELECT 1 AS a', '--server', address],
  'administration with an expired login': () => ['user', 'list', '--server', address],
  login: () => ['login', '--server', address],
  'login with a password': () => ['login', '--server', address, ...password],
  whoami: () => ['whoami', '--server', address, ...password],
  'stream with an expired login': () => ['stream', address],
  logout: () => ['logout', '--server', address],
}

for (const [name, args] of Object.entries(COMMANDS)) {
  test(`${name} refuses a discovery document of another issuer and sends it nothing`, async () => {
    for (const other of ['https://gate.example', `${address}/`, undefined]) {
      issuer = other
      writeExpiredLogin()
      const { status, stderr } = await runInProcess(args(), { environment })
      assert.deepEqual(received, [], stderr)
      assert.equal(status, 1, stderr)
      assert.match(stderr, /^gatehouse: [^\n]*issuer[^\n]*\n$/)
    }
  })
}

test('a token from a file is sent only to its issuer', async () => {
  issuer = address
  const tokenFile = join(home, 'token')
  const payload = Buffer.from('{"iss":"https://gate.example"}').toString('base64url')
  writeFileSync(tokenFile, `e30.${payload}.c2ln\n`)
  for (const args of [
    ['query', 'SELECT 1 AS a', '--server', address],
    ['export', '--table', 't', '--server', address],
    ['import', rows, '--table', 't', '--server', address],
    ['whoami', '--server', address],
    ['stream', address],
  ]) {
    const { status, stderr } = await runInProcess([...args, '--token-file', tokenFile], { environment })
    assert.deepEqual([status, received], [1, []], stderr)
    assert.match(stderr, /^gatehouse: The token in \S+ was issued by https:\/\/gate\.example, so it was not sent/)
  }
  // A token that cannot be read is sent to a server that is an issuer.
  writeFileSync(tokenFile, 'opaque\n')
  issuer = 'https://gate.example'
  const opaque = await runInProcess(['query', 'SELECT 1 AS a', '--server', address, '--token-file', tokenFile], {
    environment,
  })
  assert.deepEqual([opaque.status, received], [1, []], opaque.stderr)
})

test('a token endpoint that redirects gets no password at the other address', async () => {
  issuer = address
  redirects = true
  const { status, stderr } = await runInProcess(COMMANDS.query?.() ?? [], { environment })
  redirects = false
  assert.deepEqual([status, received], [1, []], stderr)
})

test('the same endpoints are used when the issuer is the server that was asked for', async () => {
  issuer = address
  await runInProcess(['query', 'SELECT 1 AS a', '--server', address, ...password], { environment })
  assert.match(received[0] ?? '', /grant_type=password&.*password=wonderland-1/)
})
