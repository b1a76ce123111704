/** A statement as an engine reads it for live queries: its SQL, and which of the returned columns are what. */
import type { ResultColumn } from '../iql/bound-query.ts'
import type { CostClass } from './cost-class.ts'

export interface LiveStatement extends LiveColumns {
  /** The whole result: the statement's columns, then the key columns. */
  readonly sql: string
  /** Only rows whose key has changed since a position: the columns, the key columns, then the route columns. Method `keys` only. */
  readonly restrictedSql: string | undefined
  /** Of the whole result. */
  readonly cost: CostClass
  /** What the restricted SQL computes for a row is bounded by the size of the row: few rows may be read on the event loop. */
  readonly isSimple?: boolean
}

/** The columns of a live row, in the order in which the SQL returns them. */
export interface LiveColumns {
  readonly columns: readonly ResultColumn[]
  /** Undefined if rows have no key of their own. An aggregate without groups has an empty key. */
  readonly keyColumns: readonly ResultColumn[] | undefined
  /** Of the restricted SQL: the values by which rows find the members of their family. */
  readonly routeColumns: readonly ResultColumn[]
}
