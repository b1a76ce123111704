/** npm `oauth4webapi`, a client library that checks responses strictly. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import * as oauth from 'oauth4webapi'
import {
  ASSERTION_ALGS,
  approveDevice,
  assertionKey,
  CALLBACK,
  deviceClient,
  followAsAlice,
  keyClient,
  type OpenGatehouse,
  openGatehouse,
  SECRET,
  webClient,
} from './gatehouse.ts'

const insecure = { [oauth.allowInsecureRequests]: true }
const web: oauth.Client = { client_id: 'web' }
const basic = oauth.ClientSecretBasic(SECRET)

const ORDERS = 'https://orders.example'
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const shop = { ...webClient, client_id: 'shop', scope: 'orders:read' }
const spaClient: typeof webClient = {
  client_id: 'spa',
  token_endpoint_auth_method: 'none',
  redirect_uris: [CALLBACK],
  grant_types: ['authorization_code', 'refresh_token'],
  scope: 'openid offline_access',
}
const orders: typeof webClient = {
  client_id: 'orders',
  client_secret: SECRET,
  grant_types: [EXCHANGE],
  response_types: [],
  api: ORDERS,
  exchange_scope: 'Platform/Market',
}

describe('oauth4webapi', () => {
  let gatehouse: OpenGatehouse
  let server: oauth.AuthorizationServer
  before(async () => {
    const apis = [{ resource: ORDERS, scopes: [{ name: 'orders:read' }] }]
    gatehouse = await openGatehouse([webClient, deviceClient, keyClient, spaClient, shop, orders], { apis })
    const issuer = new URL(gatehouse.issuer)
    server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure))
  })
  after(() => gatehouse.close())

  async function authorize(parameters: Record<string, string>): Promise<URL> {
    const start = new URL(server.authorization_endpoint ?? '')
    start.search = new URLSearchParams({ client_id: 'web', redirect_uri: CALLBACK, ...parameters }).toString()
    return (await followAsAlice(gatehouse, start)).url
  }

  test('RFC 8414 discovery returns the same document, with every method of client authentication', async () => {
    const issuer = new URL(gatehouse.issuer)
    const response = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' })
    const methods = [...(server.token_endpoint_auth_methods_supported ?? []), 'private_key_jwt']
    const algs = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']
    assert.deepEqual(await oauth.processDiscoveryResponse(issuer, response), {
      ...server,
      grant_types_supported: [...(server.grant_types_supported ?? []), EXCHANGE],
      scopes_supported: [...(server.scopes_supported ?? []), 'orders:read'],
      protected_resources: [issuer.origin, `${issuer.origin}/query`, `${issuer.origin}/Platform`, ORDERS],
      token_endpoint_auth_methods_supported: [...methods, 'none'],
      revocation_endpoint_auth_methods_supported: [...methods, 'none'],
      introspection_endpoint_auth_methods_supported: methods,
      token_endpoint_auth_signing_alg_values_supported: algs,
      revocation_endpoint_auth_signing_alg_values_supported: algs,
      introspection_endpoint_auth_signing_alg_values_supported: algs,
      dpop_signing_alg_values_supported: ['ES256', 'PS256', 'Ed25519', 'EdDSA'],
      pushed_authorization_request_endpoint: `${issuer.origin}/connect/par`,
      require_pushed_authorization_requests: false,
      request_object_signing_alg_values_supported: algs,
      response_modes_supported: ['query', 'fragment', 'form_post', 'jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt'],
      authorization_signing_alg_values_supported: ['RS256'],
      introspection_signing_alg_values_supported: ['RS256'],
    })
  })

  test('DPoP: a code that is bound to a key, and a token for userinfo', async () => {
    for (const alg of ['ES256', 'PS256', 'Ed25519']) {
      const DPoP = oauth.DPoP(web, await oauth.generateKeyPair(alg))
      const options = { ...insecure, DPoP }
      const verifier = oauth.generateRandomCodeVerifier()
      const code_challenge = await oauth.calculatePKCECodeChallenge(verifier)
      const ask = (more: Record<string, string>) =>
        authorize({ response_type: 'code', scope: 'openid', code_challenge, code_challenge_method: 'S256', ...more })
      const url = await ask({ dpop_jkt: await DPoP.calculateThumbprint() })
      const answer = oauth.validateAuthResponse(server, web, url, oauth.skipStateCheck)
      const response = await oauth.authorizationCodeGrantRequest(
        ...([server, web, basic, answer, CALLBACK, verifier, options] as const),
      )
      const tokens = await oauth.processAuthorizationCodeResponse(server, web, response)
      assert.equal(tokens.token_type, 'dpop')
      const userinfo = await oauth.userInfoRequest(server, web, tokens.access_token, options)
      await oauth.processUserInfoResponse(server, web, oauth.skipSubjectCheck, userinfo)
      const stolen = oauth.validateAuthResponse(
        ...([server, web, await ask({ dpop_jkt: 'a'.repeat(43) }), oauth.skipStateCheck] as const),
      )
      const refused = await oauth.authorizationCodeGrantRequest(
        ...([server, web, basic, stolen, CALLBACK, verifier, options] as const),
      )
      assert.partialDeepStrictEqual(await refused.json(), { error: 'invalid_grant' })
    }
  })

  test('DPoP: a request that was asked for a nonce can be repeated with the same code', async () => {
    const spa: oauth.Client = { client_id: 'spa' }
    const DPoP = oauth.DPoP(spa, await oauth.generateKeyPair('ES256'))
    const verifier = oauth.generateRandomCodeVerifier()
    const url = await authorize({
      client_id: 'spa',
      response_type: 'code',
      scope: 'openid offline_access',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const answer = oauth.validateAuthResponse(server, spa, url, oauth.skipStateCheck)
    const redeem = async () =>
      oauth.processAuthorizationCodeResponse(
        ...([server, spa] as const),
        await oauth.authorizationCodeGrantRequest(
          ...([server, spa, oauth.None(), answer, CALLBACK, verifier, { ...insecure, DPoP }] as const),
        ),
      )
    await assert.rejects(redeem, oauth.isDPoPNonceError)
    const tokens = await redeem()
    const refreshed = await oauth.refreshTokenGrantRequest(
      ...([server, spa, oauth.None(), tokens.refresh_token ?? '', { ...insecure, DPoP }] as const),
    )
    assert.equal((await oauth.processRefreshTokenResponse(server, spa, refreshed)).token_type, 'dpop')
  })

  test('code flow with PKCE and a check of the ID token signature', async () => {
    const verifier = oauth.generateRandomCodeVerifier()
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
    const url = await authorize({
      response_type: 'code',
      scope: 'openid email',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    })
    const answer = oauth.validateAuthResponse(server, web, url, state)
    const response = await oauth.authorizationCodeGrantRequest(server, web, basic, answer, CALLBACK, verifier, insecure)
    const tokens = await oauth.processAuthorizationCodeResponse(server, web, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    })
    await oauth.validateApplicationLevelSignature(server, response, insecure)
    const sub = oauth.getValidatedIdTokenClaims(tokens)?.sub ?? ''
    const userinfo = await oauth.userInfoRequest(server, web, tokens.access_token, insecure)
    assert.equal((await oauth.processUserInfoResponse(server, web, sub, userinfo)).email, 'alice@example.com')
  })

  test('hybrid flow with code and ID token', async () => {
    const verifier = oauth.generateRandomCodeVerifier()
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
    const url = await authorize({
      response_type: 'code id_token',
      scope: 'openid',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    })
    const answer = await oauth.validateCodeIdTokenResponse(server, web, url, nonce, state, undefined, insecure)
    const response = await oauth.authorizationCodeGrantRequest(server, web, basic, answer, CALLBACK, verifier, insecure)
    const expected = { expectedNonce: nonce, requireIdToken: true }
    assert.ok((await oauth.processAuthorizationCodeResponse(server, web, response, expected)).access_token)
  })

  test('an error response is recognised, and its iss checked', async () => {
    const state = oauth.generateRandomState()
    const start = new URL(server.authorization_endpoint ?? '')
    start.search = new URLSearchParams({
      client_id: 'web',
      redirect_uri: CALLBACK,
      response_type: 'code',
      scope: 'openid',
      prompt: 'none',
      state,
    }).toString()
    const { url } = await followAsAlice(gatehouse, start)
    assert.throws(() => oauth.validateAuthResponse(server, web, url, state), { error: 'login_required' })
  })

  test('client credentials, introspection, revocation, and a JWT access token by RFC 9068', async () => {
    const parameters = new URLSearchParams({ scope: 'Platform/Market' })
    const granted = await oauth.clientCredentialsGrantRequest(server, web, basic, parameters, insecure)
    const tokens = await oauth.processClientCredentialsResponse(server, web, granted)
    const request = new Request('https://api.example.com/', {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    })
    const claims = await oauth.validateJwtAccessToken(server, request, 'platform', insecure)
    assert.equal(claims.scope, 'Platform/Market')
    const introspect = async () =>
      oauth.processIntrospectionResponse(
        server,
        web,
        await oauth.introspectionRequest(server, web, basic, tokens.access_token, insecure),
      )
    assert.equal((await introspect()).active, true)
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(server, web, basic, tokens.access_token, insecure),
    )
    assert.equal((await introspect()).active, false)
  })

  for (const alg of ASSERTION_ALGS)
    test(`private_key_jwt with ${alg}: token, introspection, revocation, device authorization`, async () => {
      const robot: oauth.Client = { client_id: 'keys' }
      const keys = oauth.PrivateKeyJwt(assertionKey(alg))
      const parameters = new URLSearchParams({ scope: 'Platform/Market' })
      const granted = await oauth.clientCredentialsGrantRequest(server, robot, keys, parameters, insecure)
      const { access_token: token } = await oauth.processClientCredentialsResponse(server, robot, granted)
      const introspect = async () => {
        const asked = await oauth.introspectionRequest(server, robot, keys, token, insecure)
        return oauth.processIntrospectionResponse(server, robot, asked)
      }
      assert.equal((await introspect()).active, true)
      await oauth.processRevocationResponse(await oauth.revocationRequest(server, robot, keys, token, insecure))
      assert.equal((await introspect()).active, false)
      const device = await oauth.deviceAuthorizationRequest(server, robot, keys, new URLSearchParams(), insecure)
      assert.ok((await oauth.processDeviceAuthorizationResponse(server, robot, device)).user_code)
    })

  test('RFC 8693: an API exchanges the token of its caller', async () => {
    const verifier = oauth.generateRandomCodeVerifier()
    const url = await authorize({
      client_id: 'shop',
      response_type: 'code',
      scope: 'orders:read',
      resource: ORDERS,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const answer = oauth.validateAuthResponse(server, { client_id: 'shop' }, url)
    const caller: oauth.Client = { client_id: 'shop' }
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      caller,
      basic,
      answer,
      CALLBACK,
      verifier,
      insecure,
    )
    const tokens = await oauth.processAuthorizationCodeResponse(server, caller, response)
    const api: oauth.Client = { client_id: 'orders' }
    const parameters = {
      subject_token: tokens.access_token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      resource: `${gatehouse.issuer}/query`,
    }
    const asked = await oauth.genericTokenEndpointRequest(server, api, basic, EXCHANGE, parameters, insecure)
    const exchanged = await oauth.processGenericTokenEndpointResponse(server, api, asked)
    const authorization = `Bearer ${exchanged.access_token}`
    const call = new Request('https://api.example.com/', { headers: { authorization } })
    const claims = await oauth.validateJwtAccessToken(server, call, 'platform', insecure)
    assert.deepEqual([claims.scope, claims.act], ['Platform/Market', { sub: 'orders' }])
  })

  test('device flow and refresh', async () => {
    const device: oauth.Client = { client_id: 'device' }
    const none = oauth.None()
    const parameters = new URLSearchParams({ scope: 'openid offline_access' })
    const asked = await oauth.deviceAuthorizationRequest(server, device, none, parameters, insecure)
    const started = await oauth.processDeviceAuthorizationResponse(server, device, asked)
    const poll = async () =>
      oauth.processDeviceCodeResponse(
        server,
        device,
        await oauth.deviceCodeGrantRequest(server, device, none, started.device_code, insecure),
      )
    await assert.rejects(poll(), { error: 'authorization_pending' })
    await approveDevice(gatehouse, started.verification_uri, started.user_code)
    await gatehouse.elapse(10_000)
    const tokens = await poll()
    const refreshed = await oauth.refreshTokenGrantRequest(server, device, none, tokens.refresh_token ?? '', insecure)
    assert.ok((await oauth.processRefreshTokenResponse(server, device, refreshed)).refresh_token)
  })
})
