/** What ends tokens before their time, felt by every node within a second: sign-out, disabled clients, lowered rights. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createTakeBack, type TakeBack } from '../../src/store/take-back.ts'
import { onEveryEngine } from '../support/engines.ts'
import { basic, claimsOf, SECRET, startGate, type TestGate, type TokenAnswer } from '../support/identity.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

onEveryEngine('cuts', (place) => {
  let gate: TestGate
  let other: TestServer
  /** As the command line does it: by the database alone. */
  let takeBack: TakeBack
  before(async () => {
    gate = await startGate(place())
    other = await startTestServer(place(), { flags: { '--issuer': gate.server.issuer } })
    takeBack = createTakeBack({ grants: gate.stores.grants, publish: gate.stores.events.append, clock: Date.now })
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
  const isDead = (token: string) => onBoth('it is dead on both nodes', token, ({ active }) => !active)
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

  /** What redeems it. */
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

  test('B-47: sign-out ends the tokens of the session; what was granted for offline use can be refreshed, without the session', async () => {
    const offline = await browserTokens(['openid', 'offline_access'], 'session-a')
    const online = await browserTokens(['openid'], 'session-a')
    const elsewhere = await browserTokens(['openid'], 'session-b')
    assert.equal(claimsOf(online.access_token).sid, 'session-a')
    await takeBack.session('session-a')
    await isDead(offline.access_token)
    await isDead(online.access_token)
    assert.equal((await introspect(other, elsewhere.access_token)).active, true)
    const refreshed = await refresh(offline.refresh_token)
    assert.equal(refreshed.status, 200, refreshed.text)
    const token = String(refreshed.body.access_token)
    assert.ok(!('sid' in claimsOf(token)))
    assert.equal((await introspect(other, token)).active, true)
  })

  test('a code of a session that ended before the grant was written gives nothing; one for offline use does', async () => {
    const marker = await browserTokens(['openid'], 'session-c')
    await takeBack.session('session-c')
    await isDead(marker.access_token)
    await assert.rejects(browserTokens(['openid'], 'session-c'), /invalid_grant/)
    assert.ok(!('sid' in claimsOf((await browserTokens(['openid', 'offline_access'], 'session-c')).access_token)))
  })

  test('C-67: a grant that was written while its user was being cut off gives nothing for its code', async () => {
    const marker = await browserTokens(['openid'], 'session-d')
    const redeem = await browserCode(['openid', 'offline_access'], 'session-d')
    // The rows had been revoked before this one was there.
    const grants = { revoke: async () => [] }
    await createTakeBack({ grants, publish: gate.stores.events.append, clock: Date.now }).user(gate.aliceId)
    await isDead(marker.access_token)
    const answer = await redeem()
    assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_grant'])
  })

  test('B-46: what a client may no longer ask for, it no longer gets for an older grant', async () => {
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
    await until('the lost scope is gone', 1000, async () => {
      const { body } = await gate.post('/connect/token', { ...form, refresh_token: latest })
      latest = String(body.refresh_token)
      return body.scope === 'offline_access Platform/News'
    })
  })

  test('no access token outlives its grant, with which it would be taken back', async () => {
    const { access_token, expires_in } = await browserTokens(['openid', 'offline_access'], 'session-d', 100_000)
    const { iat, exp } = claimsOf(access_token)
    assert.ok(expires_in <= 100 && expires_in > 50, String(expires_in))
    assert.equal(Number(exp) - Number(iat), expires_in)
  })

  test('a disabled client: its tokens are dead, its secret is no good', async () => {
    const metadata = { client_id: 'doomed', grant_types: ['client_credentials'], scope: 'Platform/News' }
    await gate.stores.clients.put(metadata)
    await gate.stores.clients.addSecret('doomed', SECRET)
    const ask = () =>
      gate.post('/connect/token', { grant_type: 'client_credentials' }, { authorization: basic('doomed', SECRET) })
    const token = String((await ask()).body.access_token)
    assert.equal((await introspect(other, token)).active, true)
    await gate.stores.clients.put({ ...metadata, disabled: true })
    await gate.stores.events.append({ kind: 'clients-changed', clientId: 'doomed' })
    await takeBack.client('doomed')
    await isDead(token)
    assert.equal((await ask()).body.error, 'invalid_client')
  })

  test('lowered rights: a token keeps only what its user still holds; one issued later has what was given back', async () => {
    const { access_token } = await gate.signIn({ scope: 'openid Platform/News Platform/Trading' })
    const giveRoles = async (roles: readonly string[]) => {
      await gate.stores.users.setRoles(gate.aliceId, roles)
      const alice = await gate.stores.users.findById(gate.aliceId)
      assert.ok(alice !== undefined)
      await takeBack.rights(alice)
    }
    await gate.stores.roles.put({ name: 'reader', scopes: ['Platform/News'] })
    await giveRoles(['reader'])
    await onBoth('only News is left', access_token, ({ scope }) => scope === 'openid Platform/News')
    await giveRoles(['trader'])
    const later = await gate.signIn({ scope: 'Platform/Trading' })
    await onBoth('Trading is back', later.access_token, ({ scope }) => scope === 'Platform/Trading')
  })

  test('a role taken away closes its rows to tokens that still name it', async () => {
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
    await takeBack.rights(user)
    await until('the rows are closed', 1000, async () => !(await seen()))
  })

  test('a deleted user: nothing is left', async () => {
    const passwordHash = (await gate.stores.users.findById(gate.aliceId))?.passwordHash
    const id = await gate.stores.users.create({ username: 'gone-soon', passwordHash, roles: ['trader'] })
    const tokens = await gate.signIn({ username: 'gone-soon' })
    await gate.stores.users.remove(id)
    await takeBack.user(id)
    await isDead(tokens.access_token)
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: 'cli' }
    assert.equal((await gate.post('/connect/token', form)).body.error, 'invalid_grant')
  })
})
