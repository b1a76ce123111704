/** Client assertions (RFC 7523): private_key_jwt, and tokens of workloads. */
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
  jwkOf,
  type KeyPair,
  rsaPair,
  serveDocuments,
  signJwt,
} from '../support/foreign-issuer.ts'
import { type Answer, basic, claimsOf, DEVICE_GRANT, SECRET, startGate, type TestGate } from '../support/identity.ts'
import { createTestClock, startTestServer, type TestServer } from '../support/server.ts'

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
      jwkOf(ec.publicKey, { kid: 'ec' }),
      jwkOf(rsa.publicKey, { kid: 'rsa' }),
      jwkOf(ed.publicKey, { kid: 'ed', alg: 'EdDSA' }),
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
const formOf = (assertion: string, form: Record<string, string> = {}) => ({
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
    gate.post('/connect/token', formOf(assertion, form))
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
    assert.equal(claimsOf(String(body.access_token)).sub, 'robot')
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

  test('exp is at most an hour ahead, iat and nbf at most 15 seconds', async () => {
    await accepts(ask(sign(claimsFor(gate, { exp: now() + 3600 }))))
    await accepts(ask(sign(claimsFor(gate, { iat: now() + 15, nbf: now() + 15 }))))
    await accepts(ask(sign(claimsFor(gate, { iat: undefined }))))
    await refuses(ask(sign(claimsFor(gate, { exp: now() + 3602 }))), /more than an hour/)
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
    await gate.stores.clients.put({ ...ROBOT, client_id: 'other', jwks: { keys: [jwkOf(other.publicKey)] } })
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
    const embedded = { alg: 'ES256', jwk: jwkOf(stranger.publicKey), jku: documents.origin }
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
      gate.post('/connect/token', formOf(assertion), { authorization: basic('service', SECRET) }),
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
    documents.documents.set('/keys', { keys: [jwkOf(first.publicKey, { kid: '1' })] })
    documents.documents.set('/slow', () => {})
    const { jwks, ...base } = ROBOT
    for (const path of ['keys', 'slow'])
      await gate.stores.clients.put({ ...base, client_id: path, jwks_uri: `${documents.origin}/${path}` })
    const by = (id: string, kid: string, pair: KeyPair) =>
      ask(sign(claimsFor(gate, { iss: id, sub: id }), { alg: 'ES256', kid }, pair))
    await accepts(by('keys', '1', first))
    assert.deepEqual(documents.fetched, ['/keys'])

    documents.documents.set('/keys', { keys: [jwkOf(second.publicKey, { kid: '2' })] })
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
    const rows = await gate.database.db
      .selectFrom('audit_log')
      .selectAll()
      .where('event', '=', 'client.refused')
      .execute()
    const details = rows.map((row) => String(row.details))
    assert.ok(
      details.some((text) => text.includes('"private_key_jwt"') && text.includes('aud is not this server alone')),
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
    const { status, body } = await gate.post('/connect/token', formOf(sign(claimsFor(gate))))
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
    const body = () => new URLSearchParams(formOf(assertion))
    const assertion = sign(claimsFor(gate))
    const origins = [gate.server.issuer, `http://localhost:${other.port}`]
    const ask = (at: number) => fetch(`${origins[at % 2]}/connect/token`, { method: 'POST', body: body() })
    const statuses = await Promise.all(Array.from({ length: 20 }, async (_, at) => (await ask(at)).status))
    assert.equal(statuses.filter((status) => status === 200).length, 1, statuses.join())
    assert.equal(statuses.filter((status) => status === 401).length, 19)
    for (const at of [0, 1]) assert.equal((await ask(at)).status, 401)
    // The same jti of another client is another one.
    await gate.stores.clients.put({ ...ROBOT, client_id: 'twin' })
    const twin = sign({ ...claimsOf(assertion), iss: 'twin', sub: 'twin' })
    assert.equal((await gate.post('/connect/token', formOf(twin))).status, 200)
  })
})

onSqlite('workloads', (place) => {
  const kubernetes = { subject: 'system:serviceaccount:trading:pricer', pair: rsaPair() }
  const github = { subject: 'repo:example/pricer:ref:refs/heads/main', pair: rsaPair() }
  const inline = { issuer: 'urn:cluster:edge', subject: 'node-7', pair: ecPair() }
  let gate: TestGate
  let documents: DocumentServer
  before(async () => {
    documents = await serveDocuments()
    for (const [name, { pair }] of Object.entries({ kubernetes, github })) {
      const issuer = `${documents.origin}/${name}`
      documents.documents.set(`/${name}/.well-known/openid-configuration`, { issuer, jwks_uri: `${issuer}/jwks` })
      documents.documents.set(`/${name}/jwks`, {
        keys: [jwkOf(pair.publicKey, { kid: name, alg: 'RS256', use: 'sig' })],
      })
    }
    const issuer = `${documents.origin}/liar`
    documents.documents.set('/liar/.well-known/openid-configuration', {
      issuer: `${documents.origin}/kubernetes`,
      jwks_uri: `${documents.origin}/kubernetes/jwks`,
    })
    gate = await startGate(place(), { clock, flags: { '--client-jwks-private': 'true' } })
    const federated = [
      { issuer: `${documents.origin}/kubernetes`, subject: kubernetes.subject },
      { issuer: `${documents.origin}/github`, subject: github.subject },
      {
        issuer: inline.issuer,
        subject: inline.subject,
        jwks: { keys: [jwkOf(inline.pair.publicKey, { kid: 'edge' })] },
      },
      { issuer, subject: 'x' },
    ]
    const base = { grant_types: ['client_credentials'], scope: 'Platform/Market' }
    await gate.stores.clients.put({
      ...base,
      client_id: 'pricer',
      token_endpoint_auth_method: 'private_key_jwt',
      federated,
    })
    await gate.stores.clients.put({ ...base, client_id: 'both', federated })
    await gate.stores.clients.addSecret('both', SECRET)
  })
  after(async () => {
    await gate.stop()
    documents.close()
  })

  /** A projected service account token: no typ, an array as the audience. */
  const kubernetesToken = (changes: JsonMembers = {}, pair = kubernetes.pair) =>
    signJwt({ alg: 'RS256', kid: 'kubernetes' }, pair.privateKey, {
      iss: `${documents.origin}/kubernetes`,
      sub: kubernetes.subject,
      aud: [gate.server.issuer],
      iat: now(),
      nbf: now(),
      exp: now() + 3600,
      jti: 'd5a7a1a6-2bd4-4f5e-9a1e-2f6a0d3c9a11',
      'kubernetes.io': { namespace: 'trading', serviceaccount: { name: 'pricer', uid: '7b1c' } },
      ...changes,
    })
  const githubToken = () =>
    signJwt({ alg: 'RS256', kid: 'github', typ: 'JWT', x5t: 'github' }, github.pair.privateKey, {
      iss: `${documents.origin}/github`,
      sub: github.subject,
      aud: gate.server.issuer,
      iat: now(),
      nbf: now() - 300,
      exp: now() + 300,
      jti: randomUUID(),
      repository: 'example/pricer',
      ref: 'refs/heads/main',
    })
  const ask = (token: string, form: Record<string, string> = { client_id: 'pricer' }) =>
    gate.post('/connect/token', formOf(token, form))
  const statusOf = async (token: string, form?: Record<string, string>) => (await ask(token, form)).status
  const faultOf = async (token: string, form?: Record<string, string>) => {
    const before = gate.server.log.length
    assert.equal(await statusOf(token, form), 401)
    const [, fault] = /client authentication by \w+: ([^"]*)/.exec(gate.server.log.slice(before).join()) ?? []
    return fault
  }

  test('a service account of Kubernetes authenticates with one token until it expires', async () => {
    const token = kubernetesToken()
    for (let at = 0; at < 3; at++) {
      const { status, text, body } = await ask(token)
      assert.equal(status, 200, text)
      assert.equal(claimsOf(String(body.access_token)).client_id, 'pricer')
    }
    assert.deepEqual(documents.fetched, ['/kubernetes/.well-known/openid-configuration', '/kubernetes/jwks'])
    clock.advance(3_600_000)
    assert.equal(await faultOf(token), 'it has expired')
  })

  test('a CI job authenticates, and one with keys in the registration', async () => {
    assert.equal(await statusOf(githubToken()), 200)
    const claims = { iss: inline.issuer, sub: inline.subject, aud: gate.server.issuer, iat: now(), exp: now() + 60 }
    assert.equal(await statusOf(signJwt({ alg: 'ES256', kid: 'edge' }, inline.pair.privateKey, claims)), 200)
  })

  test('a client may have a secret besides', async () => {
    assert.equal(await statusOf(githubToken(), { client_id: 'both' }), 200)
    const authorization = basic('both', SECRET)
    const answer = await gate.post('/connect/token', { grant_type: 'client_credentials' }, { authorization })
    assert.equal(answer.status, 200)
  })

  test('the subject is exact, and client_id is needed', async () => {
    assert.match((await faultOf(kubernetesToken({ sub: `${kubernetes.subject}2` }))) ?? '', /no registered workload/)
    assert.match((await faultOf(kubernetesToken({ sub: kubernetes.subject.toUpperCase() }))) ?? '', /no registered/)
    assert.match((await faultOf(kubernetesToken({ sub: [kubernetes.subject] }))) ?? '', /no registered workload/)
    assert.match((await faultOf(kubernetesToken({ iss: `${documents.origin}/github` }))) ?? '', /no registered/)
    assert.match((await faultOf(kubernetesToken({ iss: `${documents.origin}/kubernetes/` }))) ?? '', /no registered/)
    assert.equal(await faultOf(kubernetesToken(), {}), 'unknown client')
    assert.match((await faultOf(kubernetesToken(), { client_id: 'service' })) ?? '', /no registered workload/)
  })

  test('the audience is the issuer alone, for at most an hour', async () => {
    const { issuer } = gate.server
    for (const aud of [[issuer, 'https://kubernetes.default.svc'], `${issuer}/connect/token`, undefined, []])
      assert.equal(await faultOf(kubernetesToken({ aud })), 'aud is not this issuer alone')
    for (const changes of [{ exp: now() + 3601 }, { iat: undefined }, { iat: now() - 7200, exp: now() + 60 }])
      assert.equal(await faultOf(kubernetesToken(changes)), 'it is valid for more than an hour')
    assert.equal(await faultOf(kubernetesToken({ iat: now() + 60 })), 'iat or nbf is in the future')
  })

  test('a key of another issuer, and metadata that name another issuer, are refused', async () => {
    assert.equal(await faultOf(kubernetesToken({}, github.pair)), 'its signature is wrong')
    const token = kubernetesToken({ iss: `${documents.origin}/liar`, sub: 'x' })
    assert.equal(await faultOf(token), 'the metadata of its issuer name another one')
  })
})
