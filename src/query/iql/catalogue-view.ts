/** What the binder may see of the catalogue: the tables of one caller, and what the caller may do with them. */
import type { Expression } from './ast-expression.ts'
import type { IqlType } from './types.ts'

/** The catalogue as one caller sees it: a table the caller may not read is not in it, under any name. */
export interface CatalogueView {
  /** Names match without case. */
  lookup(name: string): TableView | undefined
  /** The names that a hint may mention. */
  tableNames(): Iterable<string>
  /** The table that carries the index, if the caller may see it. */
  lookupIndex(name: string): { readonly name: string; readonly table: TableView } | undefined
  /** The scope the caller lacks to write to the table; undefined when the caller may. */
  missingWriteScope(table: TableView): string | undefined
  /** The scope the caller lacks to define tables; undefined when the caller may. */
  missingDefineScope(): string | undefined
}

export interface TableView {
  /** As it was spelled when it was defined. */
  readonly name: string
  readonly columns: readonly ColumnView[]
  /** Column names; empty for a table without a primary key. */
  readonly primaryKey: readonly string[]
  /** Sets of columns that are unique beside the primary key. */
  readonly uniques: readonly (readonly string[])[]
  /** Rows for which this does not hold do not exist for the caller; it may use :sub, :client_id and :role. */
  readonly rowFilter: Expression | undefined
  /** Tables of the service itself: they cannot be altered or dropped, and have no indexes. */
  readonly isSystem: boolean
  /** False for tables that only report (cataloguetables): no write statement may name them. */
  readonly isWritable: boolean
}

export interface ColumnView {
  readonly name: string
  readonly type: IqlType
  readonly nullable: boolean
  /** An INSERT may leave the column out. A nullable column may be left out as well. */
  readonly hasDefault: boolean
}

/** For a definition that stands alone: it names no table, and its maker may define. */
export const NO_TABLES: CatalogueView = {
  lookup: () => undefined,
  tableNames: () => [],
  lookupIndex: () => undefined,
  missingWriteScope: () => undefined,
  missingDefineScope: () => undefined,
}
