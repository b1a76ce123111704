/** Families of live statements: those that differ only in the values compared with columns share one read of the changed rows. */
import type { Plan, RunValues } from '../engines/emit/slots.ts'
import type { Encoding } from '../results/encoding.ts'

export interface LiveFamily {
  /** The table whose changed keys the family reads. */
  readonly table: string
  /**
   * `statement.restrictedSql` and its parameters, without the comparisons. Statements whose SQL and parameters are equal here
   * (apart from the slots `since`) are of one family.
   */
  readonly plan: Plan
  /** The columns that are compared with a value; none: the statement is the only member of its family. */
  readonly columns: readonly string[]
  /**
   * The route of this member: the JSON text of the values that its rows have in the route columns, as `LiveRow.route`.
   * Undefined if a value is NULL: then no row belongs to it.
   */
  routeOf(values: Pick<RunValues, 'parameters'>, encoding: Pick<Encoding, 'integers'>): string | undefined
}
