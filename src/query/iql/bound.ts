/** The bound statement: typed, with rights checked and row filters in place. Engines emit SQL from it. */
import type { BoundExpression, BoundOrder } from './bound-expression.ts'
import type { ColumnView, TableView } from './catalogue-view.ts'
import type { IqlType } from './types.ts'

/** One statement, ready for an engine; it holds no caller's value, so it may be kept for all callers of equal rights. */
export interface Bound {
  readonly statement: BoundStatement
  /** In the order of their first use; `index` in the tree points here. */
  readonly parameters: readonly ParameterSlot[]
  /** The columns of the result; empty when there is none (a write without RETURNING, a definition). */
  readonly columns: readonly ResultColumn[]
  /** Every table that the statement reads or writes, once. */
  readonly tables: readonly TableView[]
  /** Whether a row filter asks for claims, that is, whether callers of equal rights may see different rows. */
  readonly usesClaims: boolean
}

/** `name` is as written without its mark: symbol, 1. `type` is what a value for it is read as. */
export interface ParameterSlot {
  readonly name: string
  readonly type: IqlType
  readonly at: number
}

export interface ResultColumn {
  readonly name: string
  readonly type: IqlType
  readonly nullable: boolean
}

export type BoundStatement =
  | Query
  | Insert
  | Update
  | Delete
  | CreateTable
  | AddColumn
  | DropColumn
  | RenameColumn
  | SetRights
  | DropTable
  | CreateIndex
  | DropIndex
  | Explain
  | DescribeTable
  | ShowTables
  | ShowColumns

// ── Read ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** [WITH …] body [ORDER BY …] [LIMIT n] [OFFSET n]; limit and offset are a literal or a parameter of type Integer. */
export interface Query {
  readonly kind: 'query'
  /** In the order written: each may use those before it. Unused ones are kept. */
  readonly with: readonly Cte[]
  readonly body: Body
  /** Of a select: any expression over its input or Output. Of a set operation: Output alone. */
  readonly orderBy: readonly BoundOrder[]
  readonly limit: BoundExpression | undefined
  readonly offset: BoundExpression | undefined
  readonly columns: readonly ResultColumn[]
}

/** name AS (query); `columns` carries the names that count, also when the statement renames them. */
export interface Cte {
  readonly id: number
  readonly name: string
  readonly query: Query
  readonly columns: readonly ResultColumn[]
}

export type Body = Select | SetOperation | Query

/** SELECT [DISTINCT] output, … [FROM …] [WHERE …] [GROUP BY …] [HAVING …] */
export interface Select {
  readonly kind: 'select'
  readonly distinct: boolean
  readonly outputs: readonly OutputItem[]
  readonly from: Source | undefined
  readonly where: BoundExpression | undefined
  /** True with GROUP BY, HAVING or an aggregate: without keys it is one row, even over no rows. */
  readonly grouped: boolean
  readonly groupBy: readonly BoundExpression[]
  readonly having: BoundExpression | undefined
  readonly columns: readonly ResultColumn[]
}

export interface OutputItem {
  readonly name: string
  readonly expression: BoundExpression
}

/** left UNION | INTERSECT | EXCEPT [ALL] right; both sides have equal types, widened below where needed. */
export interface SetOperation {
  readonly kind: 'set'
  readonly operator: 'union' | 'intersect' | 'except'
  readonly all: boolean
  readonly left: Body
  readonly right: Body
  readonly columns: readonly ResultColumn[]
}

/** Where rows come from. Ids are unique in the whole statement, so they can serve as aliases. */
export type Source = TableSource | DerivedSource | CteSource | Join | AsofJoin

/** table [AS alias]. Rows for which `filter` (over this very source) is not true must not be seen by anything else. */
export interface TableSource {
  readonly kind: 'table'
  readonly id: number
  readonly table: TableView
  readonly filter: BoundExpression | undefined
}

/** (query) AS alias */
export interface DerivedSource {
  readonly kind: 'derived'
  readonly id: number
  readonly query: Query
}

/** A use of a name of WITH; `cte` is the Cte's id. */
export interface CteSource {
  readonly kind: 'cte'
  readonly id: number
  readonly cte: number
  readonly columns: readonly ResultColumn[]
}

/** left [INNER | LEFT | RIGHT | FULL | CROSS] JOIN right [ON on] */
export interface Join {
  readonly kind: 'join'
  readonly join: 'inner' | 'left' | 'right' | 'full' | 'cross'
  readonly left: Source
  readonly right: Source
  readonly on: BoundExpression | undefined
}

/**
 * left ASOF [LEFT] JOIN right ON a.k = b.k AND a.ts >= b.ts: to each left row the one right row with equal keys whose
 * `near` is closest to the left row's; of equals the first by `tie`. With `outer` left rows without one stay, with NULLs.
 */
export interface AsofJoin {
  readonly kind: 'asof'
  readonly outer: boolean
  readonly left: Source
  readonly right: TableSource | DerivedSource | CteSource
  /** Equal keys: an expression over the left and one over the right, of one type. */
  readonly keys: readonly { readonly left: BoundExpression; readonly right: BoundExpression }[]
  /** left operator right: with >= and > the greatest right value is closest, with <= and < the least. */
  readonly near: {
    readonly operator: '>=' | '>' | '<=' | '<'
    readonly left: BoundExpression
    readonly right: BoundExpression
  }
  /** Columns of the right that tell equals apart: its primary key, or else every column that has an order. */
  readonly tie: readonly BoundOrder[]
}

