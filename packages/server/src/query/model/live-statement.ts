/** A statement as an engine reads it for live queries: its SQL, and which of the returned columns are what. */
import type { ResultColumn } from 'gatehouse-iql'
import type { CostClass } from './cost-class.ts'

/** The SQL returns the columns, the key columns, then the route columns. */
export interface LiveStatement extends LiveColumns {
  readonly sql: string
  readonly cost: CostClass
  /** What it computes for a row is bounded by the size of the row: a few changed rows may be read on the event loop. */
  readonly isSimple: boolean
}

/** A row in its parts, each a JSON text, so that rows are compared and sent without being read again. */
export interface LiveRow {
  /** The array of key values, or of the text used in their place; empty if the rows have no key of their own. */
  readonly key: string
  /** The array of the values in the route columns. */
  readonly route: string
  /** As the query service writes it. */
  readonly row: string
}

/** The columns of a live row, in the order in which the SQL returns them. */
export interface LiveColumns {
  readonly columns: readonly ResultColumn[]
  /** Undefined if rows have no key of their own. An aggregate without groups has an empty key. */
  readonly keyColumns: readonly ResultColumn[] | undefined
  /** Of changed rows: the values by which they find the members of their family. */
  readonly routeColumns: readonly ResultColumn[]
}
