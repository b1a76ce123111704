/** The stores behind the browser pages, on every engine: sessions, interactions, consents, factors. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  createInteractions,
  INTERACTION_LIFETIME_MS,
} from '../../packages/server/src/store/authorizations/interactions.ts'
import { DEFAULT_LIFETIMES } from '../../packages/server/src/store/authorizations/sessions.ts'
import { onEveryEngine } from '../support/engines.ts'
import { type OpenStores, openStores } from '../support/stores.ts'

const SIGN_IN = { amr: ['pwd'], userAgent: 'Test/1', address: '192.0.2.1' }

onEveryEngine('browser stores', (place) => {
  let open: OpenStores
  before(async () => {
    open = await openStores(place())
  })
  after(() => open.close())

  test('C-33: the database contains neither cookies nor handles', async () => {
    const { cookie } = await open.stores.sessions.open('usr_dump', SIGN_IN)
    const { handle } = await createInteractions<object>(open.database, open.clock).begin(
      { a: 1 },
      { address: '192.0.2.1' },
    )
    const dump = JSON.stringify([
      await open.database.db.selectFrom('sessions').selectAll().execute(),
      await open.database.db.selectFrom('interactions').selectAll().execute(),
    ])
    assert.ok(!dump.includes(cookie) && !dump.includes(handle))
    assert.ok(cookie.length >= 43 && handle.length >= 43)
  })

  test('C-04: renewing a session keeps its id and invalidates the old cookie', async () => {
    const { sessions } = open.stores
    const first = await sessions.open('usr_1', SIGN_IN)
    open.clock.advance(5000)
    const second = await sessions.renew(first.session, { ...SIGN_IN, amr: ['pwd', 'otp', 'mfa'] })
    assert.equal(await sessions.find(first.cookie), undefined)
    const found = await sessions.find(second?.cookie ?? '')
    assert.equal(found?.id, first.session.id)
    assert.equal(found.authTime, first.session.authTime + 5000)
    assert.deepEqual(found.amr, ['pwd', 'otp', 'mfa'])
    await sessions.end(first.session.id)
    assert.equal(await sessions.renew(first.session, SIGN_IN), undefined)
  })

  test('a session expires when idle, and at its absolute lifetime even when used', async () => {
    const { sessions } = open.stores
    const idle = await sessions.open('usr_idle', SIGN_IN)
    open.clock.advance(DEFAULT_LIFETIMES.idle - 1)
    assert.ok(await sessions.find(idle.cookie))
    open.clock.advance(DEFAULT_LIFETIMES.idle)
    assert.equal(await sessions.find(idle.cookie), undefined)
    const busy = await sessions.open('usr_busy', SIGN_IN)
    const step = DEFAULT_LIFETIMES.idle / 2
    for (let used = step; used < DEFAULT_LIFETIMES.absolute; used += step) {
      open.clock.advance(step)
      assert.ok(await sessions.find(busy.cookie), `after ${used} ms`)
    }
    open.clock.advance(step)
    assert.equal(await sessions.find(busy.cookie), undefined)
    const expired = (await sessions.listExpired()).map(({ id }) => id)
    assert.ok(expired.includes(idle.session.id) && expired.includes(busy.session.id))
  })

  test('of concurrent callers that end a session, one gets it', async () => {
    const { sessions } = open.stores
    const { session, cookie } = await sessions.open('usr_end', SIGN_IN)
    const results = await Promise.all(Array.from({ length: 20 }, () => sessions.end(session.id)))
    assert.equal(results.filter((ended) => ended !== undefined).length, 1)
    assert.equal(await sessions.find(cookie), undefined)
    assert.deepEqual(await sessions.listOfUser('usr_end'), [])
  })

  test('a session records each client once, and one caller takes them', async () => {
    const { sessions } = open.stores
    const { session } = await sessions.open('usr_clients', SIGN_IN)
    for (const clientId of ['a', 'b', 'a']) await sessions.addClient(session.id, clientId)
    assert.deepEqual((await sessions.listClients(session.id)).sort(), ['a', 'b'])
    await sessions.end(session.id)
    const taken = await Promise.all(Array.from({ length: 20 }, () => sessions.takeClients(session.id)))
    const [first, ...others] = taken.filter((clients) => clients !== undefined)
    assert.equal(others.length, 0)
    assert.equal(first?.userId, 'usr_clients')
    assert.deepEqual(first?.clientIds.sort(), ['a', 'b'])
  })

  test('C-117: an interaction leaves each state once, is finished once and expires', async () => {
    const interactions = createInteractions<{ step: number }>(open.database, open.clock)
    const begun = await interactions.begin({ step: 1 }, { address: '192.0.2.1' })
    const replaced = await Promise.all(Array.from({ length: 20 }, () => interactions.replace(begun, { step: 2 })))
    assert.equal(replaced.filter(Boolean).length, 1)
    assert.deepEqual((await interactions.find(begun.handle))?.details, { step: 2 })
    const finished = await Promise.all(Array.from({ length: 20 }, () => interactions.finish(begun.handle)))
    assert.equal(finished.filter(Boolean).length, 1)
    assert.equal(await interactions.find(begun.handle), undefined)
    const old = await interactions.begin({ step: 1 }, { address: '192.0.2.1' })
    open.clock.advance(INTERACTION_LIFETIME_MS)
    assert.equal(await interactions.find(old.handle), undefined)
  })

  test('consents accumulate and are withdrawn as a whole', async () => {
    const { consents } = open.stores
    await consents.allow('usr_c', 'shop', ['openid'])
    await consents.allow('usr_c', 'shop', ['email', 'openid'])
    assert.deepEqual((await consents.find('usr_c', 'shop'))?.scopes, ['openid', 'email'])
    assert.equal(await consents.withdraw('usr_c', 'shop'), true)
    assert.equal(await consents.withdraw('usr_c', 'shop'), false)
    assert.deepEqual(await consents.listOfUser('usr_c'), [])
  })

  test('a TOTP time step and a recovery code are each accepted once', async () => {
    const { factors } = open.stores
    const id = await factors.add({ userId: 'usr_f', kind: 'totp', label: 'Phone', secret: 's', counter: 0 })
    const steps = await Promise.all(Array.from({ length: 20 }, () => factors.advance(id, 77)))
    assert.equal(steps.filter(Boolean).length, 1)
    assert.equal(await factors.advance(id, 76), false)
    await factors.replaceRecoveryCodes('usr_f', ['x', 'y'])
    const spent = await Promise.all(Array.from({ length: 20 }, () => factors.spendRecoveryCode('usr_f', 'x')))
    assert.equal(spent.filter(Boolean).length, 1)
    assert.deepEqual((await factors.listOfUser('usr_f')).map(({ kind }) => kind).sort(), ['recovery', 'totp'])
    assert.deepEqual(await factors.remove('usr_other', id), { outcome: 'unknown' })
    const removed = await factors.remove('usr_f', id)
    assert.equal(removed.outcome === 'removed' && removed.factor.label, 'Phone')
  })

  test('concurrent removals keep a required last factor; recovery codes go with the last factor', async () => {
    const { factors } = open.stores
    const userId = 'usr_guarded'
    const kindsLeft = async () => (await factors.listOfUser(userId)).map(({ kind }) => kind)
    const add = (label: string) => factors.add({ userId, kind: 'totp', label, secret: 's', counter: 0 })
    for (let round = 0; round < 10; round++) {
      const ids = await Promise.all([add('Phone'), add('Tablet')])
      await factors.replaceRecoveryCodes(userId, ['x'])
      const removed = await Promise.all(ids.map((id) => factors.remove(userId, id, { keepLast: true })))
      assert.deepEqual(removed.map(({ outcome }) => outcome).sort(), ['kept', 'removed'])
      assert.deepEqual((await kindsLeft()).sort(), ['recovery', 'totp'])
      const removedToo = await Promise.all(ids.map((id) => factors.remove(userId, id)))
      assert.deepEqual(removedToo.map(({ outcome }) => outcome).sort(), ['removed', 'unknown'])
      assert.deepEqual(await kindsLeft(), [])
    }
  })
})
