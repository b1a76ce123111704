/** RFC 9449 §11.1: a proof that was used counts no more after a restart, and a client that makes a new one goes on at once. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createProofMaker, type ProofWishes } from '../support/dpop.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { createTestClock, startTestServer, type TestServer } from '../support/server.ts'

const ISSUER = 'http://localhost:23500'
const key = createProofMaker()
const clock = createTestClock(Math.ceil(Date.now() / 1000) * 1000)
let place: TestPlace
let leave: () => Promise<void>
let server: TestServer | undefined

before(async () => {
  const opened = await openPlace('sqlite')
  place = opened.place
  leave = opened.leave
})
after(async () => {
  await server?.stop()
  await leave()
})

async function restart(nonce: string): Promise<void> {
  await server?.stop()
  // Within the second in which proofs were made.
  clock.advance(300)
  const flags = { '--demo': 'true', '--demo-market': 'false', '--issuer': ISSUER, '--dpop-nonce': nonce }
  server = await startTestServer(place, { clock, flags })
}

const post = (path: string, body: string | URLSearchParams, headers: Record<string, string>) =>
  fetch(`http://127.0.0.1:${server?.port}${path}`, { method: 'POST', body, headers })

async function newToken(): Promise<string> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: 'demo-service',
    client_secret: 'demo-service-secret',
  })
  const ask = (nonce?: string) =>
    post('/connect/token', form, {
      dpop: key.prove({ method: 'POST', url: `${ISSUER}/connect/token`, now: clock(), nonce }),
    })
  const first = await ask()
  const reply = first.ok ? first : await ask(first.headers.get('dpop-nonce') ?? '')
  const { access_token: token } = (await reply.json()) as { access_token: string }
  assert.ok(token)
  return token
}

const prove = (accessToken: string, wishes: Partial<ProofWishes> = {}) =>
  key.prove({ method: 'POST', url: `${ISSUER}/query`, now: clock(), accessToken, ...wishes })
const query = async (token: string, dpop: string) => {
  const { status, headers } = await post('/query', 'SELECT symbol FROM instruments LIMIT 1', {
    authorization: `DPoP ${token}`,
    'content-type': 'text/plain',
    dpop,
  })
  return { status, nonce: headers.get('dpop-nonce') ?? undefined, challenge: headers.get('www-authenticate') ?? '' }
}

test('without a nonce: the replay is answered with a nonce, and a new proof with it is accepted', async () => {
  await restart('public')
  const token = await newToken()
  clock.advance(1000)
  const proof = prove(token)
  assert.deepEqual([(await query(token, proof)).status, (await query(token, proof)).status], [200, 401])
  await restart('public')
  const replayed = await query(token, proof)
  assert.equal(replayed.status, 401)
  assert.match(replayed.challenge, /use_dpop_nonce/)
  // Also for a client whose clock is behind.
  const fresh = prove(token, { nonce: replayed.nonce, now: clock() - 40_000 })
  assert.deepEqual([(await query(token, fresh)).status, (await query(token, fresh)).status], [200, 401])
  clock.advance(1000)
  assert.equal((await query(token, prove(token))).status, 200)
})

test('with a nonce: one from before the restart is not accepted, the next one is', async () => {
  await restart('all')
  const token = await newToken()
  const { nonce } = await query(token, prove(token))
  const proof = prove(token, { nonce })
  assert.deepEqual([(await query(token, proof)).status, (await query(token, proof)).status], [200, 401])
  await restart('all')
  const replayed = await query(token, proof)
  assert.equal(replayed.status, 401)
  assert.match(replayed.challenge, /use_dpop_nonce/)
  assert.equal((await query(token, prove(token, { nonce: replayed.nonce }))).status, 200)
  clock.advance(5 * 60_000)
  const renewed = await query(token, prove(token, { nonce: replayed.nonce }))
  assert.equal(renewed.status, 200)
  assert.equal((await query(token, prove(token, { nonce: renewed.nonce }))).status, 200)
})

test('without nonces at all, also of a client whose clock is ahead', async () => {
  await restart('off')
  const token = await newToken()
  clock.advance(1000)
  const proofs = [prove(token), prove(token, { now: clock() + 10_000 })]
  for (const proof of proofs)
    assert.deepEqual([(await query(token, proof)).status, (await query(token, proof)).status], [200, 401])
  await restart('off')
  for (const proof of proofs) assert.equal((await query(token, proof)).status, 401)
  clock.advance(1000)
  const ahead = prove(token, { now: clock() + 10_000 })
  assert.equal((await query(token, prove(token))).status, 200)
  assert.equal((await query(token, ahead)).status, 200)
  clock.advance(11_000)
  assert.equal((await query(token, ahead)).status, 401)
})

test('after the clock was set back to a time before the start, new proofs are accepted, once', async () => {
  for (const nonce of ['public', 'all', 'off']) {
    await restart(nonce)
    clock.advance(-60_500)
    const token = await newToken()
    // The first request finds out.
    const { nonce: first } = await query(token, prove(token))
    clock.advance(1500)
    const proof = prove(token, { nonce: nonce === 'all' ? first : undefined })
    assert.deepEqual([(await query(token, proof)).status, (await query(token, proof)).status], [200, 401], nonce)
    clock.advance(120_000)
  }
})
