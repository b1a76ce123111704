/** How a process of `serve` logs and uses memory, and what it leaves for the next start. */
import module from 'node:module'
import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import type { LoadedConfig } from '../../config/load.ts'

const SETTLE_MS = 1500
/** Of Node 22 and before. */
const POOL_BYTES = 8 * 1024
const MOST_YOUNG_BYTES = 32 * 1024 * 1024

/**
 * Most of what a start allocates survives. V8 would interpret that as high load and enlarge its young generation, which costs 10 MiB
 * even without load.
 */
export function keepYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  // Small buffers share a pool, and each keeps all of it in memory: with the 64 KiB of Node 24, those of a few connections keep megabytes.
  Buffer.poolSize = POOL_BYTES
}

/** Output that cannot be written, for example to a full disk, is lost, and the server continues. Commands report it. */
export function ignoreOutputErrors(): void {
  process.stdout.removeAllListeners('error').on('error', () => {})
}

/** After a start: lets the young generation grow with the load, and writes the compile cache, which speeds up the next start. Node
 *  writes it at exit, which a kill would skip. */
export function settle(): void {
  const timer = setTimeout(() => {
    growYoungGeneration()
    module.flushCompileCache?.()
  }, SETTLE_MS)
  timer.unref()
}

/**
 * Up to a limit: V8 itself would stop at 100 MiB, and gives almost nothing of them back. After each garbage collection the next growth,
 * which doubles it, is allowed or not.
 */
function growYoungGeneration(): void {
  let factor = 1
  const decide = (): void => {
    const next = 2 * youngBytes() <= MOST_YOUNG_BYTES ? 2 : 1
    if (next === factor) return
    factor = next
    setFlagsFromString(`--semi-space-growth-factor=${factor}`)
  }
  decide()
  new PerformanceObserver(decide).observe({ entryTypes: ['gc'] })
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0
}

/** The demo logs only warnings, in a readable form, unless the settings say otherwise. */
export function logOptions({ config, sources }: LoadedConfig) {
  return {
    level: config.demo && sources.logLevel === 'default' ? 'warn' : config.logLevel,
    format: config.demo && sources.logFormat === 'default' ? ('pretty' as const) : config.logFormat,
  }
}
