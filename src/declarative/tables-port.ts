/** What reconciling asks of the query service about its tables; the composition root passes the implementation. */
import type { Fault } from './bad-declaration.ts'
import type { TableTarget } from './targets.ts'

/** The description of a table whose first rows are not all there yet. One that a crash left so is made anew. */
export const BEING_FILLED = 'Being filled by the declarative file'

export interface TablesPort {
  /** Every table that is not the service's own. */
  list(): Promise<readonly TableTarget[]>
  /** What the service could not take, by the members of the file: a reserved name, a row filter that is not IQL. */
  check(table: TableTarget): readonly Fault[]
  /** The table and its rows, or nothing of either unless the process dies in between. The first of `rows` names the columns; null is NULL, other values are the text that a CSV file would hold. */
  create(table: TableTarget, rows: AsyncIterable<readonly (string | null)[]> | undefined): Promise<void>
  /** Description, scopes, row filter, and columns that were added at the end. */
  change(table: TableTarget): Promise<void>
  drop(name: string): Promise<void>
}
