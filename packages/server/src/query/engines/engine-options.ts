/** What an engine is opened with. */
import type { Availability } from '../../lib/availability.ts'
import type { DatabaseServers } from '../../store/database/servers/servers.ts'
import type { SharedFile } from '../../store/database/shared-file.ts'
import type { StuckStatement, TempLimits } from './engine.ts'
import type { ResponseLimits } from './idempotency-cleanup.ts'
import type { LogLimits } from './live-source.ts'

export interface EngineOptions {
  readonly dataFolder: string
  /** Empty for the embedded engine. */
  readonly databaseUrl: string
  /** Those of the URL, shared with the identity database. */
  readonly servers?: DatabaseServers | undefined
  /** Long queries that run at the same time: reader processes, or connections. */
  readonly concurrency: number
  /** Queries that may wait for one before further ones are refused. */
  readonly waiting: number
  /** The time limit of a query. PostgreSQL ends a statement by itself shortly after, in case the server cannot. */
  readonly milliseconds: number
  /** Of a result that is sent row by row; as `milliseconds` where absent. */
  readonly exportMilliseconds?: number
  /** How long a write waits for a long one of another owner before that one is stopped; only the embedded engine needs it. */
  readonly writeWaitMs: number
  /** The most tables of the embedded engine. */
  readonly maxTables: number
  readonly availability: Availability
  /** For workers on one file of the embedded engine. */
  readonly shared?: SharedFile | undefined
  /** How much of the change logs is kept. */
  readonly log: LogLimits
  /** The most bytes of temporary files. */
  readonly temp: TempLimits
  readonly responses?: ResponseLimits | undefined
  /** Of column segments, which only the embedded engine has. */
  readonly columns?: ColumnOptions | undefined
  /** Called for statements that the database does not stop; the embedded engine kills its processes. */
  readonly onStuck?: ((stuck: StuckStatement) => void) | undefined
}

export interface ColumnOptions {
  /** False: none is read or written. */
  readonly isOn: boolean
  /** The most bytes of all files; undefined: half of the database, but at least 1 GiB. */
  readonly maxBytes?: number | undefined
  /** The most bytes of kept results; 0 or absent: none is kept. */
  readonly keptBytes?: number | undefined
  readonly timing?: Partial<CompactionTiming>
  readonly onError?: (error: unknown) => void
}

export interface CompactionTiming {
  /** From one look for work to the next. */
  readonly tickMs: number
  /** From one look at the files to the next. */
  readonly sweepMs: number
  /** How long after its mark a segment is written again. */
  readonly rebuildSeconds: number
  /** A file that no segment names is removed when it is as old as this. */
  readonly orphanMs: number
  /** After an error, such as a full disk. */
  readonly pauseMs: number
  /** How many rows a segment has. */
  readonly segmentRows: number
  /** How many a small one has: as many of the newest rows, or up to twice as many, stay without a segment. */
  readonly smallRows: number
}
