/**
 * `node bench/soak.ts`: runs a steady mixed load against one process on SQLite, prints its memory as it goes, and fails if the memory
 * at the end is more than a fifth above that at the beginning. `--minutes`, `--speed` (1 is a load of 38 inserts and 14 messages of a feed a
 * second), `--parts inserts,feeds,…`, and `--against FOLDER` to measure another checkout.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { checkoutAt, HERE } from './support/checkout.ts'
import { median } from './support/compare.ts'
import { type ProcessMemory, readMemory } from './support/process-memory.ts'
import { PARTS, type Part } from './support/soak-load.ts'
import { startSoakServer } from './support/soak-server.ts'

const MOST_GROWTH = 0.2
/** Until then caches fill, V8 compiles and its young generation grows. */
const WARM_SHARE = 0.1
const MOST_WARM_MINUTES = 5

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    speed: { type: 'string', default: '1' },
    parts: { type: 'string', default: Object.keys(PARTS).join(',') },
    against: { type: 'string' },
    every: { type: 'string' },
  },
})
const [minutes, speed] = [Number(values.minutes), Number(values.speed)]
const parts = values.parts.split(',').map(partNamed)
const server = await startSoakServer(values.against === undefined ? HERE : checkoutAt(values.against))
const stop = new AbortController()
process.once('SIGINT', () => stop.abort())
const samples: Sample[] = []

interface Sample extends ProcessMemory {
  readonly minute: number
}

try {
  const running = parts.map((part) => part(server, speed, stop.signal))
  const sampling = sample()
  // The first part that fails ends the run; all others end with it.
  await Promise.race([sampling, Promise.all(running)]).finally(() => stop.abort())
  await Promise.all([sampling, Promise.allSettled(running)])
  judge()
} finally {
  stop.abort()
  await server.stop()
}

function partNamed(name: string): Part {
  const part = Object.hasOwn(PARTS, name) ? PARTS[name as keyof typeof PARTS] : undefined
  if (part === undefined) throw new Error(`There is no part ${name}: name some of ${Object.keys(PARTS).join(', ')}`)
  return part
}

async function sample(): Promise<void> {
  const started = performance.now()
  const everyMs = values.every === undefined ? (minutes * 60_000) / 30 : Number(values.every) * 1000
  process.stdout.write('minute  resident  tree(pss)  heap  malloc  mapped  file  done\n')
  for (let next = started; !stop.signal.aborted; next += everyMs) {
    await sleep(Math.max(0, next - performance.now()), undefined, { signal: stop.signal }).catch(() => undefined)
    const minute = (performance.now() - started) / 60_000
    const memory = await readMemory(server)
    samples.push({ minute, ...memory })
    const cells = [memory.resident, memory.tree, memory.heap, memory.malloc, memory.mapped, memory.file]
    process.stdout.write(
      `${minute.toFixed(1)}  ${cells.map((mib) => mib.toFixed(0)).join('  ')}  ${JSON.stringify(server.done)}\n`,
    )
    if (minute >= minutes) return
  }
}

function judge(): void {
  const warm = Math.min(minutes * WARM_SHARE, MOST_WARM_MINUTES)
  const settled = samples.filter(({ minute }) => minute >= warm)
  const few = Math.max(1, Math.floor(settled.length / 5))
  const [begin, end] = [settled.slice(0, few), settled.slice(-few)].map((some) => median(some.map(({ tree }) => tree)))
  const growth = (end ?? Number.NaN) / (begin ?? Number.NaN) - 1
  process.stdout.write(`from ${begin?.toFixed(0)} to ${end?.toFixed(0)} MiB: ${(growth * 100).toFixed(0)} %\n`)
  if (!(growth <= MOST_GROWTH)) process.exitCode = 1
}
