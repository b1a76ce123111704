/** Token exchange (RFC 8693): what an API can get for its caller's token, and what ends it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createProofMaker } from '../support/dpop.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { openEvents } from '../support/event-client.ts'
import {
  type Answer,
  addOperator,
  basic,
  decodeClaims,
  decodeHeader,
  PASSWORD,
  SECRET,
  startGate,
  type TestGate,
} from '../support/identity.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connect } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const ORDERS = 'https://orders.example'
const RISK = 'https://risk.example'

onEveryEngineInLongRuns('token exchange', (place) => {
  let gate: TestGate
  let other: TestServer
  let operator: string
  before(async () => {
    gate = await startGate(place())
    other = await startTestServer(place(), { flags: { '--issuer': gate.server.issuer } })
    const { stores } = gate
    const api = { accessTokenLifetime: undefined, claims: [] }
    const scopes = (...names: string[]) => names.map((name) => ({ name, text: {} }))
    await stores.apis.put({ ...api, resource: ORDERS, name: 'Orders', scopes: scopes('orders:read', 'orders:write') })
    await stores.apis.put({ ...api, resource: RISK, name: 'Risk', scopes: scopes('risk:read', 'risk:write') })
    await stores.events.append({ kind: 'apis-changed' })
    await stores.roles.put({
      name: 'desk',
      scopes: ['orders:read', 'orders:write', 'risk:read', 'Platform/Market', 'Platform/News'],
    })
    const { passwordHash } = (await stores.users.findById(gate.aliceId)) ?? {}
    for (const username of ['bob', 'carol', 'dave'])
      await stores.users.create({ username, passwordHash, roles: ['desk'] })
    const all = 'openid orders:read orders:write risk:read risk:write Platform/Market Platform/News'
    for (const client_id of ['app', 'app2', 'app3'])
      await stores.clients.put({
        client_id,
        token_endpoint_auth_method: 'none',
        grant_types: ['password'],
        scope: all,
      })
    const exchanging = { grant_types: [EXCHANGE, 'client_credentials'], scope: 'orders:read' }
    const clients = [
      { client_id: 'orders', api: ORDERS, exchange_scope: 'Platform/Market Platform/Trading risk:read risk:write' },
      { client_id: 'orders2', api: ORDERS, exchange_scope: 'Platform/Market' },
      { client_id: 'risk', api: RISK, exchange_scope: 'orders:read Platform/Market' },
      { client_id: 'nothing', api: undefined },
      { client_id: 'undeclared', api: 'https://gone.example' },
    ]
    for (const { api, ...client } of clients) {
      await stores.clients.put({ ...exchanging, ...client, ...(api && { api }) })
      await stores.clients.addSecret(client.client_id, SECRET)
    }
    await stores.clients.put({
      ...exchanging,
      client_id: 'public',
      token_endpoint_auth_method: 'none',
      api: ORDERS,
    })
    await addOperator(gate)
    operator = (await gate.signIn({ username: 'olivia', client_id: 'console' })).access_token
    for (const port of [gate.server.port, other.port])
      await until('the APIs are known', 2000, async () => {
        const response = await fetch(`http://localhost:${port}/.well-known/oauth-authorization-server`)
        return (await response.text()).includes('risk:read')
      })
    const boss = (await gate.signIn({ username: 'boss' })).access_token
    const made = await query(
      gate.server,
      boss,
      "CREATE TABLE few (id Integer PRIMARY KEY) READ SCOPE 'Platform/Market'",
    )
    assert.equal(made, 200)
  })
  after(async () => {
    await other.stop()
    await gate.stop()
  })

  /** A user's token for an API, through an application. */
  const tokenFor = async (resource: string, form: Record<string, string> = {}): Promise<string> =>
    (await gate.signIn({ username: 'bob', client_id: 'app', resource, ...form })).access_token
  const exchange = (client: string, token: string, form: Record<string, string> | string[][] = {}): Promise<Answer> => {
    const body = new URLSearchParams({ grant_type: EXCHANGE, subject_token: token, subject_token_type: ACCESS_TOKEN })
    for (const [name = '', value = ''] of Array.isArray(form) ? form : Object.entries(form)) {
      if (name !== 'resource') body.delete(name)
      if (value !== '') body.append(name, value)
    }
    return gate.post('/connect/token', body, { authorization: basic(client, SECRET) })
  }
  const exchanged = async (client: string, token: string, form: Record<string, string> = {}): Promise<string> => {
    const { status, text, body } = await exchange(client, token, form)
    assert.equal(status, 200, text)
    return String(body.access_token)
  }
  const platform = () => ({ resource: `${gate.server.issuer}/query` })
  const query = async ({ port }: { port: number }, token: string, body = 'SELECT id FROM few') => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain; charset=utf-8' }
    return (await fetch(`http://localhost:${port}/query`, { method: 'POST', headers, body })).status
  }
  const refused = async (answer: Promise<Answer>, error: string, status = 400) => {
    const { status: got, body, text } = await answer
    assert.deepEqual([got, body.error], [status, error], text)
  }
  const admin = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${operator}`, 'content-type': 'application/json', 'if-match': '*' }
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const response = await fetch(gate.server.issuer + path, init)
    assert.ok(response.ok, await response.text())
  }

  test('RFC 8693 §2.2.2, RFC 9449 §7: a bound token is exchanged with a proof by its key only, and stays bound to it', async () => {
    const [own, foreign] = [createProofMaker(), createProofMaker()]
    const url = `${gate.server.issuer}/connect/token`
    const proof = (by = own, nonce?: string) => by.prove({ method: 'POST', url, nonce })
    const ask = (form: Record<string, string>, dpop: string | undefined, headers = {}) =>
      gate.post('/connect/token', form, { ...headers, ...(dpop && { dpop }) })
    const bob = { grant_type: 'password', username: 'bob', password: PASSWORD, client_id: 'app', resource: ORDERS }
    const asked = await ask(bob, proof())
    const { body: bound } = await ask(bob, proof(own, asked.headers.get('dpop-nonce') ?? ''))
    assert.equal(bound.token_type, 'DPoP')
    const subject = {
      grant_type: EXCHANGE,
      subject_token: String(bound.access_token),
      subject_token_type: ACCESS_TOKEN,
    }
    const authorization = basic('orders', SECRET)
    const by = (dpop: string | undefined) => ask({ ...subject, ...platform() }, dpop, { authorization })
    for (const dpop of [undefined, proof(foreign)]) {
      const { status, body } = await by(dpop)
      assert.deepEqual([status, body.error], [400, 'invalid_request'])
      assert.match(String(body.error_description), /bound to a key/)
    }
    const { status, text, body } = await by(proof())
    assert.equal(status, 200, text)
    assert.equal(body.token_type, 'DPoP')
    assert.deepEqual(decodeClaims(String(body.access_token)).cnf, { jkt: own.thumbprint })
    // A token that is not bound may become one: the API has a key of its own.
    const plain = await ask({ ...subject, subject_token: await tokenFor(ORDERS), ...platform() }, proof(foreign), {
      authorization,
    })
    assert.deepEqual(decodeClaims(String(plain.body.access_token)).cnf, { jkt: foreign.thumbprint })
  })

  test('RFC 8693 §2.2: the API gets a token of the same user for the next service', async () => {
    const token = await tokenFor(ORDERS)
    const parent = decodeClaims(token)
    const { status, body, text } = await exchange('orders', token, platform())
    assert.equal(status, 200, text)
    assert.equal(body.issued_token_type, ACCESS_TOKEN)
    assert.equal(body.token_type, 'Bearer')
    assert.equal(body.scope, 'Platform/Market')
    assert.equal(body.refresh_token, undefined)
    const child = decodeClaims(String(body.access_token))
    assert.partialDeepStrictEqual(child, {
      sub: parent.sub,
      aud: 'platform',
      client_id: 'orders',
      scope: 'Platform/Market',
      act: { sub: 'orders' },
      auth_time: parent.auth_time,
      amr: parent.amr,
    })
    const [ancestor] = child.ancestors as { jti: string }[]
    assert.equal(ancestor?.jti, parent.jti)
    assert.ok(Number(child.exp) <= Number(parent.exp))
    assert.equal(await query(gate.server, String(body.access_token)), 200)
    assert.equal(await query(gate.server, token), 401)

    const log = gate.database.db.selectFrom('audit_log').selectAll().where('event', '=', 'token.exchanged')
    await until('the audit log has both tokens', 1000, async () =>
      (await log.execute()).some((row) => {
        const { token: issued, subject_token: exchangedToken } = JSON.parse(String(row.details))
        return issued === child.jti && exchangedToken === parent.jti
      }),
    )
  })

  test('in its own API it gets at most the scopes of the token, elsewhere at most those of its registration', async () => {
    const token = await tokenFor(ORDERS, { scope: 'orders:read' })
    assert.equal((await exchange('orders', token, { resource: ORDERS })).body.scope, 'orders:read')
    await refused(exchange('orders', token, { resource: ORDERS, scope: 'orders:write' }), 'invalid_scope')
    await refused(exchange('orders', token, { ...platform(), scope: 'Platform/News' }), 'invalid_scope')
    await refused(exchange('orders', token, { ...platform(), scope: 'openid' }), 'invalid_scope')
    // The user does not hold it, though the client may ask for it.
    await refused(exchange('orders', token, { resource: RISK, scope: 'risk:write' }), 'invalid_scope')
    assert.equal((await exchange('orders', token, { resource: RISK })).body.scope, 'risk:read')
    assert.equal((await exchange('orders', token, { scope: 'risk:read' })).body.scope, 'risk:read')
    await refused(exchange('orders', token, { ...platform(), scope: 'Platform/Trading' }), 'invalid_scope')
    // The registration of the client for client_credentials does not count.
    await refused(exchange('orders2', token, { resource: RISK }), 'invalid_target')
  })

  test('one target: unknown, several and foreign ones are refused', async () => {
    const token = await tokenFor(ORDERS)
    await refused(exchange('orders', token, { resource: 'https://unknown.example' }), 'invalid_target')
    await refused(exchange('orders', token, { resource: `${RISK}/` }), 'invalid_target')
    const two = [
      ['resource', RISK],
      ['resource', `${gate.server.issuer}/query`],
    ]
    await refused(exchange('orders', token, two), 'invalid_target')
    await refused(exchange('orders', token, { audience: RISK }), 'invalid_target')
  })

  test('a token for somebody else, of a client, or no access token at all is refused', async () => {
    const { issuer } = gate.server
    const strangers = [
      await tokenFor(RISK),
      await tokenFor(`${issuer}/query`),
      (await gate.signIn()).access_token,
      String(
        (
          await gate.post(
            '/connect/token',
            { grant_type: 'client_credentials' },
            { authorization: basic('orders', SECRET) },
          )
        ).body.access_token,
      ),
      (await gate.signIn({ scope: 'openid' })).id_token ?? '',
      (await gate.signIn()).refresh_token,
      'garbage',
      `${(await tokenFor(ORDERS)).slice(0, -4)}AAAA`,
    ]
    const answers = await Promise.all(strangers.map((token) => exchange('orders', token, platform())))
    for (const { status, body } of answers) assert.deepEqual([status, body.error], [400, 'invalid_request'])
    // Nobody learns more about a token of somebody else than about garbage.
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  })

  test('only confidential clients that are an API and have the grant exchange tokens', async () => {
    const token = await tokenFor(ORDERS)
    await refused(exchange('nothing', token), 'unauthorized_client')
    await refused(exchange('undeclared', token), 'unauthorized_client')
    await refused(exchange('service', token), 'unauthorized_client')
    const form = { grant_type: EXCHANGE, subject_token: token, subject_token_type: ACCESS_TOKEN, client_id: 'public' }
    await refused(gate.post('/connect/token', form), 'unauthorized_client')
  })

  test('the parameters are checked, and there is no actor token', async () => {
    const token = await tokenFor(ORDERS)
    const jwt = 'urn:ietf:params:oauth:token-type:jwt'
    for (const form of [
      { subject_token: '' },
      { subject_token_type: '' },
      { subject_token_type: jwt },
      { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
      { actor_token: token },
      { actor_token_type: ACCESS_TOKEN },
    ])
      await refused(exchange('orders', token, form), 'invalid_request')
  })

  test('the token does not outlive the one it came from', async () => {
    await gate.stores.apis.put({
      resource: ORDERS,
      name: 'Orders',
      claims: [],
      accessTokenLifetime: 90,
      scopes: ['orders:read', 'orders:write'].map((name) => ({ name, text: {} })),
    })
    await gate.stores.events.append({ kind: 'apis-changed' })
    await until('the API has its lifetime', 2000, async () => {
      const { exp, iat } = decodeClaims(await tokenFor(ORDERS))
      return Number(exp) - Number(iat) === 90
    })
    const token = await tokenFor(ORDERS)
    const child = await exchanged('orders', token, platform())
    assert.equal(decodeClaims(child).exp, decodeClaims(token).exp)
    const grandchild = await exchanged('risk', await exchanged('orders', token, { resource: RISK }), platform())
    assert.equal(decodeClaims(grandchild).exp, decodeClaims(token).exp)
  })

  test('RFC 8693 §4.1: actors are nested up to four, and introspection shows them', async () => {
    let token = await tokenFor(ORDERS)
    for (const [client, resource] of [
      ['orders', RISK],
      ['risk', ORDERS],
      ['orders', RISK],
      ['risk', ORDERS],
    ] as const)
      token = await exchanged(client, token, { resource })
    const act = { sub: 'risk', act: { sub: 'orders', act: { sub: 'risk', act: { sub: 'orders' } } } }
    assert.deepEqual(decodeClaims(token).act, act)
    assert.equal((decodeClaims(token).ancestors as unknown[]).length, 4)
    const { body } = await gate.post('/connect/introspect', { token }, { authorization: basic('risk', SECRET) })
    assert.deepEqual([body.active, body.act], [true, act])
    await refused(exchange('orders', token, { resource: RISK }), 'invalid_request')
  })

  /** A child and a grandchild of the token, and what is open with each: a stream on the other node and a live query. */
  async function descend(token: string) {
    const child = await exchanged('orders', token, platform())
    const grandchild = await exchanged('risk', await exchanged('orders', token, { resource: RISK }), platform())
    for (const each of [child, grandchild])
      for (const server of [gate.server, other]) assert.equal(await query(server, each), 200)
    const stream = await connect(other.port, { headers: { authorization: `Bearer ${grandchild}` } })
    stream.send({ Controller: 'Auth', Topic: 'Identify', Action: 'Sub' })
    await stream.next()
    const live = await openEvents(`http://localhost:${other.port}/query`, {
      token: grandchild,
      headers: { 'content-type': 'text/plain' },
      body: 'SELECT id FROM few',
    })
    assert.equal((await live.next()).event, 'snapshot')
    const lost = stream.next().then(
      ({ Data }) => assert.notEqual((Data as { Result?: string }).Result, 'Success'),
      () => undefined,
    )
    return { tokens: [child, grandchild], ended: Promise.all([lost, live.ended()]), socket: stream.socket }
  }

  /** Everything that came from the token ends within a second, on both nodes. */
  async function endsAll(token: string, end: () => Promise<unknown>): Promise<void> {
    const { tokens, ended, socket } = await descend(token)
    await end()
    let hasEnded = false
    void ended.then(() => {
      hasEnded = true
    })
    await until('the stream and the live query have ended', 1000, () => hasEnded)
    await until('the tokens are refused on both nodes', 1000, async () => {
      const statuses = tokens.flatMap((each) => [gate.server, other].map((server) => query(server, each)))
      return (await Promise.all(statuses)).every((status) => status === 401)
    })
    socket.terminate()
    for (const client of ['orders', 'risk'])
      for (const each of [token, ...tokens]) await refused(exchange(client, each, platform()), 'invalid_request')
  }

  test('a revoked token ends every token that came from it', async () => {
    const token = await tokenFor(ORDERS)
    await endsAll(token, () => gate.post('/connect/revocation', { token, client_id: 'app' }))
  })

  test('a revoked child ends its own children, not its parent', async () => {
    const token = await tokenFor(ORDERS)
    const child = await exchanged('orders', token, { resource: RISK })
    const grandchild = await exchanged('risk', child, platform())
    await gate.post('/connect/revocation', { token: child }, { authorization: basic('orders', SECRET) })
    await until('the grandchild is refused', 1000, async () => (await query(other, grandchild)) === 401)
    assert.equal(await query(other, await exchanged('orders', token, platform())), 200)
  })

  test('disabling the application of the first token ends them', async () => {
    const token = await tokenFor(ORDERS, { client_id: 'app2' })
    await endsAll(token, () => admin('PATCH', '/admin/clients/app2', { disabled: true }))
  })

  test('disabling the user ends them', async () => {
    const token = await tokenFor(ORDERS, { username: 'carol' })
    await endsAll(token, () => admin('PATCH', '/admin/users/carol', { disabled: true }))
  })

  test('a revoked grant ends them', async () => {
    const token = await tokenFor(ORDERS, { username: 'dave', client_id: 'app3' })
    const [grant = ''] = String(decodeClaims(token).jti).split('.')
    await endsAll(token, () =>
      gate.stores.events.append({ kind: 'grant-revoked', grantId: grant, expiresAt: Date.now() + 60_000 }),
    )
  })

  test('a user who loses a right loses it in the tokens too', async () => {
    const token = await tokenFor(ORDERS)
    const child = await exchanged('orders', token, platform())
    await admin('PATCH', '/admin/roles/desk', { scopes: ['orders:read', 'orders:write', 'risk:read', 'Platform/News'] })
    await until('the right is gone', 1000, async () => (await query(other, child)) !== 200)
    await refused(exchange('orders', token, platform()), 'invalid_scope')
    await admin('PATCH', '/admin/roles/desk', {
      scopes: ['orders:read', 'orders:write', 'risk:read', 'Platform/News', 'Platform/Market'],
    })
  })

  test('a change of the exchanging client limits what it got by exchange', async () => {
    const token = await tokenFor(ORDERS)
    const child = await exchanged('orders2', token, platform())
    const own = await exchanged('orders2', token, { resource: ORDERS })
    const isActive = async (each: string) => {
      const { body } = await gate.post(
        '/connect/introspect',
        { token: each },
        { authorization: basic('orders2', SECRET) },
      )
      return body.active === true ? body.scope : false
    }
    await admin('PATCH', '/admin/clients/orders2', { scope: 'orders:read Platform/News' })
    assert.deepEqual([await isActive(child), await isActive(own)], ['Platform/Market', 'orders:read orders:write'])
    await admin('PATCH', '/admin/clients/orders2', { exchange_scope: 'risk:read' })
    await until('the scope is gone', 1000, async () => (await isActive(child)) === '')
    assert.equal(await isActive(own), 'orders:read orders:write')
  })

  test('RFC 8414: the metadata name the grant, the OpenID document does not', async () => {
    const metadata = (await gate.get('/.well-known/oauth-authorization-server')).body
    const openId = (await gate.get('/.well-known/openid-configuration')).body
    assert.ok((metadata.grant_types_supported as string[]).includes(EXCHANGE))
    assert.ok(!(openId.grant_types_supported as string[]).includes(EXCHANGE))
    assert.ok((metadata.token_endpoint_auth_methods_supported as string[]).includes('private_key_jwt'))
    assert.ok(!(openId.token_endpoint_auth_methods_supported as string[]).includes('private_key_jwt'))
  })

  test('withdrawing the key of the first token ends them, though another key signed them', async () => {
    const token = await tokenFor(ORDERS)
    const old = String(decodeHeader(token).kid)
    await admin('POST', '/admin/keys', { active_in: 0 })
    await until('another key signs', 5000, async () => decodeHeader(await tokenFor(ORDERS)).kid !== old)
    const child = await exchanged('orders', token, platform())
    assert.notEqual(decodeHeader(child).kid, old)
    await until('the other node knows the key', 1000, async () => (await query(other, child)) === 200)
    await admin('DELETE', `/admin/keys/${old}?compromised=true`)
    await until('the child is refused', 1000, async () => (await query(other, child)) === 401)
  })
})
