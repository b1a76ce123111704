/** The sweep ends all expired sessions in one pass, and does not delay a server that stops. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { noAudit } from 'gatehouse-protocol'
import { endExpiredSessions } from '../../packages/server/src/identity/browser/sign-out/session-end.ts'
import { openRevocations } from '../../packages/server/src/store/authorizations/revocations.ts'
import { onEveryEngine } from '../support/engines.ts'
import { type OpenStores, openStores } from '../support/stores.ts'

const BATCH = 80
const MANY = 203

onEveryEngine('the session sweep', (place) => {
  let open: OpenStores
  before(async () => {
    open = await openStores(place())
  })
  after(() => open.close())

  test('one pass ends every expired session once, and no other', async () => {
    const { sessions, events } = open.stores
    const proof = { amr: ['pwd'], userAgent: 'Test/1', address: '192.0.2.1' }
    for (let count = 0; count < MANY; count += 100)
      await Promise.all(
        Array.from({ length: Math.min(100, MANY - count) }, (_, index) => sessions.open(`usr_${count + index}`, proof)),
      )
    open.clock.advance(12 * 3600_000)
    const { cookie } = await sessions.open('usr_alive', proof)
    const revocations = openRevocations({ database: open.database, clock: open.clock, receive: () => {} })
    const env = { sessions, revocations, audit: noAudit }

    let asked = 0
    await endExpiredSessions(env, () => ++asked > 3, BATCH)
    const left = (await sessions.listExpired(MANY)).length
    assert.ok(left > MANY - BATCH && left < MANY, `${left} are left`)

    // On two nodes at once, each session is ended by one of them.
    await Promise.all([endExpiredSessions(env, undefined, BATCH), endExpiredSessions(env, undefined, BATCH)])
    assert.deepEqual(await sessions.listExpired(), [])
    const ended = await events.unexpired(['session-ended'])
    assert.equal(ended.length, MANY)
    assert.ok(await sessions.find(cookie))
  })
})
