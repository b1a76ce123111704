/** Sessions whose time is up are ended in one pass, however many gathered, and a server that stops is not kept waiting. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { endExpiredSessions } from '../../src/identity/browser/session-end.ts'
import { noAudit } from '../../src/protocol/audit-events.ts'
import { createTakeBack } from '../../src/store/take-back.ts'
import { onEveryEngine } from '../support/engines.ts'
import { type OpenStores, openStores } from '../support/stores.ts'

const MANY = 1_203

onEveryEngine('the sweep of sessions', (place) => {
  let open: OpenStores
  before(async () => {
    open = await openStores(place())
  })
  after(() => open.close())

  test('one pass ends them all, each once, and leaves the living alone', async () => {
    const { sessions, grants, events } = open.stores
    const proof = { amr: ['pwd'], userAgent: 'Test/1', address: '192.0.2.1' }
    for (let count = 0; count < MANY; count += 100)
      await Promise.all(
        Array.from({ length: Math.min(100, MANY - count) }, (_, index) => sessions.open(`usr_${count + index}`, proof)),
      )
    open.clock.advance(12 * 3600_000)
    const { cookie } = await sessions.open('usr_alive', proof)
    const takeBack = createTakeBack({ grants, publish: events.append, clock: open.clock })
    const env = { sessions, takeBack, audit: noAudit }

    let asked = 0
    await endExpiredSessions(env, () => ++asked > 3)
    const left = (await sessions.listExpired(MANY)).length
    assert.ok(left > MANY - 500 && left < MANY, `${left} are left`)

    // Two nodes at once: each session is ended by one of them.
    await Promise.all([endExpiredSessions(env), endExpiredSessions(env)])
    assert.deepEqual(await sessions.listExpired(), [])
    const ended = await events.live(['session-ended'])
    assert.equal(ended.length, MANY)
    assert.ok(await sessions.find(cookie))
  })
})
