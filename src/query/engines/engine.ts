/** What the query service asks of a database, whichever it is. */
import type { CatalogueChange, CatalogueRow } from '../catalogue/definition.ts'
import type { Reach } from '../cost.ts'
import type { IqlType, IqlValue } from '../iql/types.ts'
import type { Cell, Encoding, ResultColumn } from '../result/encoding.ts'
import type { AuditCopy } from './audit-copy.ts'
import type { Dialect } from './emit/dialect.ts'
import type { Plan, Slots } from './emit/slots.ts'

export interface Engine {
  readonly kind: 'sqlite' | 'postgres'
  readonly dialect: Dialect
  /** Turns the marks of a text into the engine's placeholders. */
  readonly finish: (slots: Slots, marked: string) => Plan
  readonly bind: (value: IqlValue, type: IqlType) => Bindable
  /** The bytes of a result but for its end, as fast as they are taken. Refusals come before the first chunk where they can. */
  read(request: ReadRequest): AsyncGenerator<Uint8Array, ReadOutcome, void>
  /** The whole of a small result at once, on the event loop; undefined when it is not small after all. */
  readAtOnce?(request: Omit<ReadRequest, 'signal'>): WholeRead | undefined
  /** The whole of a small result, in a journey to the database that is shared with others; undefined when it is not small after all. */
  readSoon?(request: Omit<ReadRequest, 'signal'>): Promise<WholeRead | undefined>
  /** Durable when the promise resolves. */
  write(request: WriteRequest): Promise<WriteReply>
  loadCatalogue(): Promise<readonly CatalogueRow[]>
  /** All of them or none; what happened, where it was to be remembered. */
  change(request: ChangeRequest): Promise<WriteReply | undefined>
  /** What happened when the key was first used; refuses one that was used for something else. */
  recall(once: Once): Promise<WriteOutcome | undefined>
  /** Forgets the answers of requests older than that. */
  forgetRequests(before: bigint): Promise<void>
  readonly auditCopy: AuditCopy
  /** Processes or connections that serve queries right now. */
  readonly load: { readonly busy: number; readonly total: number }
  /** Rejects when the database does not answer, or takes no writes until a restart. */
  check(): Promise<void>
  close(): Promise<void>
}

export interface PreparedChange {
  readonly change: CatalogueChange
  /** The value of an added column in the rows that exist, as the engine stores it. */
  readonly fill: Bindable
}

export interface ChangeRequest {
  readonly changes: readonly PreparedChange[]
  readonly signal?: AbortSignal | undefined
  /** Kept with the changes, or with none of them. */
  readonly record?: Remembered | undefined
}

export interface Remembered {
  readonly once: Once
  readonly outcome: WriteOutcome
}

/** Its signal may be made when it is first asked for: what has nothing to wait for does not ask. */
export interface Stoppable {
  readonly signal: AbortSignal
}

/** A value as the engine's driver takes it. */
export type Bindable = null | string | bigint | number | Uint8Array

export interface ReadRequest {
  readonly sql: string
  readonly parameters: readonly Bindable[]
  /** What the result shows. The statement may give further columns after these: the key of a cursor. */
  readonly columns: readonly ResultColumn[]
  readonly keyColumns: readonly ResultColumn[]
  readonly encoding: Encoding
  readonly limits: ReadLimits
  /** What touches few rows must not wait behind what touches many. */
  readonly reach: Reach
  readonly signal: AbortSignal
}

export interface ReadLimits {
  /** Rows that are passed over at the start: those of earlier pages. */
  readonly skip: number
  /** Rows after which the result is cut and says so. */
  readonly rows: number
  readonly bytes: number
}

export interface ReadOutcome {
  readonly rowCount: number
  /** Rows were left out: the row limit or the byte limit was reached. */
  readonly truncated: 'no' | 'rows' | 'bytes'
  /** The key of the last row that was written. */
  readonly lastKey: readonly Cell[]
}

/** A result but for its end. */
export interface WholeRead {
  readonly text: string
  readonly outcome: ReadOutcome
}

/** Statements that succeed or fail as one. */
export interface WriteRequest {
  readonly steps: readonly WriteStep[]
  /** What each step gives. */
  readonly returning: readonly ResultColumn[]
  /** The statement gives one more column after `returning`: whether the written row passes the table's row filter. */
  readonly isChecked: boolean
  /** The statement notes the rows that it writes, so that it changes none twice. */
  readonly notesRows: boolean
  /** Short writes share a commit; others run apart from the event loop and can be stopped. */
  readonly isShort: boolean
  /** Rows of `returning` beyond this are not kept. */
  readonly rowLimit: number
  /** The format of the result cannot say that rows were left out: then nothing is written. */
  readonly mustBeWhole: boolean
  readonly running: Stoppable
  readonly once: Once | undefined
}

/** The statement runs once for each set. */
export interface WriteStep {
  readonly sql: string
  readonly parameterSets: readonly (readonly Bindable[])[]
}

/** A write that a key makes happen at most once. */
export interface Once {
  readonly owner: string
  readonly key: string
  readonly fingerprint: string
  readonly now: bigint
}

export interface WriteOutcome {
  readonly rowsAffected: number
  /** What the rows were made of: a repeated answer may be older than the table's columns. Answers of earlier versions lack it. */
  readonly columns?: readonly ResultColumn[] | undefined
  readonly rows: readonly (readonly Cell[])[]
  readonly isTruncated: boolean
}

export interface WriteReply {
  readonly outcome: WriteOutcome
  /** The key was used before for the same body: nothing was written, and this is what happened then. */
  readonly isRepeated: boolean
}
