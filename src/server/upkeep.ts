/** What runs beside the services: metrics, rate counts shared between nodes, the removal of expired rows. */
import { randomUUID } from 'node:crypto'
import type { Config } from '../config.ts'
import type { Logger } from '../http/log.ts'
import { openMetricsListener } from '../http/metrics-door.ts'
import { watchProcess } from '../http/process-metrics.ts'
import type { RateLimiter } from '../http/rate-limit.ts'
import type { Clock } from '../protocol/clock.ts'
import { createMetrics, type Metrics } from '../protocol/metrics.ts'
import { startPruning } from '../store/prune.ts'
import { exchangeRates } from '../store/rate-exchange.ts'
import type { Closing } from './closing.ts'
import type { Ground } from './ground.ts'

const DAY = 86_400_000

export async function openMetrics(
  config: Config,
  { database, audit, bus }: Ground,
  closing: Closing,
): Promise<{ metrics: Metrics; metricsPort: number | undefined }> {
  const metrics = createMetrics()
  metrics.watch('gatehouse_database_connections', () =>
    Object.entries(database.pool() ?? {}).map(([state, count]) => [{ state }, count] as const),
  )
  metrics.watch('gatehouse_audit_waiting_rows', () => [[{}, audit.waiting]])
  metrics.watch('gatehouse_audit_lost_total', () => [[{}, audit.lost]])
  metrics.watch('gatehouse_bus_lag_seconds', () => [[{}, bus.lag() / 1000]])
  bus.subscribe(({ kind }) => metrics.count('gatehouse_bus_events_total', { kind }))
  closing.add(watchProcess(metrics))
  if (config.metricsPort === undefined) return { metrics, metricsPort: undefined }
  const listener = await openMetricsListener(metrics, config.metricsHost, config.metricsPort)
  closing.add(() => listener.close())
  return { metrics, metricsPort: listener.port }
}

export interface UpkeepParts {
  readonly ground: Ground
  readonly limiter: RateLimiter
  readonly metrics: Metrics
  readonly clock: Clock
  readonly logger: Logger
}

export function startUpkeep(config: Config, parts: UpkeepParts, closing: Closing): void {
  const { ground, limiter, metrics, clock, logger } = parts
  const rates = exchangeRates(ground.database, {
    clock,
    node: randomUUID(),
    ...limiter,
    onError: (error) => logger.warn({ err: error }, 'rate counts could not be exchanged'),
  })
  closing.add(() => rates.stop())
  const pruning = startPruning(ground.database, {
    clock,
    node: ground.node,
    auditKept: config.auditRetentionDays === 0 ? undefined : config.auditRetentionDays * DAY,
    onPruned: (table, rows) => metrics.count('gatehouse_pruned_rows_total', { table }, rows),
    onError: (error) => logger.warn({ err: error }, 'expired rows could not be removed'),
  })
  closing.add(() => pruning.stop())
}
