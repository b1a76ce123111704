/** Introspection responses as a JWT (RFC 9701). */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { basic, decodeClaims, decodeHeader, SECRET, startGate, type TestGate } from '../support/identity.ts'
import { createTestClock } from '../support/server.ts'

const JWT = 'application/token-introspection+jwt'
const clock = createTestClock()

onEveryEngineInLongRuns('introspection as a JWT', (place) => {
  let gate: TestGate
  before(async () => {
    gate = await startGate(place(), { clock, flags: { '--signing-algs': 'RS256,ES256' } })
    for (const alg of ['RS256', 'ES256'] as const) {
      const client_id = `api-${alg}`
      const registered = alg === 'RS256' ? {} : { introspection_signed_response_alg: alg }
      await gate.stores.clients.put({ client_id, grant_types: [], scope: 'Platform/News', ...registered })
      await gate.stores.clients.addSecret(client_id, SECRET)
    }
    await gate.stores.clients.put({ client_id: 'stranger', grant_types: [], scope: 'Identity/Admin' })
    await gate.stores.clients.addSecret('stranger', SECRET)
  })
  after(() => gate.stop())

  const introspect = (token: string, accept = JWT, client = 'api-ES256', secret = SECRET) =>
    gate.post('/connect/introspect', { token }, { accept, authorization: basic(client, secret) })

  test('RFC 9701 §5: the JWT has typ, iss, aud and iat, and beside them nothing but the JSON response', async () => {
    const { access_token } = await gate.signIn({ scope: 'openid Platform/News' })
    const keys = createRemoteJWKSet(new URL(`${gate.server.issuer}/.well-known/openid-configuration/jwks`))
    const plain = await introspect(access_token, 'application/json')
    assert.equal(plain.body.active, true)
    for (const alg of ['RS256', 'ES256']) {
      const answer = await introspect(access_token, JWT, `api-${alg}`)
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.headers.get('content-type'), JWT)
      assert.match(answer.headers.get('cache-control') ?? '', /no-store/)
      assert.equal(answer.headers.get('vary'), 'Accept')
      assert.equal(decodeHeader(answer.text).typ, 'token-introspection+jwt')
      const { payload } = await jwtVerify(answer.text, keys, { algorithms: [alg], audience: `api-${alg}` })
      assert.deepEqual(payload, {
        iss: gate.server.issuer,
        aud: `api-${alg}`,
        iat: Math.floor(clock() / 1000),
        token_introspection: plain.body,
      })
    }
  })

  test('RFC 9701 §5: a token that is unknown, revoked or for another audience is inactive, and no more is said', async () => {
    const { access_token, refresh_token } = await gate.signIn({ scope: 'openid offline_access Platform/News' })
    const said = async (token: string, client?: string) =>
      decodeClaims((await introspect(token, JWT, client)).text).token_introspection
    assert.deepEqual(await said('unknown'), { active: false })
    const other = await gate.signIn({ scope: 'Platform/News' })
    assert.deepEqual(await said(other.access_token, 'stranger'), { active: false })
    assert.deepEqual(await said(refresh_token), { active: false })
    await gate.post('/connect/revocation', { token: refresh_token, client_id: 'cli' })
    assert.deepEqual(await said(access_token), { active: false })
  })

  test('RFC 9701 §4, RFC 9110 §12.5.1: it is named in Accept and no less preferred than JSON', async () => {
    for (const [accept, expected] of [
      [`${JWT};q=0.5`, JWT],
      [`application/json, ${JWT}`, JWT],
      [`*/*, ${JWT}`, JWT],
      [`${JWT};q=0.9, */*;q=0.1`, JWT],
      ['APPLICATION/TOKEN-INTROSPECTION+JWT', JWT],
      [`application/json, ${JWT};q=0.9`, 'application/json'],
      [`*/*, ${JWT};q=0.9`, 'application/json'],
      [`${JWT};q=0`, 'application/json'],
      ['*/*', 'application/json'],
      ['application/jwt', 'application/json'],
    ] as const)
      assert.ok((await introspect('x', accept)).headers.get('content-type')?.startsWith(expected), accept)
  })

  test('RFC 7662 §2.3: errors are JSON', async () => {
    for (const [status, answer] of [
      [401, await introspect('x', JWT, 'api-ES256', 'wrong')],
      [400, await introspect('')],
    ] as const) {
      assert.equal(answer.status, status)
      assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
      assert.equal(typeof answer.body.error, 'string')
    }
  })

  test('RFC 9701 §8.1: the JWT is not an access token', async () => {
    const { access_token } = await gate.signIn()
    const { text } = await introspect(access_token)
    assert.equal((await gate.userinfo(text)).status, 401)
    assert.deepEqual((await introspect(text, '*/*')).body, { active: false })
  })

  test('oauth4webapi: the response is accepted, and not for another client or algorithm', async () => {
    const { access_token } = await gate.signIn()
    const found = await gate.get('/.well-known/oauth-authorization-server')
    assert.deepEqual(found.body.introspection_signing_alg_values_supported, ['RS256', 'ES256'])
    const server = found.body as unknown as oauth.AuthorizationServer
    const insecure = { [oauth.allowInsecureRequests]: true }
    const api = { client_id: 'api-ES256', introspection_signed_response_alg: 'ES256' }
    const ask = () =>
      oauth.introspectionRequest(server, api, oauth.ClientSecretBasic(SECRET), access_token, {
        ...insecure,
        requestJwtResponse: true,
      })
    const read = async (by: oauth.Client) => {
      const response = await ask()
      const answer = await oauth.processIntrospectionResponse(server, by, response)
      await oauth.validateApplicationLevelSignature(server, response, insecure)
      return answer
    }
    assert.equal((await read(api)).active, true)
    await assert.rejects(read({ ...api, client_id: 'api-RS256' }), /"aud"/)
    await assert.rejects(read({ ...api, introspection_signed_response_alg: 'RS256' }), /"alg"/)
  })
})
