/** Clients with the FAPI 2.0 Security Profile by `oauth4webapi` and `openid-client`: pushed requests, assertions, DPoP, refresh. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import {
  ASSERTION_ALGS,
  assertionKey,
  CALLBACK,
  followAsAlice,
  keyClient,
  type OpenGatehouse,
  openGatehouse,
} from './gatehouse.ts'

const insecure = { [oauth.allowInsecureRequests]: true }
const bank: typeof keyClient = {
  ...keyClient,
  client_id: 'bank',
  profile: 'fapi2',
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  scope: 'openid offline_access Platform/Market',
}
const SCOPE = 'openid offline_access Platform/Market'

/** With `all` every proof needs a nonce, so that each request is repeated once, with the same assertion at the token endpoint. */
for (const nonce of ['public', 'all'])
  describe(`a client with the FAPI 2.0 Security Profile, where dpop_nonce is ${nonce}`, () => {
    let gatehouse: OpenGatehouse
    before(async () => {
      const flags = { '--signing-algs': 'RS256,PS256', '--discovery': 'complete', '--dpop-nonce': nonce }
      gatehouse = await openGatehouse([bank], { flags })
    })
    after(() => gatehouse.close())

    test('oauth4webapi', async () => {
      const issuer = new URL(gatehouse.issuer)
      const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure))
      const own: oauth.Client = { client_id: 'bank', id_token_signed_response_alg: 'PS256' }
      for (const alg of ASSERTION_ALGS) {
        // The audience of the library is the issuer as a text.
        const authentication = oauth.PrivateKeyJwt(assertionKey(alg))
        const DPoP = oauth.DPoP(own, await oauth.generateKeyPair('ES256'))
        const options = { ...insecure, DPoP }
        /** The library keeps the nonce of a refusal; the caller repeats the request. */
        const twice = async <T>(request: () => Promise<T>): Promise<T> => {
          try {
            return await request()
          } catch (error) {
            if (!oauth.isDPoPNonceError(error)) throw error
            return request()
          }
        }
        const verifier = oauth.generateRandomCodeVerifier()
        const parameters = new URLSearchParams({
          client_id: 'bank',
          redirect_uri: CALLBACK,
          response_type: 'code',
          scope: SCOPE,
          code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        })
        const { request_uri } = await twice(async () =>
          oauth.processPushedAuthorizationResponse(
            ...([server, own] as const),
            await oauth.pushedAuthorizationRequest(server, own, authentication, parameters, options),
          ),
        )
        const start = new URL(server.authorization_endpoint ?? '')
        start.search = new URLSearchParams({ client_id: 'bank', request_uri }).toString()
        const { url } = await followAsAlice(gatehouse, start)
        const answer = oauth.validateAuthResponse(server, own, url, oauth.expectNoState)
        const tokens = await twice(async () =>
          oauth.processAuthorizationCodeResponse(
            ...([server, own] as const),
            await oauth.authorizationCodeGrantRequest(
              ...([server, own, authentication, answer, CALLBACK, verifier, options] as const),
            ),
            { requireIdToken: true },
          ),
        )
        assert.equal(tokens.token_type, 'dpop')
        const refresh = tokens.refresh_token ?? ''
        const renewed = await twice(async () =>
          oauth.processRefreshTokenResponse(
            ...([server, own] as const),
            await oauth.refreshTokenGrantRequest(server, own, authentication, refresh, options),
          ),
        )
        assert.equal(renewed.refresh_token, refresh)
        const userinfo = await twice(async () =>
          oauth.processUserInfoResponse(
            ...([server, own, oauth.skipSubjectCheck] as const),
            await oauth.userInfoRequest(server, own, renewed.access_token, options),
          ),
        )
        assert.ok(userinfo.sub)
      }
    })

    test('openid-client', async () => {
      const config = await client.discovery(
        ...([new URL(gatehouse.issuer), 'bank', { id_token_signed_response_alg: 'PS256' }] as const),
        client.PrivateKeyJwt(assertionKey('ES256')),
        { execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks] },
      )
      const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'))
      const verifier = client.randomPKCECodeVerifier()
      const [state, nonce] = [client.randomState(), client.randomNonce()]
      const start = await client.buildAuthorizationUrlWithPAR(
        config,
        {
          redirect_uri: CALLBACK,
          scope: SCOPE,
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          state,
          nonce,
        },
        { DPoP },
      )
      assert.deepEqual([...start.searchParams.keys()].sort(), ['client_id', 'request_uri'])
      const { url } = await followAsAlice(gatehouse, start)
      const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true }
      const tokens = await client.authorizationCodeGrant(config, url, checks, undefined, { DPoP })
      assert.equal(tokens.token_type, 'dpop')
      const { refresh_token = '' } = tokens
      const renewed = await client.refreshTokenGrant(config, refresh_token, undefined, { DPoP })
      assert.equal(renewed.refresh_token, refresh_token)
      await client.fetchUserInfo(config, renewed.access_token, tokens.claims()?.sub ?? '', { DPoP })
      const robot = await client.clientCredentialsGrant(config, { scope: 'Platform/Market' }, { DPoP })
      assert.equal(robot.token_type, 'dpop')
    })
  })
