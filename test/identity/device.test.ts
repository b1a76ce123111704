/** The device flow at the token endpoint: checklist C-70 to C-75, B-26. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { createRevocations } from '../../packages/server/src/store/authorizations/revocations.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import {
  type Answer,
  basic,
  DEVICE_GRANT,
  decodeClaims,
  SECRET,
  startGate,
  type TestGate,
} from '../support/identity.ts'
import { createTestClock } from '../support/server.ts'
import { until } from '../support/until.ts'

onEveryEngineInLongRuns('device authorization', (place) => {
  let gate: TestGate
  const clock = createTestClock()
  before(async () => {
    gate = await startGate(place(), { clock })
  })
  after(() => gate.stop())

  async function begin(form: Record<string, string> = {}) {
    const answer = await gate.post('/connect/deviceauthorization', { client_id: 'tv', ...form })
    assert.equal(answer.status, 200, answer.text)
    return { answer, deviceCode: String(answer.body.device_code), userCode: String(answer.body.user_code) }
  }
  const poll = (device_code: string, client_id = 'tv'): Promise<Answer> =>
    gate.post('/connect/token', { grant_type: DEVICE_GRANT, device_code, client_id })
  const assertRefused = (answer: Answer, error: string): void => {
    assert.deepEqual([answer.status, answer.body.error], [400, error], answer.text)
    assert.match(answer.headers.get('cache-control') ?? '', /no-store/)
  }
  const approve = async (userCode: string): Promise<boolean> => {
    const scopes = ['openid', 'offline_access', 'Platform/News']
    await gate.stores.consents.allow(gate.aliceId, 'tv', scopes)
    return gate.stores.deviceCodes.decide(userCode, {
      userId: gate.aliceId,
      sessionId: 'session-7',
      scopes,
      authTime: clock() - 60_000,
      amr: ['pwd', 'otp', 'mfa'],
    })
  }

  test('C-70: the response has everything that the device must show; wrong clients and scopes are refused', async () => {
    const { answer, userCode } = await begin({ scope: 'openid Platform/News' })
    assert.match(answer.headers.get('cache-control') ?? '', /no-store/)
    assert.partialDeepStrictEqual(answer.body, {
      verification_uri: `${gate.server.issuer}/device`,
      verification_uri_complete: `${gate.server.issuer}/device?user_code=${userCode}`,
      expires_in: 600,
      interval: 5,
    })
    const post = (form: Record<string, string>, headers = {}) =>
      gate.post('/connect/deviceauthorization', form, headers)
    const unknown = await post({ client_id: 'nobody' })
    assert.deepEqual([unknown.status, unknown.body.error], [401, 'invalid_client'])
    assertRefused(await post({ client_id: 'cli' }), 'unauthorized_client')
    assertRefused(await post({}, { authorization: basic('service', SECRET) }), 'unauthorized_client')
    assertRefused(await post({ client_id: 'tv', scope: 'Identity/Admin' }), 'invalid_scope')
  })

  test('a client that is registered again under the same id gets nothing that was allowed to the one before', async () => {
    const { deviceCode, userCode } = await begin()
    assert.equal(await approve(userCode), true)
    const { clients, pushedRequests } = gate.stores
    const pushed = (await pushedRequests.push('tv', '{}', 60_000)) ?? assert.fail('not pushed')
    const tv = (await clients.metadata('tv')) ?? assert.fail('no client')
    await clients.remove('tv')
    await clients.put(tv)
    clock.advance(6_000)
    assertRefused(await poll(deviceCode), 'invalid_grant')
    assert.equal(await pushedRequests.find(pushed, 'tv'), undefined)
  })

  test('C-71, C-72: pending until decided; polling too fast increases the interval', async () => {
    const { deviceCode } = await begin()
    assertRefused(await poll(deviceCode), 'authorization_pending')
    clock.advance(1000)
    assertRefused(await poll(deviceCode), 'slow_down')
    clock.advance(9_999)
    assertRefused(await poll(deviceCode), 'slow_down')
    clock.advance(15_000)
    assertRefused(await poll(deviceCode), 'authorization_pending')
  })

  test('a poll whose grant could not be stored does not use the code up', async () => {
    const { deviceCode, userCode } = await begin()
    await approve(userCode)
    const { db } = gate.database
    await sql`alter table refresh_tokens rename to refresh_tokens_away`.execute(db)
    try {
      assert.ok((await poll(deviceCode)).status >= 500)
    } finally {
      await sql`alter table refresh_tokens_away rename to refresh_tokens`.execute(db)
    }
    clock.advance(5000)
    const answer = await poll(deviceCode)
    assert.equal(answer.status, 200, answer.text)
    clock.advance(5000)
    assertRefused(await poll(deviceCode), 'invalid_grant')
  })

  test('C-73: a denied or expired code stays so', async () => {
    const denied = await begin()
    await gate.stores.deviceCodes.decide(denied.userCode, 'denied')
    for (let count = 0; count < 2; count++) {
      assertRefused(await poll(denied.deviceCode), 'access_denied')
      clock.advance(5000)
    }
    const late = await begin()
    clock.advance(600_000)
    assertRefused(await poll(late.deviceCode), 'expired_token')
    clock.advance(5000)
    assertRefused(await poll(late.deviceCode), 'expired_token')
    assert.equal(await approve(late.userCode), false)
  })

  test('C-74, B-26: an approved code gives tokens once, to its own client; auth_time is the time of the sign-in', async () => {
    const { deviceCode, userCode } = await begin()
    assert.equal(await approve(userCode.toLowerCase()), true)
    await gate.stores.clients.put({
      client_id: 'tv2',
      token_endpoint_auth_method: 'none',
      grant_types: [DEVICE_GRANT],
      scope: 'openid',
    })
    assertRefused(await poll(deviceCode, 'tv2'), 'invalid_grant')
    clock.advance(5000)
    const answer = await poll(deviceCode)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.body.scope, 'offline_access openid Platform/News')
    assert.equal(typeof answer.body.refresh_token, 'string')
    const claims = decodeClaims(String(answer.body.id_token))
    assert.partialDeepStrictEqual(claims, {
      sub: gate.aliceId,
      aud: 'tv',
      sid: 'session-7',
      amr: ['pwd', 'otp', 'mfa'],
      auth_time: Math.floor((clock() - 65_000) / 1000),
    })
    assert.ok(!('nonce' in claims))
    clock.advance(5000)
    assertRefused(await poll(deviceCode), 'invalid_grant')
  })

  test('C-67: a password change revokes an approval, although there was no grant to revoke yet', async () => {
    const { deviceCode, userCode } = await begin()
    await approve(userCode)
    const { access_token: earlier } = await gate.signIn({ scope: 'openid' })
    await createRevocations({ grants: gate.stores.grants, publish: gate.stores.events.append, clock }).revokeUser(
      gate.aliceId,
    )
    clock.advance(5000)
    await until('the node has received the revocation', 2000, async () => (await gate.userinfo(earlier)).status === 401)
    assertRefused(await poll(deviceCode), 'invalid_grant')
    const after = await begin()
    await approve(after.userCode)
    assert.equal((await poll(after.deviceCode)).status, 200)
  })

  test('C-74: of 50 concurrent polls one gets the tokens', async () => {
    const { deviceCode, userCode } = await begin()
    await approve(userCode)
    const answers = await Promise.all(Array.from({ length: 50 }, () => poll(deviceCode)))
    assert.equal(answers.filter(({ status }) => status === 200).length, 1)
    clock.advance(600_000)
    assertRefused(await poll(deviceCode), 'invalid_grant')
  })

  test('C-75: user codes are eight consonants, device codes have 256 bits, and all are different', async () => {
    const seen = new Set<string>()
    for (let count = 0; count < 100; count++) {
      const { deviceCode, userCode } = await begin()
      assert.match(userCode, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
      assert.match(deviceCode, /^[\w-]{43}$/)
      seen.add(userCode).add(deviceCode)
    }
    assert.equal(seen.size, 200)
  })
})
