/** What operators learn of runs: metrics, and the log of slow statements. */
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

/** A statement as it was sent, never with the values of parameters. */
export interface SlowStatement {
  readonly statement: string
  readonly ms: number
  readonly outcome: string
  readonly reqId?: string
  readonly user?: string | undefined
  readonly client?: string | undefined
  /** The owner of a live statement. */
  readonly owner?: string
}

export interface SlowLog {
  /** Infinity if none is logged. A reload can change it. */
  readonly limits: { readonly slowMs: number }
  readonly onSlow: (statement: SlowStatement) => void
}

/** Of a statement in the log. */
const LONGEST_TEXT = 10_000

export function logSlow({ onSlow }: SlowLog, { statement, ms, ...rest }: SlowStatement): void {
  const text = statement.length > LONGEST_TEXT ? `${statement.slice(0, LONGEST_TEXT)}…` : statement
  onSlow({ ...rest, ms: Math.round(ms), statement: text })
}
