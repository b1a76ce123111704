/** The token endpoint and client authentication: checklist C3, and the grants without a browser. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request as sendRequest } from 'node:http'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { type Answer, basic, decodeClaims, PASSWORD, SECRET, startGate, type TestGate } from '../support/identity.ts'
import { createTestClock } from '../support/server.ts'

const CREDENTIALS = { grant_type: 'client_credentials' }
const NO_STORE = 'no-store, no-cache, max-age=0'

onEveryEngineInLongRuns('the token endpoint', (place) => {
  let gate: TestGate
  const clock = createTestClock()
  before(async () => {
    gate = await startGate(place(), { clock })
  })
  after(() => gate.stop())

  function assertRefused(answer: Answer, status: number, error: string): void {
    assert.equal(answer.status, status, answer.text)
    assert.equal(answer.body.error, error)
    assert.match(String(answer.body.error_description), /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
    assert.equal(answer.headers.get('cache-control'), NO_STORE)
    assert.equal(answer.headers.get('pragma'), 'no-cache')
  }

  const asService = (form: Record<string, string>) =>
    gate.post('/connect/token', form, { authorization: basic('service', SECRET) })

  test('C-40: methods other than POST get 405 with Allow: POST', async () => {
    for (const path of ['token', 'revocation', 'introspect', 'deviceauthorization']) {
      for (const method of ['GET', 'PUT', 'HEAD', 'DELETE', 'PATCH']) {
        const response = await fetch(`${gate.server.issuer}/connect/${path}`, { method })
        assert.equal(response.status, 405, `${method} ${path}`)
        assert.equal(response.headers.get('allow'), 'POST')
      }
    }
  })

  test('C-41: a body that is not a form is refused; a charset parameter is accepted', async () => {
    const authorization = basic('service', SECRET)
    const send = async (contentType: string | undefined, body: string | Buffer) => {
      const response = await fetch(`${gate.server.issuer}/connect/token`, {
        method: 'POST',
        body: Buffer.from(body),
        headers: { authorization, ...(contentType === undefined ? {} : { 'content-type': contentType }) },
      })
      return { status: response.status, error: ((await response.json()) as { error?: string }).error }
    }
    const refused = { status: 400, error: 'invalid_request' }
    assert.deepEqual(await send('application/json', JSON.stringify(CREDENTIALS)), refused)
    assert.deepEqual(await send('multipart/form-data; boundary=x', '--x--'), refused)
    assert.deepEqual(await send(undefined, 'grant_type=client_credentials'), refused)
    assert.deepEqual(await send('text/plain', 'grant_type=client_credentials'), refused)
    const accepted = await send('application/x-www-form-urlencoded; charset=UTF-8', 'grant_type=client_credentials')
    assert.equal(accepted.status, 200)
  })

  test('C-42: a grant_type that is missing, unknown or not allowed', async () => {
    assertRefused(await asService({}), 400, 'invalid_request')
    assertRefused(await asService({ grant_type: 'magic' }), 400, 'unsupported_grant_type')
    assertRefused(await asService({ grant_type: 'implicit' }), 400, 'unsupported_grant_type')
    assertRefused(await asService({ grant_type: '__proto__' }), 400, 'unsupported_grant_type')
    assertRefused(await asService({ grant_type: 'authorization_code', code: 'x' }), 400, 'unauthorized_client')
  })

  test('C-43: a repeated parameter is refused; the query is ignored', async () => {
    const authorization = basic('service', SECRET)
    const twice = await gate.post('/connect/token', 'grant_type=client_credentials&scope=a&scope=a', { authorization })
    assertRefused(twice, 400, 'invalid_request')
    const inQuery = `/connect/token?grant_type=client_credentials&client_id=service&client_secret=${SECRET}`
    assertRefused(await gate.post(inQuery, {}), 400, 'invalid_request')
    assertRefused(await gate.post(inQuery, CREDENTIALS), 401, 'invalid_client')
    assert.equal((await gate.post(`${inQuery}&scope=nonsense`, CREDENTIALS, { authorization })).status, 200)
  })

  test('C-44: oversized bodies, too many parameters, NUL and malformed encodings are refused quickly', async () => {
    const authorization = basic('service', SECRET)
    const send = (form: string) => gate.post('/connect/token', form, { authorization })
    const raw = async (body: string) => {
      const response = await fetch(`${gate.server.issuer}/connect/token`, {
        method: 'POST',
        body,
        headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
      })
      return response.status
    }
    assert.equal((await send(`grant_type=client_credentials&x=${'y'.repeat(70_000)}`)).status, 413)
    assertRefused(
      await send(`grant_type=client_credentials&${Array.from({ length: 5000 }, (_, i) => `p${i}=1`).join('&')}`),
      400,
      'invalid_request',
    )
    assertRefused(await send('grant_type=client_credentials&scope=a%00b'), 400, 'invalid_request')
    assert.equal(await raw('grant_type=client_credentials&x=%zz%'), 200)
    assert.equal(await raw('%%%=%%%&&&===&grant_type'), 400)
    const nul = `Basic ${Buffer.from('service\0:x').toString('base64')}`
    assertRefused(await gate.post('/connect/token', CREDENTIALS, { authorization: nul }), 401, 'invalid_client')
    const surrogate = await gate.post(
      '/connect/token',
      'grant_type=password&username=%ED%A0%80&password=x&client_id=cli',
    )
    assertRefused(surrogate, 400, 'invalid_grant')
  })

  test('C-45: success and error responses are JSON, not cached, with HSTS', async () => {
    for (const answer of [
      await asService(CREDENTIALS),
      await asService({ grant_type: 'x' }),
      await gate.post('/connect/token', {}),
    ]) {
      assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
      assert.equal(answer.headers.get('cache-control'), NO_STORE)
      assert.equal(answer.headers.get('pragma'), 'no-cache')
      assert.equal(answer.headers.get('strict-transport-security'), 'max-age=31536000')
    }
  })

  test('C-46, C-47: a wrong secret and an unknown client get the same 401 with a challenge', async () => {
    const wrong = await gate.post('/connect/token', CREDENTIALS, { authorization: basic('service', 'wrong') })
    const unknown = await gate.post('/connect/token', CREDENTIALS, { authorization: basic('nobody', 'wrong') })
    const disabled = await gate.post('/connect/token', CREDENTIALS, { authorization: basic('gone', SECRET) })
    const inBody = await gate.post('/connect/token', { ...CREDENTIALS, client_id: 'service', client_secret: 'wrong' })
    for (const answer of [wrong, unknown, disabled, inBody]) {
      assertRefused(answer, 401, 'invalid_client')
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic realm=/)
      assert.equal(answer.text, wrong.text)
    }
  })

  test('C-48: two Authorization headers are refused, even if one of them is valid', async () => {
    const good = basic('service', SECRET)
    const { access_token } = await gate.signIn({ scope: 'openid' })
    const bearer = `Bearer ${access_token}`
    for (const [method, path, first, second, status] of [
      ['POST', '/connect/token', good, basic('nobody', SECRET), 401],
      ['POST', '/connect/token', basic('nobody', SECRET), good, 401],
      ['GET', '/connect/userinfo', bearer, 'Bearer nothing', 400],
    ] as const) {
      const { host } = new URL(gate.server.issuer)
      const headers = ['host', host, 'authorization', first, 'authorization', second]
      if (method === 'POST') headers.push('content-type', 'application/x-www-form-urlencoded')
      const request = sendRequest(gate.server.issuer + path, { method, headers })
      request.end(method === 'POST' ? 'grant_type=client_credentials' : undefined)
      const [answer] = (await once(request, 'response')) as [IncomingMessage]
      answer.resume()
      assert.equal(answer.statusCode, status, path)
    }
  })

  test('C-48: two authentication methods, or two client ids, are refused', async () => {
    const authorization = basic('service', SECRET)
    const both = { ...CREDENTIALS, client_id: 'service', client_secret: SECRET }
    assertRefused(await gate.post('/connect/token', both, { authorization }), 400, 'invalid_request')
    const other = { ...CREDENTIALS, client_id: 'web' }
    assertRefused(await gate.post('/connect/token', other, { authorization }), 400, 'invalid_request')
    const same = { ...CREDENTIALS, client_id: 'service' }
    assert.equal((await gate.post('/connect/token', same, { authorization })).status, 200)
  })

  test('C-49: client ids and secrets may contain any character; malformed headers cause no server error', async () => {
    const odd = 'a:b%c+d/e f é'
    await gate.stores.clients.put({ client_id: odd, grant_types: ['client_credentials'], scope: 'Platform/News' })
    await gate.stores.clients.addSecret(odd, odd)
    const encoded = await gate.post('/connect/token', CREDENTIALS, { authorization: basic(odd, odd) })
    assert.equal(encoded.status, 200, encoded.text)
    // Not encoded at all, as many clients do.
    await gate.stores.clients.addSecret('service', 'p+l/us%=')
    const plain = `Basic ${Buffer.from('service:p+l/us%=').toString('base64')}`
    await gate.stores.events.append({ kind: 'clients-changed' })
    await new Promise((resolve) => setTimeout(resolve, 900))
    assert.equal((await gate.post('/connect/token', CREDENTIALS, { authorization: plain })).status, 200)
    const malformed = [
      'Basic',
      'Basic !!!',
      `Basic ${Buffer.from('nocolon').toString('base64')}`,
      'Basic Og==',
      'Bearer abc',
      'x',
    ]
    for (const authorization of malformed) {
      assertRefused(await gate.post('/connect/token', CREDENTIALS, { authorization }), 401, 'invalid_client')
    }
  })

  test('RFC 6749 §2.3.1: an empty secret in Basic counts as omitted: accepted for a public client, not counted as a guess', async () => {
    const refresh = { grant_type: 'refresh_token', refresh_token: 'unknown' }
    const publicly = await gate.post('/connect/token', refresh, { authorization: basic('cli', '') })
    assertRefused(publicly, 400, 'invalid_grant')
    for (let attempt = 0; attempt < 12; attempt++) {
      const without = await gate.post('/connect/token', CREDENTIALS, { authorization: basic('service', '') })
      assertRefused(without, 401, 'invalid_client')
    }
    const twice = { ...CREDENTIALS, client_secret: SECRET }
    assertRefused(await gate.post('/connect/token', twice, { authorization: basic('cli', '') }), 400, 'invalid_request')
  })

  test('C-50: refused: no secret, a secret of a public client, an unregistered method, an expired secret', async () => {
    const withBody = (client_id: string, client_secret?: string) =>
      gate.post('/connect/token', {
        ...CREDENTIALS,
        client_id,
        ...(client_secret === undefined ? {} : { client_secret }),
      })
    assertRefused(await withBody('service'), 401, 'invalid_client')
    assertRefused(await withBody('cli', SECRET), 401, 'invalid_client')
    assertRefused(await withBody('web', SECRET), 401, 'invalid_client')
    const asPost = await gate.post('/connect/token', CREDENTIALS, { authorization: basic('post-only', SECRET) })
    assertRefused(asPost, 401, 'invalid_client')
    assert.equal((await withBody('post-only', SECRET)).status, 200)
    await gate.stores.clients.put({ client_id: 'aging', grant_types: ['client_credentials'], scope: 'Platform/News' })
    await gate.stores.clients.addSecret('aging', SECRET, { expiresAt: clock() + 1000 })
    assert.equal((await withBody('aging', SECRET)).status, 200)
    clock.advance(1000)
    assertRefused(await withBody('aging', SECRET), 401, 'invalid_client')
  })

  test('C-51: guessing secrets is throttled, and the right one is accepted again after the wait', async () => {
    await gate.stores.clients.put({ client_id: 'guessed', grant_types: ['client_credentials'], scope: 'Platform/News' })
    await gate.stores.clients.addSecret('guessed', SECRET)
    const attempt = (secret: string) =>
      gate.post('/connect/token', CREDENTIALS, { authorization: basic('guessed', secret) })
    for (let count = 0; count < 10; count++) assertRefused(await attempt('wrong'), 401, 'invalid_client')
    const slowed = await attempt(SECRET)
    assertRefused(slowed, 429, 'temporarily_unavailable')
    assert.equal(slowed.headers.get('retry-after'), '1')
    assert.equal((await asService(CREDENTIALS)).status, 200)
    clock.advance(1000)
    assert.equal((await attempt(SECRET)).status, 200)
  })

  test('C-65: client_credentials issues only rights: no refresh token, no ID token, no claims about a user', async () => {
    const answer = await asService(CREDENTIALS)
    assert.deepEqual(Object.keys(answer.body), ['access_token', 'expires_in', 'token_type', 'scope'])
    assert.equal(answer.body.scope, 'Platform/Admin Platform/Market Platform/News Platform/OrderPad Platform/Trading')
    assert.partialDeepStrictEqual(decodeClaims(String(answer.body.access_token)), {
      sub: 'service',
      client_id: 'service',
    })
    for (const scope of ['openid', 'offline_access', 'Platform/News openid']) {
      assertRefused(await asService({ ...CREDENTIALS, scope }), 400, 'invalid_scope')
    }
    const publicClient = await gate.post('/connect/token', { ...CREDENTIALS, client_id: 'cli' })
    assertRefused(publicClient, 400, 'unauthorized_client')
  })

  test('B-43: scopes come in any order, unknown ones are ignored; disallowed ones, illegal characters and only unknown ones are invalid_scope', async () => {
    for (const scope of ['Platform/Trading Platform/Market', 'strange Platform/Trading Platform/Odd Platform/Market']) {
      const granted = await asService({ ...CREDENTIALS, scope })
      assert.equal(granted.body.scope, 'Platform/Market Platform/Trading')
    }
    for (const scope of [
      'Platform/Odd',
      'Identity/Admin',
      'Platform/News Identity/Admin',
      'a"b',
      'a\\b',
      'a\u00e9',
      ' ',
    ]) {
      assertRefused(await asService({ ...CREDENTIALS, scope }), 400, 'invalid_scope')
    }
    assertRefused(await asService({ ...CREDENTIALS, scope: 'x '.repeat(2000) }), 400, 'invalid_scope')
  })

  test('errors name the scope, the grant type or the parameter that is not allowed', async () => {
    const refused = async (form: Record<string, string>) => (await asService(form)).body.error_description
    assert.deepEqual(
      [
        await refused({ ...CREDENTIALS, scope: 'Platform/News Identity/Admin' }),
        await refused({ ...CREDENTIALS, scope: 'openid Platform/News email' }),
        await refused({ grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: 'x' }),
      ],
      [
        'The scope Identity/Admin is not among the scopes that the client is registered for',
        'The scopes openid, email are not available with client_credentials: there is no user',
        'The client is not registered for the grant_type urn:ietf:params:oauth:grant-type:device_code',
      ],
    )
  })

  test('B-15: unknown parameters are ignored and empty ones are absent', async () => {
    assert.equal((await asService({ ...CREDENTIALS, extra: 'foobar', scope: '' })).status, 200)
    assertRefused(await asService({ grant_type: '' }), 400, 'invalid_request')
  })

  test('C-64: the password grant fails the same way for every cause', async () => {
    const attempt = (form: Record<string, string>) =>
      gate.post('/connect/token', { grant_type: 'password', client_id: 'cli', ...form })
    const wrong = await attempt({ username: 'alice', password: 'wrong' })
    assertRefused(wrong, 400, 'invalid_grant')
    const disabled = await gate.stores.users.create({
      username: 'disabled',
      passwordHash: (await gate.stores.users.findByUsername('alice'))?.passwordHash,
      disabled: true,
    })
    assert.ok(disabled)
    await gate.stores.users.create({ username: 'no-password' })
    await gate.stores.users.create({
      username: 'careful',
      passwordHash: (await gate.stores.users.findByUsername('alice'))?.passwordHash,
    })
    const careful = await gate.stores.users.findByUsername('careful')
    await gate.database.db
      .insertInto('factors')
      .values({
        id: 'f1',
        user_id: careful?.id ?? '',
        kind: 'totp',
        label: '',
        secret: '',
        counter: 0,
        created_at: 0,
        used_at: null,
      })
      .execute()
    for (const username of ['nobody', 'disabled', 'no-password', 'careful']) {
      const answer = await attempt({ username, password: PASSWORD })
      assert.deepEqual([answer.status, answer.text], [wrong.status, wrong.text], username)
    }
    assertRefused(await attempt({ username: 'alice' }), 400, 'invalid_request')
    const long = await attempt({ username: 'alice', password: 'x'.repeat(10_000) })
    assert.equal(long.text, wrong.text)
  })

  test('C-110, C-111: failures on an account are throttled without revealing whether the password was right, and it recovers', async () => {
    const passwordHash = (await gate.stores.users.findByUsername('alice'))?.passwordHash
    await gate.stores.users.create({ username: 'target', passwordHash })
    const attempt = (password: string, username = 'target') =>
      gate.post('/connect/token', { grant_type: 'password', client_id: 'cli', username, password })
    let refused = await attempt('wrong')
    for (let count = 0; count < 8; count++) refused = await attempt('wrong')
    assert.equal(refused.status, 429)
    assert.ok(Number(refused.headers.get('retry-after')) >= 1)
    const locked = await attempt(PASSWORD)
    assert.deepEqual([locked.status, locked.text], [refused.status, refused.text])
    assert.equal((await attempt(PASSWORD, 'boss')).status, 200)
    clock.advance(60_000)
    assert.equal((await attempt(PASSWORD)).status, 200)
  })

  test('C-119: no secret, password or token of these tests was logged', async () => {
    const { access_token, refresh_token } = await gate.signIn()
    const log = gate.server.log.join('')
    for (const secret of [SECRET, PASSWORD, access_token, refresh_token]) assert.ok(!log.includes(secret))
  })

  test('C-09: registered origins get CORS headers at the token endpoint, others do not', async () => {
    const preflight = (origin: string, path = 'token') =>
      fetch(`${gate.server.issuer}/connect/${path}`, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST' },
      })
    for (const path of ['token', 'revocation', 'userinfo']) {
      const allowed = await preflight('https://spa.example', path)
      assert.equal(allowed.status, 204)
      assert.equal(allowed.headers.get('access-control-allow-origin'), 'https://spa.example')
      assert.match(allowed.headers.get('access-control-allow-headers') ?? '', /authorization/i)
      assert.equal((await preflight('https://evil.example', path)).headers.get('access-control-allow-origin'), null)
    }
    const answer = await gate.post('/connect/token', {}, { origin: 'https://app.example' })
    assert.equal(answer.headers.get('access-control-allow-origin'), 'https://app.example')
    assert.equal(answer.headers.get('vary'), 'origin')
    assert.equal(answer.headers.get('access-control-allow-credentials'), null)
    const discovery = await gate.get('/.well-known/openid-configuration', { origin: 'https://evil.example' })
    assert.equal(discovery.headers.get('access-control-allow-origin'), '*')
  })

  test('C-44: an endless body does not block the server', async () => {
    const socket = connect(gate.server.port, '127.0.0.1')
    socket.write(
      'POST /connect/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 50\r\n\r\ngrant',
    )
    assert.equal((await asService(CREDENTIALS)).status, 200)
    socket.destroy()
  })
})
