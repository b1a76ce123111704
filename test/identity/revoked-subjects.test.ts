/** Sign-out, disabled clients, deleted users and reduced rights revoke tokens on every node within a second. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  createRevocations,
  openRevocations,
  type RevocationsInside,
} from '../../packages/server/src/store/authorizations/revocations.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { basic, decodeClaims, SECRET, startGate, type TestGate, type TokenAnswer } from '../support/identity.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connect } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

onEveryEngineInLongRuns('revocation by subject', (place) => {
  let gate: TestGate
  let other: TestServer
  /** Works through the database alone, like the command line. */
  let revoke: (work: (revocations: RevocationsInside) => Promise<unknown>) => Promise<unknown>
  before(async () => {
    gate = await startGate(place())
    other = await startTestServer(place(), { flags: { '--issuer': gate.server.issuer } })
    revoke = openRevocations({ database: gate.database, clock: Date.now, receive: () => {} }).inTransaction
  })
  after(async () => {
    await other.stop()
    await gate.stop()
  })

  async function introspect(server: { port: number }, token: string): Promise<{ active: boolean; scope?: string }> {
    const response = await fetch(`http://localhost:${server.port}/connect/introspect`, {
      method: 'POST',
      body: new URLSearchParams({ token }),
      headers: { authorization: basic('service', SECRET) },
    })
    return (await response.json()) as { active: boolean; scope?: string }
  }
  const onBoth = (what: string, token: string, as: (found: { active: boolean; scope?: string }) => boolean) =>
    until(what, 1000, async () => as(await introspect(gate.server, token)) && as(await introspect(other, token)))
  const isRevoked = (token: string) => onBoth('it is inactive on both nodes', token, ({ active }) => !active)
  const refresh = (refresh_token: string) =>
    gate.post('/connect/token', { grant_type: 'refresh_token', refresh_token }, { authorization: basic('web', SECRET) })

  async function browserTokens(
    scopes: readonly string[],
    sessionId: string,
    lifetimeMs = 86_400_000,
  ): Promise<TokenAnswer> {
    const answer = await (await browserCode(scopes, sessionId, lifetimeMs))()
    assert.equal(answer.status, 200, answer.text)
    return answer.body as unknown as TokenAnswer
  }

  /** Returns a function that redeems the code. */
  async function browserCode(scopes: readonly string[], sessionId: string, lifetimeMs = 86_400_000) {
    const grant = await gate.stores.grants.create({
      kind: 'authorization_code',
      clientId: 'web',
      userId: gate.aliceId,
      sessionId,
      scopes,
      authTime: Date.now(),
      details: { amr: ['pwd'] },
      expiresAt: Date.now() + lifetimeMs,
    })
    const redirectUri = 'https://app.example/callback'
    const code = await gate.stores.codes.issue(grant.id, { redirectUri }, 60_000)
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
    return () => gate.post('/connect/token', form, { authorization: basic('web', SECRET) })
  }

  test('B-47: sign-out ends the tokens of the session; offline access can be refreshed, without the session', async () => {
    const offline = await browserTokens(['openid', 'offline_access'], 'session-a')
    const online = await browserTokens(['openid'], 'session-a')
    const elsewhere = await browserTokens(['openid'], 'session-b')
    assert.equal(decodeClaims(online.access_token).sid, 'session-a')
    await revoke((revocations) => revocations.revokeSession('session-a'))
    await isRevoked(offline.access_token)
    await isRevoked(online.access_token)
    assert.equal((await introspect(other, elsewhere.access_token)).active, true)
    const refreshed = await refresh(offline.refresh_token)
    assert.equal(refreshed.status, 200, refreshed.text)
    const token = String(refreshed.body.access_token)
    assert.ok(!('sid' in decodeClaims(token)))
    assert.equal((await introspect(other, token)).active, true)
  })

  test('a code of a session that ended before the grant was written is refused; with offline access it is accepted', async () => {
    const marker = await browserTokens(['openid'], 'session-c')
    await revoke((revocations) => revocations.revokeSession('session-c'))
    await isRevoked(marker.access_token)
    await assert.rejects(browserTokens(['openid'], 'session-c'), /invalid_grant/)
    assert.ok(!('sid' in decodeClaims((await browserTokens(['openid', 'offline_access'], 'session-c')).access_token)))
  })

  test('C-67: the code of a grant that was written while its user was being revoked is refused', async () => {
    const marker = await browserTokens(['openid'], 'session-d')
    const redeem = await browserCode(['openid', 'offline_access'], 'session-d')
    // The grants had been revoked before this one was written.
    const grants = { revoke: async () => [] }
    await createRevocations({ grants, publish: gate.stores.events.append, clock: Date.now }).revokeUser(gate.aliceId)
    await isRevoked(marker.access_token)
    const answer = await redeem()
    assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_grant'])
  })

  test('B-46: a scope removed from a client is not issued for older grants', async () => {
    const metadata = {
      client_id: 'shrinking',
      token_endpoint_auth_method: 'none',
      grant_types: ['password', 'refresh_token'],
    } as const
    await gate.stores.clients.put({ ...metadata, scope: 'offline_access Platform/News Platform/Trading' })
    const { scope, refresh_token } = await gate.signIn({ client_id: 'shrinking' })
    assert.equal(scope, 'offline_access Platform/News Platform/Trading')
    await gate.stores.clients.put({ ...metadata, scope: 'offline_access Platform/News' })
    await gate.stores.events.append({ kind: 'clients-changed', clientId: 'shrinking' })
    const form = { grant_type: 'refresh_token', client_id: 'shrinking' }
    let latest = refresh_token
    await until('the scope is gone', 1000, async () => {
      const { body } = await gate.post('/connect/token', { ...form, refresh_token: latest })
      latest = String(body.refresh_token)
      return body.scope === 'offline_access Platform/News'
    })
  })

  test('no access token outlives its grant, by which it could be revoked', async () => {
    const { access_token, expires_in } = await browserTokens(['openid', 'offline_access'], 'session-d', 100_000)
    const { iat, exp } = decodeClaims(access_token)
    assert.ok(expires_in <= 100 && expires_in > 50, String(expires_in))
    assert.equal(Number(exp) - Number(iat), expires_in)
  })

  test('a disabled client: its tokens and its secret are refused', async () => {
    const metadata = { client_id: 'doomed', grant_types: ['client_credentials'], scope: 'Platform/News' }
    await gate.stores.clients.put(metadata)
    await gate.stores.clients.addSecret('doomed', SECRET)
    const ask = () =>
      gate.post('/connect/token', { grant_type: 'client_credentials' }, { authorization: basic('doomed', SECRET) })
    const token = String((await ask()).body.access_token)
    assert.equal((await introspect(other, token)).active, true)
    await gate.stores.clients.put({ ...metadata, disabled: true })
    await gate.stores.events.append({ kind: 'clients-changed', clientId: 'doomed' })
    await revoke((revocations) => revocations.revokeClient('doomed'))
    await isRevoked(token)
    assert.equal((await ask()).body.error, 'invalid_client')
  })

  test('reduced rights: a token loses the rights that its user lost; a token issued after they are restored has them', async () => {
    const { access_token } = await gate.signIn({ scope: 'openid Platform/News Platform/Trading' })
    const giveRoles = async (roles: readonly string[]) => {
      await gate.stores.users.setRoles(gate.aliceId, roles)
      const alice = await gate.stores.users.findById(gate.aliceId)
      assert.ok(alice !== undefined)
      await revoke((revocations) => revocations.limitUserRights(alice))
    }
    await gate.stores.roles.put({ name: 'reader', scopes: ['Platform/News'] })
    await giveRoles(['reader'])
    await onBoth('only News is left', access_token, ({ scope }) => scope === 'openid Platform/News')
    await giveRoles(['trader'])
    const later = await gate.signIn({ scope: 'Platform/Trading' })
    await onBoth('Trading is back', later.access_token, ({ scope }) => scope === 'Platform/Trading')
  })

  test('a removed role hides its rows from tokens that still name the role', async () => {
    const passwordHash = (await gate.stores.users.findById(gate.aliceId))?.passwordHash
    await gate.stores.roles.put({ name: 'auditor', scopes: [] })
    const id = await gate.stores.users.create({ username: 'amy', passwordHash, roles: ['chief', 'auditor'] })
    const { access_token } = await gate.signIn({ username: 'amy' })
    const query = async (text: string) => {
      const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'text/plain; charset=utf-8' }
      const response = await fetch(`${gate.server.issuer}/query`, { method: 'POST', headers, body: text })
      assert.equal(response.status, 200, await response.clone().text())
      return await response.text()
    }
    await query(
      `CREATE TABLE findings (id Integer PRIMARY KEY, note Text) WRITE SCOPE 'Platform/Admin' ROW FILTER ('auditor' IN (:role))`,
    )
    await query(`INSERT INTO findings (id, note) VALUES (1, 'a secret finding')`)
    const seen = async () => (await query('SELECT note FROM findings')).includes('a secret finding')
    assert.equal(await seen(), true)
    await gate.stores.users.setRoles(id, ['chief'])
    const user = await gate.stores.users.findById(id)
    assert.ok(user !== undefined)
    await revoke((revocations) => revocations.limitUserRights(user))
    await until('the rows are hidden', 1000, async () => !(await seen()))
  })

  test('thousands of users at once: few events, and all their tokens and streams end', async () => {
    const passwordHash = (await gate.stores.users.findById(gate.aliceId))?.passwordHash
    const ids = Array.from({ length: 2500 }, (_, index) => `usr_leaver_${index}`)
    const id = await gate.stores.users.create({ username: 'leaver', passwordHash, roles: ['trader'] })
    ids.splice(1200, 0, id)
    const { access_token } = await gate.signIn({ username: 'leaver' })
    const { access_token: kept } = await gate.signIn()
    const stream = await connect(other.port, { headers: { Authorization: `Bearer ${access_token}` } })
    const before = await gate.stores.events.lastSeq()
    await revoke((revocations) => revocations.revokeUsers(ids))
    await isRevoked(access_token)
    await stream.closed
    const written = await gate.stores.events.since(before)
    // Three with the change, and three later than its commit.
    assert.deepEqual(
      written.map(({ event }) => event.kind),
      Array(6).fill('subjects-cut'),
    )
    assert.equal((await introspect(other, kept)).active, true)
  })

  test('a deleted user: all tokens are refused', async () => {
    const passwordHash = (await gate.stores.users.findById(gate.aliceId))?.passwordHash
    const id = await gate.stores.users.create({ username: 'gone-soon', passwordHash, roles: ['trader'] })
    const tokens = await gate.signIn({ username: 'gone-soon' })
    await gate.stores.users.remove(id)
    await revoke((revocations) => revocations.revokeUser(id))
    await isRevoked(tokens.access_token)
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: 'cli' }
    assert.equal((await gate.post('/connect/token', form)).body.error, 'invalid_grant')
  })
})
