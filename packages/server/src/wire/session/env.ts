/** What sessions use of the server. */
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import type { BulkEnv, Observe, RunningQueries, SlowLog } from '../../query/index.ts'
import type { StatementTrace } from '../../telemetry/trace.ts'
import type { Catalogue } from '../catalogue/contract.ts'

export interface SessionEnv extends BulkEnv {
  readonly running: RunningQueries
  /** Read at each use: a reload can change them. */
  readonly limits: SessionLimits
  readonly observe: Observe
  readonly slowLog: SlowLog
  readonly rateLimits?: Pick<RateLimits, 'countCaller'> | undefined
  /** Undefined: nobody collects traces. */
  readonly trace?: StatementTrace | undefined
  /** Statements on pg_catalog and information_schema. */
  readonly systemCatalogue?: Catalogue | undefined
  /** The setting wire_writes. */
  readonly allowsWrites: () => boolean
  /** Of this server. */
  readonly version: string
  readonly onError: (error: unknown, requestId: string) => void
}

export interface SessionLimits {
  readonly statementBytes: number
  readonly resultBytes: number
  readonly stallMs: number
}
