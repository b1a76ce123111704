/** What the query service is opened with. */

import { DEFAULT_LIMITS } from 'gatehouse-iql'
import type { Audit, Clock } from 'gatehouse-protocol'
import type { Bus } from '../events/bus.ts'
import type { AvailabilityChange } from '../lib/availability.ts'
import type { StepUp } from '../step-up/step-up.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { AttributeSource } from './catalogue/attributes.ts'
import type { TableLicences } from './catalogue/licences.ts'
import type { ColumnOptions, EngineOptions } from './engines/engine-options.ts'
import { DEFAULT_RESPONSE_LIMITS } from './engines/idempotency-cleanup.ts'
import type { EndpointsEnv } from './http/endpoints.ts'
import type { LiveLimits } from './live/limits.ts'
import type { DeriveKey } from './live/position.ts'
import type { AuditSource } from './run/audit-table.ts'
import type { SlowLog } from './run/observe.ts'
import type { Owners } from './saved/documents.ts'

export type QueryLimits = Readonly<typeof DEFAULT_QUERY_LIMITS>

export const DEFAULT_QUERY_LIMITS = {
  statementBytes: DEFAULT_LIMITS.statementBytes,
  bodyBytes: 8 * 1024 * 1024,
  importBytes: 1024 * 1024 * 1024,
  resultRows: 100_000,
  resultBytes: 1024 * 1024 * 1024,
  milliseconds: 30_000,
  exportMilliseconds: 600_000,
  perUser: 32,
  /** The number of reader processes of the embedded engine, or of connections to PostgreSQL. */
  concurrency: 4,
  waiting: 256,
  /** How long a write waits for a long one of another owner before that one is stopped (embedded engine); 0: it is never stopped. */
  writeWaitMs: 5000,
  /** The most tables of the embedded engine. */
  maxTables: 5000,
  /** Of the temporary files of one statement, and of all running ones of a user. */
  tempBytes: 1024 * 1024 * 1024,
  tempBytesPerUser: 3 * 1024 * 1024 * 1024,
  /** Whether column segments are written and read (embedded engine), and the most bytes of them; undefined: half of the database. */
  columnSegments: true,
  columnBytes: undefined as number | undefined,
  /** The most bytes of results of column segments that are kept. */
  columnPartsBytes: 256 * 1024 * 1024,
  stallMs: 5000,
  /** From which duration on a statement is logged. */
  slowMs: Number.POSITIVE_INFINITY,
  /** How long the changes of a table are kept for live queries that resume, and how many of them. */
  logMs: 600_000,
  logChanges: 1_000_000,
  /** Saved queries and boards. */
  documentsPerOwner: 500,
  /** Stored for requests with an Idempotency-Key. */
  responses: DEFAULT_RESPONSE_LIMITS,
}

export interface QueryOptions {
  readonly bus: Bus
  /** Waits until the other nodes have loaded what was published, for a second at most. */
  readonly settle?: (() => Promise<void>) | undefined
  readonly clock: Clock
  readonly onError: (error: unknown) => void
  readonly onAvailability?: (change: AvailabilityChange) => void
  readonly onSlow?: SlowLog['onSlow']
  readonly metrics?: Metrics | undefined
  /** A statement continues in the database although it was stopped. */
  readonly onStuck?: EngineOptions['onStuck']
  readonly database: Pick<EngineOptions, 'dataFolder' | 'databaseUrl' | 'servers' | 'shared'>
  readonly limits?: Partial<QueryLimits>
  readonly liveLimits?: Partial<LiveLimits>
  /** Derives keys from a secret that all nodes share. */
  readonly deriveKey: DeriveKey
  /** Records changes of the catalogue. */
  readonly audit?: Audit
  /** The source of the table auditlog. */
  readonly auditLog?: AuditSource
  /** What row filters know of callers besides their tokens. */
  readonly attributes?: AttributeSource
  readonly stepUp?: StepUp
  readonly licences?: TableLicences
  /** Who can own saved documents. */
  readonly owners?: Owners
  /** The names of running nodes of earlier versions. */
  readonly olderNodes?: () => Promise<readonly string[]>
  /** When column segments are written. */
  readonly columnTiming?: ColumnOptions['timing']
}

export interface QueryRouteOptions extends Pick<EndpointsEnv, 'trace' | 'authenticate'> {
  /** Cancels a query that another node runs. */
  readonly cancelElsewhere?: EndpointsEnv['cancel']
}
