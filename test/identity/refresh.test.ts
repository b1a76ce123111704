/** Refresh tokens: checklist B-25, B-46, C-60 to C-63, C-67. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { createRevocations } from '../../packages/server/src/store/authorizations/revocations.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import {
  type Answer,
  basic,
  decodeClaims,
  SECRET,
  startGate,
  type TestGate,
  type TokenAnswer,
} from '../support/identity.ts'
import { createTestClock } from '../support/server.ts'
import { until } from '../support/until.ts'

const DAY = 86_400_000

onEveryEngineInLongRuns('refresh', (place) => {
  let gate: TestGate
  const clock = createTestClock()
  before(async () => {
    gate = await startGate(place(), { clock })
  })
  after(() => gate.stop())
  beforeEach(() => clock.advance(60_000))

  const refresh = (token: string, form: Record<string, string> = {}): Promise<Answer> =>
    gate.post('/connect/token', { grant_type: 'refresh_token', refresh_token: token, client_id: 'cli', ...form })
  const tokens = (answer: Answer): TokenAnswer => {
    assert.equal(answer.status, 200, answer.text)
    return answer.body as unknown as TokenAnswer
  }
  const assertRefused = (answer: Answer, error = 'invalid_grant'): void => {
    assert.equal(answer.status, 400, answer.text)
    assert.equal(answer.body.error, error)
  }
  const isAlive = async (accessToken: string) => (await gate.userinfo(accessToken)).status === 200
  const revocations = () => createRevocations({ grants: gate.stores.grants, publish: gate.stores.events.append, clock })

  test('C-60: every use returns a new refresh token, and the old one is refused after the grace period', async () => {
    const first = await gate.signIn()
    const second = tokens(await refresh(first.refresh_token))
    assert.notEqual(second.refresh_token, first.refresh_token)
    assert.equal(await isAlive(second.access_token), true)
    clock.advance(10_001)
    assertRefused(await refresh(first.refresh_token))
  })

  test('C-61: reuse after the grace period revokes the grant with all its tokens, and is audited', async () => {
    const first = await gate.signIn()
    const second = tokens(await refresh(first.refresh_token))
    clock.advance(10_001)
    assertRefused(await refresh(first.refresh_token))
    assert.equal(await isAlive(first.access_token), false)
    assert.equal(await isAlive(second.access_token), false)
    assertRefused(await refresh(second.refresh_token))
    await until('it is in the audit log', 2000, async () => {
      const row = await gate.database.db
        .selectFrom('audit_log')
        .select('event')
        .where('event', '=', 'token.reused')
        .executeTakeFirst()
      return row !== undefined
    })
  })

  test('C-62: 50 concurrent refreshes, and a repeated one within the grace period, all get valid tokens of the same grant', async () => {
    const first = await gate.signIn()
    const answers = (await Promise.all(Array.from({ length: 50 }, () => refresh(first.refresh_token)))).map(tokens)
    assert.equal(new Set(answers.map(({ refresh_token }) => refresh_token)).size, 1)
    assert.equal(new Set(answers.map(({ access_token }) => access_token)).size, 50)
    clock.advance(9_000)
    const repeated = tokens(await refresh(first.refresh_token))
    assert.equal(repeated.refresh_token, answers[0]?.refresh_token)
    for (const { access_token } of [...answers, repeated]) assert.equal(await isAlive(access_token), true)
    assert.equal((await refresh(repeated.refresh_token)).status, 200)
  })

  test('C-62: the grace period applies to the immediate predecessor only', async () => {
    const first = await gate.signIn()
    const second = tokens(await refresh(first.refresh_token))
    const third = tokens(await refresh(second.refresh_token))
    assertRefused(await refresh(first.refresh_token))
    assertRefused(await refresh(third.refresh_token))
  })

  test('C-63: a wrong client, wrong authentication or a tampered token do not affect the owner of the token', async () => {
    const owned = await gate.signIn({ client_id: 'service', client_secret: SECRET })
    assertRefused(await refresh(owned.refresh_token))
    const wrong = await refresh(owned.refresh_token, { client_id: 'service', client_secret: 'wrong' })
    assert.equal(wrong.status, 401)
    const none = await refresh(owned.refresh_token, { client_id: 'service' })
    assert.equal(none.status, 401)
    assertRefused(await refresh(`${owned.refresh_token.slice(0, -1)}_`))
    assertRefused(await refresh(owned.access_token))
    const form = { grant_type: 'refresh_token', refresh_token: owned.refresh_token }
    tokens(await gate.post('/connect/token', form, { authorization: basic('service', SECRET) }))
  })

  test('B-46: a refresh may request fewer scopes, not more; the next one has all of them again', async () => {
    const first = await gate.signIn({ scope: 'openid offline_access Platform/Market Platform/News' })
    const narrow = tokens(await refresh(first.refresh_token, { scope: 'openid Platform/News' }))
    assert.equal(narrow.scope, 'openid Platform/News')
    assert.equal(decodeClaims(narrow.access_token).scope, 'openid Platform/News')
    assertRefused(await refresh(narrow.refresh_token, { scope: 'openid Platform/Trading' }), 'invalid_scope')
    assert.equal(tokens(await refresh(narrow.refresh_token)).scope, first.scope)
  })

  test('B-46: an unused token expires, and so does the grant however often it is refreshed', async () => {
    const idle = await gate.signIn()
    clock.advance(30 * DAY - 1)
    let { refresh_token } = tokens(await refresh(idle.refresh_token))
    for (let count = 0; count < 5; count++) {
      clock.advance(29 * DAY)
      refresh_token = tokens(await refresh(refresh_token)).refresh_token
    }
    clock.advance(29 * DAY)
    assertRefused(await refresh(refresh_token))
    const unused = await gate.signIn()
    clock.advance(30 * DAY)
    assertRefused(await refresh(unused.refresh_token))
  })

  test('B-25: a refreshed ID token keeps iss, sub, aud and auth_time, has a new iat and no nonce', async () => {
    const first = await gate.signIn({ scope: 'openid offline_access' })
    clock.advance(5000)
    const second = tokens(await refresh(first.refresh_token))
    const [before, later] = [decodeClaims(first.id_token ?? ''), decodeClaims(second.id_token ?? '')]
    for (const name of ['iss', 'sub', 'aud', 'auth_time']) assert.equal(later[name], before[name], name)
    assert.ok(Number(later.iat) > Number(before.iat))
    assert.ok(!('nonce' in later) && !('azp' in later))
    const plain = await gate.signIn({ scope: 'offline_access Platform/News' })
    assert.ok(!('id_token' in tokens(await refresh(plain.refresh_token))))
  })

  test('B-25: a refresh adds no ID token where openid was not requested at first, unless it requests it itself', async () => {
    const first = await gate.signIn()
    assert.match(first.scope, /openid/)
    assert.equal(first.id_token, undefined)
    const second = tokens(await refresh(first.refresh_token))
    assert.ok(!('id_token' in second))
    assert.equal(second.scope, first.scope)
    const third = tokens(await refresh(second.refresh_token, { scope: 'openid offline_access' }))
    assert.equal(decodeClaims(third.id_token ?? '').sub, gate.aliceId)
  })

  test('a refresh does not include a right that the user has lost', async () => {
    const id = await gate.stores.users.create({
      username: 'demoted',
      passwordHash: (await gate.stores.users.findById(gate.aliceId))?.passwordHash,
      roles: ['trader'],
    })
    const first = await gate.signIn({ username: 'demoted', scope: 'offline_access Platform/News' })
    await gate.stores.users.setRoles(id, [])
    assert.equal(tokens(await refresh(first.refresh_token)).scope, 'offline_access')
  })

  test('C-64: once a role requires a second factor, a grant with a password alone cannot be refreshed', async () => {
    const passwordHash = (await gate.stores.users.findById(gate.aliceId))?.passwordHash
    await gate.stores.roles.put({ name: 'vault', scopes: ['Platform/News'] })
    await gate.stores.users.create({ username: 'keeper', passwordHash, roles: ['vault'] })
    const first = await gate.signIn({ username: 'keeper', scope: 'offline_access Platform/News' })
    const second = tokens(await refresh(first.refresh_token))
    await gate.stores.roles.put({ name: 'vault', scopes: ['Platform/News'], requireSecondFactor: true })
    assertRefused(await refresh(second.refresh_token))
    await gate.stores.roles.put({ name: 'vault', scopes: ['Platform/News'] })
    assert.equal((await refresh(second.refresh_token)).status, 200)
  })

  test('C-67: a disabled user cannot refresh', async () => {
    const passwordHash = (await gate.stores.users.findById(gate.aliceId))?.passwordHash
    const id = await gate.stores.users.create({ username: 'leaver', passwordHash, roles: ['trader'] })
    const session = await gate.signIn({ username: 'leaver' })
    await gate.stores.users.update(id, { disabled: true })
    assertRefused(await refresh(session.refresh_token))
  })

  test('C-67: a password change revokes tokens issued before, to the millisecond, and none issued after', async () => {
    // Both are issued in the same second.
    clock.advance(1000 - (clock() % 1000))
    const before = await gate.signIn()
    assert.equal(await isAlive(before.access_token), true)
    await revocations().revokeUser(gate.aliceId)
    clock.advance(1)
    const later = await gate.signIn()
    await until('the old token is refused', 1000, async () => !(await isAlive(before.access_token)))
    assert.equal(decodeClaims(before.access_token).iat, decodeClaims(later.access_token).iat)
    assert.equal(await isAlive(later.access_token), true)
    assertRefused(await refresh(before.refresh_token))
    tokens(await refresh(later.refresh_token))
  })

  test('C-67: withdrawing consent revokes the grants of that client only', async () => {
    const withdrawn = await gate.signIn()
    const other = await gate.signIn({ client_id: 'service', client_secret: SECRET })
    await revocations().revokeConsent(gate.aliceId, 'cli')
    assertRefused(await refresh(withdrawn.refresh_token))
    await until('the access token is refused', 1000, async () => !(await isAlive(withdrawn.access_token)))
    assert.equal(await isAlive(other.access_token), true)
  })
})
