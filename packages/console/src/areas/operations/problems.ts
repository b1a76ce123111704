/** What an operator should look at, from the nodes and the metrics. The bounds are those of examples/prometheus/alerts.yaml. */
import { word } from '../../ui/word.ts'

import { type Scrape, sumSeries } from './metrics.ts'
import type { FromNodes, NodeItem } from './replies.ts'

const DAY = 86_400
/** Older backups are overdue. */
export const OLDEST_BACKUP_MS = 2 * DAY * 1000
const LATEST_LAG_MS = 200
const LATEST_BUS_MS = 1000
const LEAST_FREE = 0.1
const LAST_DAYS_OF_CERTIFICATE = 14
const MOST_BACKUP_LAG = 300

export function findProblems(
  { items, silent }: Pick<FromNodes<NodeItem>, 'items' | 'silent'>,
  scrape: Scrape | undefined,
): readonly string[] {
  return [
    ...silent.map((node) => word(`${node} does not reply.`)),
    ...items.flatMap(problemsOfNode),
    ...(scrape === undefined ? [] : problemsInMetrics(scrape)),
  ]
}

function problemsOfNode({ node, ready, checks, event_loop_lag_ms: lag, bus_lag_ms }: NodeItem): string[] {
  const failing = Object.entries(checks).filter(([, state]) => state !== 'ok')
  const why = failing.map(([name, state]) => `${name}: ${state}`).join('; ')
  return [
    ...(ready ? [] : [word(`${node} is not ready${why === '' ? '' : ` (${why})`}.`)]),
    ...(lag.p99 > LATEST_LAG_MS
      ? [`The event loop of ${node} is ${Math.round(lag.p99)} ms late: it needs more CPU.`]
      : []),
    ...(bus_lag_ms > LATEST_BUS_MS ? [`Revocations reach ${node} ${Math.round(bus_lag_ms)} ms late.`] : []),
  ]
}

function problemsInMetrics(scrape: Scrape): string[] {
  const lost = sumSeries(scrape, 'gatehouse_audit_lost_total') ?? 0
  const [free, size] = [sumSeries(scrape, 'gatehouse_disk_free_bytes'), sumSeries(scrape, 'gatehouse_disk_size_bytes')]
  const expiry = sumSeries(scrape, 'gatehouse_tls_certificate_expiry_seconds')
  const behind = sumSeries(scrape, 'gatehouse_backup_lag_seconds') ?? 0
  return [
    ...(lost > 0
      ? [word(`${lost} events are missing from the audit log: the database was unavailable for too long.`)]
      : []),
    ...(free !== undefined && size !== undefined && free < size * LEAST_FREE
      ? [`The disk is almost full: ${Math.round((free / size) * 100)} % is free. Writes fail when it is full.`]
      : []),
    ...(behind > MOST_BACKUP_LAG ? ['The replicated backup is behind: see Backups.'] : []),
    ...(expiry !== undefined && expiry < LAST_DAYS_OF_CERTIFICATE * DAY
      ? [
          expiry <= 0
            ? 'The TLS certificate has expired.'
            : expiry < 2 * DAY
              ? 'The TLS certificate expires in less than two days.'
              : `The TLS certificate expires in ${Math.floor(expiry / DAY)} days.`,
        ]
      : []),
  ]
}
