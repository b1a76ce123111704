/** FAPI 2.0 Message Signing: a client with the profile pushes a signed request and gets a signed response; each fault by its clause. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import type { ClientMetadata } from '../../packages/server/src/store/clients/client-metadata.ts'
import { createProofMaker } from '../support/dpop.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { ecPair, type JsonMembers, rsaPair, signJwt, toJwk } from '../support/foreign-issuer.ts'
import { decodeHeader } from '../support/identity.ts'
import { ALICE, newVerifier, openSignInPlace, readAnswer, type SignInPlace } from '../support/sign-in-place.ts'
import { visit } from '../support/visitor.ts'

const CALLBACK = 'https://bank.example.com/cb'
const [ec, rsa, foreign] = [ecPair(), rsaPair(), ecPair()]
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const BANK: ClientMetadata = {
  client_id: 'bank',
  profile: 'fapi2',
  token_endpoint_auth_method: 'private_key_jwt',
  redirect_uris: [CALLBACK],
  scope: 'openid Platform/Market',
  skip_consent: true,
  require_signed_request_object: true,
  jwks: { keys: [toJwk(ec.publicKey, { kid: 'ec' }), toJwk(rsa.publicKey, { kid: 'rsa' })] },
}
const PS256 = { alg: 'PS256', kid: 'rsa', typ: 'oauth-authz-req+jwt' }

onEveryEngineInLongRuns('FAPI 2.0 Message Signing', (at) => {
  let place: SignInPlace
  before(async () => {
    place = await openSignInPlace(at(), { clients: [BANK], flags: { '--signing-algs': 'RS256,ES256,PS256' } })
  })
  after(() => place.close())

  const now = () => Math.floor(place.clock() / 1000)
  const { verifier, challenge } = newVerifier()
  const requestClaims = (changes: JsonMembers = {}): JsonMembers => ({
    ...{ iss: 'bank', aud: place.server.issuer, client_id: 'bank', nbf: now(), exp: now() + 300 },
    ...{ response_type: 'code', redirect_uri: CALLBACK, scope: 'openid Platform/Market', state: 'st', nonce: 'no' },
    ...{ code_challenge: challenge, code_challenge_method: 'S256', response_mode: 'jwt', ...changes },
  })
  const sign = (claims: JsonMembers = requestClaims(), header: JsonMembers = PS256, { privateKey } = rsa) =>
    signJwt(header, privateKey, claims)

  /** A form of the client, with a new assertion. */
  async function post(path: string, form: Record<string, string>, headers: Record<string, string> = {}) {
    const { issuer } = place.server
    const claims = { iss: 'bank', sub: 'bank', aud: issuer, jti: randomUUID(), iat: now(), exp: now() + 60 }
    const client_assertion = signJwt({ alg: 'ES256', kid: 'ec' }, ec.privateKey, claims)
    const body = new URLSearchParams({ client_assertion_type: ASSERTION, client_assertion, ...form })
    const response = await fetch(issuer + path, { method: 'POST', body, headers })
    return { status: response.status, body: (await response.json()) as Record<string, string> }
  }
  const open = (uri: string) => {
    const query = new URLSearchParams({ client_id: 'bank', request_uri: uri })
    return new URL(`${place.server.issuer}/connect/authorize?${query}`)
  }

  test('§5.3, §5.4: a signed request is pushed, its signed response verified, and the code redeemed once, with a proof', async () => {
    const { issuer } = place.server
    const { status, body } = await post('/connect/par', { request: sign(), state: 'outer', scope: 'email' })
    assert.equal(status, 201, JSON.stringify(body))
    const agent = place.newAgent()
    const { end } = await visit(agent, await agent.get(open(body.request_uri ?? '')), ALICE)
    assert.ok(end.kind === 'left')
    assert.deepEqual([...end.url.searchParams.keys()], ['response'])
    const response = readAnswer(end).get('response') ?? ''
    assert.equal(decodeHeader(response).alg, 'ES256', 'the first algorithm of the profile in signing_algs')
    const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/openid-configuration/jwks`))
    const currentDate = new Date(place.clock())
    const { payload } = await jwtVerify(response, keys, { issuer, audience: 'bank', currentDate })
    assert.equal(payload.state, 'st', 'RFC 9101 §6.3: the parameter outside does not count')

    const maker = createProofMaker()
    const proof = () => maker.prove({ method: 'POST', url: `${issuer}/connect/token`, now: place.clock() })
    const code = { grant_type: 'authorization_code', code: String(payload.code), redirect_uri: CALLBACK }
    const redeem = () => post('/connect/token', { ...code, code_verifier: verifier }, { dpop: proof() })
    const tokens = await redeem()
    assert.equal(tokens.status, 200, JSON.stringify(tokens.body))
    assert.deepEqual([tokens.body.token_type, tokens.body.scope], ['DPoP', 'openid Platform/Market'])
    assert.equal(decodeHeader(tokens.body.id_token ?? '').alg, 'ES256')
    assert.equal((await redeem()).body.error, 'invalid_grant')
  })

  test('§5.3.1: a request object without its times, for another server or with another signature is not pushed', async () => {
    for (const [request, why] of [
      [sign(requestClaims({ nbf: undefined })), /nbf is missing/],
      [sign(requestClaims({ exp: undefined })), /exp is missing/],
      [sign(requestClaims({ nbf: now() - 3700 })), /more than an hour ago/],
      [sign(requestClaims({ exp: now() + 3700 })), /more than an hour after/],
      [sign(requestClaims({ exp: now() - 10, nbf: now() - 60 })), /expired/],
      [sign(requestClaims({ aud: undefined })), /aud/],
      [sign(requestClaims({ aud: 'https://else.example' })), /aud/],
      [sign(requestClaims({ client_id: 'other' })), /client_id/],
      [sign(requestClaims({ iss: 'other' })), /iss/],
      [sign(requestClaims(), { ...PS256, alg: 'RS256' }), /alg is not accepted/],
      [sign(requestClaims(), { alg: 'ES256', kid: 'ec' }, foreign), /signature is wrong/],
      [sign(requestClaims({ request: sign() })), /must not contain request/],
    ] as const) {
      const { status, body } = await post('/connect/par', { request })
      assert.deepEqual([status, body.error], [400, 'invalid_request_object'], String(why))
      assert.match(body.error_description ?? '', why)
    }
  })

  test('RFC 9101 §10.5: the same parameters without a signature are refused', async () => {
    const plain = Object.entries(requestClaims()).map(([name, value]) => [name, String(value)])
    const { status, body } = await post('/connect/par', Object.fromEntries(plain))
    assert.deepEqual([status, body.error], [400, 'invalid_request'])
    assert.match(body.error_description ?? '', /signed request object/)
  })

  test('RFC 7523 §3, RFC 8725 §3.11: a request object is no assertion, nor the reverse', async () => {
    const asAssertion = await post('/connect/par', { request: sign(), client_assertion: sign() })
    assert.equal(asAssertion.body.error, 'invalid_client')
    const claims = { iss: 'bank', sub: 'bank', aud: place.server.issuer, jti: 'x', nbf: now(), exp: now() + 60 }
    const asRequest = await post('/connect/par', { request: sign(claims, { alg: 'PS256', kid: 'rsa' }) })
    assert.equal(asRequest.body.error, 'invalid_request_object')
  })
})
