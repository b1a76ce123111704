/** Metrics of the process and its disk: CPU, memory, event loop lag, descriptors, free space. */
import { readdirSync, statfsSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { VERSION } from 'gatehouse-protocol'
import type { Metrics } from './metrics.ts'
import { openFilesLimit } from './open-files.ts'

const NANOSECONDS = 1e9

export function watchProcess(
  metrics: Metrics,
  { name, dataFolder }: { readonly name: string; readonly dataFolder: string },
): () => void {
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  const started = Math.round(Date.now() / 1000 - process.uptime())
  metrics.watch('gatehouse_build_info', () => [[{ version: VERSION, node: process.versions.node, name }, 1]])
  metrics.watch('process_cpu_seconds_total', () => {
    const { user, system } = process.cpuUsage()
    return [[{}, (user + system) / 1e6]]
  })
  metrics.watch('process_resident_memory_bytes', () => [[{}, process.memoryUsage.rss()]])
  metrics.watch('process_heap_bytes', () => [[{}, process.memoryUsage().heapUsed]])
  metrics.watch('process_start_time_seconds', () => [[{}, started]])
  metrics.watch('nodejs_eventloop_lag_seconds', () => {
    const values = [
      [{ statistic: 'mean' }, finite(delay.mean / NANOSECONDS)],
      [{ statistic: 'p99' }, delay.percentile(99) / NANOSECONDS],
      [{ statistic: 'max' }, delay.max / NANOSECONDS],
    ] as const
    delay.reset()
    return values
  })
  metrics.watch('process_open_fds', () => orNone(() => readdirSync('/proc/self/fd').length))
  metrics.watch('process_max_fds', () => orNone(() => openFilesLimit() ?? Number.POSITIVE_INFINITY))
  metrics.watch('gatehouse_disk_free_bytes', () =>
    orNone(() => statfsSync(dataFolder).bavail * statfsSync(dataFolder).bsize),
  )
  metrics.watch('gatehouse_disk_size_bytes', () =>
    orNone(() => statfsSync(dataFolder).blocks * statfsSync(dataFolder).bsize),
  )
  return () => delay.disable()
}

/** No series where the value cannot be read, as without /proc. */
function orNone(read: () => number): readonly (readonly [Readonly<Record<never, string>>, number])[] {
  try {
    return [[{}, read()]]
  } catch {
    return []
  }
}

/** NaN before the first measurement. */
function finite(value: number): number {
  return Number.isFinite(value) ? value : 0
}
