/** The interface between the query service and its databases. */

import type { ResultColumn } from 'gatehouse-iql'
import type { NamedColumn } from '../batches/row-error.ts'
import type { SpoolEncoder } from '../batches/spool-file.ts'
import type { CatalogueChange, CatalogueRow } from '../catalogue/definition.ts'
import type { CostClass } from '../model/cost-class.ts'
import type { Cell, Encoding, ReadOutcome } from '../model/result.ts'
import type { AgentCallRows } from './agent-calls.ts'
import type { AlertRows } from './alert-rows.ts'
import type { AuditCopy } from './audit-copy.ts'
import type { ColumnTables } from './column-tables.ts'
import type { WrittenTable } from './commit-listeners.ts'
import type { ConstraintText } from './constraint-text.ts'
import type { DelayedRows } from './delayed-rows.ts'
import type { DocumentRows } from './document-rows.ts'
import type { Dialect } from './emit/dialect.ts'
import type { Bind, Bindable, EmittedSql, Placeholders, ScalarBindable, SharedValues } from './emit/parameters.ts'
import type { KeeperLease, KeeperTerm } from './keeper-lease.ts'
import type { KeptEngine, KeptPlan } from './kept-engine.ts'
import type { LiveSource } from './live-source.ts'
import type { PartsRun } from './parts-run.ts'
import type { RetentionRows } from './retention-rows.ts'
import type { TableSizes } from './table-sizes.ts'
import type { WatchRows } from './watch-rows.ts'
import type { WriteStep } from './write-step.ts'

export type { ConstraintText } from './constraint-text.ts'
export type { WriteStep } from './write-step.ts'

export interface Engine {
  readonly kind: 'sqlite' | 'postgres'
  readonly dialect: Dialect
  /** Replaces the placeholders in emitted text by the engine's own. */
  readonly finish: (placeholders: Placeholders, text: string) => EmittedSql
  readonly bind: Bind
  /** Compiles what all runs of a query share. */
  prepareRead(query: ReadStatement): PreparedRead
  /** Durable when the promise resolves. */
  write(request: WriteRequest): Promise<WriteReply>
  /** Encodes the rows of a spool file. */
  spoolEncoder(columns: readonly NamedColumn[]): SpoolEncoder
  /** Inserts the rows of a spool file: all or none, durable when the promise resolves. */
  bulk(request: BulkRequest): Promise<WriteReply>
  loadCatalogue(): Promise<readonly CatalogueRow[]>
  /** Whether another process has changed the catalogue since it was loaded. False where no other process does. */
  isCatalogueOutdated(): Promise<boolean>
  /** Applies all changes or none. The reply is that of `response`, if given. */
  change(request: ChangeRequest): Promise<WriteReply | undefined>
  /** The outcome of the first request with this key. Refuses a key that was used for another request. */
  findResponse(key: IdempotencyKey): Promise<WriteOutcome | undefined>
  readonly responses: ResponseCleanup
  readonly auditCopy: AuditCopy
  /** Saved queries and boards. */
  readonly documents: DocumentRows
  readonly watches: WatchRows
  readonly sizes: TableSizes
  readonly agentCalls: AgentCallRows
  readonly alerts: AlertRows
  /** Who is the keeper. */
  readonly lease: KeeperLease
  readonly live: LiveSource
  readonly retention: RetentionRows
  readonly kept: KeptEngine
  /** Copies of tables as they were some time ago. */
  readonly delayed: DelayedRows
  /** Absent if the engine has no column segments. */
  readonly columns?: ColumnTables
  readonly load: EngineLoad
  /** Rejects when the database does not answer, or accepts no writes until a restart. */
  check(): Promise<void>
  close(): Promise<void>
}

/** The cleanup of stored responses of requests with an Idempotency-Key. */
export interface ResponseCleanup {
  /** Deletes those older than this time, in microseconds. */
  deleteBefore(time: bigint): Promise<void>
  /** Bounds their number and their bytes. */
  trim(): Promise<void>
}

