/** What operators learn of runs: metrics, and the log of slow statements. */
import type { Principal } from 'gatehouse-protocol'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Engine } from '../engines/engine.ts'

/** The names of OpenTelemetry. */
export const OTEL_SYSTEMS = { sqlite: 'sqlite', postgres: 'postgresql' } as const

/** A run that has ended: that of a call, or a read for the subscribers of a live statement. */
export interface EndedRun {
  readonly statement: string
  readonly ms: number
  /** `ok`, or the code of an error. */
  readonly outcome: string
  readonly rows: number
  /** Of a call. */
  readonly requestId?: string
  readonly principal?: Principal
  /** Of a live statement. */
  readonly owner?: string
}

export type Observe = (run: EndedRun) => void

/** A statement that took long, with its text as it was sent, and never with the values of parameters. */
export interface SlowStatement {
  readonly statement: string
  readonly ms: number
  readonly outcome: string
  readonly reqId?: string | undefined
  readonly user?: string | undefined
  readonly client?: string | undefined
  /** The owner of a live statement. */
  readonly owner?: string | undefined
}

export interface SlowLog {
  /** Infinity if none is logged. A reload can change it. */
  readonly limits: { readonly slowMs: number }
  readonly onSlow: (statement: SlowStatement) => void
}

export function observer(engine: Engine, metrics: Metrics | undefined, { limits, onSlow }: SlowLog): Observe {
  const count = metrics && counter(engine, metrics)
  return (run) => {
    count?.(run)
    if (run.ms >= limits.slowMs) onSlow(describeSlow(run))
  }
}

function counter(engine: Engine, metrics: Metrics): Observe {
  const succeeded = metrics.counter('gatehouse_queries_total', { outcome: 'ok' })
  const took = metrics.histogram('gatehouse_query_seconds', { engine: engine.kind })
  const given = metrics.counter('gatehouse_query_rows_total', {})
  return ({ outcome, ms, rows }) => {
    if (outcome === 'ok') succeeded(1)
    else metrics.count('gatehouse_queries_total', { outcome })
    took(ms / 1000)
    given(rows)
  }
}

/** Of a statement in the log. */
const LONGEST_TEXT = 10_000

function describeSlow({ statement, ms, outcome, requestId, principal, owner }: EndedRun): SlowStatement {
  return {
    ...(requestId !== undefined && { reqId: requestId }),
    ...(principal && { user: principal.kind === 'user' ? principal.subject : undefined, client: principal.clientId }),
    ...(owner !== undefined && { owner }),
    ms: Math.round(ms),
    outcome,
    statement: statement.length > LONGEST_TEXT ? `${statement.slice(0, LONGEST_TEXT)}…` : statement,
  }
}
