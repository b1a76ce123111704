/** A query by parts that is ready to run: data that can be sent to a reader process. */
import type { ColumnPlan, OwnRows } from '../columns/plan.ts'
import type { PartsTable, SqlStatement } from './emit/parameters.ts'

/** A grouping of a table by parts: see part-groups.ts. */
export interface PartsRun extends PartsTable {
  readonly part: SqlStatement
  readonly whole: SqlStatement
  readonly found: SqlStatement
  readonly columns: ColumnsRun | undefined
}

export interface ColumnsRun {
  readonly plan: ColumnPlan
  readonly expressions: readonly SqlStatement[]
  /** The values of the other table of a join, in a range of its rows. */
  readonly joinedRows?: SqlStatement | undefined
  /** The values of the columns of the table, in a range of its rows. */
  readonly ownRows?: OwnRows<SqlStatement> | undefined
  /** The most bytes of kept results; 0 or absent: none is kept. */
  readonly keptBytes?: number | undefined
}
