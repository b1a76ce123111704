/** What reconciliation needs from the query service. The server passes the implementation. */

import type { TableTarget } from '../resources/tables.ts'
import type { BoundView, ViewTarget } from '../resources/views.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { AttributeDefinition } from '../store/attributes/attributes.ts'

/** The description of a table while its initial rows are inserted. If a crash leaves one, it is dropped and created again. */
export const BEING_FILLED = 'Being filled by the declarative file'

/** What can be checked without writing anything. */
export interface TableChecks {
  /** All tables except the system tables. */
  list(): Promise<readonly TableTarget[]>
  /** Faults by member of the file, such as a reserved name or a row filter that is not valid IQL with the attributes. */
  check(table: TableTarget, attributes: Iterable<AttributeDefinition>): readonly Fault[]
  /** Refuses rows that could not be inserted into the new table. */
  checkRows(table: TableTarget, rows: AsyncIterable<readonly (string | null)[]>): Promise<void>
  listViews(): Promise<readonly BoundView[]>
  /** What tables have that a file cannot describe, in words. */
  notDeclarable(): readonly string[]
  /** The views as they will be stored, each after those that it uses. Faults are by path in the file. */
  checkViews(catalogue: WantedCatalogue): { readonly views: readonly BoundView[]; readonly faults: readonly Fault[] }
}

/** The tables and views of the file, and the names of those that it removes. */
export interface WantedCatalogue {
  readonly tables: readonly { readonly table: TableTarget; readonly exists: boolean }[]
  readonly views: readonly ViewTarget[]
  readonly droppedTables: readonly string[]
  readonly droppedViews: readonly string[]
  /** As they will be. */
  readonly attributes: Iterable<AttributeDefinition>
}

export interface TablesPort extends TableChecks {
  /**
   * Creates the table with its rows, or nothing, unless the process dies in between. The first of `rows` names the
   * columns; null is NULL, other values are text as in a CSV file.
   */
  create(table: TableTarget, rows: AsyncIterable<readonly (string | null)[]> | undefined): Promise<void>
  /** Changes description, scopes, row filter and whether the table is live, and adds columns. */
  change(table: TableTarget): Promise<void>
  /** The rows that the retention of the table, as it would be, deletes; counted up to a million. */
  countDeleted(table: TableTarget): Promise<number>
  /** Counted up to a million. */
  countRows(name: string): Promise<number>
  drop(name: string): Promise<void>
  /** Creates or replaces views and drops others, all or none. */
  changeViews(views: readonly ViewTarget[], dropped: readonly string[]): Promise<void>
  /** Resolves when row filters can use the attributes as they are declared now. */
  refresh(): Promise<void>
}