// ── Write ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** INSERT INTO table (column, …) VALUES … | query [ON CONFLICT …] [RETURNING …] */
export interface Insert {
  readonly kind: 'insert'
  readonly table: TableView
  /** The id by which `returning`, `check` and ON CONFLICT mean the row in the table. */
  readonly source: number
  readonly columns: readonly ColumnView[]
  readonly rows:
    | { readonly kind: 'values'; readonly rows: readonly (readonly (BoundExpression | DefaultValue)[])[] }
    | { readonly kind: 'query'; readonly query: Query }
  readonly onConflict: OnConflict | undefined
  readonly returning: readonly OutputItem[]
  /** The table's row filter: a row for which it is not true must not be written (IQL.RowFilter). */
  readonly check: BoundExpression | undefined
}

/** The column's own default. */
export interface DefaultValue {
  readonly kind: 'default'
}

/** ON CONFLICT [(column, …)] DO NOTHING | DO UPDATE SET … [WHERE …] */
export type OnConflict =
  | { readonly kind: 'nothing'; readonly target: readonly string[] }
  | {
      readonly kind: 'update'
      /** A primary key or a unique set of columns of the table. */
      readonly target: readonly string[]
      /** The id by which the expressions mean the row that was to be inserted. */
      readonly excluded: number
      readonly set: readonly Assignment[]
      /** With the row filter ANDed in. */
      readonly where: BoundExpression | undefined
    }

export interface Assignment {
  readonly column: ColumnView
  readonly value: BoundExpression | DefaultValue
}

/** UPDATE table SET … [WHERE …] [RETURNING …]; the row filter is ANDed into `where`, and `check` holds for the new row. */
export interface Update {
  readonly kind: 'update'
  readonly table: TableView
  readonly source: number
  readonly set: readonly Assignment[]
  readonly where: BoundExpression | undefined
  readonly returning: readonly OutputItem[]
  readonly check: BoundExpression | undefined
}

/** DELETE FROM table [WHERE …] [RETURNING …]; the row filter is ANDed into `where`. */
export interface Delete {
  readonly kind: 'delete'
  readonly table: TableView
  readonly source: number
  readonly where: BoundExpression | undefined
  readonly returning: readonly OutputItem[]
}

// ── Define ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** CREATE TABLE [IF NOT EXISTS] name (…) …. The name is free as far as the caller can see. */
export interface CreateTable {
  readonly kind: 'create-table'
  readonly name: string
  /** The table is there already and IF NOT EXISTS was said: nothing is to be done. */
  readonly exists: boolean
  readonly columns: readonly BoundColumn[]
  readonly primaryKey: readonly string[]
  readonly uniques: readonly (readonly string[])[]
  readonly readScope: string | undefined
  readonly writeScope: string | undefined
  /** As IQL text, checked against the columns; parseExpressionText reads it back. */
  readonly rowFilter: string | undefined
  readonly comment: string | undefined
}

/** name type [NOT NULL] [DEFAULT expression] */
export interface BoundColumn {
  readonly name: string
  readonly type: IqlType
  readonly nullable: boolean
  readonly unique: boolean
  /** An expression without columns, of the column's type; `text` is the same as IQL. */
  readonly default: { readonly expression: BoundExpression; readonly text: string } | undefined
}

/** ALTER TABLE table ADD COLUMN …: a NOT NULL column has a default here. */
export interface AddColumn {
  readonly kind: 'add-column'
  readonly table: TableView
  readonly column: BoundColumn
}

/** ALTER TABLE table DROP COLUMN …: never a column of a key, nor the last one. */
export interface DropColumn {
  readonly kind: 'drop-column'
  readonly table: TableView
  readonly column: ColumnView
}

/** ALTER TABLE table RENAME COLUMN column TO to */
export interface RenameColumn {
  readonly kind: 'rename-column'
  readonly table: TableView
  readonly column: ColumnView
  readonly to: string
}

/** ALTER TABLE table SET …: undefined for what stays as it is, null for what is taken away. */
export interface SetRights {
  readonly kind: 'set-rights'
  readonly table: TableView
  readonly readScope: string | null | undefined
  readonly writeScope: string | null | undefined
  /** As IQL text, checked against the columns. */
  readonly rowFilter: string | null | undefined
  readonly comment: string | null | undefined
}

/** DROP TABLE [IF EXISTS] name; undefined when there is none and IF EXISTS was said. */
export interface DropTable {
  readonly kind: 'drop-table'
  readonly table: TableView | undefined
}

/** CREATE [UNIQUE] INDEX [IF NOT EXISTS] name ON table (…) */
export interface CreateIndex {
  readonly kind: 'create-index'
  readonly name: string
  readonly exists: boolean
  readonly unique: boolean
  readonly table: TableView
  readonly columns: readonly { readonly name: string; readonly descending: boolean }[]
}

/** DROP INDEX [IF EXISTS] name; undefined when there is none and IF EXISTS was said. */
export interface DropIndex {
  readonly kind: 'drop-index'
  readonly index: { readonly name: string; readonly table: TableView } | undefined
}

// ── Look ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** EXPLAIN statement: how it would be done; nothing is read or written. */
export interface Explain {
  readonly kind: 'explain'
  readonly statement: Query | Insert | Update | Delete
}

/** DESCRIBE table: the table itself, its scopes and keys. */
export interface DescribeTable {
  readonly kind: 'describe'
  readonly table: TableView
}

/** SHOW TABLES: those the caller may see. */
export interface ShowTables {
  readonly kind: 'show-tables'
}

/** SHOW COLUMNS FROM table */
export interface ShowColumns {
  readonly kind: 'show-columns'
  readonly table: TableView
}
