/** npm `openid-client`, a certified client library. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import * as client from 'openid-client'
import { requestKey } from '../support/providers/provider.ts'
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
  SIGNED_OUT,
  webClient,
} from './gatehouse.ts'

const spaClient: typeof webClient = {
  client_id: 'spa',
  token_endpoint_auth_method: 'none',
  redirect_uris: [CALLBACK],
  grant_types: ['authorization_code', 'refresh_token'],
  scope: 'openid offline_access Platform/Market',
}

describe('openid-client', () => {
  let gatehouse: OpenGatehouse
  let web: client.Configuration
  before(async () => {
    gatehouse = await openGatehouse([webClient, deviceClient, keyClient, spaClient])
    web = await discover(client.ClientSecretBasic(SECRET))
  })
  after(() => gatehouse.close())

  function discover(
    authentication: client.ClientAuth,
    clientId = 'web',
    ...execute: ((config: client.Configuration) => void)[]
  ): Promise<client.Configuration> {
    return client.discovery(new URL(gatehouse.issuer), clientId, undefined, authentication, {
      execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks, ...execute],
    })
  }

  async function signIn(
    config: client.Configuration,
    parameters: Record<string, string> = {},
    options?: client.AuthorizationCodeGrantOptions,
  ) {
    const verifier = client.randomPKCECodeVerifier()
    const state = client.randomState()
    const nonce = client.randomNonce()
    const start = client.buildAuthorizationUrl(config, {
      redirect_uri: CALLBACK,
      scope: 'openid profile email offline_access Platform/Market',
      prompt: 'consent',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
      ...parameters,
    })
    const { url } = await followAsAlice(gatehouse, start)
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true }
    return client.authorizationCodeGrant(config, url, checks, undefined, options)
  }

  test('DPoP: code flow, userinfo, refresh, and a resource, with the nonce that a public client needs', async () => {
    const config = await discover(client.None(), 'spa')
    const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'))
    const tokens = await signIn(config, { scope: 'openid offline_access Platform/Market' }, { DPoP })
    assert.equal(tokens.token_type, 'dpop')
    const { access_token, refresh_token = '' } = tokens
    await client.fetchUserInfo(config, access_token, client.skipSubjectCheck, { DPoP })
    const renewed = await client.refreshTokenGrant(config, refresh_token, undefined, { DPoP })
    const url = new URL(`${gatehouse.issuer}/query?statement=1`)
    const body = 'select name from cataloguetables limit 1'
    const headers = new Headers({ 'content-type': 'text/plain; charset=utf-8' })
    const query = (method: string) =>
      client.fetchProtectedResource(config, renewed.access_token, url, method, body, headers, { DPoP })
    assert.equal((await query('POST')).status, 200)
  })

  test('code flow with PKCE, Basic authentication, userinfo', async () => {
    const tokens = await signIn(web)
    const claims = tokens.claims()
    assert.ok(claims)
    assert.equal(tokens.expires_in, 3600)
    const userinfo = await client.fetchUserInfo(web, tokens.access_token, claims.sub)
    assert.equal(userinfo.name, 'Alice Liddell')
    assert.equal(userinfo.email_verified, true)
  })

  for (const alg of ASSERTION_ALGS)
    test(`private_key_jwt with ${alg}`, async () => {
      const keys = await discover(client.PrivateKeyJwt(assertionKey(alg)), 'keys')
      const tokens = await client.clientCredentialsGrant(keys, { scope: 'Platform/Market' })
      assert.equal((await client.tokenIntrospection(keys, tokens.access_token)).active, true)
      await client.tokenRevocation(keys, tokens.access_token)
      assert.equal((await client.tokenIntrospection(keys, tokens.access_token)).active, false)
      assert.ok((await signIn(keys, { scope: 'openid Platform/Market' })).id_token)
    })

  test('code flow with the secret in the body', async () => {
    const config = await discover(client.ClientSecretPost(SECRET))
    assert.ok((await signIn(config, { max_age: '600' })).claims()?.auth_time)
  })

  test('hybrid flow: the code is bound to the ID token of the front channel', async () => {
    const config = await discover(client.ClientSecretBasic(SECRET), 'web', client.useCodeIdTokenResponseType)
    assert.ok((await signIn(config)).claims()?.sub)
  })

  test('hybrid flow by form_post', async () => {
    const config = await discover(client.ClientSecretBasic(SECRET), 'web', client.useCodeIdTokenResponseType)
    const nonce = client.randomNonce()
    const state = client.randomState()
    const start = client.buildAuthorizationUrl(config, {
      redirect_uri: CALLBACK,
      scope: 'openid',
      response_mode: 'form_post',
      nonce,
      state,
    })
    const { url, form } = await followAsAlice(gatehouse, start)
    const posted = new Request(url, {
      method: 'POST',
      body: new URLSearchParams(form.map(([name, value]): [string, string] => [name, value])),
    })
    const tokens = await client.authorizationCodeGrant(config, posted, { expectedNonce: nonce, expectedState: state })
    assert.ok(tokens.claims()?.sub)
  })

  test('implicit flow with only an ID token', async () => {
    const config = await discover(client.ClientSecretBasic(SECRET), 'web', client.useIdTokenResponseType)
    const nonce = client.randomNonce()
    const start = client.buildAuthorizationUrl(config, { redirect_uri: CALLBACK, scope: 'openid email', nonce })
    const { url } = await followAsAlice(gatehouse, start)
    const claims = await client.implicitAuthentication(config, url, nonce)
    assert.equal(claims.email, 'alice@example.com')
  })

  test('a signed request object', async () => {
    const verifier = client.randomPKCECodeVerifier()
    const nonce = client.randomNonce()
    const key = await crypto.subtle.importKey(
      'pkcs8',
      requestKey.privateKey.export({ type: 'pkcs8', format: 'der' }),
      { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
      false,
      ['sign'],
    )
    const start = await client.buildAuthorizationUrlWithJAR(
      web,
      {
        redirect_uri: CALLBACK,
        scope: 'openid',
        response_type: 'code',
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      },
      { key, kid: 'web-1' },
    )
    const { url } = await followAsAlice(gatehouse, start)
    const tokens = await client.authorizationCodeGrant(web, url, { pkceCodeVerifier: verifier, expectedNonce: nonce })
    assert.ok(tokens.claims()?.sub)
  })

  test('JAR and JARM: a request that the client signs, and a response that the server does', async () => {
    const config = await discover(client.PrivateKeyJwt(assertionKey('ES256')), 'keys', client.useJwtResponseMode)
    const verifier = client.randomPKCECodeVerifier()
    const nonce = client.randomNonce()
    const state = client.randomState()
    const parameters = {
      ...{ redirect_uri: CALLBACK, scope: 'openid', nonce, state },
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }
    for (const alg of ASSERTION_ALGS) {
      const start = await client.buildAuthorizationUrlWithJAR(config, parameters, assertionKey(alg))
      assert.deepEqual([...start.searchParams.keys()].sort(), ['client_id', 'request'])
      const { url } = await followAsAlice(gatehouse, start)
      assert.deepEqual([...url.searchParams.keys()], ['response'])
      const checks = { pkceCodeVerifier: verifier, expectedNonce: nonce, expectedState: state }
      assert.ok((await client.authorizationCodeGrant(config, url, checks)).claims()?.sub)
      const other = client.authorizationCodeGrant(config, url, { ...checks, expectedState: 'other' })
      await assert.rejects(other, ({ cause }) => String(cause).includes('"state"'))
    }
  })

  test('refresh with rotation', async () => {
    const first = await signIn(web)
    assert.ok(first.refresh_token)
    const second = await client.refreshTokenGrant(web, first.refresh_token)
    assert.ok(second.refresh_token)
    assert.notEqual(second.refresh_token, first.refresh_token)
    assert.equal(second.claims()?.sub, first.claims()?.sub)
  })

  test('introspection and revocation', async () => {
    const tokens = await signIn(web)
    const alive = await client.tokenIntrospection(web, tokens.access_token)
    assert.equal(alive.active, true)
    assert.equal(alive.client_id, 'web')
    await client.tokenRevocation(web, tokens.access_token)
    assert.deepEqual(await client.tokenIntrospection(web, tokens.access_token), { active: false })
    assert.ok(tokens.refresh_token)
    await client.tokenRevocation(web, tokens.refresh_token)
    await assert.rejects(client.refreshTokenGrant(web, tokens.refresh_token), { error: 'invalid_grant' })
  })

  test('client credentials', async () => {
    const tokens = await client.clientCredentialsGrant(web, { scope: 'Platform/Market' })
    assert.equal(tokens.refresh_token, undefined)
    assert.equal((await client.tokenIntrospection(web, tokens.access_token)).scope, 'Platform/Market')
  })

  test('device flow', async () => {
    const device = await discover(client.None(), 'device')
    const started = await client.initiateDeviceAuthorization(device, { scope: 'openid offline_access' })
    await approveDevice(gatehouse, started.verification_uri, started.user_code)
    await gatehouse.elapse(6000)
    const tokens = await client.pollDeviceAuthorizationGrant(device, { ...started, interval: 0.1 })
    assert.ok(tokens.claims()?.sub)
    assert.ok(tokens.refresh_token)
  })

  test('end session', async () => {
    const tokens = await signIn(web)
    const start = client.buildEndSessionUrl(web, {
      id_token_hint: tokens.id_token ?? '',
      post_logout_redirect_uri: SIGNED_OUT,
      state: 'bye',
    })
    const { url } = await followAsAlice(gatehouse, start)
    assert.equal(url.href, `${SIGNED_OUT}?state=bye`)
  })
})
