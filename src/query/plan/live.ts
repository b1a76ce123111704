/** Whether a statement can be live, by which method, and what identifies its rows. */
import type { Plan } from '../engines/emit/slots.ts'
import type { LiveStatement } from '../engines/live-statement.ts'
import type { TableView } from '../iql/catalogue-view.ts'
import type { LiveFamily } from './live-family.ts'

export type LiveMethod =
  /** Only the rows whose keys have changed are read again. */
  | 'keys'
  /** The statement runs again when a table that it reads has changed. */
  | 'rerun'
  /** The statement runs again every second, because its result depends on the time. */
  | 'clock'

export interface LivePlan {
  readonly method: LiveMethod
  /** The names of the key columns: [] for a result of one row, null if rows have no key of their own. */
  readonly keyNames: readonly string[] | null
  /** Why this method: a sentence for EXPLAIN LIVE. */
  readonly reason: string
  readonly isOrdered: boolean
  readonly statement: LiveStatement
  /** The tables that it reads, without duplicates. */
  readonly tables: readonly TableView[]
  /** The whole result: `statement.sql` and its parameters. */
  readonly plan: Plan
  /** Set for the method `keys` only. */
  readonly family: LiveFamily | undefined
}
