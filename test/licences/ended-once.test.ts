/** A place that one node renews while another ends it: its session is closed once, and does not come back. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Database, openDatabase } from '../../packages/server/src/store/database/database.ts'
import { transact } from '../../packages/server/src/store/database/transaction.ts'
import { createPlaces, type Place } from '../../packages/server/src/store/licences/places.ts'
import { openPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'

const HOLDER = 'user:usr_a'
const HELD: Place = {
  ...{ product: 'A', holder: HOLDER, place: 'p', session: 'ls_1', access: 'realtime', displaced: 0 },
  ...{ taken_at: 1_000, expires_at: 2_000, nodes: '' },
}

let database: Database
let leave: () => Promise<void>
before(async () => {
  const opened = await openPlace('postgres')
  leave = opened.leave
  database = await openDatabase({ dataFolder: opened.place.dataFolder, url: opened.place.databaseUrl })
})
after(async () => {
  await database.close()
  await leave()
  await stopOwnPostgres()
})

/** Renews the place in a transaction during which `end` begins. Resolves with what that has ended, and the places that are left. */
async function renewWhile(end: () => Promise<Place[]>): Promise<{ ended: Place[]; left: Place[] }> {
  await createPlaces(database.db).put(HELD)
  let ending: Promise<Place[]> | undefined
  await transact(database.db, async (tx) => {
    const places = createPlaces(tx)
    const [own] = await places.lockOfHolder('postgres', 'A', HOLDER)
    assert.ok(own)
    ending = end()
    // As long as a statement of another connection takes that need not wait.
    await Promise.race([ending, sleep(500)])
    await places.put({ ...own, expires_at: 9_000 })
  })
  const ended = (await ending) ?? []
  return { ended, left: await createPlaces(database.db).all(10) }
}

test('what lapses while it is renewed is not ended', async () => {
  const { ended, left } = await renewWhile(() => createPlaces(database.db).removeLapsed('postgres', 3_000))
  assert.deepEqual(
    [ended, left.map(({ session, expires_at }) => [session, Number(expires_at)])],
    [[], [['ls_1', 9_000]]],
  )
})

test('what is ended while it is renewed does not come back', async () => {
  const { ended, left } = await renewWhile(() =>
    createPlaces(database.db)
      .remove(HELD)
      .then((isRemoved) => (isRemoved ? [HELD] : [])),
  )
  assert.deepEqual([ended.map(({ session }) => session), left], [['ls_1'], []])
})
