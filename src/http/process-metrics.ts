/** What the process itself costs: CPU, memory, and how late the event loop runs. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Metrics } from '../protocol/metrics.ts'
import { VERSION } from '../protocol/version.ts'

const NANOSECONDS = 1e9

export function watchProcess(metrics: Metrics): () => void {
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  const started = Math.round(Date.now() / 1000 - process.uptime())
  metrics.watch('gatehouse_build_info', () => [[{ version: VERSION, node: process.versions.node }, 1]])
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
  return () => delay.disable()
}

/** Nothing measured yet gives NaN. */
function finite(value: number): number {
  return Number.isFinite(value) ? value : 0
}
