/** Agents that publish what they are: who may connect, the row that a consent makes, and what ends it. */
import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { after, before, beforeEach, test } from 'node:test'
import { prune } from '../../../packages/server/src/store/prune.ts'
import { ask, connect, decide, postToken, redeem, refresh } from '../../support/agents.ts'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { type DocumentServer, rsaPair, serveDocuments, signJwt, toJwk } from '../../support/foreign-issuer.ts'
import {
  ALICE,
  authorizeUrl,
  decodeClaims,
  newVerifier,
  openSignInPlace,
  readAnswer,
  type SignInPlace,
} from '../../support/sign-in-place.ts'
import { until } from '../../support/until.ts'
import { requirePage } from '../../support/user-agent.ts'

const BOTH = 'Platform/Market Platform/News'
const keys = rsaPair()
const DAY = 24 * 60 * 60_000

onEveryEngineInLongRuns('agents with documents', (at) => {
  let place: SignInPlace
  let issuer: string
  let agents: DocumentServer
  let host: string
  let client: string
  before(async () => {
    agents = await serveDocuments()
    host = new URL(agents.origin).host
    client = `${agents.origin}/agent.json`
    place = await openSignInPlace(at(), { flags: { '--mcp': 'true', '--client-jwks-private': 'true' } })
    issuer = place.server.issuer
    await place.stores.roles.put({ name: 'reader', scopes: BOTH.split(' ') })
    await place.stores.roles.put({ name: 'operator', scopes: ['Identity/Admin'] })
    await place.stores.users.setRoles(place.aliceId, ['reader', 'operator'])
    await place.stores.clients.put({
      ...{ client_id: 'operator', token_endpoint_auth_method: 'none', grant_types: ['password'] },
      scope: 'Identity/Admin',
    })
  })
  beforeEach(async () => {
    agents.documents.clear()
    publish(client)
    for (const { allow } of await listed()) await admin('DELETE', `/admin/agents/${encodeURIComponent(allow)}`)
    // After what this has ended, and so that no document is cached.
    place.clock.advance(2 * 60 * 60_000)
  })
  after(async () => {
    await place.close()
    await agents.close()
  })

  const publish = (id: string, changes: object = {}) =>
    agents.documents.set(new URL(id).pathname, {
      client_id: id,
      client_name: 'Claude Code',
      redirect_uris: ['http://localhost/callback', 'https://claude.example/callback'],
      token_endpoint_auth_method: 'none',
      ...changes,
    })
  const redirectUri = 'http://localhost:50123/callback'
  const connecting = (id = client) => ({ issuer, client: id, redirectUri })
  const listed = async () => (await admin('GET', '/admin/agents')).body.items as { allow: string }[]
  const allow = async (name: string, scopes?: string[]) => {
    const { status } = await admin('POST', '/admin/agents', { allow: name, ...(scopes && { scopes }) })
    assert.equal(status, 201)
  }

  test('RFC 8414: the document says so; that of OpenID does not', async () => {
    const read = async (name: string) =>
      (await (await fetch(`${issuer}/.well-known/${name}`)).json()) as Record<string, unknown>
    assert.equal((await read('oauth-authorization-server')).client_id_metadata_document_supported, true)
    assert.equal((await read('openid-configuration')).client_id_metadata_document_supported, undefined)
  })

  test('What is not allowed is never fetched: after the sign-in a page names the host', async () => {
    agents.fetched.length = 0
    const agent = place.newAgent({ 'accept-language': 'en' })
    const { page } = await ask(agent, connecting(), ALICE)
    const { status, body } = requirePage(page)
    assert.equal(status, 403)
    assert.match(body, new RegExp(`${host} is not allowed here`))
    assert.match(body, /agent\.not_allowed/)
    assert.deepEqual(agents.fetched, [])
    await until('the audit log has it', 2000, async () => {
      const { items } = (await admin('GET', '/admin/audit?event=agent.refused')).body
      return Array.isArray(items) && items.some((item) => item.target === host && item.actor === place.aliceId)
    })
    await allow(host)
    const again = requirePage(await agent.get(requirePage(page).url))
    assert.deepEqual([again.status, /is allowed now/.test(again.body)], [200, true])
  })

  test('An allowed one is asked about by its host; the first consent makes a row, nothing before does', async () => {
    await allow(host)
    const agent = place.newAgent({ 'accept-language': 'en' })
    const { page, verifier } = await ask(agent, connecting(), ALICE)
    assert.equal(await place.stores.clients.metadata(client), undefined)
    assert.match(requirePage(page).body, /A program on this device/)
    assert.match(requirePage(page).body, /Claude Code/)
    assert.ok(requirePage(page).body.includes(`${host} publishes its description`))
    const answer = await decide(agent, page)
    assert.ok(answer.kind === 'left' && answer.url.href.startsWith(redirectUri))
    const tokens = await redeem(connecting(), readAnswer(answer).get('code') ?? '', verifier)
    assert.deepEqual([decodeClaims(tokens.access_token).aud, tokens.scope], [`${issuer}/mcp`, BOTH])
    const row = await place.stores.clients.metadata(client)
    assert.deepEqual([row?.document, row?.agent, row?.client_name], [true, true, 'Claude Code'])
    const { items } = (await admin('GET', '/admin/grants?agent=true')).body
    assert.ok(Array.isArray(items) && items.some((item) => item.client_id === client && item.agent === true))
    const web = { ...connecting(), redirectUri: 'https://claude.example/callback' }
    assert.match(requirePage((await ask(place.newAgent(), web, ALICE)).page).body, new RegExp(`agent-host">${host}<`))
  })

  test('Refreshes do not wait for the host; a changed document counts from the next authorization on', async () => {
    await allow(client)
    const tokens = await connect(place.newAgent(), connecting(), ALICE)
    agents.documents.clear()
    agents.fetched.length = 0
    const again = await refresh(issuer, tokens.refresh_token, client)
    assert.deepEqual([again.status, agents.fetched], [200, []])
    publish(client, { redirect_uris: ['https://other.example/callback'] })
    place.clock.advance(60 * 60_000 + 1)
    const { page } = await ask(place.newAgent(), connecting(), ALICE)
    assert.equal(requirePage(page).status, 400)
    assert.equal((await refresh(issuer, String(again.body.refresh_token), client)).status, 200)
  })

  test('A document that changes between request and consent changes nothing for this request', async () => {
    await allow('*')
    const agent = place.newAgent()
    const { page, verifier } = await ask(agent, connecting(), ALICE)
    publish(client, { client_name: 'Evil', redirect_uris: ['https://evil.example/callback'] })
    const answer = readAnswer(await decide(agent, page))
    await redeem(connecting(), answer.get('code') ?? '', verifier)
    assert.equal((await place.stores.clients.metadata(client))?.client_name, 'Claude Code')
  })

  test('Removing an entry ends the grants of its clients at once, unless another entry allows them', async () => {
    await allow(host)
    await allow('*')
    const tokens = await connect(place.newAgent(), connecting(), ALICE)
    const introspect = async () => (await place.stores.grants.page({ limit: 1, agent: true })).length
    await admin('DELETE', `/admin/agents/${encodeURIComponent(host)}`)
    const again = await refresh(issuer, tokens.refresh_token, client)
    assert.equal(again.status, 200)
    assert.ok((await introspect()) > 0)
    await admin('DELETE', '/admin/agents/*')
    const refused = await refresh(issuer, String(again.body.refresh_token), client)
    assert.equal(refused.body.error, 'invalid_client')
    assert.equal(await introspect(), 0)
    // Allowed again, it has to be connected again.
    place.clock.advance(1000)
    await allow(host)
    assert.equal((await refresh(issuer, String(again.body.refresh_token), client)).body.error, 'invalid_grant')
    assert.equal((await connect(place.newAgent(), connecting(), ALICE)).scope, BOTH)
  })

  test('An entry narrows the scopes, also those of tokens that are out', async () => {
    await allow(client, ['Platform/News', 'Platform/Market'])
    const tokens = await connect(place.newAgent(), connecting(), ALICE)
    assert.equal(tokens.scope, BOTH)
    const path = `/admin/agents/${encodeURIComponent(client)}`
    assert.equal((await admin('PATCH', path, { scopes: ['Platform/News'] })).status, 200)
    const again = await refresh(issuer, tokens.refresh_token, client)
    assert.equal(again.body.scope, 'Platform/News')
    const { page } = await ask(place.newAgent(), connecting(), ALICE)
    assert.doesNotMatch(requirePage(page).body, /value="Platform\/Market"/)
  })

  test('While the page is open the entry goes: the answer is no code', async () => {
    await allow(host)
    const agent = place.newAgent()
    const { page } = await ask(agent, connecting(), ALICE)
    await admin('DELETE', `/admin/agents/${encodeURIComponent(host)}`)
    assert.equal(requirePage(await decide(agent, page)).status, 400)
  })

  test('While the page is open an operator disables it, or registers a client under its id: the answer is no code, and the row stays', async () => {
    await allow(host)
    await connect(place.newAgent(), connecting(), ALICE)
    const path = `/admin/clients/${encodeURIComponent(client)}`
    const agent = place.newAgent()
    const { page } = await ask(agent, connecting(), ALICE)
    assert.equal((await admin('PATCH', path, { disabled: true })).status, 200)
    assert.equal(requirePage(await decide(agent, page)).status, 400)
    assert.equal((await place.stores.clients.metadata(client))?.disabled, true)
    await admin('DELETE', path)
    const other = place.newAgent()
    const asked = await ask(other, connecting(), ALICE)
    const own = { client_id: client, redirect_uris: ['https://own.example/cb'] }
    await place.stores.clients.put(own)
    assert.equal(requirePage(await decide(other, asked.page)).status, 400)
    const { redirect_uris: redirects, document } = (await place.stores.clients.metadata(client)) ?? {}
    assert.deepEqual([redirects, document], [own.redirect_uris, undefined])
    await admin('DELETE', path)
  })

  test('RFC 9126: it pushes its request before it has a row; private_key_jwt with the keys of its document', async () => {
    const id = `${agents.origin}/confidential.json`
    publish(id, {
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [toJwk(keys.publicKey, { kid: 'k' })] },
    })
    const assertion = () => {
      const now = Math.floor(place.clock() / 1000)
      const claims = { iss: id, sub: id, aud: issuer, jti: String(Math.random()), iat: now, exp: now + 60 }
      return {
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: signJwt({ alg: 'RS256', kid: 'k' }, keys.privateKey, claims),
      }
    }
    const { verifier, challenge } = newVerifier()
    const push = (changes: Record<string, string> = {}) =>
      post('/connect/par', {
        ...{ client_id: id, redirect_uri: 'https://claude.example/callback', response_type: 'code' },
        ...{ code_challenge: challenge, code_challenge_method: 'S256', resource: `${issuer}/mcp` },
        ...assertion(),
        ...changes,
      })
    assert.deepEqual((await push()).body.error, 'invalid_client')
    await allow(host)
    assert.equal((await push({ client_assertion: 'x.y.z' })).body.error, 'invalid_client')
    const { request_uri: uri } = (await push()).body
    const agent = place.newAgent()
    const page = await ask(agent, { issuer, client: id, redirectUri: '', changes: { request_uri: String(uri) } }, ALICE)
    const code = readAnswer(await decide(agent, page.page)).get('code') ?? ''
    const form = { grant_type: 'authorization_code', code, code_verifier: verifier, client_id: id }
    const redirect = { redirect_uri: 'https://claude.example/callback' }
    assert.equal((await postToken(issuer, { ...form, ...redirect })).body.error, 'invalid_client')
    assert.equal((await postToken(issuer, { ...form, ...redirect, ...assertion() })).status, 200)
  })

  test('Hostile: an id that is no address of a document, a document that cannot be used, and a registered client of that name', async () => {
    await allow('*')
    for (const id of [
      `${agents.origin}/a/../agent.json`,
      `${agents.origin}/agent.json?x`,
      `${agents.origin}/`,
      'http://evil.example/x',
    ]) {
      const { page } = await ask(place.newAgent(), connecting(id), ALICE)
      assert.equal(requirePage(page).status, 400, id)
    }
    publish(client, { client_id: `${client}x` })
    const { page } = await ask(place.newAgent({ 'accept-language': 'en' }), connecting(), ALICE)
    assert.match(requirePage(page).body, /agent\.bad_document/)
    const own = `${agents.origin}/own`
    await place.stores.clients.put({
      client_id: own,
      token_endpoint_auth_method: 'none',
      redirect_uris: ['https://own.example/cb'],
      scope: 'openid',
    })
    agents.fetched.length = 0
    const registered = authorizeUrl(issuer, {
      client_id: own,
      redirect_uri: 'https://own.example/cb',
      code_challenge: newVerifier().challenge,
      code_challenge_method: 'S256',
    })
    assert.equal(requirePage(await place.newAgent().get(registered)).url.pathname, '/sign-in')
    assert.deepEqual(agents.fetched, [])
  })

  test('Withdrawn consent, a disabled user and a deleted row end it', async () => {
    await allow(host)
    const first = await connect(place.newAgent(), connecting(), ALICE)
    assert.equal((await admin('DELETE', `/admin/users/alice/consents/${encodeURIComponent(client)}`)).status, 204)
    assert.equal((await refresh(issuer, first.refresh_token, client)).body.error, 'invalid_grant')
    const second = await connect(place.newAgent(), connecting(), ALICE)
    assert.equal((await admin('DELETE', `/admin/clients/${encodeURIComponent(client)}`)).status, 204)
    assert.equal((await refresh(issuer, second.refresh_token, client)).body.error, 'invalid_client')
    assert.equal(await place.stores.consents.find(place.aliceId, client), undefined)
  })

  test('Administration lists the row; nobody edits it, and a file does not have it', async () => {
    await allow(host)
    await connect(place.newAgent(), connecting(), ALICE)
    const path = `/admin/clients/${encodeURIComponent(client)}`
    const shown = await admin('GET', path)
    assert.deepEqual([shown.status, shown.body.document], [200, true])
    assert.equal((await admin('PATCH', path, { client_name: 'Mine' })).status, 409)
    assert.equal((await admin('PATCH', path, { disabled: true })).status, 200)
    const { page } = await ask(place.newAgent(), connecting(), ALICE)
    assert.equal(requirePage(page).status, 400)
    await admin('PATCH', path, { disabled: false })
    const { declaration } = (await admin('GET', '/admin/declaration')).body
    const { agents: entries, clients } = declaration as { agents: object[]; clients: { client_id: string }[] }
    assert.deepEqual(entries, [{ allow: host }])
    assert.equal(
      clients.some(({ client_id }) => client_id === client),
      false,
    )
  })

  test('While a node of an earlier version runs, no agent with a document connects', async () => {
    await allow(host)
    const { db } = place.database
    const node = { id: 'old', name: `${hostname()}:${process.ppid}`, issuer: 'http://localhost', schema_version: 1 }
    const times = { seen_at: place.clock(), started_at: place.clock() }
    await db
      .insertInto('nodes')
      .values({ ...node, ...times })
      .execute()
    const { page } = await ask(place.newAgent(), connecting(), ALICE)
    assert.deepEqual([requirePage(page).status, /Upgrade\.Pending/.test(requirePage(page).body)], [409, true])
    assert.equal((await admin('POST', '/admin/agents', { allow: 'claude.ai' })).body.Code, 'Upgrade.Pending')
    await db.deleteFrom('nodes').where('id', '=', 'old').execute()
    assert.equal(requirePage((await ask(place.newAgent(), connecting(), ALICE)).page).status, 200)
  })

  test('A row without grants goes 90 days after the last consent', async () => {
    await allow(host)
    await connect(place.newAgent(), connecting(), ALICE)
    const options = { clock: place.clock, node: 'n', auditKept: undefined }
    place.clock.advance(60 * DAY)
    await prune(place.database, options)
    assert.ok(await place.stores.clients.metadata(client))
    place.clock.advance(31 * DAY)
    await prune(place.database, options)
    assert.equal(await place.stores.clients.metadata(client), undefined)
    assert.equal(await place.stores.consents.find(place.aliceId, client), undefined)
  })

  test('A thousand documents have a row, and no more', async () => {
    await allow('*')
    const { db } = place.database
    const metadata = JSON.stringify({ agent: true, token_endpoint_auth_method: 'none' })
    const row = { metadata, disabled: 0, document: 1, created_at: place.clock(), updated_at: place.clock() }
    const left = 1000 - (await place.stores.clients.listDocuments()).length
    const rows = Array.from({ length: left }, (_, at) => ({ ...row, client_id: `https://many.example/${at}` }))
    await db.insertInto('clients').values(rows).execute()
    const id = `${agents.origin}/one-more.json`
    publish(id)
    const agent = place.newAgent({ 'accept-language': 'en' })
    const { page } = await ask(agent, connecting(id), ALICE)
    assert.match(requirePage(await decide(agent, page)).body, /agent\.too_many/)
    await db.deleteFrom('clients').where('client_id', 'like', 'https://many.example/%').execute()
  })

  async function admin(method: string, path: string, body?: object) {
    const reply = await postToken(issuer, { grant_type: 'password', client_id: 'operator', ...ALICE })
    const headers = {
      authorization: `Bearer ${reply.body.access_token}`,
      'content-type': 'application/json',
      'if-match': '*',
    }
    const response = await fetch(issuer + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    const text = await response.text()
    return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> }
  }

  async function post(path: string, form: Record<string, string>) {
    const response = await fetch(issuer + path, { method: 'POST', body: new URLSearchParams(form) })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
})
