/** The conformance suite of the stores, on every engine. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { secretMatches } from '../../packages/server/src/identity/clients/client-request.ts'
import { UsernameTaken } from '../../packages/server/src/store/accounts/users.ts'
import type { NewGrant } from '../../packages/server/src/store/authorizations/grants.ts'
import { digestSecret, newSecret } from '../../packages/server/src/store/keys/opaque.ts'
import { onEveryEngine } from '../support/engines.ts'
import { type OpenStores, openStores } from '../support/stores.ts'

const HOUR = 3600_000
const LIFETIMES = { idleMs: 24 * HOUR, graceMs: 10_000 }

onEveryEngine('stores', (place) => {
  let open: OpenStores
  before(async () => {
    open = await openStores(place())
  })
  after(() => open.close())

  function newGrant(change: Partial<NewGrant> = {}): NewGrant {
    return {
      kind: 'password',
      clientId: 'shop',
      userId: 'usr_1',
      sessionId: undefined,
      scopes: ['openid', 'offline_access'],
      authTime: open.clock(),
      details: { amr: ['pwd'] },
      expiresAt: open.clock() + 30 * 24 * HOUR,
      ...change,
    }
  }

  test('a user is found by name in any case and width, with the rights of all roles', async () => {
    const { users, roles } = open.stores
    await roles.put({ name: 'trader', scopes: ['Platform/Trading', 'Platform/Market'] })
    await roles.put({ name: 'reader', scopes: ['Platform/Market', 'Platform/News'], requireSecondFactor: true })
    const id = await users.create({ username: 'Zoë', profile: { name: 'Zoë Ö' }, roles: ['trader', 'reader'] })
    const found = await users.findByUsername(' zoë ')
    assert.equal(found?.id, id)
    assert.deepEqual(found.roles, ['reader', 'trader'])
    assert.deepEqual([...found.rights].sort(), ['Platform/Market', 'Platform/News', 'Platform/Trading'])
    assert.equal(found.requiresSecondFactor, true)
    assert.equal(found.hasSecondFactor, false)
    assert.deepEqual(found.profile, { name: 'Zoë Ö' })
    await assert.rejects(users.create({ username: 'ZOË' }), UsernameTaken)
    await users.setRoles(id, ['trader'])
    assert.deepEqual((await users.findById(id))?.roles, ['trader'])
    await users.update(id, { disabled: true, profile: { name: 'Z' } })
    assert.partialDeepStrictEqual(await users.findById(id), { disabled: true, profile: { name: 'Z' } })
    await users.remove(id)
    assert.equal(await users.findById(id), undefined)
  })

  test('a role is held while one of its sources gives it', async () => {
    const { users, roles } = open.stores
    for (const name of ['trader', 'reader']) await roles.put({ name, scopes: [] })
    const id = await users.create({ username: 'sam', roles: ['trader'] })
    const held = async () => (await users.findById(id))?.roles
    assert.equal(await users.setRoles(id, ['trader', 'reader'], 'provider:corp'), true)
    assert.equal(await users.setRoles(id, []), false, 'the provider still gives both')
    assert.deepEqual(await held(), ['reader', 'trader'])
    assert.equal(await users.setRoles(id, ['reader'], 'scim:hr'), false)
    assert.equal(await users.setRoles(id, [], 'provider:corp'), true)
    assert.deepEqual(await held(), ['reader'])
    assert.deepEqual((await users.findById(id))?.roleSources, new Map([['reader', ['scim:hr']]]))
    assert.equal(await users.setRoles(id, [], 'scim:hr'), true)
    assert.deepEqual(await held(), [])
    await users.remove(id)
  })

  test('users are listed by name, page by page', async () => {
    const { users } = open.stores
    for (const username of ['c', 'a', 'b']) await users.create({ username })
    assert.deepEqual(
      (await users.list({ limit: 2 })).map(({ username }) => username),
      ['a', 'b'],
    )
    assert.deepEqual(
      (await users.list({ after: 'b', limit: 2 })).map(({ username }) => username),
      ['c'],
    )
  })

  test('a client keeps its metadata; two secrets are valid until one expires', async () => {
    const { clients } = open.stores
    await clients.put({ client_id: 'shop', scope: 'openid Platform/News', grant_types: ['password', 'nonsense'] })
    const first = await clients.addSecret('shop', 'first-secret')
    const second = await clients.addSecret('shop', 'second-secret')
    let client = await clients.find('shop')
    assert.deepEqual([...(client?.grantTypes ?? [])], ['password'])
    for (const secret of ['first-secret', 'second-secret']) {
      assert.equal(secretMatches(client, 'shop', secret, open.clock()), true)
    }
    assert.equal(secretMatches(client, 'shop', 'third', open.clock()), false)
    assert.equal(secretMatches(undefined, 'shop', 'first-secret', open.clock()), false)
    await clients.expireOtherSecrets('shop', second, open.clock() + 1000)
    open.clock.advance(1001)
    client = await clients.find('shop')
    assert.equal(secretMatches(client, 'shop', 'first-secret', open.clock()), false)
    assert.equal(secretMatches(client, 'shop', 'second-secret', open.clock()), true)
    await clients.removeSecret('shop', first)
    assert.equal((await clients.find('shop'))?.secrets.length, 1)
    await assert.rejects(clients.put({ client_id: 'usr_x' }), /prefix of user ids/)
  })

  test('a secret that was verified before matches until it expires, and similar ones do not', async () => {
    const { clients } = open.stores
    await clients.put({ client_id: 'kiosk' })
    const first = await clients.addSecret('kiosk', 'first-secret')
    await clients.expireOtherSecrets('kiosk', await clients.addSecret('kiosk', 'later-secret'), open.clock() + 1000)
    const client = await clients.find('kiosk')
    const matches = (secret: string) => secretMatches(client, 'kiosk', secret, open.clock())
    for (const turn of [1, 2, 3]) {
      assert.equal(matches('first-secret'), true, String(turn))
      for (const near of ['first-secreT', 'First-secret', 'first-secret ', 'first-secre', ''])
        assert.equal(matches(near), false, near)
    }
    open.clock.advance(1001)
    assert.equal(matches('first-secret'), false)
    assert.equal(matches('later-secret'), true)
    assert.equal(matches('later-secret'), true)
    await clients.removeSecret('kiosk', first)
  })

  test('C-32: of 50 concurrent uses of a code, one is fresh; none when it has expired or its grant is revoked', async () => {
    const { grants, codes } = open.stores
    const grant = await grants.create(newGrant())
    const code = await codes.issue(grant.id, { redirectUri: 'https://a/' }, 60_000)
    const spent = await Promise.all(Array.from({ length: 50 }, () => codes.spend(code)))
    assert.equal(spent.filter((result) => result?.outcome === 'fresh').length, 1)
    assert.equal(spent.filter((result) => result?.outcome === 'reused').length, 49)
    assert.equal(await codes.spend('never issued'), undefined)
    const late = await codes.issue(grant.id, { redirectUri: 'https://a/' }, 60_000)
    open.clock.advance(60_000)
    assert.equal((await codes.spend(late))?.outcome, 'expired')
    const withdrawn = await codes.issue(grant.id, { redirectUri: 'https://a/' }, 60_000)
    await grants.revoke({ id: grant.id })
    assert.equal((await codes.spend(withdrawn))?.outcome, 'revoked')
    assert.equal((await codes.spend(withdrawn))?.outcome, 'reused')
  })

  test('C-62: of 50 concurrent refreshes, one rotates and the others get the same successor', async () => {
    const { grants, refreshTokens } = open.stores
    const grant = await grants.create(newGrant())
    const token = await refreshTokens.issue(grant, LIFETIMES)
    const found = await refreshTokens.find(token)
    assert.ok(found)
    const rotations = await Promise.all(Array.from({ length: 50 }, () => refreshTokens.rotate(token, found, LIFETIMES)))
    assert.equal(rotations.filter(({ outcome }) => outcome === 'rotated').length, 1)
    assert.equal(rotations.filter(({ outcome }) => outcome === 'repeated').length, 49)
    assert.equal(new Set(rotations.map((rotation) => 'successor' in rotation && rotation.successor)).size, 1)
  })

  test('C-61: a refresh token used after the grace period, or after its successor was used, counts as reused', async () => {
    const { grants, refreshTokens } = open.stores
    const grant = await grants.create(newGrant())
    const rotate = async (token: string) => {
      const found = await refreshTokens.find(token)
      assert.ok(found)
      return refreshTokens.rotate(token, found, LIFETIMES)
    }
    const first = await refreshTokens.issue(grant, LIFETIMES)
    const second = await rotate(first)
    assert.ok(second.outcome === 'rotated')
    open.clock.advance(10_000)
    assert.equal((await rotate(first)).outcome, 'repeated')
    open.clock.advance(1)
    assert.equal((await rotate(first)).outcome, 'reused')
    const third = await rotate(second.successor)
    assert.ok(third.outcome === 'rotated')
    assert.equal((await rotate(third.successor)).outcome, 'rotated')
    assert.equal((await rotate(second.successor)).outcome, 'reused')
  })

  test('digests of refresh tokens are in the order of issue, so that those of one time share the pages of indexes', async () => {
    const { grants, refreshTokens } = open.stores
    const grant = await grants.create(newGrant())
    for (let count = 0; count < 8; count++) {
      open.clock.advance(1)
      await refreshTokens.issue(grant, LIFETIMES)
    }
    const rows = await open.database.db
      .selectFrom('refresh_tokens')
      .select('digest')
      .where('grant_id', '=', grant.id)
      .orderBy('issued_at')
      .execute()
    const digests = rows.map(({ digest }) => digest)
    assert.deepEqual(digests, digests.toSorted())
  })

  test('a refresh token of an earlier version, without a time, is found and rotated once', async () => {
    const { grants, refreshTokens } = open.stores
    const grant = await grants.create(newGrant())
    const token = newSecret()
    const [issued_at, expires_at] = [open.clock(), open.clock() + HOUR]
    const row = {
      digest: digestSecret(token),
      grant_id: grant.id,
      parent_digest: null,
      issued_at,
      expires_at,
      sealed: null,
    }
    await open.database.db.insertInto('refresh_tokens').values(row).execute()
    const found = await refreshTokens.find(token)
    assert.ok(found)
    const rotation = await refreshTokens.rotate(token, found, LIFETIMES)
    assert.ok(rotation.outcome === 'rotated')
    const repeated = await refreshTokens.rotate(token, found, LIFETIMES)
    assert.partialDeepStrictEqual(repeated, { outcome: 'repeated', successor: rotation.successor })
    assert.ok(await refreshTokens.find(rotation.successor))
    open.clock.advance(LIFETIMES.graceMs + 1)
    assert.equal((await refreshTokens.rotate(token, found, LIFETIMES)).outcome, 'reused')
  })

  test('C-33: the database contains no code, refresh token or device code that could be redeemed', async () => {
    const { grants, refreshTokens, codes, deviceCodes } = open.stores
    const grant = await grants.create(newGrant())
    const token = await refreshTokens.issue(grant, LIFETIMES)
    const found = await refreshTokens.find(token)
    assert.ok(found)
    const rotation = await refreshTokens.rotate(token, found, LIFETIMES)
    assert.ok(rotation.outcome === 'rotated')
    const code = await codes.issue(grant.id, { redirectUri: 'https://a/' }, 60_000)
    const { deviceCode } = await deviceCodes.issue({
      clientId: 'tv',
      scopes: [],
      lifetimeMs: 1,
      intervalSeconds: 5,
      address: '192.0.2.1',
    })
    const dump = JSON.stringify([
      await open.database.db.selectFrom('refresh_tokens').selectAll().execute(),
      await open.database.db.selectFrom('codes').selectAll().execute(),
      await open.database.db.selectFrom('device_codes').selectAll().execute(),
    ])
    for (const secret of [token, rotation.successor]) assert.equal(secret.length, 51)
    for (const secret of [code, deviceCode]) assert.equal(secret.length, 43)
    for (const secret of [token, rotation.successor, code, deviceCode]) assert.ok(!dump.includes(secret.slice(0, 43)))
  })

  test('grants are revoked once, by id, user, client or session; those with offline access can outlive a session', async () => {
    const { grants } = open.stores
    const offline = await grants.create(newGrant({ sessionId: 's1', userId: 'usr_9' }))
    const online = await grants.create(newGrant({ sessionId: 's1', userId: 'usr_9', scopes: ['openid'] }))
    assert.deepEqual(await grants.revoke({ sessionId: 's1', keepOffline: true }), [online.id])
    assert.deepEqual(
      (await grants.listOfUser('usr_9')).map(({ id }) => id),
      [offline.id],
    )
    assert.deepEqual(await grants.revoke({ userId: 'usr_9', clientId: 'other' }), [])
    assert.deepEqual(await grants.revoke({ userId: 'usr_9', clientId: 'shop' }), [offline.id])
    assert.deepEqual(await grants.revoke({ id: offline.id }), [])
    assert.notEqual((await grants.find(offline.id))?.revokedAt, undefined)
  })

  test('C-74, C-78: a device code is decided once and redeemed once, also under concurrency', async () => {
    const { deviceCodes } = open.stores
    const request = {
      clientId: 'tv',
      scopes: ['openid'],
      lifetimeMs: 600_000,
      intervalSeconds: 5,
      address: '192.0.2.1',
    }
    const { deviceCode, userCode } = await deviceCodes.issue(request)
    assert.match(userCode, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
    assert.equal((await deviceCodes.findPending(` ${userCode.toLowerCase().replace('-', ' ')} `))?.clientId, 'tv')
    assert.equal(await deviceCodes.redeem(deviceCode), undefined)
    const approval = { userId: 'usr_1', sessionId: 's', scopes: ['openid'], authTime: 1, amr: ['pwd'] }
    const decisions = await Promise.all(
      Array.from({ length: 50 }, (_, index) => deviceCodes.decide(userCode, index % 2 === 0 ? approval : 'denied')),
    )
    assert.equal(decisions.filter(Boolean).length, 1)

    const other = await deviceCodes.issue(request)
    await deviceCodes.decide(other.userCode, approval)
    const redeemed = await Promise.all(Array.from({ length: 50 }, () => deviceCodes.redeem(other.deviceCode)))
    assert.deepEqual(
      redeemed.filter((result) => result !== undefined),
      [{ ...approval, approvedAt: open.clock() }],
    )
  })

  test('C-72: polling faster than the interval increases it by five seconds', async () => {
    const { deviceCodes } = open.stores
    const { deviceCode } = await deviceCodes.issue({
      clientId: 'tv',
      scopes: [],
      lifetimeMs: HOUR,
      intervalSeconds: 5,
      address: '192.0.2.1',
    })
    const outcomes: string[] = []
    for (const wait of [0, 4999, 9999, 15_000, 15_000]) {
      open.clock.advance(wait)
      outcomes.push((await deviceCodes.poll(deviceCode)).outcome)
    }
    assert.deepEqual(outcomes, ['known', 'too-fast', 'too-fast', 'known', 'known'])
    assert.equal((await deviceCodes.poll('nothing')).outcome, 'unknown')
  })

  test('C-111: waits grow with failures, concurrent attempts do not pass together, and counts expire', async () => {
    const { throttles } = open.stores
    const policy = { free: 3, firstWaitMs: 1000, longestWaitMs: 8000, forgetMs: HOUR }
    const tries = await Promise.all(Array.from({ length: 50 }, () => throttles.take('account', policy)))
    assert.equal(tries.filter((wait) => wait === 0).length, 4)
    assert.deepEqual([...new Set(tries)].sort(), [0, 1000])
    const waits: number[] = []
    for (let count = 0; count < 6; count++) {
      open.clock.advance(await throttles.take('account', policy))
      assert.equal(await throttles.take('account', policy), 0)
      waits.push(await throttles.take('account', policy))
    }
    assert.deepEqual(waits, [2000, 4000, 8000, 8000, 8000, 8000])
    open.clock.advance(HOUR + 1)
    assert.equal(await throttles.take('account', policy), 0)
    assert.equal(await throttles.take('account', policy), 0)
    await throttles.refund([])
    open.clock.advance(-5)
    assert.equal(await throttles.take('account', policy), 0, 'a node whose clock is behind has to wait')
    open.clock.advance(5)
    await throttles.mark('known', open.clock() + 1000)
    assert.equal(await throttles.isMarked('known'), true)
    open.clock.advance(1000)
    assert.equal(await throttles.isMarked('known'), false)
  })

  test('events keep their order and expire', async () => {
    const { events } = open.stores
    const from = await events.lastSeq()
    const expiresAt = open.clock() + 1000
    await events.append({ kind: 'token-revoked', tokenId: 'a', expiresAt })
    await events.append({ kind: 'keys-changed' })
    await events.append({
      kind: 'rights-changed',
      roles: [],
      subject: 'u',
      at: open.clock(),
      expiresAt: open.clock() + HOUR,
      scopes: Array.from({ length: 900 }, (_, i) => `scope/${i}`),
    })
    assert.deepEqual(
      (await events.since(from)).map(({ event }) => event.kind),
      ['token-revoked', 'keys-changed', 'rights-changed'],
    )
    assert.deepEqual(await events.unexpired(['token-revoked']), [{ kind: 'token-revoked', tokenId: 'a', expiresAt }])
    open.clock.advance(1001)
    assert.deepEqual(await events.unexpired(['token-revoked']), [])
  })
})
