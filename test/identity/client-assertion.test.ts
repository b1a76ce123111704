/** Client assertions (RFC 7523): private_key_jwt. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { ClientMetadata } from '../../packages/server/src/store/clients/client-metadata.ts'
import { onEveryEngine, onSqlite } from '../support/engines.ts'
import {
  type DocumentServer,
  ecPair,
  encoded,
  type JsonMembers,
  type KeyPair,
  rsaPair,
  serveDocuments,
  signJwt,
  toJwk,
} from '../support/foreign-issuer.ts'
import {
  type Answer,
  basic,
  DEVICE_GRANT,
  decodeClaims,
  SECRET,
  startGate,
  type TestGate,
} from '../support/identity.ts'
import { createTestClock, startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const ec = ecPair()
const rsa = rsaPair()
const ed = generateKeyPairSync('ed25519')
const clock = createTestClock()
const now = () => Math.floor(clock() / 1000)

const ROBOT: ClientMetadata = {
  client_id: 'robot',
  token_endpoint_auth_method: 'private_key_jwt',
  grant_types: ['client_credentials', DEVICE_GRANT],
  scope: 'openid Platform/News Platform/Market',
  jwks: {
    keys: [
      toJwk(ec.publicKey, { kid: 'ec' }),
      toJwk(rsa.publicKey, { kid: 'rsa' }),
      toJwk(ed.publicKey, { kid: 'ed', alg: 'EdDSA' }),
    ],
  },
}

function claimsFor(gate: TestGate, changes: JsonMembers = {}): JsonMembers {
  const own = { iss: 'robot', sub: 'robot', aud: gate.server.issuer, jti: randomUUID(), iat: now(), exp: now() + 60 }
  return Object.fromEntries(Object.entries({ ...own, ...changes }).filter(([, value]) => value !== undefined))
}

const HEADER = { alg: 'ES256', kid: 'ec' }
const sign = (claims: JsonMembers, header: JsonMembers = HEADER, pair: KeyPair = ec) =>
  signJwt(header, pair.privateKey, claims)
const buildForm = (assertion: string, form: Record<string, string> = {}) => ({
  grant_type: 'client_credentials',
  client_assertion_type: TYPE,
  client_assertion: assertion,
  ...form,
})

onSqlite('private_key_jwt', (place) => {
  let gate: TestGate
  let documents: DocumentServer
  before(async () => {
    documents = await serveDocuments()
    gate = await startGate(place(), { clock, flags: { '--client-jwks-private': 'true' } })
    await gate.stores.clients.put(ROBOT)
  })
  after(async () => {
    await gate.stop()
    documents.close()
  })
  const ask = (assertion: string, form: Record<string, string> = {}) =>
    gate.post('/connect/token', buildForm(assertion, form))
  const accepts = async (answer: Promise<Answer>) => {
    const { status, text } = await answer
    assert.equal(status, 200, text)
  }
  /** The reply says nothing more, the log says why. */
  const refuses = async (answer: Promise<Answer>, why: RegExp) => {
    const before = gate.server.log.length
    const { status, body, text } = await answer
    assert.equal(status, 401, text)
    assert.deepEqual(body, { error: 'invalid_client', error_description: 'The client could not be authenticated' })
    assert.match(gate.server.log.slice(before).join('\n'), why)
  }

  test('each algorithm is accepted, with and without client_id', async () => {
    await accepts(ask(sign(claimsFor(gate))))
    await accepts(ask(sign(claimsFor(gate), { alg: 'RS256', kid: 'rsa', typ: 'JWT' }, rsa), { client_id: 'robot' }))
    await accepts(ask(sign(claimsFor(gate), { alg: 'PS256', kid: 'rsa' }, rsa)))
    await accepts(ask(sign(claimsFor(gate), { alg: 'EdDSA', kid: 'ed' }, ed)))
    await accepts(ask(sign(claimsFor(gate), { alg: 'Ed25519', typ: 'client-authentication+jwt' }, ed)))
    const { body } = await ask(sign(claimsFor(gate)), { scope: 'Platform/News' })
    assert.equal(decodeClaims(String(body.access_token)).sub, 'robot')
  })

  test('introspection, revocation and device authorization take it too', async () => {
    const { body } = await ask(sign(claimsFor(gate)))
    const token = String(body.access_token)
    const at = (path: string, form: Record<string, string> = {}) =>
      gate.post(path, { client_assertion_type: TYPE, client_assertion: sign(claimsFor(gate)), ...form })
    assert.equal((await at('/connect/introspect', { token })).body.active, true)
    await accepts(at('/connect/revocation', { token }))
    assert.equal((await at('/connect/introspect', { token })).body.active, false)
    await accepts(at('/connect/deviceauthorization'))
    await refuses(gate.post('/connect/introspect', { client_id: 'robot', token }), /method not registered/)
  })

  test('the audience is the issuer or the token endpoint, alone', async () => {
    const { issuer } = gate.server
    for (const aud of [issuer, [issuer], `${issuer}/connect/token`, [`${issuer}/connect/token`]])
      await accepts(ask(sign(claimsFor(gate, { aud }))))
    for (const aud of [
      undefined,
      'https://other.example',
      [issuer, 'https://other.example'],
      [issuer, issuer],
      [[issuer]],
      [],
      `${issuer}/`,
      `${issuer}/connect/introspect`,
      { [issuer]: true },
    ])
      await refuses(ask(sign(claimsFor(gate, { aud }))), /aud is not this server alone/)
  })

  test('iat and nbf are at most 15 seconds ahead, and exp an hour more', async () => {
    await accepts(ask(sign(claimsFor(gate, { exp: now() + 3615 }))))
    await accepts(ask(sign(claimsFor(gate, { iat: now() + 15, nbf: now() + 15 }))))
    await accepts(ask(sign(claimsFor(gate, { iat: undefined }))))
    await refuses(ask(sign(claimsFor(gate, { exp: now() + 3617 }))), /more than an hour/)
    await refuses(ask(sign(claimsFor(gate, { exp: now() }))), /expired/)
    await refuses(ask(sign(claimsFor(gate, { exp: String(now() + 60) }))), /exp is missing/)
    await refuses(ask(sign(claimsFor(gate, { exp: undefined }))), /exp is missing/)
    await refuses(ask(sign(claimsFor(gate, { iat: now() + 17 }))), /in the future/)
    await refuses(ask(sign(claimsFor(gate, { nbf: now() + 17 }))), /in the future/)
    await refuses(ask(sign(claimsFor(gate, { nbf: 'soon' }))), /not a number/)
  })

  test('iss and sub are the client, jti is there, and typ is that of no other token', async () => {
    await refuses(ask(sign(claimsFor(gate, { iss: 'other' }))), /no registered workload/)
    await refuses(ask(sign(claimsFor(gate, { sub: 'service' })), { client_id: 'robot' }), /sub is not the client/)
    await refuses(ask(sign(claimsFor(gate, { sub: 'nobody', iss: 'nobody' }))), /unknown client/)
    await refuses(ask(sign(claimsFor(gate, { sub: undefined }))), /names no client/)
    for (const jti of [undefined, '', 1]) await refuses(ask(sign(claimsFor(gate, { jti }))), /jti is missing/)
    for (const typ of ['at+jwt', 'logout+jwt', 'dpop+jwt'])
      await refuses(ask(sign(claimsFor(gate), { ...HEADER, typ })), /typ/)
  })

  test('an assertion of one client does not authenticate another', async () => {
    const other = ecPair()
    await gate.stores.clients.put({ ...ROBOT, client_id: 'other', jwks: { keys: [toJwk(other.publicKey)] } })
    await refuses(ask(sign(claimsFor(gate)), { client_id: 'other' }), /no registered workload/)
    await refuses(ask(sign(claimsFor(gate, { iss: 'other', sub: 'other' }), { alg: 'ES256' })), /signature is wrong/)
    await accepts(ask(sign(claimsFor(gate, { iss: 'other', sub: 'other' }), { alg: 'ES256' }, other)))
  })

  test('alg confusion: none, HMAC with the public key, a key of another type, crit', async () => {
    const claims = claimsFor(gate)
    await refuses(ask(`${encoded({ alg: 'none' })}.${encoded(claims)}.`), /alg is not accepted/)
    const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    await refuses(ask(signJwt({ alg: 'HS256', kid: 'rsa' }, pem, claims)), /alg is not accepted/)
    await refuses(ask(sign(claims, { alg: 'RS256', kid: 'ec' }, rsa)), /alg does not fit its key/)
    await refuses(ask(sign(claims, { ...HEADER, crit: ['b64'], b64: false })), /crit/)
    const stranger = ecPair()
    const embedded = { alg: 'ES256', jwk: toJwk(stranger.publicKey), jku: documents.origin }
    await refuses(ask(sign(claims, embedded, stranger)), /signature is wrong/)
    assert.deepEqual(documents.fetched, [])
    await refuses(ask('not.a.jwt', { client_id: 'robot' }), /not a JWT|no registered workload/)
  })

  test('token_endpoint_auth_signing_alg pins the algorithm', async () => {
    await gate.stores.clients.put({ ...ROBOT, client_id: 'pinned', token_endpoint_auth_signing_alg: 'PS256' })
    const claims = () => claimsFor(gate, { iss: 'pinned', sub: 'pinned' })
    await accepts(ask(sign(claims(), { alg: 'PS256', kid: 'rsa' }, rsa)))
    await refuses(ask(sign(claims(), { alg: 'RS256', kid: 'rsa' }, rsa)), /alg is not accepted/)
  })

  test('an assertion is one method of authentication, and its type is named', async () => {
    const assertion = sign(claimsFor(gate))
    const both = [
      gate.post('/connect/token', buildForm(assertion), { authorization: basic('service', SECRET) }),
      ask(assertion, { client_secret: SECRET }),
      ask(assertion, { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer' }),
    ]
    for (const { status, body } of await Promise.all(both))
      assert.deepEqual([status, body.error], [400, 'invalid_request'])
    // Nothing was spent.
    await accepts(ask(assertion))
  })

  test('a client with a secret is not authenticated by an assertion, nor the reverse', async () => {
    await refuses(ask(sign(claimsFor(gate, { iss: 'service', sub: 'service' }))), /method not registered/)
    await gate.stores.clients.addSecret('robot', SECRET)
    const authorization = basic('robot', SECRET)
    const answer = gate.post('/connect/token', { grant_type: 'client_credentials' }, { authorization })
    await refuses(answer, /method not registered/)
  })

  test('jwks_uri: keys are fetched, rotated, and a slow address delays no other client', async () => {
    const [first, second] = [ecPair(), ecPair()]
    documents.documents.set('/keys', { keys: [toJwk(first.publicKey, { kid: '1' })] })
    documents.documents.set('/slow', () => {})
    const { jwks, ...base } = ROBOT
    for (const path of ['keys', 'slow'])
      await gate.stores.clients.put({ ...base, client_id: path, jwks_uri: `${documents.origin}/${path}` })
    const by = (id: string, kid: string, pair: KeyPair) =>
      ask(sign(claimsFor(gate, { iss: id, sub: id }), { alg: 'ES256', kid }, pair))
    await accepts(by('keys', '1', first))
    assert.deepEqual(documents.fetched, ['/keys'])

    documents.documents.set('/keys', { keys: [toJwk(second.publicKey, { kid: '2' })] })
    await refuses(by('keys', '2', second), /key is unknown/)
    clock.advance(60_000)
    await accepts(by('keys', '2', second))
    await refuses(by('keys', '1', first), /key is unknown/)
    // A flood of key ids leads to no fetch within the minute.
    await Promise.all(Array.from({ length: 100 }, (_, at) => by('keys', `flood-${at}`, second)))
    assert.deepEqual(documents.fetched, ['/keys', '/keys'])

    const slow = refuses(by('slow', '1', first), /keys could not be fetched/)
    const began = performance.now()
    for (let at = 0; at < 20; at++) await accepts(ask(sign(claimsFor(gate))))
    await accepts(by('keys', '2', second))
    assert.ok(performance.now() - began < 3000, 'others are not delayed')
    documents.close()
    await slow
    clock.advance(3_600_000)
    await accepts(by('keys', '2', second))
  })

  test('the audit log says what was wrong', async () => {
    const log = gate.database.db.selectFrom('audit_log').selectAll().where('event', '=', 'client.refused')
    await until('the audit log has the reason', 1000, async () =>
      (await log.execute()).some(
        ({ details }) =>
          String(details).includes('"private_key_jwt"') && String(details).includes('aud is not this server alone'),
      ),
    )
  })
})

