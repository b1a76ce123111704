/** The interface between materialized views and the databases: what their tables have changed, and what their rows should be. */
import type { ResultColumn } from 'gatehouse-iql'
import type { TableDefinition } from '../catalogue/definition.ts'
import type { Bindable, ScalarBindable } from './emit/parameters.ts'
import type { KeptStates } from './kept-states.ts'
import type { TablePosition } from './live-source.ts'
import type { WriteStep } from './write-step.ts'

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
  /** The groups that have changed since a position. */
  readonly touched: readonly KeptStatement[]
  /** The row of one group, or none. */
  readonly group: KeptStatement
  readonly whole: KeptStatement
  /** A digest of the time zones that it names; undefined if it names none. */
  readonly zones: string | undefined
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

/** What a view lacks. */
export interface KeptDifference {
  /** Of the table, in the snapshot that this was read in. */
  readonly position: TablePosition
  /** The groups that were evaluated. */
  readonly groups: number
  /** How long that took, without the wait for its turn. */
  readonly milliseconds: number
  readonly inserted: readonly KeptValues[]
  readonly updated: readonly KeptValues[]
  /** The keys of rows that must go. */
  readonly deleted: readonly KeptValues[]
}

export type KeptOutcome =
  | ({ readonly kind: 'difference' } & KeptDifference)
  /** The changes since the position are not known. */
  | { readonly kind: 'lost' }
  /** So many groups have changed that the whole view is evaluated faster. */
  | { readonly kind: 'many' }
  /** The table has been altered since the plan was made. */
  | { readonly kind: 'stale' }

export interface KeptReads {
  /** What is stored of each view. */
  readonly states: KeptStates
  /** The position of a table now; undefined if it has no change log. */
  head(table: string): Promise<TablePosition | undefined>
  /** The rows of the groups that have changed since the position, where they differ. */
  touched(plan: KeptPlan, position: TablePosition, signal: AbortSignal): Promise<KeptOutcome>
  /** All rows that differ. */
  compare(plan: KeptPlan, signal: AbortSignal): Promise<KeptOutcome>
  /** All rows, in pieces, from one snapshot; then its position. */
  build(plan: KeptPlan, signal: AbortSignal): AsyncGenerator<readonly KeptValues[], TablePosition, void>
  /** The steps of a write that adds or changes these rows, and removes those with these keys. */
  writeSteps(plan: KeptPlan, written: readonly KeptValues[], deleted: readonly KeptValues[]): readonly WriteStep[]
  /** The steps that remove all rows of a view, and its change log. */
  emptySteps(view: string): readonly WriteStep[]
  /** The steps that begin the change log of a view, with the columns that it has however long the row. */
  logSteps(view: TableDefinition, always: ReadonlySet<string> | undefined): readonly WriteStep[]
}

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
