/** The catalogue as the binder sees it: the tables of one caller, and what the caller may do with them. */
import type { Expression, Query } from '../syntax/ast-query.ts'
import type { IqlType } from '../types/types.ts'

/** A table that the caller is not allowed to read is not part of the view. */
export interface CatalogueView {
  /** Names are case-insensitive. */
  lookup(name: string): TableView | undefined
  /** A table whose definition the caller can see, but not its rows. */
  hidden(name: string): HiddenTable | undefined
  /** The names of all definitions that the caller may see. */
  tableNames(): Iterable<string>
  /** The index with its table, if the caller may see the definition of the table. */
  lookupIndex(name: string): { readonly name: string; readonly table: TableView } | undefined
  /** The scope that the caller lacks to write to the table; undefined if the caller may write. */
  missingWriteScope(table: TableView): string | undefined
  /** The scope that the caller lacks to define tables; undefined if the caller may define them. */
  missingDefineScope(): string | undefined
  /** The attributes that row filters can use, by name. */
  readonly attributes: ReadonlyMap<string, AttributeView>
  /** The time zones, if they are known: others are refused. */
  readonly zones?: ZoneNames
}

export interface ZoneNames {
  /** The zone with that name in any case, in the spelling of the database. */
  find(name: string): string | undefined
  /** What to write instead of a name that no zone has. */
  hint(name: string): string
}

/** An attribute of callers, such as a desk. */
export interface AttributeView {
  readonly type: IqlType
  /** Whether it is a set of values; otherwise there is at most one. */
  readonly many: boolean
}

export interface HiddenTable {
  readonly table: TableView
  /** The scopes that the caller lacks. */
  readonly missing: readonly string[]
}

/** A table or view that the caller may read, or only see the definition of. */
export function definitionIn(view: CatalogueView, name: string): TableView | undefined {
  return view.lookup(name) ?? view.hidden(name)?.table
}

export function needsScopes({ table, missing }: HiddenTable): string {
  return `Reading ${table.name} needs the scope${missing.length > 1 ? 's' : ''} ${missing.join(' and ')}`
}

export interface TableView {
  /** In the spelling of its definition. */
  readonly name: string
  readonly columns: readonly ColumnView[]
  /** Column names; empty if the table has no primary key. */
  readonly primaryKey: readonly string[]
  /** Sets of columns that are unique besides the primary key. */
  readonly uniques: readonly (readonly string[])[]
  /** The caller cannot see rows for which this is not true. It may use :sub, :username, :client, :roles and attributes. */
  readonly rowFilter: Expression | undefined
  /** The caller cannot insert rows for which this is not true; undefined: as for `rowFilter`. */
  readonly insertFilter?: Expression | undefined
  /** Of the rows that `insertFilter` refuses, those for which the caller lacks a licence. */
  readonly unlicensed?: readonly UnlicensedRows[] | undefined
  /** Conditions that are not false for any row. */
  readonly checks?: readonly CheckView[] | undefined
  /** A table of the service: it cannot be altered or dropped, and has no indexes. */
  readonly isSystem: boolean
  /** False for read-only system tables such as cataloguetables. */
  readonly isWritable: boolean
  /** Whether changes are logged, so that live queries can read only what has changed. */
  readonly isLive: boolean
  /** What it is called in the database, where callers know it by another name: a copy stands for its table. */
  readonly storedAs?: string | undefined
  /** What is read in its place, if the caller does not see the table itself: the rows of all of these, each with its row filter. */
  readonly reads?: readonly TableView[] | undefined
  /** Set for a view: it stores no rows, and the query takes its place. */
  readonly view?: ViewQuery | undefined
  /** A materialized view: its rows are stored as those of a table, and only the service writes them. */
  readonly isKept?: true | undefined
}

export function storedName({ storedAs, name }: Pick<TableView, 'storedAs' | 'name'>): string {
  return storedAs ?? name
}

/** The query of a view, parsed when it is first used. */
export interface ViewQuery {
  readonly text: string
  readonly query: Query
  /** See measureNesting. */
  readonly nesting: number
}

/** Rows that cannot be inserted without a licence of one of the products. */
export interface UnlicensedRows extends MissingLicence {
  /** True for them. */
  readonly condition: Expression
}

export interface MissingLicence {
  readonly products: readonly string[]
  /** The `Reason` of `Licence.Needed`. */
  readonly reason: string
}

/** CONSTRAINT name CHECK (condition) */
export interface CheckView {
  readonly name: string
  readonly condition: Expression
}

export interface ColumnView {
  readonly name: string
  readonly type: IqlType
  readonly nullable: boolean
  /** An INSERT may omit the column. It may omit a nullable column too. */
  readonly hasDefault: boolean
}

/** No tables, and every right: for binding a definition on its own. */
export const NO_TABLES: CatalogueView = {
  lookup: () => undefined,
  hidden: () => undefined,
  tableNames: () => [],
  lookupIndex: () => undefined,
  missingWriteScope: () => undefined,
  missingDefineScope: () => undefined,
  attributes: new Map(),
}