export interface EngineLoad {
  /** The processes or connections that are running queries now, and their total number. */
  readonly busy: number
  readonly total: number
  /** Queries that wait for one. */
  readonly waiting: number
  /** Long writes that were stopped because writes of others waited. */
  readonly stoppedWrites: number
}

/** The most bytes of the temporary files of one statement, and of all running ones of a user. */
export interface TempLimits {
  readonly statement: number
  readonly user: number
}

export interface ReadStatement {
  readonly sql: string
  /** The columns of the result. */
  readonly columns: readonly ResultColumn[]
  /** Further columns that the statement returns after these: the key of a cursor. */
  readonly keyColumns: readonly ResultColumn[]
  /** A query that touches few rows does not wait behind one that touches many. */
  readonly cost: CostClass
}

/** A result without its trailer, which the caller adds. */
export interface PreparedRead {
  /** Reads a result of any size, as fast as its chunks are consumed. Where possible, errors come before the first chunk. */
  readStream(run: ReadRun, running: Stoppable): AsyncGenerator<Uint8Array, ReadOutcome, void>
  /** Reads a small result synchronously, on the event loop; undefined when it turns out not to be small. */
  readInline?(run: ReadRun): WholeRead | undefined
  /** Reads a small result in a round trip that other requests share; undefined when it turns out not to be small. */
  readBatched?(run: ReadRun): Promise<WholeRead | undefined>
  /** Runs the statement and drops its rows. Absent if the engine does not measure the steps of its plans. */
  measureSteps?(run: ReadRun, running: Stoppable): Promise<readonly MeasuredStep[]>
}

/** A step of an engine's own plan. It includes the steps below it, which are deeper. */
export interface MeasuredStep {
  readonly depth: number
  readonly name: string
  readonly rows: number
  readonly milliseconds: number
}

export interface ReadRun {
  /** The owner of the query: owners share readers and connections fairly. */
  readonly owner: string
  readonly parameters: readonly Bindable[]
  readonly encoding: Encoding
  readonly limits: ReadLimits
  /** Another way to compute the same result, which the engine may choose. */
  readonly parts?: PartsRun | undefined
}

export interface ReadLimits {
  /** Rows to skip at the start: those of earlier pages. */
  readonly skip: number
  /** The result is truncated after this many rows, and says so. */
  readonly rows: number
  readonly bytes: number
  /** The bytes of the rows that a write returns, where the caller can take less than the engine's own limit. */
  readonly returnedBytes?: number
}

/** A small result in memory. */
export interface WholeRead {
  readonly text: string
  /** In place of the text, in the format `wire`. */
  readonly bytes?: Uint8Array
  readonly outcome: ReadOutcome
}

/** Statements that succeed or fail as one. */
export interface WriteRequest {
  /** Undefined for the service itself. */
  readonly owner: string | undefined
  readonly tables: readonly WrittenTable[]
  readonly steps: readonly WriteStep[]
  /** The columns that each step returns. */
  readonly returning: readonly ResultColumn[]
  /** The statement tracks the rows that it writes, so that it changes none of them twice. */
  readonly tracksRows: boolean
  /** Short writes share a commit. Others run apart from the event loop and can be cancelled. */
  readonly isShort: boolean
  /** Returned rows beyond this are dropped. */
  readonly rowLimit: number
  /** Also beyond these bytes, or beyond those of the engine's own limit. */
  readonly byteLimit?: number | undefined
  /** The format of the result cannot say that rows were dropped: then nothing is written. */
  readonly mustBeWhole: boolean
  readonly running: Stoppable
  readonly idempotencyKey: IdempotencyKey | undefined
  /** The table whose closed rows may be deleted: an erasure. */
  readonly erases?: string | undefined
  /** Of the keeper: nothing is written if it has ended. */
  readonly term?: KeeperTerm | undefined
}

