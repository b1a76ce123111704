/** The interface between materialized views and the databases: what keeps their rows as those of their query. */
import type { BoundExpression, BoundQuery, ResultColumn } from 'gatehouse-iql'
import type { TableDefinition } from '../catalogue/definition.ts'
import type { Bindable, ScalarBindable } from './emit/parameters.ts'
import type { KeeperTerm } from './keeper-lease.ts'
import type { KeptRow, KeptStates } from './kept-states.ts'
import type { TablePosition } from './live-source.ts'

export interface KeptEngine {
  /** What is stored of each view. */
  readonly states: KeptStates
  emit(queries: KeptQueries): { readonly statements: KeptStatements; readonly starts: readonly KeptStatement[] }
  /** The start of the bucket of a view that holds a time, in microseconds since the epoch. */
  bucketStart(bucket: KeptBucket, time: bigint): Promise<bigint>
  /** The rows of a view whose groups are not evaluated. */
  countStaying(plan: KeptPlan): Promise<number>
  /** The position of a table now; undefined if it has no change log. */
  head(table: string): Promise<TablePosition | undefined>
  /** Evaluates the groups that have changed since the position of the row; what differs is written with the new position in one commit. */
  follow(plan: KeptPlan, row: KeptRow, run: KeptRun): Promise<KeptOutcome>
  /** Evaluates all of it; what differs is written with the new position in one commit, so that the rows that are there serve meanwhile. */
  compare(plan: KeptPlan, row: KeptRow, run: KeptRun): Promise<KeptOutcome>
  /** The rows of a view that nobody reads yet, from one snapshot, and the beginning of its change log. */
  build(plan: KeptPlan, run: BuildRun): Promise<KeptOutcome>
}

/** The queries of a view, bound. */
export interface KeptQueries {
  readonly plan: Omit<KeptPlan, 'statements' | 'buckets'>
  /** The starts of its buckets for a time, which is the parameter. */
  readonly starts: readonly BoundQuery[]
  /** The groups of the rows that have changed: as they are, and as they were before each change. */
  readonly touched: readonly [BoundQuery, BoundQuery]
  /** The row of one group, whose values are these expressions. */
  one(value: (ordinal: number, key: BoundExpression) => BoundExpression): BoundQuery
  readonly whole: BoundQuery
}

/** The statements of a view: plain data, which can cross to another process. */
export interface KeptPlan {
  readonly view: string
  /** The table that it reads. */
  readonly base: string
  /** The names of its columns, by which its change log is read. */
  readonly baseColumns: readonly string[]
  readonly columns: readonly ResultColumn[]
  /** The ordinals of the primary key among the columns. */
  readonly keys: readonly number[]
  /** A digest of the time zones that it names; undefined if it names none. */
  readonly zones: string | undefined
  /** Groups that begin earlier are not evaluated, and their rows stay. */
  readonly least: readonly KeptLeast[]
  /** As they are stored: what is written is refused where they have changed since. */
  readonly cuts: string | undefined
  /** The groups that are times of the table. */
  readonly buckets: readonly KeptBucket[]
  readonly statements: KeptStatements
}

export interface KeptLeast {
  /** Of the group among the columns. */
  readonly ordinal: number
  /** A Timestamp or a Date. */
  readonly value: bigint
}

export interface KeptBucket {
  /** The column of the table. */
  readonly of: string
  /** The column of the view. */
  readonly column: string
  /** Otherwise a Timestamp. */
  readonly isDate: boolean
  readonly start: KeptStatement
}

export type KeptStatements =
  | {
      readonly kind: 'by group'
      /** The groups that have changed since a position. */
      readonly touched: readonly KeptStatement[]
      /** The row of one group, or none. */
      readonly group: KeptStatement
      readonly whole: KeptStatement
      readonly least: readonly { readonly ordinal: number; readonly value: ScalarBindable }[]
    }
  /** Each evaluates and writes. */
  | {
      readonly kind: 'at once'
      readonly follow: KeptStatement
      readonly compare: KeptStatement
      readonly build: KeptStatement
      readonly staying: KeptStatement
    }

export interface KeptStatement {
  readonly sql: string
  readonly parameters: readonly KeptSlot[]
  /** Parameters by name, after those by position. */
  readonly shared: readonly (readonly [name: string, slot: KeptSlot])[]
}

export type KeptSlot =
  | { readonly kind: 'value'; readonly value: Bindable }
  /** The position of the table. */
  | { readonly kind: 'position' }
  /** A value of the group. */
  | { readonly kind: 'group'; readonly index: number }

/** A row as the database stores it. */
export type KeptValues = readonly ScalarBindable[]

export interface KeptRun {
  readonly term: KeeperTerm
  readonly running: { readonly signal: AbortSignal }
}

export interface BuildRun extends KeptRun {
  readonly definition: TableDefinition
  /** The columns that its change log has however long the row. */
  readonly always: ReadonlySet<string> | undefined
  /** Some of it is there. */
  onProgress(): void
}

export type KeptOutcome =
  | {
      readonly kind: 'kept'
      /** Of the table, in the snapshot that the rows are of. */
      readonly position: TablePosition
      /** The groups that were evaluated. */
      readonly groups: number
      /** How long that took, without the wait for its turn. */
      readonly milliseconds: number
      /** The rows that differed. */
      readonly wrong: number
    }
  /** The changes since the position are not known, or the groups of rows as they were; or the table has no change log. */
  | { readonly kind: 'lost' }
  /** The whole view is evaluated faster than the many groups that have changed. */
  | { readonly kind: 'many' }
  /** The table has been altered since the plan was made. */
  | { readonly kind: 'stale' }

/** The values of a statement for one group. */
export function fillSlots(
  { parameters, shared }: KeptStatement,
  position: TablePosition,
  group: KeptValues = [],
): Bindable[] {
  const fill = (slot: KeptSlot): Bindable => {
    if (slot.kind === 'value') return slot.value
    return slot.kind === 'position' ? position : (group[slot.index] ?? null)
  }
  const values = parameters.map(fill)
  if (shared.length === 0) return values
  const named = shared.map(([name, slot]) => [name, fill(slot) as ScalarBindable] as const)
  return [...values, Object.fromEntries(named)]
}
