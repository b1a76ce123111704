/** Userinfo and bearer tokens: checklist B-70, C7. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { decodeJwt } from 'jose'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { basic, SECRET, startGate, type TestGate, type TokenAnswer } from '../support/identity.ts'
import { createTestClock } from '../support/server.ts'

onEveryEngineInLongRuns('userinfo', (place) => {
  let gate: TestGate
  const clock = createTestClock()
  before(async () => {
    gate = await startGate(place(), { clock })
  })
  after(() => gate.stop())

  test('B-70: GET and POST, with the token in the header or form, return exactly the claims of the scopes', async () => {
    const { access_token } = await gate.signIn({ scope: 'openid email' })
    const expected = { sub: gate.aliceId, email: 'alice@example.com', email_verified: true }
    const bearer = { authorization: `Bearer ${access_token}` }
    const byPost = await fetch(`${gate.server.issuer}/connect/userinfo`, { method: 'POST', headers: bearer })
    assert.deepEqual(await byPost.json(), expected)
    const answers = [
      await gate.userinfo(access_token),
      await gate.get('/connect/userinfo', { authorization: `bearer ${access_token}` }),
      await gate.post('/connect/userinfo', {}, bearer),
      await gate.post('/connect/userinfo', { access_token }),
    ]
    for (const answer of answers) {
      assert.equal(answer.status, 200, answer.text)
      assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
      assert.deepEqual(answer.body, expected)
    }
  })

  test('RFC 9110 §9.3.2: HEAD has the head of GET', async () => {
    const { access_token } = await gate.signIn({ scope: 'openid email' })
    const length = (await gate.userinfo(access_token)).text.length
    const head = (authorization: string) =>
      fetch(`${gate.server.issuer}/connect/userinfo`, { method: 'HEAD', headers: { authorization } })
    const reply = await head(`Bearer ${access_token}`)
    assert.deepEqual([reply.status, reply.headers.get('content-length')], [200, String(length)])
    assert.equal((await head('Bearer nonsense')).status, 401)
  })

  test('B-70: openid alone returns sub; profile, email and roles return their claims; none is null or empty', async () => {
    const only = await gate.signIn({ scope: 'openid' })
    assert.deepEqual((await gate.userinfo(only.access_token)).body, { sub: gate.aliceId })
    const all = await gate.signIn({ scope: 'openid profile email roles' })
    const { body } = await gate.userinfo(all.access_token)
    assert.partialDeepStrictEqual(body, {
      name: 'Alice Liddell',
      given_name: 'Alice',
      preferred_username: 'alice',
      role: ['trader'],
    })
    assert.equal(typeof body.updated_at, 'number')
    for (const value of Object.values(body)) assert.ok(value !== null && value !== '')
  })

  test('B-70: a profile changed directly in the database is visible within a second', async () => {
    const { access_token } = await gate.signIn({ scope: 'openid profile' })
    const user = await gate.stores.users.findById(gate.aliceId)
    await gate.userinfo(access_token)
    await gate.stores.users.update(gate.aliceId, { profile: { ...user?.profile, nickname: 'Al' } })
    clock.advance(1000)
    assert.equal((await gate.userinfo(access_token)).body.nickname, 'Al')
  })

  test('OpenID Connect Core §5.4: the claims of the scopes are returned by userinfo, and in the ID token of clients configured so', async () => {
    const form = { scope: 'openid email offline_access' }
    const decodeClaims = ({ id_token = '' }: TokenAnswer) => {
      const { email, email_verified, name } = decodeJwt(id_token)
      return { email, email_verified, name }
    }
    const nothing = { email: undefined, email_verified: undefined, name: undefined }
    assert.deepEqual(decodeClaims(await gate.signIn(form)), nothing)
    await gate.stores.clients.put({
      client_id: 'reader',
      token_endpoint_auth_method: 'none',
      grant_types: ['password', 'refresh_token'],
      scope: 'openid profile email offline_access',
      claims_in_id_token: true,
    })
    const answer = await gate.signIn({ ...form, client_id: 'reader' })
    const email = { ...nothing, email: 'alice@example.com', email_verified: true }
    assert.deepEqual(decodeClaims(answer), email)
    const again = { grant_type: 'refresh_token', refresh_token: answer.refresh_token ?? '', client_id: 'reader' }
    assert.deepEqual(decodeClaims((await gate.post('/connect/token', again)).body as unknown as TokenAnswer), email)
  })

  test('C-90: without a token there is a challenge and no error code', async () => {
    const answer = await gate.get('/connect/userinfo')
    assert.equal(answer.status, 401)
    const document = `${gate.server.issuer}/.well-known/oauth-protected-resource`
    assert.equal(
      answer.headers.get('www-authenticate'),
      `Bearer realm="gatehouse", resource_metadata="${document}", DPoP algs="ES256 PS256 Ed25519 EdDSA"`,
    )
    assert.deepEqual(answer.body, {})
  })

  test('C-91: an invalid access token is invalid_token', async () => {
    const tokens = await gate.signIn({ scope: 'openid offline_access' })
    const [head, body, signature = ''] = tokens.access_token.split('.')
    const flipped = signature.startsWith('A') ? `B${signature.slice(1)}` : `A${signature.slice(1)}`
    const bad = ['abc', tokens.id_token ?? '', tokens.refresh_token, `${head}.${body}.${flipped}`, `${head}.${body}`]
    for (const token of bad) {
      const answer = await gate.userinfo(token)
      assert.equal(answer.status, 401)
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer .*error="invalid_token"/)
      assert.equal(answer.body.error, 'invalid_token')
    }
    clock.advance(3_600_000)
    assert.equal((await gate.userinfo(tokens.access_token)).status, 401)
  })

  test('C-92: a token without openid is insufficient_scope', async () => {
    const { access_token } = await gate.signIn({ scope: 'Platform/News' })
    const answer = await gate.userinfo(access_token)
    assert.equal(answer.status, 403)
    assert.match(answer.headers.get('www-authenticate') ?? '', /error="insufficient_scope", scope="openid"/)
    assert.equal(answer.body.error, 'insufficient_scope')
  })

  test('C-93, RFC 6750 §3: two tokens, a malformed header, a form with GET or another body are invalid_request, with a challenge', async () => {
    const { access_token } = await gate.signIn({ scope: 'openid' })
    const authorization = `Bearer ${access_token}`
    const answers = [
      await gate.post('/connect/userinfo', { access_token }, { authorization }),
      await gate.get('/connect/userinfo', { authorization: 'Bearer' }),
      await gate.get('/connect/userinfo', { authorization: 'Bearer a b' }),
      await gate.get('/connect/userinfo', { authorization: basic('service', SECRET) }),
      await gate.post('/connect/userinfo', `access_token=${access_token}&access_token=${access_token}`),
      await gate.post('/connect/userinfo', {}, { 'content-type': 'application/json' }),
      await gate.post('/connect/userinfo', {}, { authorization, 'content-type': 'application/json' }),
      await gate.post('/connect/userinfo', 'access_token=%00'),
    ]
    for (const answer of answers) {
      assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_request'])
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer .*error="invalid_request"/)
    }
    assert.equal(await formByGet(access_token), 400)
  })

  function formByGet(accessToken: string): Promise<number | undefined> {
    const body = `access_token=${accessToken}`
    return new Promise((resolve, reject) => {
      const sent = request(
        `${gate.server.issuer}/connect/userinfo`,
        {
          method: 'GET',
          headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length },
        },
        (response) => {
          response.resume()
          resolve(response.statusCode)
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  }

  test('C-94: a token in the query is ignored', async () => {
    const { access_token } = await gate.signIn({ scope: 'openid' })
    assert.equal((await gate.get(`/connect/userinfo?access_token=${access_token}`)).status, 401)
    assert.equal((await gate.post(`/connect/userinfo?access_token=${access_token}`, {})).status, 401)
  })

  test('C-95: a client_credentials token returns no claims', async () => {
    const form = { grant_type: 'client_credentials' }
    const { body } = await gate.post('/connect/token', form, { authorization: basic('service', SECRET) })
    assert.equal((await gate.userinfo(String(body.access_token))).status, 403)
  })
})
