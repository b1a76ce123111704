/** What runs besides the services: metrics of the process, rate counts shared between nodes, the removal of expired rows. */
import { randomUUID } from 'node:crypto'
import type { Config } from '../../config/config.ts'
import { BadSetting } from '../../config/parsers.ts'
import type { Bus } from '../../events/bus.ts'
import { keepProbeConnections, PROBE_CONNECTIONS } from '../../http/limits/connections.ts'
import type { SlidingWindow } from '../../http/limits/sliding-window.ts'
import { type Listener, type Opening, openListener } from '../../http/listener.ts'
import { metricsRoute } from '../../http/metrics-endpoint.ts'
import { Pipeline } from '../../http/pipeline.ts'
import { connectionAddress } from '../../http/request/request-head.ts'
import { exceptOutages } from '../../lib/unavailable.ts'
import { syncRateCounts } from '../../store/cluster/rate-count-sync.ts'
import type { DatabaseServers } from '../../store/database/servers/servers.ts'
import { startPruning } from '../../store/prune.ts'
import type { Logger } from '../../telemetry/log.ts'
import { Metrics } from '../../telemetry/metrics.ts'
import { watchProcess } from '../../telemetry/process-metrics.ts'
import type { Resources } from '../resources.ts'
import type { WorkerLink } from '../worker-link.ts'
import { shareRateCounts } from '../worker-rates.ts'
import type { Cleanup } from './cleanup.ts'
import { watchLastBackup } from './last-backup.ts'

const DAY = 86_400_000

export function openMetrics(
  { node, servers, database, audit }: Resources,
  bus: Bus,
  dataFolder: string,
  cleanup: Cleanup,
): Metrics {
  const metrics = new Metrics()
  metrics.watchCounts('gatehouse_database_connections', 'state', () => Object.entries(database.pool() ?? {}))
  if (servers !== undefined) watchServers(metrics, servers)
  metrics.watch('gatehouse_audit_waiting_rows', () => [[{}, audit.waiting]])
  metrics.watch('gatehouse_audit_lost_total', () => [[{}, audit.lost]])
  metrics.watch('gatehouse_bus_lag_seconds', () => [[{}, bus.lag() / 1000]])
  bus.subscribe(({ kind }) => metrics.count('gatehouse_bus_events_total', { kind }))
  cleanup.add(watchProcess(metrics, { name: node, dataFolder }))
  return metrics
}

function watchServers(metrics: Metrics, servers: DatabaseServers): void {
  metrics.watch('gatehouse_database_failovers_total', () => [[{}, servers.failovers]])
  metrics.watch('gatehouse_database_timeline', () => [[{}, servers.timeline ?? 0]])
  metrics.watch('gatehouse_database_writes_stopped', () => [[{}, servers.lost === undefined ? 0 : 1]])
}

/** Checked with the main port, before anything is written; undefined where the settings name none. */
export async function openMetricsPort(
  { metricsHost: host, metricsPort: port }: Config,
  opening: Opening,
): Promise<Listener | undefined> {
  if (port === undefined) return undefined
  return await openListener({ host, port, tls: undefined, opening }).catch((error) => refusePort(error, host, port))
}

/** Opens the port if it was not opened at creation. */
export async function listenForMetrics(listener: Listener | undefined, config: Config): Promise<void> {
  const { metricsHost: host, metricsPort: port } = config
  await listener?.listen().catch((error) => refusePort(error, host, port))
}

function refusePort(error: unknown, host: string, port: number | undefined): never {
  const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  const text = METRICS_PORT_ERRORS.get(reason) ?? `cannot be opened (${reason})`
  throw new BadSetting(
    `The metrics port ${port} on ${host} ${text}: change GATEHOUSE_METRICS_PORT or GATEHOUSE_METRICS_HOST.`,
  )
}

const METRICS_PORT_ERRORS: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'is in use'],
  ['EACCES', 'cannot be opened by this user'],
  ['EADDRNOTAVAIL', 'is not an address of this machine'],
])

/** Without `metrics_token`, anyone who reaches this port may read: it listens only on the operator's network. */
export function serveMetrics(
  listener: Listener,
  { metricsToken: token }: Pick<Config, 'metricsToken'>,
  metrics: Metrics,
  logger: Logger,
  render: () => string | Promise<string>,
): void {
  const groups = [{ at: ['/metrics'], routes: [metricsRoute(render, { token })] }]
  listener.answerWith(new Pipeline({ groups, logger, metrics, readAddress: connectionAddress }))
  keepProbeConnections(listener.server, PROBE_CONNECTIONS, () =>
    metrics.count('gatehouse_http_connections_refused_total', { limit: 'node' }),
  )
  listener.server.unref()
}

export interface JobParts {
  readonly resources: Resources
  readonly window: SlidingWindow
  readonly metrics: Metrics
  readonly logger: Logger
  readonly worker: WorkerLink | undefined
}

export function startBackgroundJobs(config: Config, parts: JobParts, cleanup: Cleanup): void {
  const { resources, window, metrics, logger, worker } = parts
  const { database, clock, node } = resources
  const rates = syncRateCounts(database, {
    clock,
    node: randomUUID(),
    share: () => window.share(),
    learn: (counts) => window.learn(counts),
    onError: exceptOutages((error) => logger.warn({ err: error }, 'rate counts could not be exchanged')),
  })
  cleanup.add(() => rates.stop())
  // On PostgreSQL workers are nodes like any others.
  if (worker !== undefined && database.engine === 'sqlite') {
    const shared = shareRateCounts(worker, window, clock)
    cleanup.add(() => shared.stop())
  }
  const pruning = startPruning(database, {
    clock,
    node,
    auditKept: config.auditRetentionDays === 0 ? undefined : config.auditRetentionDays * DAY,
    onPruned: (table, rows) => metrics.count('gatehouse_pruned_rows_total', { table }, rows),
    onError: exceptOutages((error) => logger.warn({ err: error }, 'expired rows could not be removed')),
  })
  cleanup.add(() => pruning.stop())
  const backups = watchLastBackup(
    database,
    metrics,
    exceptOutages((error) => logger.warn({ err: error }, 'the time of the last backup could not be read')),
  )
  cleanup.add(() => backups.stop())
}
