/** Access tokens for agents: the resource {issuer}/mcp in every grant, its documents, and every endpoint that must not take them. */
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
import { signInTo } from '../support/wire-client.ts'

const OWN = 'desk:read'
const AGENT_SCOPES = `Platform/Market Platform/News ${OWN} not:declared`

onEveryEngineInLongRuns('tokens for agents', (place) => {
  let gate: TestGate
  let issuer: string
  let mcp: string
  before(async () => {
    const flags = { '--mcp': 'true', '--agent-scopes': AGENT_SCOPES, '--scim': 'true', '--wire-port': '0' }
    gate = await startGate(place(), { flags })
    issuer = gate.server.issuer
    mcp = `${issuer}/mcp`
    const { stores } = gate
    await addOperator(gate)
    const platform = { resource: 'platform', name: 'Desk', accessTokenLifetime: undefined, claims: [] }
    await stores.apis.put({ ...platform, scopes: [{ name: OWN, text: {} }] })
    const orders = { ...platform, resource: 'https://orders.example.com', name: 'Orders' }
    await stores.apis.put({ ...orders, scopes: [{ name: 'orders:write', text: {} }] })
    await stores.events.append({ kind: 'apis-changed' })
    const grants = {
      token_endpoint_auth_method: 'none',
      grant_types: ['password', 'refresh_token', DEVICE_GRANT],
    } as const
    const scope = 'openid profile offline_access Platform/Market Platform/News Platform/Trading'
    await stores.clients.put({ client_id: 'app', ...grants, scope })
    await stores.clients.put({ client_id: 'assistant', ...grants, scope, agent: true })
    await stores.clients.put({ client_id: 'trader', ...grants, scope: 'openid Platform/Trading' })
    const machine = { grant_types: ['client_credentials'], scope: 'Platform/Market Platform/Trading' }
    await stores.clients.put({ client_id: 'robot', ...machine })
    await stores.clients.put({ client_id: 'agent-robot', ...machine, agent: true })
    await stores.clients.put({ client_id: 'other', ...machine })
    for (const id of ['robot', 'agent-robot', 'other']) await stores.clients.addSecret(id, SECRET)
  })
  after(() => gate.stop())

  const ok = (answer: Answer): TokenAnswer => {
    assert.equal(answer.status, 200, answer.text)
    return answer.body as unknown as TokenAnswer
  }
  const refused = (answer: Answer, error: string): void =>
    assert.deepEqual([answer.status, answer.body.error], [400, error], answer.text)
  const passwordForm = (form: Record<string, string>) => ({
    ...{ grant_type: 'password', username: 'alice', password: 'wonderland-1', client_id: 'app' },
    ...form,
  })
  const signIn = async (form: Record<string, string>) => ok(await gate.post('/connect/token', passwordForm(form)))
  const refresh = (token: string, form: Record<string, string> = {}, client = 'app') =>
    gate.post('/connect/token', { grant_type: 'refresh_token', refresh_token: token, client_id: client, ...form })
  const robot = (client: string, form: Record<string, string> = {}) =>
    gate.post('/connect/token', { grant_type: 'client_credentials', ...form }, { authorization: basic(client, SECRET) })
  const shape = ({ access_token: token, scope }: TokenAnswer) => ({ aud: decodeClaims(token).aud, scope })
  const read = 'Platform/Market Platform/News'

  test('RFC 8707: a token for {issuer}/mcp has that aud alone, 15 minutes, and no scopes but those of agents', async () => {
    const answer = await signIn({ scope: `openid profile ${read} Platform/Trading`, resource: mcp })
    assert.deepEqual(shape(answer), { aud: mcp, scope: read })
    const { exp, iat, role, scope } = decodeClaims(answer.access_token)
    assert.deepEqual([Number(exp) - Number(iat), answer.expires_in, role, scope], [900, 900, undefined, read])
    assert.equal(answer.id_token, undefined)
  })

  test('RFC 8707: a slash at the end, and the case of scheme and host are forgiven; nothing else is', async () => {
    const { host } = new URL(issuer)
    for (const resource of [`${mcp}/`, `HTTP://${host.toUpperCase()}/mcp`, `http://${host.replace('l', 'L')}/mcp/`])
      assert.equal(shape(await signIn({ scope: read, resource })).aud, mcp, resource)
    const other = ['/MCP', '/mcp//', '/mcp?x', '/mcp#', '/mcp/x', '/%6dcp'].map((path) => issuer + path)
    for (const resource of [...other, `http://user@${host}/mcp`])
      refused(await gate.post('/connect/token', passwordForm({ scope: read, resource })), 'invalid_target')
  })

  test('RFC 6749 §3.3: none of its scopes left is invalid_scope; a client without one may not name it', async () => {
    refused(await gate.post('/connect/token', passwordForm({ scope: 'openid', resource: mcp })), 'invalid_scope')
    refused(
      await gate.post('/connect/token', passwordForm({ scope: 'Platform/Trading', resource: mcp })),
      'invalid_scope',
    )
    refused(await gate.post('/connect/token', passwordForm({ client_id: 'trader', resource: mcp })), 'invalid_target')
    // The boss holds no right of it but news.
    assert.equal((await signIn({ username: 'boss', scope: read, resource: mcp })).scope, 'Platform/News')
  })

  test('RFC 6749 §6: a stored login is refreshed for agents, with no more than agents have, and stays what it was', async () => {
    const { refresh_token: first } = await signIn({ scope: `openid offline_access ${read} Platform/Trading` })
    const ofAgents = ok(await refresh(first, { resource: mcp }))
    assert.deepEqual(shape(ofAgents), { aud: mcp, scope: read })
    const narrow = ok(await refresh(ofAgents.refresh_token, { resource: mcp, scope: 'openid Platform/News email' }))
    assert.deepEqual(shape(narrow), { aud: mcp, scope: 'Platform/News' })
    const whole = ok(await refresh(narrow.refresh_token))
    assert.deepEqual(whole.scope, `offline_access openid ${read} Platform/Trading`)
    refused(await refresh(whole.refresh_token, { scope: 'email' }), 'invalid_scope')
  })

  test('RFC 6749 §4.4: a client for itself', async () => {
    assert.deepEqual(shape(ok(await robot('robot', { resource: mcp }))), { aud: mcp, scope: 'Platform/Market' })
    assert.deepEqual(
      shape(ok(await robot('robot', { resource: mcp, scope: `openid ${read}` }))).scope,
      'Platform/Market',
    )
  })

  test('A client with agent: true gets tokens for agents whether it says so or not, and no others', async () => {
    const scope = `openid offline_access ${read} Platform/Trading`
    const answer = await signIn({ client_id: 'assistant', scope })
    assert.deepEqual(shape(answer), { aud: mcp, scope: read })
    const again = ok(await refresh(answer.refresh_token, {}, 'assistant'))
    assert.deepEqual(shape(again), { aud: mcp, scope: read })
    for (const resource of [`${issuer}/query`, issuer, `${issuer}/Platform`]) {
      refused(
        await gate.post('/connect/token', passwordForm({ client_id: 'assistant', scope, resource })),
        'invalid_target',
      )
      refused(await refresh(again.refresh_token, { resource }, 'assistant'), 'invalid_target')
    }
    assert.deepEqual(shape(ok(await robot('agent-robot'))), { aud: mcp, scope: 'Platform/Market' })
    assert.equal(shape(await signIn({ client_id: 'assistant' })).scope, read)
  })

  test('Many agents do not ask for a refresh token: theirs come all the same', async () => {
    assert.ok((await signIn({ client_id: 'assistant', scope: read })).refresh_token)
    assert.equal((await signIn({ scope: read, resource: mcp })).refresh_token, undefined)
  })

  test('RFC 8628: a device names it, too', async () => {
    const form = { client_id: 'app', scope: `openid ${read} Platform/Trading`, resource: mcp }
    const { user_code: code } = (await gate.post('/connect/deviceauthorization', form)).body
    const request = await gate.stores.deviceCodes.findPending(String(code))
    assert.deepEqual([request?.scopes, request?.audiences], [read.split(' '), [mcp]])
  })

  test('RFC 9728: the document of the resource and RFC 8414: that of the server name it; that of OpenID does not', async () => {
    const document = (await gate.get('/.well-known/oauth-protected-resource/mcp')).body
    assert.deepEqual(document, {
      resource: mcp,
      authorization_servers: [issuer],
      scopes_supported: [...read.split(' '), OWN],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: ['ES256', 'PS256', 'Ed25519', 'EdDSA'],
    })
    const { protected_resources: resources } = (await gate.get('/.well-known/oauth-authorization-server')).body
    assert.ok(Array.isArray(resources) && resources.includes(mcp))
    assert.equal((await gate.get('/.well-known/openid-configuration')).text.includes('mcp'), false)
  })

  test('Hostile: a token for agents is refused at every other endpoint', async () => {
    const { access_token: token } = await signIn({ scope: read, resource: mcp })
    const bearer = { authorization: `Bearer ${token}` }
    const paths = [
      '/catalogue/tables',
      '/saved',
      '/feeds',
      '/admin/users',
      '/Platform/topics',
      '/metrics',
      '/scim/v2/Users',
      '/alerts',
      '/licences',
      '/admin/agents',
      '/admin/grants',
      '/admin/products',
      '/admin/queries',
      '/admin/audit',
    ]
    for (const path of paths) assert.equal((await gate.get(path, bearer)).status, 401, path)
    for (const path of ['/query', '/Query/cataloguetables/Select', '/Query/cataloguetables/Insert', '/feeds/a/b']) {
      const headers = { ...bearer, 'content-type': path === '/query' ? 'text/plain' : 'application/json' }
      const { status } = await fetch(issuer + path, { method: 'POST', body: '[]', headers })
      assert.equal(status, 401, path)
    }
    assert.equal((await gate.userinfo(token)).status, 403)
    const { status } = await refusedUpgrade(gate.server.port, { headers: { Authorization: `Bearer ${token}` } })
    assert.equal(status, 401)
    const client = await connect(gate.server.port)
    const reply = await client.request({
      ...{ Controller: 'Auth', Topic: 'AuthToken', TransactionID: 1 },
      Data: { Provider: 'Bearer', AccessToken: token },
    })
    client.socket.close()
    assert.match(JSON.stringify(reply), /Reject|Error/)
    const wire = await signInTo(gate.server.wirePort ?? 0, 'alice', token)
    wire.client.close()
    assert.equal(wire.replies.at(-1)?.type, 'E')
  })

  test('RFC 7662: introspection shows it to its own client, and to no other that has its scopes', async () => {
    const { access_token: token } = ok(await robot('robot', { resource: mcp }))
    const ask = async (client: string) =>
      (await gate.post('/connect/introspect', { token }, { authorization: basic(client, SECRET) })).body
    assert.deepEqual([(await ask('robot')).aud, (await ask('other')).active], [mcp, false])
  })

  test('RFC 7009: it is revoked as any other', async () => {
    const { access_token: token } = ok(await robot('robot', { resource: mcp }))
    const authorization = basic('robot', SECRET)
    assert.equal((await gate.post('/connect/revocation', { token }, { authorization })).status, 200)
    assert.deepEqual((await gate.post('/connect/introspect', { token }, { authorization })).body, { active: false })
  })

  test('No API takes its place', async () => {
    const { access_token: token } = await signIn({ username: 'olivia', client_id: 'console' })
    const { status } = await fetch(`${issuer}/admin/apis`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ resource: mcp }),
    })
    assert.equal(status, 422)
  })
})

