/** The settings of DPoP: nonces for all, proofs remembered for all nodes, other origins; and the memory of used proofs. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { exportJWK, SignJWT } from 'jose'
import { ReplayMemory } from '../../packages/server/src/lib/replay-memory.ts'
import { createProofMaker, type ProofWishes } from '../support/dpop.ts'
import { IN_LONG_RUNS, openPlace } from '../support/engines.ts'
import { startGate, type TestGate } from '../support/identity.ts'
import { createTestClock } from '../support/server.ts'

const ORIGIN = 'https://stream.example.com'
const key = createProofMaker()
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
let gate: TestGate
let leave: () => Promise<void>

before(async () => {
  const opened = await openPlace('sqlite')
  leave = opened.leave
  const flags = { '--dpop-nonce': 'all', '--dpop-replay': 'shared', '--public-origins': ORIGIN, '--demo': 'true' }
  gate = await startGate(opened.place, { flags })
  await gate.stores.clients.put({
    client_id: 'signer',
    token_endpoint_auth_method: 'private_key_jwt',
    grant_types: ['client_credentials'],
    scope: 'Platform/Market',
    jwks: { keys: [{ ...(await exportJWK(publicKey)) }] },
  })
})
after(async () => {
  await gate.stop()
  await leave()
})

const buildUrl = (path: string) => `${gate.server.issuer}${path}`
const ask = async (assertion: string, wishes: Partial<ProofWishes> = {}) =>
  gate.post(
    '/connect/token',
    {
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    },
    { dpop: key.prove({ method: 'POST', url: buildUrl('/connect/token'), ...wishes }) },
  )
const newAssertion = () =>
  new SignJWT({ jti: randomUUID() })
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer('signer')
    .setSubject('signer')
    .setAudience(gate.server.issuer)
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(privateKey)
async function newToken(): Promise<{ token: string; nonce: string }> {
  const assertion = await newAssertion()
  const demand = await ask(assertion)
  assert.deepEqual([demand.status, demand.body.error], [400, 'use_dpop_nonce'])
  const nonce = demand.headers.get('dpop-nonce') ?? ''
  const answer = await ask(assertion, { nonce })
  assert.equal(answer.status, 200, answer.text)
  return { token: String(answer.body.access_token), nonce }
}
const buildHeaders = (token: string, path: string, wishes: Partial<ProofWishes> = {}) => ({
  authorization: `DPoP ${token}`,
  dpop: key.prove({ url: buildUrl(path), accessToken: token, ...wishes }),
})

test('dpop_nonce all: an assertion that came without a nonce can be sent again with one, and not a third time', async () => {
  const assertion = await newAssertion()
  const nonce = (await ask(assertion)).headers.get('dpop-nonce') ?? ''
  assert.equal((await ask(assertion, { nonce })).status, 200)
  assert.equal((await ask(assertion, { nonce })).body.error, 'invalid_client')
})

test('dpop_replay shared: the proof of a request for feeds is a row, and counts once', async () => {
  const { token, nonce } = await newToken()
  const rows = async () => (await gate.database.db.selectFrom('spent_jwts').select('digest').execute()).length
  const before = await rows()
  const headers = buildHeaders(token, '/feeds', { nonce })
  const statuses = await Promise.all(Array.from({ length: 5 }, async () => (await gate.get('/feeds', headers)).status))
  assert.deepEqual(statuses.sort(), [200, 401, 401, 401, 401])
  assert.equal(await rows(), before + 1)
})

test('public_origins: a proof may name them; the Host header counts for nothing', async () => {
  const { token, nonce } = await newToken()
  const named = buildHeaders(token, '/feeds', { nonce, url: `${ORIGIN}/feeds` })
  assert.equal((await gate.get('/feeds', named)).status, 200)
  const url = 'http://elsewhere.example/feeds'
  const status = await new Promise((resolve, reject) => {
    const headers = { ...buildHeaders(token, '/feeds', { nonce, url }), host: 'elsewhere.example' }
    const sent = request(buildUrl('/feeds'), { headers }, ({ statusCode }) => resolve(statusCode))
    sent.on('error', reject)
    sent.end()
  })
  assert.equal(status, 401)
})

test('a live response checks its proof once, and a body that arrives late does not need another', async () => {
  const { token, nonce } = await newToken()
  const path = `/query?${new URLSearchParams({ statement: 'select symbol from instruments order by symbol' })}`
  const leaving = new AbortController()
  const headers = { ...buildHeaders(token, '/query', { nonce }), accept: 'text/event-stream' }
  const events = await fetch(buildUrl(path), { headers, signal: leaving.signal })
  assert.equal(events.status, 200)
  // The token is checked again as soon as the response has begun; it stays open.
  const first = await events.body?.getReader().read()
  assert.ok(first?.value)
  leaving.abort()
  const late = await new Promise<number | undefined>((resolve, reject) => {
    const proven = buildHeaders(token, '/query', { nonce, method: 'POST' })
    const sent = request(
      buildUrl('/query'),
      { method: 'POST', headers: { ...proven, 'content-type': 'text/plain; charset=utf-8' } },
      ({ statusCode }) => resolve(statusCode),
    )
    sent.on('error', reject)
    sent.write('select symbol ')
    setTimeout(() => sent.end('from instruments limit 1'), 100)
  })
  assert.equal(late, 200)
})

test('a full memory says so, still knows what it holds, and forgets what has expired', () => {
  const clock = createTestClock(1_000_000)
  const memory = new ReplayMemory(clock, 60_000, 2)
  const until = clock() + 60_000
  assert.deepEqual(
    ['a', 'a', 'b', 'c', 'a'].map((id) => memory.add(id, until)),
    ['new', 'used', 'new', 'full', 'used'],
  )
  assert.equal(memory.add('a', until + 60_000), 'new')
  clock.advance(121_000)
  assert.equal(memory.size, 1)
  clock.advance(60_000)
  assert.equal(memory.size, 0)
})

test('10⁶ proofs take no more than the 16 MiB of a slice, and are all known', IN_LONG_RUNS, () => {
  const memory = new ReplayMemory(Date.now, 300_000)
  const until = Date.now() + 300_000
  const { arrayBuffers: before } = process.memoryUsage()
  for (let id = 0; id < 1_000_000; id++) assert.equal(memory.add(`${id}`, until), 'new')
  const { arrayBuffers: after } = process.memoryUsage()
  assert.ok(after - before < 20 * 1024 * 1024, `${after - before} bytes`)
  for (let id = 0; id < 1_000_000; id += 997) assert.equal(memory.add(`${id}`, until), 'used')
})
