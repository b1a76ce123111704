/** Access tokens for declared APIs: targets, audiences, scopes, lifetimes and claims (RFC 8707, RFC 9068, RFC 9728). */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import {
  type Answer,
  addOperator,
  basic,
  DEVICE_GRANT,
  decodeClaims,
  SECRET,
  startGate,
  type TestGate,
  type TokenAnswer,
} from '../support/identity.ts'
import { connect, refusedUpgrade } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

const ORDERS = 'https://orders.example.com'
const RISK = 'urn:example:risk'
const PLAIN = { accessTokenLifetime: undefined, claims: [] as string[] }

onEveryEngineInLongRuns('tokens for APIs', (place) => {
  let gate: TestGate
  let issuer: string
  before(async () => {
    gate = await startGate(place())
    issuer = gate.server.issuer
    const { stores } = gate
    await addOperator(gate)
    await stores.apis.put({
      resource: ORDERS,
      name: 'Order desk',
      accessTokenLifetime: 600,
      claims: ['role', 'email'],
      scopes: [
        { name: 'orders:write', text: { en: 'Place orders', de: 'Orders aufgeben' } },
        { name: 'orders/read', text: {} },
      ],
    })
    await stores.apis.put({ ...PLAIN, resource: RISK, name: 'Risk', scopes: [{ name: 'risk', text: {} }] })
    await stores.apis.put({ ...PLAIN, resource: 'platform', name: 'Desk', scopes: [{ name: 'desk:read', text: {} }] })
    await stores.events.append({ kind: 'apis-changed' })
    await stores.roles.put({ name: 'orderer', scopes: ['orders:write', 'orders/read', 'risk', 'desk:read'] })
    await stores.users.setRoles(gate.aliceId, ['trader', 'orderer'])
    const own = 'orders:write orders/read risk desk:read'
    const openid = 'openid profile email offline_access'
    await stores.clients.put({
      client_id: 'app',
      token_endpoint_auth_method: 'none',
      grant_types: ['password', 'refresh_token', DEVICE_GRANT],
      scope: `${openid} Platform/Market Identity/Admin ${own}`,
    })
    await stores.clients.put({ client_id: 'robot', grant_types: ['client_credentials'], scope: `Platform/News ${own}` })
    await stores.clients.put({
      client_id: 'apis-only',
      grant_types: ['client_credentials'],
      scope: 'risk orders:write',
    })
    await stores.clients.put({ client_id: 'other', grant_types: ['client_credentials'], scope: 'openid Platform/News' })
    await stores.clients.put({ client_id: 'orders-api', grant_types: ['client_credentials'], api: ORDERS })
    for (const id of ['robot', 'apis-only', 'other', 'orders-api']) await stores.clients.addSecret(id, SECRET)
    await until('the node knows the APIs', 5000, async () =>
      (await gate.get('/.well-known/oauth-authorization-server')).text.includes('orders:write'),
    )
  })
  after(() => gate.stop())

  const signIn = (form: Record<string, string>) => gate.signIn({ client_id: 'app', ...form })
  const refresh = (token: string, form: Record<string, string> | [string, string][] = {}): Promise<Answer> => {
    const given = Array.isArray(form) ? form : Object.entries(form)
    const fixed: [string, string][] = [
      ['grant_type', 'refresh_token'],
      ['refresh_token', token],
      ['client_id', 'app'],
    ]
    return gate.post('/connect/token', new URLSearchParams([...fixed, ...given]))
  }
  const ok = (answer: Answer): TokenAnswer => {
    assert.equal(answer.status, 200, answer.text)
    return answer.body as unknown as TokenAnswer
  }
  const refused = (answer: Answer, error: string): void =>
    assert.deepEqual([answer.status, answer.body.error], [400, error], answer.text)
  const robot = (form: Record<string, string>, client = 'robot') =>
    gate.post('/connect/token', { grant_type: 'client_credentials', ...form }, { authorization: basic(client, SECRET) })
  const shape = ({ access_token: token, scope }: TokenAnswer) => ({ aud: decodeClaims(token).aud, scope })

  test('Audience: the aud of a token for an API is its resource, with openid also identity', async () => {
    assert.deepEqual(shape(await signIn({ scope: 'orders:write' })), { aud: ORDERS, scope: 'orders:write' })
    assert.deepEqual(shape(await signIn({ scope: 'openid orders:write' })), {
      aud: [ORDERS, 'identity'],
      scope: 'openid orders:write',
    })
    assert.deepEqual(shape(ok(await robot({ scope: 'risk' }))), { aud: RISK, scope: 'risk' })
  })

  test('Audience: a token is for the built-in services or one API, never both', async () => {
    const both = 'openid Platform/Market orders:write'
    assert.deepEqual(shape(await signIn({ scope: both })), {
      aud: ['identity', 'platform'],
      scope: 'openid Platform/Market',
    })
    assert.deepEqual(shape(await signIn({ scope: both, resource: ORDERS })), {
      aud: [ORDERS, 'identity'],
      scope: 'openid orders:write',
    })
  })

  test('Lifetime: the least of API, client and server', async () => {
    assert.equal((await signIn({ scope: 'orders:write' })).expires_in, 600)
    assert.equal((await signIn({ scope: 'risk' })).expires_in, 3600)
    const client = { client_id: 'brief', grant_types: ['client_credentials'], scope: 'orders:write risk' }
    await gate.stores.clients.put({ ...client, access_token_lifetime: 120 })
    await gate.stores.clients.addSecret('brief', SECRET)
    assert.equal(ok(await robot({ scope: 'orders:write' }, 'brief')).expires_in, 120)
    await gate.stores.clients.put({ ...client, client_id: 'lasting', access_token_lifetime: 80_000 })
    await gate.stores.clients.addSecret('lasting', SECRET)
    assert.equal(ok(await robot({ scope: 'risk' }, 'lasting')).expires_in, 3600)
  })

  test('claims: those of the API are in its tokens beside those of RFC 9068, and no others', async () => {
    const orders = decodeClaims((await signIn({ scope: 'orders:write' })).access_token)
    assert.deepEqual([orders.role, orders.email, orders.name], [['orderer', 'trader'], 'alice@example.com', undefined])
    const risk = decodeClaims((await signIn({ scope: 'risk' })).access_token)
    assert.deepEqual([risk.role, risk.email], [undefined, undefined])
    for (const name of ['iss', 'sub', 'exp', 'iat', 'jti', 'client_id', 'auth_time']) assert.ok(name in risk, name)
  })

  test('Unnamed: the only target, the built-in services among several, else invalid_target', async () => {
    assert.equal(shape(ok(await robot({ scope: 'risk' }))).aud, RISK)
    assert.deepEqual(shape(ok(await robot({}))), { aud: 'platform', scope: 'desk:read Platform/News' })
    refused(await robot({}, 'apis-only'), 'invalid_target')
    assert.equal(shape(ok(await robot({ resource: RISK }, 'apis-only'))).aud, RISK)
  })

  test('A scope without a slash is a right: a user without the role does not get it', async () => {
    const boss = { username: 'boss', scope: 'openid orders:write' }
    assert.equal((await signIn(boss)).scope, 'openid')
    refused(await gate.post('/connect/token', passwordForm({ ...boss, resource: ORDERS })), 'invalid_scope')
  })

  test('resource: addresses of the built-in services name the platform and identity', async () => {
    const scope = 'openid Platform/Market orders:write'
    for (const path of ['/query', '/Platform'])
      assert.deepEqual(shape(await signIn({ scope, resource: issuer + path })), {
        aud: ['identity', 'platform'],
        scope: 'openid Platform/Market',
      })
    assert.deepEqual(shape(await signIn({ scope, resource: issuer })), { aud: 'identity', scope: 'openid' })
    assert.deepEqual(shape(ok(await robot({ resource: `${issuer}/query` }))).aud, 'platform')
  })

  test('resource is compared by character: fragment, upper case, trailing slash, path and others are invalid_target', async () => {
    const odd = [
      `${ORDERS}#x`,
      `${ORDERS}#`,
      'https://ORDERS.example.com',
      'HTTPS://orders.example.com',
      `${ORDERS}/`,
      `${ORDERS}?`,
      `${ORDERS}:443`,
      `${ORDERS} `,
      'platform',
      'identity',
      'orders',
      'https://unknown.example.com',
      `${issuer}/`,
      `${issuer}/platform`,
      `${issuer}/QUERY`,
      'x'.repeat(5000),
    ]
    for (const resource of odd) refused(await robot({ resource }), 'invalid_target')
  })

  test('resource of an API for which the client has no scope is invalid_target', async () => {
    refused(await robot({ resource: ORDERS }, 'other'), 'invalid_target')
    refused(await robot({ resource: `${issuer}/query` }, 'apis-only'), 'invalid_target')
  })

  test('resource may occur once at the token endpoint, and nothing else may be repeated', async () => {
    const { refresh_token: token } = await signIn({ scope: 'offline_access orders:write risk', resource: ORDERS })
    const twice: [string, string][] = [
      ['resource', ORDERS],
      ['resource', RISK],
    ]
    refused(await refresh(token, twice), 'invalid_target')
    refused(
      await refresh(token, [
        ['scope', 'risk'],
        ['scope', 'risk'],
      ]),
      'invalid_request',
    )
    ok(await refresh(token))
  })

  test('A refresh may name any target of its grant and fewer scopes, never more; the grant stays whole', async () => {
    let { refresh_token: token } = await signIn({
      scope: 'openid offline_access Platform/Market orders:write orders/read risk',
    })
    const next = async (form: Record<string, string>) => {
      const answer = ok(await refresh(token, form))
      token = answer.refresh_token
      return shape(answer)
    }
    assert.deepEqual(await next({ resource: ORDERS }), {
      aud: [ORDERS, 'identity'],
      scope: 'offline_access openid orders/read orders:write',
    })
    assert.deepEqual(await next({ resource: ORDERS, scope: 'orders/read' }), { aud: ORDERS, scope: 'orders/read' })
    assert.deepEqual((await next({ resource: RISK })).aud, [RISK, 'identity'])
    assert.equal((await next({})).scope, 'offline_access openid Platform/Market')
    refused(await refresh(token, { resource: ORDERS, scope: 'orders/read desk:read' }), 'invalid_scope')
    refused(await refresh(token, { resource: ORDERS, scope: 'Platform/Market' }), 'invalid_scope')
    // A refused refresh does not spend the token.
    assert.deepEqual((await next({ resource: RISK, scope: 'risk' })).aud, RISK)
  })

  test('A grant holds the targets that were named: others are invalid_target', async () => {
    const scope = 'openid offline_access Platform/Market orders:write risk'
    const { refresh_token: token, access_token: first } = await signIn({ scope, resource: RISK })
    assert.deepEqual(decodeClaims(first).aud, [RISK, 'identity'])
    for (const resource of [ORDERS, `${issuer}/query`, issuer])
      refused(await refresh(token, { resource }), 'invalid_target')
    assert.deepEqual(shape(ok(await refresh(token))).aud, [RISK, 'identity'])
  })

  test('No right left: invalid_scope', async () => {
    const { refresh_token: token } = await signIn({ scope: 'openid offline_access Platform/Market risk' })
    await gate.stores.users.setRoles(gate.aliceId, ['trader'])
    try {
      refused(await refresh(token, { resource: RISK }), 'invalid_scope')
      refused(await refresh(token, { resource: ORDERS }), 'invalid_scope')
      assert.equal(ok(await refresh(token)).scope, 'offline_access openid Platform/Market')
    } finally {
      await gate.stores.users.setRoles(gate.aliceId, ['trader', 'orderer'])
    }
  })

  test('Device authorization takes up to ten resources; the grant holds them', async () => {
    const start = (resources: string[], scope = 'openid offline_access orders:write risk Platform/Market') =>
      gate.post(
        '/connect/deviceauthorization',
        new URLSearchParams([
          ['client_id', 'app'],
          ['scope', scope],
          ...resources.map((each): [string, string] => ['resource', each]),
        ]),
      )
    refused(await start(Array(11).fill(ORDERS)), 'invalid_target')
    refused(await start([`${ORDERS}/`]), 'invalid_target')
    refused(await start([ORDERS], 'openid'), 'invalid_scope')
    const { device_code: code, user_code: user } = (await start([ORDERS, RISK])).body as Record<string, string>
    const request = await gate.stores.deviceCodes.findPending(user ?? '')
    assert.deepEqual(request?.scopes, ['openid', 'offline_access', 'orders:write', 'risk'])
    const scopes = request?.scopes ?? []
    const session = { userId: gate.aliceId, sessionId: undefined, authTime: Date.now(), amr: ['pwd'], acr: '1' }
    await gate.stores.consents.allow(gate.aliceId, 'app', scopes)
    await gate.stores.deviceCodes.decide(user ?? '', { ...session, scopes })
    const redeem = (form: Record<string, string>) =>
      gate.post('/connect/token', { grant_type: DEVICE_GRANT, client_id: 'app', device_code: code ?? '', ...form })
    refused(await redeem({}), 'invalid_target')
    await gate.database.db.updateTable('device_codes').set({ polled_at: null }).execute()
    const answer = ok(await redeem({ resource: RISK }))
    assert.deepEqual(decodeClaims(answer.access_token).aud, [RISK, 'identity'])
    refused(await refresh(answer.refresh_token, { resource: `${issuer}/query` }), 'invalid_target')
    assert.deepEqual(shape(ok(await refresh(answer.refresh_token, { resource: ORDERS }))).aud, [ORDERS, 'identity'])
  })

  test('Hostile: a token for an API is refused by query, catalogue, feeds, administration and streams', async () => {
    const { access_token: token } = await signIn({ scope: 'openid orders:write' })
    const bearer = { authorization: `Bearer ${token}` }
    for (const path of ['/catalogue/tables', '/saved', '/feeds', '/admin/users', '/Platform/topics', '/metrics'])
      assert.equal((await gate.get(path, bearer)).status, 401, path)
    const query = await fetch(`${issuer}/query`, {
      method: 'POST',
      body: 'SELECT 1 AS one',
      headers: { ...bearer, 'content-type': 'text/plain' },
    })
    assert.equal(query.status, 401)
    assert.match(query.headers.get('www-authenticate') ?? '', /error="invalid_token"/)
    const { status } = await refusedUpgrade(gate.server.port, { headers: { Authorization: `Bearer ${token}` } })
    assert.equal(status, 401)
    const client = await connect(gate.server.port)
    try {
      const reply = await client.request({
        Controller: 'Auth',
        Topic: 'AuthToken',
        TransactionID: 1,
        Data: { Provider: 'Bearer', AccessToken: token },
      })
      assert.ok(
        JSON.stringify(reply).includes('Reject') || JSON.stringify(reply).includes('Error'),
        JSON.stringify(reply),
      )
    } finally {
      client.socket.close()
    }
  })

  test('With openid a token for an API is good for userinfo, and for nothing else; without, not even for that', async () => {
    const answer = await gate.userinfo((await signIn({ scope: 'openid email orders:write' })).access_token)
    assert.deepEqual([answer.status, answer.body.email], [200, 'alice@example.com'])
    assert.equal((await gate.userinfo((await signIn({ scope: 'orders:write' })).access_token)).status, 403)
  })

  test('Hostile: a token of the built-in services has no audience of an API', async () => {
    const { access_token: token } = await signIn({
      scope: 'openid Platform/Market orders:write',
      resource: `${issuer}/query`,
    })
    assert.deepEqual(decodeClaims(token).aud, ['identity', 'platform'])
    assert.equal(String(decodeClaims(token).scope).includes('orders'), false)
  })

  test('Introspection knows tokens for APIs: for their client and for clients of the API, not for others', async () => {
    const { access_token: token } = await signIn({ scope: 'openid orders:write' })
    const ask = async (client: string) =>
      (await gate.post('/connect/introspect', { token }, { authorization: basic(client, SECRET) })).body
    const { active, aud, scope } = await ask('apis-only')
    assert.deepEqual({ active, aud, scope }, { active: true, aud: [ORDERS, 'identity'], scope: 'openid orders:write' })
    assert.equal((await ask('orders-api')).active, true)
    assert.deepEqual(await ask('other'), { active: false })
    // A change of roles takes away what no role gives any longer, and nothing else, although the token lists no roles.
    const { access_token: both } = await signIn({ scope: 'risk desk:read', resource: RISK })
    const roles = (await gate.stores.roles.list()).map(({ name, scopes }) =>
      name === 'orderer' ? { name, scopes: ['risk', 'orders:write', 'desk:read'] } : { name, scopes },
    )
    const wide = await signIn({ scope: 'orders:write orders/read' })
    const times = { at: Date.now() + 1000, expiresAt: Date.now() + 60_000 }
    await gate.stores.events.append({ kind: 'roles-changed', roles, ...times })
    const readScope = async (given: string) =>
      (await gate.post('/connect/introspect', { token: given }, { authorization: basic('apis-only', SECRET) })).body
        .scope
    await until('the event has arrived', 5000, async () => (await readScope(wide.access_token)) === 'orders:write')
    assert.equal(await readScope(both), 'risk')
  })

  test('Revocation knows tokens for APIs', async () => {
    const { access_token: token } = await signIn({ scope: 'openid orders:write' })
    assert.equal((await gate.userinfo(token)).status, 200)
    assert.equal((await gate.post('/connect/revocation', { token, client_id: 'app' })).status, 200)
    assert.equal((await gate.userinfo(token)).status, 401)
  })

  test('platform: a right of its own opens the platform, with the audience of the built-in services', async () => {
    const answer = await signIn({ scope: 'desk:read' })
    assert.deepEqual(shape(answer), { aud: 'platform', scope: 'desk:read' })
    assert.equal((await gate.get('/catalogue/tables', bearerHeader(answer))).status, 200)
  })

  test('RFC 9728: the documents of the built-in resources, and resource_metadata in 401 challenges', async () => {
    const prefix = '/.well-known/oauth-protected-resource'
    for (const [path, scope] of [
      ['', 'Identity/Admin'],
      ['/query', 'desk:read'],
      ['/Platform', 'Platform/Market'],
    ] as const) {
      const { body, headers } = await gate.get(prefix + path)
      assert.deepEqual([body.resource, body.authorization_servers], [issuer + path, [issuer]])
      assert.ok((body.scopes_supported as string[]).includes(scope))
      assert.equal((body.scopes_supported as string[]).includes('orders:write'), false)
      assert.equal(headers.get('content-type'), 'application/json')
    }
    const challenged: [string, string][] = [
      ['/catalogue/tables', '/query'],
      ['/Platform/topics', '/Platform'],
      ['/admin/users', ''],
      ['/connect/userinfo', ''],
    ]
    for (const [path, document] of challenged)
      assert.match(
        (await gate.get(path)).headers.get('www-authenticate') ?? '',
        new RegExp(`^Bearer .*resource_metadata="${issuer}${prefix}${document}"(, DPoP .*)?$`),
        path,
      )
    const { headers } = await refusedUpgrade(gate.server.port, { headers: { Authorization: 'Bearer bad' } })
    assert.ok(headers['www-authenticate']?.includes(`resource_metadata="${issuer}${prefix}/Platform"`))
  })

  test('RFC 8414: the metadata says what is configured, and the OpenID document with discovery exact does not', async () => {
    const { body } = await gate.get('/.well-known/oauth-authorization-server')
    assert.ok((body.scopes_supported as string[]).includes('orders:write'))
    assert.deepEqual(body.protected_resources, [issuer, `${issuer}/query`, `${issuer}/Platform`, ORDERS, RISK])
    const openid = await gate.get('/.well-known/openid-configuration')
    assert.equal(openid.text.includes('orders') || openid.text.includes('protected_resources'), false)
  })

  function passwordForm(form: Record<string, string>): Record<string, string> {
    return { grant_type: 'password', password: 'wonderland-1', client_id: 'app', ...form }
  }
})

function bearerHeader({ access_token: token }: TokenAnswer): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}
