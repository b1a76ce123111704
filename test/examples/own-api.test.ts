/** The sample of a declared API: it takes tokens that were issued for it, and refuses all others; also with Nimbus and Spring Security. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { root } from '../support/clone.ts'
import { openPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { basic, decodeClaims, SECRET, startGate, type TestGate } from '../support/identity.ts'
import { compileWithMaven, lacksMaven } from '../support/maven.ts'
import { until } from '../support/until.ts'

const JAVA = join(root, 'examples/api/java')
/** Needs Maven and Maven Central, which `npm test` must not. */
const isLong = process.env.TEST_LONG === 'true'
const skip = isLong ? lacksMaven() : 'runs in npm run test:all'

let gate: TestGate
let leave: () => Promise<void>
let port: number
let api: string
let program: ChildProcess

before(async () => {
  const opened = await openPlace('sqlite')
  leave = opened.leave
  gate = await startGate(opened.place)
  port = await freePort()
  api = `http://localhost:${port}`
  const { stores } = gate
  const none = { accessTokenLifetime: undefined, claims: [] }
  const scopes = [
    { name: 'orders:read', text: {} },
    { name: 'orders:write', text: {} },
  ]
  await stores.apis.put({ ...none, resource: api, name: 'Orders', scopes })
  await stores.apis.put({ ...none, resource: 'urn:other', name: 'Other', scopes: [{ name: 'other', text: {} }] })
  await stores.events.append({ kind: 'apis-changed' })
  const scope = 'orders:read orders:write other Platform/Market'
  await stores.clients.put({ client_id: 'robot', grant_types: ['client_credentials'], scope })
  await stores.clients.addSecret('robot', SECRET)
  await until('the server knows the APIs', 5000, async () =>
    (await gate.get('/.well-known/oauth-authorization-server')).text.includes('orders:write'),
  )
  program = spawn(process.execPath, ['examples/api/server.js'], {
    cwd: root,
    env: { ...process.env, GATEHOUSE_SERVER: gate.server.issuer, RESOURCE: api, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (program.stdout !== null) await once(program.stdout, 'data')
})
after(async () => {
  program.kill()
  await gate.stop()
  await leave()
})

async function tokenFor(form: Record<string, string>): Promise<string> {
  const body = { grant_type: 'client_credentials', ...form }
  const answer = await gate.post('/connect/token', body, { authorization: basic('robot', SECRET) })
  assert.equal(answer.status, 200, answer.text)
  return String(answer.body.access_token)
}

const call = (token: string | undefined, method = 'GET') =>
  fetch(`${api}/orders`, {
    method,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    ...(method === 'POST' && { body: '{"symbol":"ACME"}' }),
  })

/** Tokens that are not for the API: of the platform, of another API, altered, an ID token. */
async function foreignTokens(): Promise<readonly string[]> {
  const own = await tokenFor({ resource: api })
  const [head = '', , signature = ''] = own.split('.')
  const claims = Buffer.from(JSON.stringify({ ...decodeClaims(own), sub: 'admin' })).toString('base64url')
  const none = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')
  const { id_token: idToken = '' } = await gate.signIn({ scope: 'openid' })
  return [
    await tokenFor({ resource: `${gate.server.issuer}/query` }),
    await tokenFor({ resource: 'urn:other' }),
    `${head}.${claims}.${signature}`,
    `${none}.${own.split('.')[1]}.`,
    idToken,
    'nonsense',
  ]
}

test('the sample takes its own tokens, by scope, and refuses others with a challenge that leads to its metadata', async () => {
  assert.equal((await call(await tokenFor({ resource: api }))).status, 200)
  assert.equal((await call(await tokenFor({ resource: api }), 'POST')).status, 201)
  assert.equal((await call(await tokenFor({ resource: api, scope: 'orders:read' }), 'POST')).status, 403)
  for (const token of [undefined, ...(await foreignTokens())]) {
    const answer = await call(token)
    assert.equal(answer.status, 401, token)
    const challenge = answer.headers.get('www-authenticate') ?? ''
    assert.match(challenge, /resource_metadata="[^"]+\/oauth-protected-resource"/)
    assert.equal(challenge.includes('error="invalid_token"'), token !== undefined, 'RFC 6750 §3.1')
  }
})

test('Nimbus and Spring Security take tokens for the API, and refuse others', { skip }, async () => {
  const classes = await compileWithMaven(JAVA)
  const tokens = [await tokenFor({ resource: api }), ...(await foreignTokens())]
  const child = spawn('java', ['-cp', classes, 'Resource'], {
    cwd: JAVA,
    env: { ...process.env, GATEHOUSE_SERVER: gate.server.issuer, RESOURCE: api },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  let printed = ''
  child.stdout.on('data', (text) => {
    printed += String(text)
  })
  child.stdin.end(`${tokens.join('\n')}\n`)
  await once(child, 'close')
  const lines = printed.trim().split('\n')
  assert.deepEqual(lines.slice(0, 2), ['nimbus takes it: robot', 'spring takes it: robot'])
  assert.equal(lines.length, 2 * tokens.length, printed)
  for (const line of lines.slice(2)) assert.match(line, /refuses it/)
})
