/** Connections of the query service to PostgreSQL: a query that is stopped before it uses one gives back what it was granted. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg, { type Pool } from 'pg'
import { type Acquire, acquireFrom, borrow } from '../../packages/server/src/query/engines/postgres/pool.ts'
import { FairSlots } from '../../packages/server/src/query/engines/slots/fair-slots.ts'
import { openPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'

let pool: Pool
let leave: () => Promise<void>
before(async () => {
  const opened = await openPlace('postgres')
  leave = opened.leave
  pool = new pg.Pool({ connectionString: opened.place.databaseUrl, max: 1 })
})
after(async () => {
  await pool.end()
  await leave()
  await stopOwnPostgres()
})

const NEVER = new AbortController()
const REASON = new Error('stopped')
/** Of a test: what never ends fails soon. */
const LIMIT = { timeout: 10_000 }

/** Each step from the request of a slot to the use of the connection takes some turns of the promises. */
for (let turns = 0; turns <= 8; turns++)
  test(
    `a query that is stopped ${turns} turns after its slot was granted ends, and the slot is free`,
    LIMIT,
    async () => {
      const acquire = acquireFrom(pool, new FairSlots(1, 10))
      const stop = new AbortController()
      const outcome = borrow(acquire, { owner: 'a' }, stop).then(
        async ({ client, giveBack }) => {
          await assert.rejects(client.query('SELECT pg_sleep(60)'), { code: '57014' }, 'its statement is stopped')
          await giveBack()
        },
        (error) => assert.equal(error, REASON),
      )
      for (let turn = 0; turn < turns; turn++) await Promise.resolve()
      stop.abort(REASON)
      await outcome
      await isFree(acquire)
    },
  )

test('a query that is stopped as it gets its connection does not run', LIMIT, async () => {
  const acquire = acquireFrom(pool, new FairSlots(1, 10))
  const stop = new AbortController()
  const acquireAndStop: Acquire = async (...options) => {
    const acquired = await acquire(...options)
    stop.abort(REASON)
    return acquired
  }
  await assert.rejects(borrow(acquireAndStop, { owner: 'a' }, stop), REASON)
  await isFree(acquire)
})

async function isFree(acquire: Acquire): Promise<void> {
  const { client, giveBack } = await borrow(acquire, { owner: 'b' }, NEVER)
  assert.equal((await client.query('SELECT 1 AS one')).rows.length, 1)
  await giveBack()
}
