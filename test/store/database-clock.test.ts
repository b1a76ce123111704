/** The time of the database, which licences go by: neither the clock of the machine nor a slow reply changes it. */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from 'gatehouse-protocol'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { openDatabaseClock } from '../../packages/server/src/store/database/database-clock.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

/** It is measured once in this time. */
const MEASURED_MS = 10_000
const HELD_MS = 4_000

let place: TestPlace
let leave: () => Promise<void>

before(async () => {
  ;({ place, leave } = await openPlace('postgres'))
})
after(async () => {
  await leave()
  await stopOwnPostgres()
})

async function openClock(t: TestContext, databaseUrl: string): Promise<Clock> {
  const database = await openDatabase({ dataFolder: place.dataFolder, url: databaseUrl })
  const clock = await openDatabaseClock(database, undefined, (error) => assert.fail(String(error)))
  t.after(async () => {
    clock.close()
    await database.close()
  })
  return clock.now
}

test('the time is that of the database, whatever the clock of the machine says', async (t) => {
  const real = Date.now
  Date.now = () => real() + 300_000
  try {
    const now = await openClock(t, place.databaseUrl)
    assert.ok(Math.abs(now() - real()) < 10_000)
  } finally {
    Date.now = real
  }
})

for (const direction of ['hold', 'holdReplies'] as const)
  test(`a measurement that the network holds up does not set the time: ${direction}`, async (t) => {
    const url = new URL(place.databaseUrl)
    const proxy = await startTcpProxy(url.hostname, Number(url.port))
    url.hostname = '127.0.0.1'
    url.port = String(proxy.port)
    t.after(() => proxy.close())
    const now = await openClock(t, url.href)
    const before = now() - Date.now()
    await sleep(MEASURED_MS - 1_000)
    proxy[direction]()
    await sleep(HELD_MS)
    proxy.mend()
    await sleep(1_000)
    const moved = now() - Date.now() - before
    assert.ok(Math.abs(moved) < HELD_MS / 8, `${moved} ms`)
  })