onEveryEngineInLongRuns('without agents', (place) => {
  let gate: TestGate
  before(async () => {
    gate = await startGate(place())
  })
  after(() => gate.stop())

  test('mcp off: no document names it, no token is for it, and agents get none', async () => {
    const { issuer } = gate.server
    assert.equal((await gate.get('/.well-known/oauth-protected-resource/mcp')).status, 404)
    assert.equal((await gate.get('/.well-known/oauth-authorization-server')).text.includes('mcp'), false)
    await gate.stores.clients.put({ client_id: 'robot', grant_types: ['client_credentials'], scope: 'Platform/Market' })
    await gate.stores.clients.put({
      client_id: 'agent',
      grant_types: ['client_credentials'],
      scope: 'Platform/Market',
      agent: true,
    })
    for (const id of ['robot', 'agent']) {
      await gate.stores.clients.addSecret(id, SECRET)
      const form = { grant_type: 'client_credentials', ...(id === 'robot' && { resource: `${issuer}/mcp` }) }
      const answer = await gate.post('/connect/token', form, { authorization: basic(id, SECRET) })
      assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_target'])
    }
  })
})

test('agent_scopes: Platform/Admin, the scopes of identity and those of OpenID refuse the start', async () => {
  const { loadConfig } = await import('../../packages/server/src/config/load.ts')
  for (const scope of ['Platform/Admin', 'platform/admin', 'Identity/Admin', 'openid', 'offline_access', ''])
    assert.throws(() => loadConfig({ flags: { '--agent-scopes': scope } }), /is not for agents|at least one/, scope)
  const { config } = loadConfig({ flags: { '--agent-scopes': 'Platform/News, desk:read' } })
  assert.deepEqual(config.agentScopes, ['Platform/News', 'desk:read'])
})
