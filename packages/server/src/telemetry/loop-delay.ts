/** How late the event loop is, over the last seconds. */
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Milliseconds. */
export interface LoopDelay {
  readonly mean: number
  readonly p99: number
  readonly max: number
}

const WINDOW_MS = 10_000
const NANOSECONDS_PER_MS = 1e6

/** Independent of the metric, which each scrape resets. */
export function watchLoopDelay(): { read(): LoopDelay; stop(): void } {
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  const measure = (): LoopDelay => ({
    // NaN before the first measurement.
    mean: rounded(Number.isNaN(delay.mean) ? 0 : delay.mean),
    p99: rounded(delay.percentile(99)),
    max: rounded(delay.max),
  })
  let last: LoopDelay | undefined
  const rotation = setInterval(() => {
    last = measure()
    delay.reset()
  }, WINDOW_MS)
  rotation.unref()
  return {
    read: () => last ?? measure(),
    stop() {
      clearInterval(rotation)
      delay.disable()
    },
  }
}

function rounded(nanoseconds: number): number {
  return Math.round((nanoseconds / NANOSECONDS_PER_MS) * 100) / 100
}