onSqlite('keys of clients at private addresses', (place) => {
  let gate: TestGate
  let documents: DocumentServer
  before(async () => {
    documents = await serveDocuments()
    gate = await startGate(place(), { clock })
  })
  after(async () => {
    await gate.stop()
    documents.close()
  })

  test('are not fetched without client_jwks_private', async () => {
    const { jwks, ...base } = ROBOT
    await gate.stores.clients.put({ ...base, jwks_uri: `${documents.origin}/keys` })
    const { status, body } = await gate.post('/connect/token', buildForm(sign(claimsFor(gate))))
    assert.deepEqual([status, body.error], [401, 'invalid_client'])
    assert.match(gate.server.log.join('\n'), /keys or metadata could not be fetched/)
    assert.deepEqual(documents.fetched, [])
  })
})

onEveryEngine('replayed assertions', (place) => {
  let gate: TestGate
  let other: TestServer
  before(async () => {
    gate = await startGate(place(), { clock })
    await gate.stores.clients.put(ROBOT)
    other = await startTestServer(place(), { clock, flags: { '--issuer': gate.server.issuer } })
  })
  after(async () => {
    await other.stop()
    await gate.stop()
  })

  test('RFC 7523 §3: one of 20 at once, on two nodes, is accepted, and none afterwards', async () => {
    const body = () => new URLSearchParams(buildForm(assertion))
    const assertion = sign(claimsFor(gate))
    const origins = [gate.server.issuer, `http://localhost:${other.port}`]
    const ask = (at: number) => fetch(`${origins[at % 2]}/connect/token`, { method: 'POST', body: body() })
    const statuses = await Promise.all(Array.from({ length: 20 }, async (_, at) => (await ask(at)).status))
    assert.equal(statuses.filter((status) => status === 200).length, 1, statuses.join())
    assert.equal(statuses.filter((status) => status === 401).length, 19)
    for (const at of [0, 1]) assert.equal((await ask(at)).status, 401)
    // The same jti of another client is another one.
    await gate.stores.clients.put({ ...ROBOT, client_id: 'twin' })
    const twin = sign({ ...decodeClaims(assertion), iss: 'twin', sub: 'twin' })
    assert.equal((await gate.post('/connect/token', buildForm(twin))).status, 200)
  })
})
