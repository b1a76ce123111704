/** The HTTP exchanges of the interface contract, with their headers. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { type Answer, basic, PASSWORD, SECRET, startGate, type TestGate } from '../support/identity.ts'

onEveryEngineInLongRuns('the contract', (place) => {
  let gate: TestGate
  before(async () => {
    gate = await startGate(place())
  })
  after(() => gate.stop())

  const json = { accept: 'application/json' }

  function assertTokenHeaders({ status, headers }: Answer): void {
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), 'application/json')
    assert.equal(headers.get('cache-control'), 'no-store, no-cache, max-age=0')
    assert.equal(headers.get('pragma'), 'no-cache')
    assert.equal(headers.get('strict-transport-security'), 'max-age=31536000')
  }

  test('discovery: exactly the listed members with exactly the listed values, in order', async () => {
    const answer = await gate.get('/.well-known/openid-configuration')
    const { issuer } = gate.server
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type'), 'application/json')
    assert.equal(answer.headers.get('strict-transport-security'), 'max-age=31536000')
    const listed: [string, unknown][] = [
      ['issuer', issuer],
      ['jwks_uri', `${issuer}/.well-known/openid-configuration/jwks`],
      ['authorization_endpoint', `${issuer}/connect/authorize`],
      ['token_endpoint', `${issuer}/connect/token`],
      ['userinfo_endpoint', `${issuer}/connect/userinfo`],
      ['end_session_endpoint', `${issuer}/connect/endsession`],
      ['check_session_iframe', `${issuer}/connect/checksession`],
      ['revocation_endpoint', `${issuer}/connect/revocation`],
      ['introspection_endpoint', `${issuer}/connect/introspect`],
      ['device_authorization_endpoint', `${issuer}/connect/deviceauthorization`],
      ['frontchannel_logout_supported', true],
      ['frontchannel_logout_session_supported', true],
      ['backchannel_logout_supported', true],
      ['backchannel_logout_session_supported', true],
      [
        'scopes_supported',
        words(
          'openid profile email roles Identity/Admin Platform/Market Platform/News Platform/Trading Platform/OrderPad Platform/Admin offline_access',
        ),
      ],
      [
        'claims_supported',
        words(
          'sub updated_at locale zoneinfo birthdate gender website picture profile preferred_username nickname middle_name given_name family_name name email email_verified role',
        ),
      ],
      [
        'grant_types_supported',
        words(
          'authorization_code client_credentials refresh_token implicit password urn:ietf:params:oauth:grant-type:device_code',
        ),
      ],
      [
        'response_types_supported',
        ['code', 'token', 'id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token'],
      ],
      ['response_modes_supported', ['form_post', 'query', 'fragment']],
      ['token_endpoint_auth_methods_supported', ['client_secret_basic', 'client_secret_post']],
      ['id_token_signing_alg_values_supported', ['RS256']],
      ['subject_types_supported', ['public']],
      ['code_challenge_methods_supported', ['plain', 'S256']],
      ['request_parameter_supported', true],
    ]
    assert.deepEqual(Object.entries(answer.body).slice(0, listed.length), listed)
  })

  test('the password grant without scope issues everything that the client may request and the user has', async () => {
    const answer = await gate.post(
      '/connect/token',
      { grant_type: 'password', username: 'boss', password: PASSWORD, client_id: 'contract' },
      json,
    )
    assertTokenHeaders(answer)
    assert.deepEqual(Object.keys(answer.body), ['access_token', 'expires_in', 'token_type', 'refresh_token', 'scope'])
    assert.partialDeepStrictEqual(answer.body, {
      expires_in: 3600,
      token_type: 'Bearer',
      scope: 'offline_access Platform/Admin Platform/News Platform/OrderPad Platform/Trading',
    })
  })

  test('the refresh grant needs only the refresh token and client_id, and issues two new tokens', async () => {
    const first = await gate.signIn()
    const answer = await gate.post(
      '/connect/token',
      { grant_type: 'refresh_token', refresh_token: first.refresh_token, client_id: 'cli' },
      json,
    )
    assertTokenHeaders(answer)
    assert.partialDeepStrictEqual(answer.body, { expires_in: 3600, token_type: 'Bearer', scope: first.scope })
    assert.notEqual(answer.body.access_token, first.access_token)
    assert.notEqual(answer.body.refresh_token, first.refresh_token)
    assert.deepEqual(Object.keys(answer.body), ['access_token', 'expires_in', 'token_type', 'refresh_token', 'scope'])
  })

  test('a client secret is accepted by client_secret_basic and by client_secret_post', async () => {
    const form = { grant_type: 'password', username: 'alice', password: PASSWORD }
    assertTokenHeaders(await gate.post('/connect/token', form, { authorization: basic('service', SECRET) }))
    assertTokenHeaders(await gate.post('/connect/token', { ...form, client_id: 'service', client_secret: SECRET }))
  })

  test('a grant that the client is not registered for is unauthorized_client', async () => {
    const answer = await gate.post('/connect/token', {
      grant_type: 'password',
      username: 'alice',
      password: PASSWORD,
      client_id: 'tv',
    })
    assert.equal(answer.status, 400)
    assert.equal(answer.body.error, 'unauthorized_client')
    assert.equal(answer.headers.get('cache-control'), 'no-store, no-cache, max-age=0')
  })

  test('every other JSON reply of the identity server has the same media type', async () => {
    const { access_token: token } = await gate.signIn({ scope: 'openid' })
    for (const answer of [
      await gate.get('/.well-known/openid-configuration/jwks'),
      await gate.get('/.well-known/oauth-authorization-server'),
      await gate.userinfo(token),
      await gate.post('/connect/introspect', { token }, { authorization: basic('service', SECRET) }),
      await gate.post('/connect/token', {}),
    ])
      assert.equal(answer.headers.get('content-type'), 'application/json', answer.text)
  })

  test('RFC 8414 §2: the metadata of the authorization server name every method of client authentication', async () => {
    const { body } = await gate.get('/.well-known/oauth-authorization-server')
    const { body: openId } = await gate.get('/.well-known/openid-configuration')
    const methods = ['client_secret_basic', 'client_secret_post']
    const algs = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']
    assert.deepEqual(body, {
      ...openId,
      token_endpoint_auth_methods_supported: [...methods, 'private_key_jwt', 'none'],
      token_endpoint_auth_signing_alg_values_supported: algs,
      revocation_endpoint_auth_methods_supported: [...methods, 'private_key_jwt', 'none'],
      revocation_endpoint_auth_signing_alg_values_supported: algs,
      introspection_endpoint_auth_methods_supported: [...methods, 'private_key_jwt'],
      introspection_endpoint_auth_signing_alg_values_supported: algs,
      dpop_signing_alg_values_supported: ['ES256', 'PS256', 'Ed25519', 'EdDSA'],
      pushed_authorization_request_endpoint: `${gate.server.issuer}/connect/par`,
      require_pushed_authorization_requests: false,
      request_object_signing_alg_values_supported: algs,
      response_modes_supported: ['query', 'fragment', 'form_post', 'jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt'],
      authorization_signing_alg_values_supported: ['RS256'],
      introspection_signing_alg_values_supported: ['RS256'],
    })
    assert.deepEqual(openId.introspection_endpoint_auth_methods_supported, methods)
  })

  test('paths are case-insensitive', async () => {
    assert.equal((await gate.get('/.Well-Known/OpenID-Configuration')).status, 200)
    assert.equal((await gate.post('/CONNECT/Token', {})).body.error, 'invalid_request')
  })
})

function words(text: string): string[] {
  return text.split(' ')
}
