/** What the query service shows in the metrics. */

import type { Metrics } from '../telemetry/metrics.ts'
import type { Engine } from './engines/engine.ts'
import type { KeptViews } from './kept/kept-views.ts'

export interface QueryLoad {
  readonly running: number
  readonly waiting: number
  readonly liveStatements: number
  /** Reader processes or connections that run queries now, and all that exist. */
  readonly busy: number
  readonly total: number
}

interface WatchedQueries {
  readonly load: () => QueryLoad
  readonly views: Pick<KeptViews, 'counts'>
}

export function watchQueries(metrics: Metrics, engine: Engine, { load, views: { counts } }: WatchedQueries): void {
  metrics.watch('gatehouse_queries_running', () => [[{}, load().running]])
  metrics.watch('gatehouse_queries_waiting', () => [[{}, load().waiting]])
  metrics.watch('gatehouse_query_writes_stopped_total', () => [[{}, engine.load.stoppedWrites]])
  const { columns } = engine
  if (columns !== undefined)
    metrics.watch('gatehouse_query_column_segments', () => columns.counts().map(([state, count]) => [{ state }, count]))
  metrics.watch('gatehouse_view_behind_seconds', () => counts.values((view) => counts.behind(view)))
  metrics.watch('gatehouse_view_groups_total', () => counts.values((_view, { groups }) => groups))
  metrics.watch('gatehouse_view_seconds', () => counts.values((_view, { seconds }) => seconds))
  metrics.watch('gatehouse_query_processes', () => {
    const { busy, total } = engine.load
    return [
      [{ state: 'busy' }, busy],
      [{ state: 'idle' }, total - busy],
    ]
  })
}
