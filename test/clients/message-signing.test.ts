/** FAPI 2.0 Message Signing by `openid-client` and `oauth4webapi`: request objects, JARM, introspection as a JWT, DPoP with nonces. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { ALGS, type Alg, openFapi2, privateKey, registeredAlgs, SCOPE, signingId } from './fapi2.ts'
import { CALLBACK, followAsAlice, type OpenGatehouse } from './gatehouse.ts'

const insecure = { [oauth.allowInsecureRequests]: true }
const QUERY = 'select name from cataloguetables limit 1'

describe('FAPI 2.0 Message Signing', () => {
  let gatehouse: OpenGatehouse
  before(async () => {
    gatehouse = await openFapi2('all')
  })
  after(() => gatehouse.close())

  const queryUrl = () => new URL(`${gatehouse.issuer}/query?statement=1`)
  const headers = new Headers({ 'content-type': 'text/plain; charset=utf-8' })

  async function signInWithOpenidClient(alg: Alg) {
    const authentication = client.PrivateKeyJwt(privateKey(alg))
    const config = await client.discovery(
      ...([new URL(gatehouse.issuer), signingId(alg), registeredAlgs(alg), authentication] as const),
      {
        algorithm: 'oauth2',
        execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks, client.useJwtResponseMode],
      },
    )
    const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair(alg))
    const pkceCodeVerifier = client.randomPKCECodeVerifier()
    const [expectedState, expectedNonce] = [client.randomState(), client.randomNonce()]
    const parameters = {
      redirect_uri: CALLBACK,
      scope: SCOPE,
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      state: expectedState,
      nonce: expectedNonce,
    }
    const { searchParams } = await client.buildAuthorizationUrlWithJAR(config, parameters, privateKey(alg))
    const start = await client.buildAuthorizationUrlWithPAR(config, searchParams, { DPoP })
    assert.deepEqual([...start.searchParams.keys()].sort(), ['client_id', 'request_uri'])
    const { url } = await followAsAlice(gatehouse, start)
    assert.deepEqual([...url.searchParams.keys()], ['response'])
    const checks = { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true }
    const tokens = await client.authorizationCodeGrant(config, url, checks, undefined, { DPoP })
    return { config, DPoP, tokens }
  }

  for (const alg of ALGS)
    test(`openid-client, ${alg}: code flow, query, userinfo, refresh by another key`, async () => {
      const { config, DPoP, tokens } = await signInWithOpenidClient(alg)
      assert.equal(tokens.token_type, 'dpop')
      const call = (token: string, proof: client.DPoPHandle) =>
        client.fetchProtectedResource(config, token, queryUrl(), 'POST', QUERY, headers, { DPoP: proof })
      assert.equal((await call(tokens.access_token, DPoP)).status, 200)
      const sub = tokens.claims()?.sub ?? ''
      assert.equal((await client.fetchUserInfo(config, tokens.access_token, sub, { DPoP })).sub, sub)
      const other = client.getDPoPHandle(config, await client.randomDPoPKeyPair(alg))
      const { refresh_token = '' } = tokens
      const renewed = await client.refreshTokenGrant(config, refresh_token, undefined, { DPoP: other })
      assert.equal(renewed.refresh_token, refresh_token, 'FAPI 2.0 §5.3.2.1: refresh tokens are not rotated')
      assert.equal((await call(renewed.access_token, other)).status, 200)
      await assert.rejects(call(renewed.access_token, DPoP), client.WWWAuthenticateChallengeError)
    })

  for (const alg of ALGS)
    test(`oauth4webapi, ${alg}: code flow, query, refresh by another key, introspection as a JWT`, async () => {
      const issuer = new URL(gatehouse.issuer)
      const found = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' })
      const server = await oauth.processDiscoveryResponse(issuer, found)
      const desk: oauth.Client = { client_id: signingId(alg), ...registeredAlgs(alg) }
      const authentication = oauth.PrivateKeyJwt(privateKey(alg))
      const DPoP = oauth.DPoP(desk, await oauth.generateKeyPair(alg))
      const options = { ...insecure, DPoP }
      const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()]
      const asked = {
        redirect_uri: CALLBACK,
        response_type: 'code',
        response_mode: 'jwt',
        scope: SCOPE,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
      }
      const request = await oauth.issueRequestObject(server, desk, asked, privateKey(alg))
      const push = async () =>
        oauth.processPushedAuthorizationResponse(
          server,
          desk,
          await oauth.pushedAuthorizationRequest(server, desk, authentication, { request }, options),
        )
      const pushed = await withNonce(push)
      const start = new URL(server.authorization_endpoint ?? '')
      start.search = new URLSearchParams({ client_id: desk.client_id, request_uri: pushed.request_uri }).toString()
      const { url } = await followAsAlice(gatehouse, start)
      const answer = await oauth.validateJwtAuthResponse(server, desk, url, state, insecure)
      const granted = await oauth.authorizationCodeGrantRequest(
        ...([server, desk, authentication, answer, CALLBACK, verifier, options] as const),
      )
      const tokens = await oauth.processAuthorizationCodeResponse(server, desk, granted, { requireIdToken: true })
      await oauth.validateApplicationLevelSignature(server, granted, insecure)
      const query = await oauth.protectedResourceRequest(
        ...([tokens.access_token, 'POST', queryUrl(), headers, QUERY, options] as const),
      )
      assert.equal(query.status, 200)
      const other = oauth.DPoP(desk, await oauth.generateKeyPair(alg))
      const renewed = await withNonce(async () => {
        const parameters = [
          server,
          desk,
          authentication,
          tokens.refresh_token ?? '',
          { ...insecure, DPoP: other },
        ] as const
        return oauth.processRefreshTokenResponse(server, desk, await oauth.refreshTokenGrantRequest(...parameters))
      })
      assert.equal(renewed.token_type, 'dpop')
      const asJwt = { ...insecure, requestJwtResponse: true }
      const introspected = await oauth.introspectionRequest(
        ...([server, desk, authentication, renewed.access_token, asJwt] as const),
      )
      const description = await oauth.processIntrospectionResponse(server, desk, introspected)
      await oauth.validateApplicationLevelSignature(server, introspected, insecure)
      assert.equal(description.cnf?.jkt, await other.calculateThumbprint())
    })
})

/** `oauth4webapi` leaves the repetition to its caller, and remembers the nonce. */
async function withNonce<T>(request: () => Promise<T>): Promise<T> {
  await assert.rejects(request, oauth.isDPoPNonceError)
  return request()
}
