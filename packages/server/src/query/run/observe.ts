/** The metrics of runs. */
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Engine } from '../engines/engine.ts'

/** The names of OpenTelemetry. */
export const OTEL_SYSTEMS = { sqlite: 'sqlite', postgres: 'postgresql' } as const

export type Observe = (outcome: string, milliseconds: number, rows: number) => void

export function observer(engine: Engine, metrics: Metrics | undefined): Observe {
  if (metrics === undefined) return () => {}
  const succeeded = metrics.counter('gatehouse_queries_total', { outcome: 'ok' })
  const took = metrics.histogram('gatehouse_query_seconds', { engine: engine.kind })
  const given = metrics.counter('gatehouse_query_rows_total', {})
  return (outcome, milliseconds, rows) => {
    if (outcome === 'ok') succeeded(1)
    else metrics.count('gatehouse_queries_total', { outcome })
    took(milliseconds / 1000)
    given(rows)
  }
}
