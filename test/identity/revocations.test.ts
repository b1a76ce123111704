/** Revocation and introspection (checklist C6), on every node within a second. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { type Answer, basic, SECRET, startGate, type TestGate } from '../support/identity.ts'
import { createTestClock, startTestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

onEveryEngineInLongRuns('revocation and introspection', (place) => {
  let gate: TestGate
  const clock = createTestClock()
  before(async () => {
    gate = await startGate(place(), { clock })
  })
  after(() => gate.stop())

  const service = { authorization: basic('service', SECRET) }
  const revoke = (token: string, form: Record<string, string> = { client_id: 'cli' }): Promise<Answer> =>
    gate.post('/connect/revocation', { token, ...form })
  const introspect = (token: string, headers: Record<string, string> = service): Promise<Answer> =>
    gate.post('/connect/introspect', { token }, headers)
  const refresh = (refresh_token: string) =>
    gate.post('/connect/token', { grant_type: 'refresh_token', refresh_token, client_id: 'cli' })

  test('C-80: revocation answers an empty 200, whatever the token is', async () => {
    const { access_token } = await gate.signIn()
    for (const token of [access_token, access_token, 'unknown', 'a.b.c', `${access_token}x`]) {
      const answer = await revoke(token)
      assert.deepEqual([answer.status, answer.text], [200, ''])
    }
  })

  test('C-81: revocation without or with wrong client authentication is invalid_client', async () => {
    const { access_token } = await gate.signIn()
    for (const form of [
      {},
      { client_id: 'service' },
      { client_id: 'nobody' },
      { client_id: 'service', client_secret: 'x' },
    ]) {
      const answer = await gate.post('/connect/revocation', { token: access_token, ...form })
      assert.deepEqual([answer.status, answer.body.error], [401, 'invalid_client'])
    }
    assert.equal((await gate.userinfo(access_token)).status, 200)
  })

  test('C-82: the token is required; the hint may be wrong or unknown', async () => {
    const missing = await gate.post('/connect/revocation', { client_id: 'cli' })
    assert.deepEqual([missing.status, missing.body.error], [400, 'invalid_request'])
    const first = await gate.signIn()
    await revoke(first.access_token, { client_id: 'cli', token_type_hint: 'refresh_token' })
    assert.equal((await gate.userinfo(first.access_token)).status, 401)
    await revoke(first.refresh_token, { client_id: 'cli', token_type_hint: 'nonsense' })
    assert.equal((await refresh(first.refresh_token)).body.error, 'invalid_grant')
  })

  test("C-83: another client's token is silently ignored", async () => {
    const { access_token, refresh_token } = await gate.signIn()
    for (const token of [access_token, refresh_token]) {
      assert.equal((await gate.post('/connect/revocation', { token }, service)).status, 200)
    }
    assert.equal((await gate.userinfo(access_token)).status, 200)
    assert.equal((await refresh(refresh_token)).status, 200)
  })

  test('C-84: revoking a refresh token revokes its grant; revoking an access token revokes only that token', async () => {
    const first = await gate.signIn()
    const second = await refresh(first.refresh_token)
    await revoke(first.access_token)
    assert.equal((await gate.userinfo(first.access_token)).status, 401)
    assert.equal((await gate.userinfo(String(second.body.access_token))).status, 200)
    await revoke(String(second.body.refresh_token))
    assert.equal((await gate.userinfo(String(second.body.access_token))).status, 401)
    assert.deepEqual((await introspect(String(second.body.access_token))).body, { active: false })
    assert.equal((await refresh(String(second.body.refresh_token))).body.error, 'invalid_grant')
  })

  test('a token that is revoked again and again leaves one event', async () => {
    const { access_token, refresh_token } = await gate.signIn()
    const events = async () => (await gate.database.db.selectFrom('events').select('seq').execute()).length
    const before = await events()
    for (let count = 0; count < 5; count++) {
      await revoke(access_token)
      await revoke(refresh_token)
    }
    assert.equal((await events()) - before, 2)
  })

  test('C-85: a revoked JWT is refused everywhere within a second, also by another node and after a restart', async () => {
    const other = await startTestServer(place(), { clock, flags: { '--issuer': gate.server.issuer } })
    const askOther = (token: string) =>
      fetch(`http://localhost:${other.port}/connect/userinfo`, { headers: { authorization: `Bearer ${token}` } })
    const { access_token } = await gate.signIn()
    assert.equal((await askOther(access_token)).status, 200)
    await revoke(access_token)
    assert.equal((await gate.userinfo(access_token)).status, 401)
    await until('the other node refuses it', 1000, async () => (await askOther(access_token)).status === 401)
    await other.stop()
    const restarted = await startTestServer(place(), { clock, flags: { '--issuer': gate.server.issuer } })
    const response = await fetch(`http://localhost:${restarted.port}/connect/userinfo`, {
      headers: { authorization: `Bearer ${access_token}` },
    })
    assert.equal(response.status, 401)
    await restarted.stop()
  })

  test('C-86: introspection requires a confidential client and POST', async () => {
    const { access_token } = await gate.signIn()
    const answers = [
      await gate.post('/connect/introspect', { token: access_token }),
      await gate.post('/connect/introspect', { token: access_token, client_id: 'cli' }),
      await introspect(access_token, { authorization: basic('service', 'wrong') }),
      await introspect(access_token, { authorization: `Bearer ${access_token}` }),
    ]
    for (const answer of answers) assert.deepEqual([answer.status, answer.body.error], [401, 'invalid_client'])
    assert.equal((await gate.get(`/connect/introspect?token=${access_token}`, service)).status, 405)
  })

  test('C-87: an expired, revoked or malformed token, or one of another type or audience, is inactive with no other member', async () => {
    const tokens = await gate.signIn({ scope: 'openid offline_access Platform/News' })
    await revoke(tokens.access_token)
    await gate.stores.clients.put({ client_id: 'narrow', scope: 'openid' })
    await gate.stores.clients.addSecret('narrow', SECRET)
    const forPlatform = await gate.signIn({ scope: 'Platform/News' })
    const [head, body] = forPlatform.access_token.split('.')
    const bad = [tokens.access_token, 'garbage', `${head}.${body}.`, tokens.id_token ?? '', tokens.refresh_token]
    for (const token of bad) {
      const answer = await introspect(token)
      assert.equal(answer.status, 200)
      assert.deepEqual(answer.body, { active: false })
    }
    const otherAudience = await introspect(forPlatform.access_token, { authorization: basic('narrow', SECRET) })
    assert.deepEqual(otherAudience.body, { active: false })
    assert.equal((await introspect(forPlatform.access_token)).body.active, true)
    clock.advance(3_600_000)
    assert.deepEqual((await introspect(forPlatform.access_token)).body, { active: false })
  })

  test('C-88: an active token is described, and the response is not cached', async () => {
    const { access_token, scope } = await gate.signIn()
    const answer = await introspect(access_token)
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
    assert.match(answer.headers.get('cache-control') ?? '', /no-store/)
    assert.partialDeepStrictEqual(answer.body, {
      active: true,
      scope,
      client_id: 'cli',
      sub: gate.aliceId,
      username: 'alice',
      iss: gate.server.issuer,
      token_type: 'Bearer',
      aud: ['identity', 'platform'].sort(),
    })
    for (const name of ['exp', 'iat']) assert.equal(typeof answer.body[name], 'number')
    assert.equal(typeof answer.body.jti, 'string')
  })

  test('RFC 7662: a client may introspect its refresh token until the token is used', async () => {
    const tokens = await gate.signIn({ client_id: 'service', client_secret: SECRET })
    assert.partialDeepStrictEqual((await introspect(tokens.refresh_token)).body, { active: true, client_id: 'service' })
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    assert.equal((await gate.post('/connect/token', form, service)).status, 200)
    assert.deepEqual((await introspect(tokens.refresh_token)).body, { active: false })
  })
})
