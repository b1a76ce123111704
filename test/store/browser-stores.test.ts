/** What the stores of the browser side promise, the same on every engine: sessions, interactions, consents, factors. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createInteractions, INTERACTION_LIFETIME_MS } from '../../src/store/interactions.ts'
import { USUAL_LIFETIMES } from '../../src/store/sessions.ts'
import { onEveryEngine } from '../support/engines.ts'
import { type OpenStores, openStores } from '../support/stores.ts'

const PROOF = { amr: ['pwd'], userAgent: 'Test/1', address: '192.0.2.1' }

onEveryEngine('browser stores', (place) => {
  let open: OpenStores
  before(async () => {
    open = await openStores(place())
  })
  after(() => open.close())

  test('C-33: neither a cookie nor a handle can be read out of the database', async () => {
    const { cookie } = await open.stores.sessions.open('usr_dump', PROOF)
    const { handle } = await createInteractions<object>(open.database.db, open.clock).begin({ a: 1 })
    const dump = JSON.stringify([
      await open.database.db.selectFrom('sessions').selectAll().execute(),
      await open.database.db.selectFrom('interactions').selectAll().execute(),
    ])
    assert.ok(!dump.includes(cookie) && !dump.includes(handle))
    assert.ok(cookie.length >= 43 && handle.length >= 43)
  })

  test('C-04: renewing a session keeps its name and kills the old cookie', async () => {
    const { sessions } = open.stores
    const first = await sessions.open('usr_1', PROOF)
    open.clock.advance(5000)
    const second = await sessions.renew(first.session, { ...PROOF, amr: ['pwd', 'otp', 'mfa'] })
    assert.equal(await sessions.find(first.cookie), undefined)
    const found = await sessions.find(second?.cookie ?? '')
    assert.equal(found?.id, first.session.id)
    assert.equal(found.authTime, first.session.authTime + 5000)
    assert.deepEqual(found.amr, ['pwd', 'otp', 'mfa'])
    await sessions.end(first.session.id)
    assert.equal(await sessions.renew(first.session, PROOF), undefined)
  })

  test('a session ends when idle, and at its absolute end even when used', async () => {
    const { sessions } = open.stores
    const idle = await sessions.open('usr_idle', PROOF)
    open.clock.advance(USUAL_LIFETIMES.idle - 1)
    assert.ok(await sessions.find(idle.cookie))
    open.clock.advance(USUAL_LIFETIMES.idle)
    assert.equal(await sessions.find(idle.cookie), undefined)
    const busy = await sessions.open('usr_busy', PROOF)
    const step = USUAL_LIFETIMES.idle / 2
    for (let used = step; used < USUAL_LIFETIMES.absolute; used += step) {
      open.clock.advance(step)
      assert.ok(await sessions.find(busy.cookie), `after ${used} ms`)
    }
    open.clock.advance(step)
    assert.equal(await sessions.find(busy.cookie), undefined)
    const expired = (await sessions.listExpired()).map(({ id }) => id)
    assert.ok(expired.includes(idle.session.id) && expired.includes(busy.session.id))
  })

  test('of many who end a session, one is told', async () => {
    const { sessions } = open.stores
    const { session, cookie } = await sessions.open('usr_end', PROOF)
    const told = await Promise.all(Array.from({ length: 20 }, () => sessions.end(session.id)))
    assert.equal(told.filter((ended) => ended !== undefined).length, 1)
    assert.equal(await sessions.find(cookie), undefined)
    assert.deepEqual(await sessions.listOfUser('usr_end'), [])
  })

  test('a session remembers each client once, and hands them to one who tells them', async () => {
    const { sessions } = open.stores
    const { session } = await sessions.open('usr_clients', PROOF)
    for (const clientId of ['a', 'b', 'a']) await sessions.addClient(session.id, clientId)
    assert.deepEqual((await sessions.listClients(session.id)).sort(), ['a', 'b'])
    await sessions.end(session.id)
    const taken = await Promise.all(Array.from({ length: 20 }, () => sessions.takeClients(session.id)))
    const told = taken.filter((clients) => clients !== undefined)
    assert.equal(told.length, 1)
    assert.equal(told[0]?.userId, 'usr_clients')
    assert.deepEqual(told[0]?.clientIds.sort(), ['a', 'b'])
  })

  test('C-117: an interaction goes on from each state once, is finished once and expires cleanly', async () => {
    const interactions = createInteractions<{ step: number }>(open.database.db, open.clock)
    const begun = await interactions.begin({ step: 1 })
    const replaced = await Promise.all(Array.from({ length: 20 }, () => interactions.replace(begun, { step: 2 })))
    assert.equal(replaced.filter(Boolean).length, 1)
    assert.deepEqual((await interactions.find(begun.handle))?.details, { step: 2 })
    const finished = await Promise.all(Array.from({ length: 20 }, () => interactions.finish(begun.handle)))
    assert.equal(finished.filter(Boolean).length, 1)
    assert.equal(await interactions.find(begun.handle), undefined)
    const old = await interactions.begin({ step: 1 })
    open.clock.advance(INTERACTION_LIFETIME_MS)
    assert.equal(await interactions.find(old.handle), undefined)
  })

  test('consent adds up and is withdrawn whole', async () => {
    const { consents } = open.stores
    await consents.allow('usr_c', 'shop', ['openid'])
    await consents.allow('usr_c', 'shop', ['email', 'openid'])
    assert.deepEqual((await consents.find('usr_c', 'shop'))?.scopes, ['openid', 'email'])
    assert.equal(await consents.withdraw('usr_c', 'shop'), true)
    assert.equal(await consents.withdraw('usr_c', 'shop'), false)
    assert.deepEqual(await consents.listOfUser('usr_c'), [])
  })

  test('one time step of an authenticator, and one recovery code, is good for one of many', async () => {
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

  test('of two factors that are removed at once the last one stays, where one must; with the last go the recovery codes', async () => {
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