/** A bulk insert whose rows are in a spool file, as `spoolEncoder` has encoded them. */
export interface BulkRequest {
  readonly owner: string
  readonly tables: readonly WrittenTable[]
  /** The path of the file. */
  readonly spool: string
  readonly rows: number
  /** The columns of the file. */
  readonly columns: readonly NamedColumn[]
  /** The ordinals of the primary key among these; empty if they are not all given. */
  readonly keyColumns: readonly number[]
  readonly primaryKey: readonly string[]
  /** The ordinal of the column of the retention among these; -1 if there is none. */
  readonly timeColumn: number
  readonly duplicates: Duplicates
  readonly statements: BulkStatements
  readonly constraints: readonly ConstraintText[] | undefined
  readonly running: Stoppable
  readonly idempotencyKey: IdempotencyKey | undefined
}

/** What happens to a row whose key is taken, in the table or by an earlier row: nothing is inserted, the row is left out, or it replaces the other. */
export type Duplicates = 'reject' | 'skip' | 'replace'

/** Statements for the rows of a bulk insert. */
export interface BulkStatements {
  /** For any number of rows of the file. */
  readonly insert: BulkStatement
  /** For one row; absent on PostgreSQL, where `insert` treats duplicates as requested. */
  readonly insertOne?: BulkStatement | undefined
  readonly unlessTaken?: BulkStatement | undefined
  readonly replace?: BulkStatement | undefined
}

export interface BulkStatement {
  readonly sql: string
  readonly parameters: readonly BulkParameter[]
  readonly shared?: SharedValues | undefined
}

/** A value of the row, or one that is the same for all. */
export type BulkParameter = { readonly column: number } | { readonly value: ScalarBindable }

/** The signal may be created on first access: code that does not wait does not read it. */
export interface Stoppable {
  readonly signal: AbortSignal
  /** Its wait is over: it runs, and its time limit counts, from now on. */
  restart?(): void
  /** Called when its rows begin to be read: after every wait, and again if the read was preempted. */
  readonly onRead?: (() => void) | undefined
  /** What the error of a time limit adds, such as which tables are read whole; evaluated only when the limit is reached. */
  explainLimit?(describe: () => string | undefined): void
  /** What the log shows of it. */
  readonly statement?: string
  /** The database keeps running it after it was stopped: it is listed and counted until the returned function is called. */
  outlive?(): () => void
}

/** A statement that the database keeps running after a request to stop. */
export interface StuckStatement {
  readonly owner: string
  /** Its first characters. */
  readonly statement: string
  /** The process of the database. */
  readonly pid: number
  readonly ignores: 'cancellation' | 'termination'
}

/** The Idempotency-Key of a request: the write happens at most once. */
export interface IdempotencyKey {
  readonly owner: string
  readonly key: string
  readonly fingerprint: string
  readonly now: bigint
}

export interface WriteOutcome {
  readonly rowsAffected: number
  /** The columns of the rows: the table may have changed since a stored response. Responses of early versions lack them. */
  readonly columns?: readonly ResultColumn[] | undefined
  readonly rows: readonly (readonly Cell[])[]
  readonly isTruncated: boolean
  /** Of a bulk insert. */
  readonly duplicates?: DuplicateRows | undefined
}

/** The rows of a bulk insert whose keys were taken. */
export interface DuplicateRows {
  readonly skipped: number
  readonly replaced: number
  /** Those that were left out, counted from 1: the first of them, and none where the table has no primary key. */
  readonly skippedRows: readonly number[]
}

export interface WriteReply {
  readonly outcome: WriteOutcome
  /** The key was used before for the same body: nothing was written, and this is the outcome of the first request. */
  readonly isReplay: boolean
}

export interface ChangeRequest {
  /** Undefined for the service itself. */
  readonly owner?: string | undefined
  readonly changes: readonly ChangeStep[]
  readonly running?: Stoppable | undefined
  /** The materialized views of tables that get a new change log: brought up to date before. */
  readonly kept?: readonly KeptPlan[] | undefined
  /** Stored in the same transaction. */
  readonly response?: StoredResponse | undefined
}

export interface ChangeStep {
  readonly change: CatalogueChange
  /** The value of an added column in existing rows, as the engine stores it. */
  readonly fill: Bindable
}

export interface StoredResponse {
  readonly idempotencyKey: IdempotencyKey
  readonly outcome: WriteOutcome
}
