/** The memory of a server under a steady mixed load, which must settle: `node bench/soak.ts` runs it for an hour. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { HERE } from '../../bench/support/checkout.ts'
import { median } from '../../bench/support/compare.ts'
import { readMemory } from '../../bench/support/process-memory.ts'
import { PARTS } from '../../bench/support/soak-load.ts'
import { startSoakServer } from '../../bench/support/soak-server.ts'
import { buildServer } from '../../packages/server/build.js'

/** Many times the load under which memory once grew by 270 MiB in 23 minutes. */
const SPEED = 8
const SAMPLES = 36
const EVERY_MS = 5_000
/** Until then code is compiled and caches fill. */
const WARM_SAMPLES = 20
/** The leak would be 80 MiB and more between the two readings. */
const MOST_GROWTH = 0.2
/** Other tests keep the machine busy: queues are longer then than under the same load on an idle machine. */
const MOST_MIB = 350

test('under a steady load of inserts, feeds, streams, live statements, wire sessions and sign-ins, memory settles', async (t) => {
  await buildServer()
  const server = await startSoakServer(HERE)
  const stop = new AbortController()
  t.after(async () => {
    stop.abort()
    await server.stop()
  })
  const load = Promise.all(Object.values(PARTS).map((part) => part(server, SPEED, stop.signal)))
  const resident: number[] = []
  const sampling = (async () => {
    while (resident.length < SAMPLES) {
      await sleep(EVERY_MS)
      resident.push((await readMemory(server)).resident)
    }
  })()
  await Promise.race([sampling, load])
  const begin = median(resident.slice(WARM_SAMPLES, WARM_SAMPLES + 5))
  const end = median(resident.slice(-5))
  t.diagnostic(`${resident.map((mib) => mib.toFixed(0)).join(' ')} MiB after ${JSON.stringify(server.done)}`)
  assert.ok(end <= begin * (1 + MOST_GROWTH), `memory grew from ${begin.toFixed(0)} to ${end.toFixed(0)} MiB`)
  assert.ok(end <= MOST_MIB, `${end.toFixed(0)} MiB`)
})
