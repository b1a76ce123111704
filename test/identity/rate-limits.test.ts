/** Rate limits by address, client and user. A refused request does not spend codes or refresh tokens. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { onSqlite } from '../support/engines.ts'
import { type Answer, basic, DEVICE_GRANT, PASSWORD, SECRET, startGate, type TestGate } from '../support/identity.ts'
import { createTestClock } from '../support/server.ts'
import { authorizeUrl } from '../support/sign-in-place.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { visit } from '../support/visitor.ts'

const HOUR = 3600_000
const service = { authorization: basic('service', SECRET) }

onSqlite('rate limits of identity', (place) => {
  let gate: TestGate
  const clock = createTestClock()
  before(async () => {
    const flags = {
      '--limit-exempt': '',
      '--limit-token': 'address=1000/60 client=6/60 user=4/60',
      '--limit-pages': 'address=1000/60 client=3/60 user=5/60',
    }
    gate = await startGate(place(), { clock, flags })
  })
  after(() => gate.stop())
  // To the start of an unused window.
  beforeEach(() => clock.advance(120_000 - (clock() % 60_000)))

  function assertTooMany({ status, headers, body }: Answer, by: 'client' | 'user'): void {
    assert.equal(status, 429)
    assert.equal(body.error, 'temporarily_unavailable')
    assert.match(headers.get('ratelimit') ?? '', new RegExp(`^"${by}";r=0;`))
    assert.ok(Number(headers.get('retry-after')) >= 1)
  }
  const asService = (path: string, form: Record<string, string>) => gate.post(path, form, service)
  const CREDENTIALS = { grant_type: 'client_credentials' }
  const password = (username = 'alice', client: Record<string, string> = { client_id: 'cli' }) =>
    gate.post('/connect/token', { grant_type: 'password', username, password: PASSWORD, scope: SCOPE, ...client })
  const SCOPE = 'openid offline_access'

  test('a client has one limit for token, introspection, revocation and device authorization together', async () => {
    const calls: (() => Promise<Answer>)[] = [
      () => asService('/connect/token', CREDENTIALS),
      () => asService('/connect/introspect', { token: 'x' }),
      () => asService('/connect/revocation', { token: 'x' }),
      () => asService('/connect/deviceauthorization', {}),
    ]
    for (let count = 0; count < 6; count++) assert.notEqual((await calls[count % 4]?.())?.status, 429)
    for (const call of calls) assertTooMany(await call(), 'client')
    const other = await gate.post('/connect/token', CREDENTIALS, { authorization: basic('post-only', SECRET) })
    assert.notEqual(other.status, 429)
    clock.advance(120_000)
    assert.equal((await asService('/connect/token', CREDENTIALS)).status, 200)
  })

  test('failed client authentication does not count against the client', async () => {
    for (let count = 0; count < 8; count++)
      await gate.post('/connect/token', CREDENTIALS, { authorization: basic('service', 'wrong') })
    assert.equal((await asService('/connect/token', CREDENTIALS)).status, 200)
  })

  test('a user has one limit for all grants and userinfo across clients; other users have their own', async () => {
    const first = await password()
    assert.equal(first.status, 200)
    assert.equal((await gate.userinfo(String(first.body.access_token))).status, 200)
    assert.equal((await password('alice', { client_id: 'service', client_secret: SECRET })).status, 200)
    const refresh = { grant_type: 'refresh_token', refresh_token: String(first.body.refresh_token), client_id: 'cli' }
    const second = await gate.post('/connect/token', refresh)
    assert.equal(second.status, 200)

    assertTooMany(await password(), 'user')
    const refused = await gate.userinfo(String(first.body.access_token))
    assert.equal(refused.status, 429)
    assert.match(refused.headers.get('ratelimit') ?? '', /^"user";r=0;/)
    const late = { ...refresh, refresh_token: String(second.body.refresh_token) }
    assertTooMany(await gate.post('/connect/token', late), 'user')
    assert.equal((await password('boss', { client_id: 'service', client_secret: SECRET })).status, 200)

    // The refresh token was not spent: it is still valid long after the grace period.
    clock.advance(HOUR)
    assert.equal((await gate.post('/connect/token', late)).status, 200)
  })

  const useUp = async () => {
    while ((await password()).status === 200);
  }
  const waitRetryAfter = ({ headers }: Answer) => clock.advance(Number(headers.get('retry-after')) * 1000)

  /** Returns a function that redeems a new authorization code. */
  async function freshCode(): Promise<() => Promise<Answer>> {
    const grant = await gate.stores.grants.create({
      kind: 'authorization_code',
      clientId: 'web',
      userId: gate.aliceId,
      sessionId: 'session-1',
      scopes: ['openid', 'offline_access'],
      authTime: clock(),
      details: { amr: ['pwd'] },
      expiresAt: clock() + HOUR,
    })
    const redirectUri = 'https://app.example/callback'
    const code = await gate.stores.codes.issue(grant.id, { redirectUri }, 60_000)
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
    return () => gate.post('/connect/token', form, { authorization: basic('web', SECRET) })
  }

  test('a rate-limited authorization code is not spent: it can be redeemed once after Retry-After', async () => {
    const redeem = await freshCode()
    await useUp()
    assertTooMany(await redeem(), 'user')
    const refused = await redeem()
    assertTooMany(refused, 'user')
    // Longer than the lifetime of a code.
    assert.ok(Number(refused.headers.get('retry-after')) >= 50)
    waitRetryAfter(refused)
    const redeemed = await redeem()
    assert.equal(redeemed.status, 200, redeemed.text)
    const again = await redeem()
    assert.deepEqual([again.status, again.body.error], [400, 'invalid_grant'])
    assert.equal((await gate.userinfo(String(redeemed.body.access_token))).status, 401)
  })

  test('RFC 6749 §4.1.2: a code that is rate-limited again and again expires after ten minutes', async () => {
    const redeem = await freshCode()
    for (const end = clock() + 600_000; clock() < end; ) {
      await useUp()
      const refused = await redeem()
      assertTooMany(refused, 'user')
      waitRetryAfter(refused)
    }
    const late = await redeem()
    assert.deepEqual([late.status, late.body.error], [400, 'invalid_grant'])
  })

  test('a rate-limited device code is not spent: it can be redeemed once after Retry-After', async () => {
    const scopes = ['openid', 'offline_access']
    const { body } = await gate.post('/connect/deviceauthorization', { client_id: 'tv', scope: scopes.join(' ') })
    await gate.stores.consents.allow(gate.aliceId, 'tv', scopes)
    await gate.stores.deviceCodes.decide(String(body.user_code), {
      userId: gate.aliceId,
      sessionId: undefined,
      scopes,
      authTime: clock(),
      amr: ['pwd'],
    })
    const poll = () =>
      gate.post('/connect/token', {
        grant_type: DEVICE_GRANT,
        device_code: String(body.device_code),
        client_id: 'tv',
      })
    await useUp()
    const refused = await poll()
    assertTooMany(refused, 'user')
    waitRetryAfter(refused)
    const redeemed = await poll()
    assert.equal(redeemed.status, 200, redeemed.text)
    clock.advance(5_000)
    const again = await poll()
    assert.deepEqual([again.status, again.body.error], [400, 'invalid_grant'])
  })

  test('userinfo also counts against the client that the token was issued to', async () => {
    const { body } = await password('boss', { client_id: 'contract', scope: 'offline_access' })
    for (let count = 0; count < 3; count++) await gate.userinfo(String(body.access_token))
    const alice = await gate.signIn({ client_id: 'contract' })
    assert.equal((await gate.userinfo(alice.access_token)).status, 403)
    const refused = await gate.userinfo(alice.access_token)
    assert.equal(refused.status, 429)
    assert.match(refused.headers.get('ratelimit') ?? '', /^"client";r=0;/)
  })

  test('pages count the client at the authorization endpoint, and the user after sign-in', async () => {
    const agent = createUserAgent({ home: gate.server.issuer, now: clock })
    const url = authorizeUrl(gate.server.issuer, { redirect_uri: 'https://app.example/callback' })
    const { end } = await visit(agent, await agent.get(url), { username: 'alice', password: PASSWORD })
    assert.equal(end.kind, 'left')
    clock.advance(180_000)
    const statuses = async (times: number, path: URL | string) => {
      const seen: number[] = []
      for (let count = 0; count < times; count++) {
        const got = await agent.get(path)
        seen.push(got.kind === 'left' ? 303 : got.status)
      }
      return seen
    }
    assert.deepEqual(await statuses(4, url), [303, 303, 303, 429])
    assert.deepEqual(await statuses(3, '/account'), [200, 200, 429])
    const visitor = createUserAgent({ home: gate.server.issuer, now: clock })
    assert.equal((await visitor.get('/sign-in')).kind, 'page')
  })
})
