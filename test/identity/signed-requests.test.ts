/** Signed authorization requests (RFC 9101): whose keys and which algorithms are accepted, and which parameters count. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { ClientMetadata } from '../../packages/server/src/store/clients/client-metadata.ts'
import { onSqlite } from '../support/engines.ts'
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
import { startGate, type TestGate } from '../support/identity.ts'
import { createTestClock } from '../support/server.ts'

const clock = createTestClock()
const now = () => Math.floor(clock() / 1000)
const REDIRECT = 'https://desk.example/callback'
const [rsa, ec, ed, foreign] = [rsaPair(), ecPair(), generateKeyPairSync('ed25519'), ecPair()]

const DESK: ClientMetadata = {
  client_id: 'desk',
  redirect_uris: [REDIRECT],
  scope: 'openid',
  jwks: {
    keys: [
      toJwk(rsa.publicKey, { kid: 'rsa' }),
      toJwk(ec.publicKey, { kid: 'ec' }),
      toJwk(ed.publicKey, { kid: 'ed', alg: 'EdDSA' }),
    ],
  },
}
const STRICT: ClientMetadata = { ...DESK, client_id: 'strict', require_signed_request_object: true }

const ES256 = { alg: 'ES256', kid: 'ec' }

onSqlite('request objects', (place) => {
  let gate: TestGate
  let documents: DocumentServer
  before(async () => {
    documents = await serveDocuments()
    gate = await startGate(place(), { clock, flags: { '--client-jwks-private': 'true' } })
    for (const client of [DESK, STRICT]) await gate.stores.clients.put(client)
  })
  after(async () => {
    await gate.stop()
    documents.close()
  })

  /** Nobody is signed in: a request that is accepted is answered with login_required. */
  const decodeClaims = (client: string, changes: JsonMembers = {}): JsonMembers => ({
    ...{ iss: client, aud: gate.server.issuer, client_id: client, exp: now() + 60 },
    ...{ response_type: 'code', redirect_uri: REDIRECT, scope: 'openid', prompt: 'none', state: 'inner' },
    ...changes,
  })
  const sign = (claims: JsonMembers, header: JsonMembers = ES256, { privateKey }: KeyPair = ec) =>
    signJwt(header, privateKey, claims)

  async function ask(request: string | undefined, outer: Record<string, string> = {}) {
    const usual = { client_id: 'desk', response_type: 'code', redirect_uri: REDIRECT, scope: 'openid' }
    const query = new URLSearchParams({ ...usual, ...outer, ...(request !== undefined && { request }) })
    const answer = await gate.get(`/connect/authorize?${query}`)
    const location = answer.headers.get('location')
    const reply = location === null ? undefined : new URL(location).searchParams
    return { status: answer.status, error: reply?.get('error'), text: reply?.get('error_description'), reply }
  }
  const accepts = async (request: string, outer?: Record<string, string>) => {
    const { error, text, reply } = await ask(request, outer)
    assert.equal(error, 'login_required', text ?? '')
    assert.equal(reply?.get('state'), 'inner')
  }
  const refuses = async (request: string | undefined, why: RegExp, outer?: Record<string, string>) => {
    const { error, text } = await ask(request, outer)
    assert.match(error ?? '', /^invalid_request/, text ?? '')
    assert.match(text ?? '', why)
  }

  test('RFC 9101 §6.2: each algorithm is accepted, with the key that fits it', async () => {
    await accepts(sign(decodeClaims('desk'), { alg: 'RS256', kid: 'rsa' }, rsa))
    await accepts(sign(decodeClaims('desk'), { alg: 'PS256', kid: 'rsa', typ: 'oauth-authz-req+jwt' }, rsa))
    await accepts(sign(decodeClaims('desk'), { ...ES256, typ: 'JWT' }))
    await accepts(sign(decodeClaims('desk'), { alg: 'EdDSA', kid: 'ed' }, ed))
    await accepts(sign(decodeClaims('desk'), { alg: 'Ed25519', typ: 'application/oauth-authz-req+jwt' }, ed))
  })

  test('RFC 9101 §10.2: the algorithm is never none, HMAC, or that of another key', async () => {
    const claims = decodeClaims('desk')
    await refuses(`${encoded({ alg: 'none' })}.${encoded(claims)}.`, /alg is not accepted/)
    const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    await refuses(signJwt({ alg: 'HS256', kid: 'rsa' }, pem, claims), /alg is not accepted/)
    await refuses(sign(claims, { alg: 'RS256', kid: 'ec' }, rsa), /alg does not fit its key/)
    const [, body, signature] = sign(claims, { alg: 'PS256', kid: 'rsa' }, rsa).split('.')
    await refuses(`${encoded({ alg: 'RS256', kid: 'rsa' })}.${body}.${signature}`, /signature is wrong/)
    await refuses(sign(claims, { ...ES256, crit: ['b64'], b64: true }), /crit/)
    await refuses(sign(claims, { alg: 'ES256', jwk: toJwk(foreign.publicKey) }, foreign), /signature is wrong/)
    for (const typ of ['at+jwt', 'dpop+jwt', 'client-authentication+jwt', 1])
      await refuses(sign(claims, { ...ES256, typ }), /typ/)
  })

  test('OpenID Connect Registration §2: request_object_signing_alg pins the algorithm', async () => {
    await gate.stores.clients.put({ ...DESK, client_id: 'pinned', request_object_signing_alg: 'PS256' })
    const outer = { client_id: 'pinned' }
    await accepts(sign(decodeClaims('pinned'), { alg: 'PS256', kid: 'rsa' }, rsa), outer)
    await refuses(sign(decodeClaims('pinned'), { alg: 'RS256', kid: 'rsa' }, rsa), /alg is not accepted/, outer)
    await refuses(sign(decodeClaims('pinned')), /alg is not accepted/, outer)
  })

  test('RFC 9101 §6.2, §6.3: the key, iss and client_id are those of the client; aud and times fit', async () => {
    await gate.stores.clients.put({ ...DESK, client_id: 'other', jwks: { keys: [toJwk(foreign.publicKey)] } })
    await refuses(sign(decodeClaims('other')), /key is unknown/, { client_id: 'other' })
    await refuses(sign(decodeClaims('other', { iss: 'desk' })), /client_id/)
    await refuses(sign(decodeClaims('desk', { iss: 'other' })), /iss is not the client/)
    await accepts(sign(decodeClaims('desk', { aud: ['https://else.example', gate.server.issuer] })))
    for (const aud of ['https://else.example', [], [[gate.server.issuer]], null])
      await refuses(sign(decodeClaims('desk', { aud })), /aud is not this server/)
    await refuses(sign(decodeClaims('desk', { exp: now() - 60 })), /expired/)
    await refuses(sign(decodeClaims('desk', { nbf: now() + 62 })), /nbf is in the future/)
    for (const time of ['exp', 'nbf', 'iat'])
      await refuses(sign(decodeClaims('desk', { [time]: 'soon' })), /not a number/)
  })

  test('RFC 9101 §4: a request object holds no other one, and known parameters have their types', async () => {
    const nested = sign(decodeClaims('desk'))
    await refuses(sign(decodeClaims('desk', { request: nested })), /must not contain request/)
    await refuses(sign(decodeClaims('desk', { request_uri: 'urn:x' })), /must not contain request_uri/)
    for (const name of ['acr_values', 'dpop_jkt', 'nonce'])
      await refuses(sign(decodeClaims('desk', { [name]: ['x'] })), new RegExp(`${name} must be a string`))
    await refuses(sign(decodeClaims('desk', { resource: [1] })), /resource must be a string/)
    await refuses(sign(decodeClaims('desk', { dpop_jkt: 'short' })), /dpop_jkt/)
  })

  test('jwks_uri: a client that authenticates with a secret may publish its keys too', async () => {
    documents.documents.set('/keys', { keys: [toJwk(foreign.publicKey, { kid: 'f' })] })
    const { jwks, ...base } = DESK
    const published = { ...base, client_id: 'published', jwks_uri: `${documents.origin}/keys` }
    await gate.stores.clients.put(published)
    await gate.stores.clients.put({ ...published, client_id: 'broken', jwks_uri: `${documents.origin}/none` })
    const by = (id: string) => sign(decodeClaims(id), { alg: 'ES256', kid: 'f' }, foreign)
    await accepts(by('published'), { client_id: 'published' })
    await refuses(sign(decodeClaims('published')), /key is unknown/, { client_id: 'published' })
    await refuses(by('broken'), /could not be fetched/, { client_id: 'broken' })
  })

  test('RFC 9101 §10.5: require_signed_request_object refuses other requests', async () => {
    await refuses(undefined, /must send a signed request object/, { client_id: 'strict' })
    await refuses(`${encoded({ alg: 'none' })}.${encoded(decodeClaims('strict'))}.`, /alg is not accepted/, {
      client_id: 'strict',
    })
  })

  test('RFC 9101 §6.3: with it, only the parameters inside count, and client_id is one of them', async () => {
    const outer = { client_id: 'strict', state: 'outer', nonce: 'outer', response_type: 'token', prompt: 'login' }
    await accepts(sign(decodeClaims('strict')), outer)
    await refuses(sign(decodeClaims('strict', { client_id: undefined })), /client_id/, { client_id: 'strict' })
    const { status, reply } = await ask(sign(decodeClaims('strict', { redirect_uri: undefined })), {
      client_id: 'strict',
    })
    assert.deepEqual([status, reply], [400, undefined])
    const { text } = await ask(sign(decodeClaims('strict', { scope: undefined })), { client_id: 'strict' })
    assert.equal(text, 'scope is missing')
    // OpenID Connect Core §6.1: without it, parameters outside complete those inside.
    await accepts(sign(decodeClaims('desk', { scope: undefined })))
  })
})
