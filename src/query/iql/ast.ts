/** The syntax tree of IQL statements: what was written, before any name or type is looked up. */
import type { Expression, Name, OrderItem, TypeRef } from './ast-expression.ts'

export type Statement =
  | Query
  | Insert
  | Update
  | Delete
  | CreateTable
  | AlterTable
  | DropTable
  | CreateIndex
  | DropIndex
  | Explain
  | Describe
  | ShowTables
  | ShowColumns

// ── Read ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** [WITH cte, …] body [ORDER BY …] [LIMIT n] [OFFSET n] */
export interface Query {
  readonly kind: 'query'
  readonly with: readonly Cte[]
  readonly body: Body
  readonly orderBy: readonly OrderItem[]
  readonly limit: Expression | undefined
  readonly offset: Expression | undefined
  readonly at: number
}

/** name [(column, …)] AS (query) */
export interface Cte {
  readonly name: Name
  readonly columns: readonly Name[]
  readonly query: Query
}

/** A Query stands here only in parentheses, and only when it has WITH, ORDER BY, LIMIT or OFFSET of its own. */
export type Body = Select | SetOperation | Query

/** SELECT [DISTINCT] item, … [FROM …] [WHERE …] [GROUP BY …] [HAVING …] */
export interface Select {
  readonly kind: 'select'
  readonly distinct: boolean
  readonly items: readonly SelectItem[]
  readonly from: From | undefined
  readonly where: Expression | undefined
  readonly groupBy: readonly Expression[]
  readonly having: Expression | undefined
  readonly at: number
}

export interface SetOperation {
  readonly kind: 'set'
  readonly operator: 'union' | 'intersect' | 'except'
  readonly all: boolean
  readonly left: Body
  readonly right: Body
  readonly at: number
}

/** `*`, `t.*`, or an expression with an optional alias. */
export type SelectItem =
  | { readonly kind: 'all'; readonly table: Name | undefined; readonly at: number }
  | { readonly kind: 'item'; readonly expression: Expression; readonly alias: Name | undefined }

export type From = TableRef | DerivedTable | Join

export interface TableRef {
  readonly kind: 'table'
  readonly name: Name
  readonly alias: Name | undefined
}

/** (query) AS alias */
export interface DerivedTable {
  readonly kind: 'derived'
  readonly query: Query
  readonly alias: Name
}

export type JoinKind = 'inner' | 'left' | 'right' | 'full' | 'cross' | 'asof' | 'asof-left'

export interface Join {
  readonly kind: 'join'
  readonly join: JoinKind
  readonly left: From
  readonly right: From
  /** Undefined for a cross join alone. */
  readonly on: Expression | undefined
  readonly at: number
}

// ── Write ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** INSERT INTO table [(column, …)] VALUES (…), … | query [ON CONFLICT …] [RETURNING …] */
export interface Insert {
  readonly kind: 'insert'
  readonly table: Name
  readonly columns: readonly Name[]
  readonly source:
    | { readonly kind: 'values'; readonly rows: readonly ValueRow[] }
    | { readonly kind: 'query'; readonly query: Query }
  readonly onConflict: OnConflict | undefined
  readonly returning: readonly SelectItem[]
  readonly at: number
}

export interface ValueRow {
  readonly values: readonly (Expression | DefaultValue)[]
  readonly at: number
}

export interface DefaultValue {
  readonly kind: 'default'
  readonly at: number
}

/** ON CONFLICT [(column, …)] DO NOTHING | DO UPDATE SET … [WHERE …]; `excluded.column` is the row that was refused. */
export interface OnConflict {
  readonly target: readonly Name[]
  readonly action:
    | { readonly kind: 'nothing' }
    | { readonly kind: 'update'; readonly set: readonly Assignment[]; readonly where: Expression | undefined }
  readonly at: number
}

/** column = expression | DEFAULT */
export interface Assignment {
  readonly column: Name
  readonly value: Expression | DefaultValue
}

/** UPDATE table [[AS] alias] SET … WHERE … | ALL [RETURNING …] */
export interface Update {
  readonly kind: 'update'
  readonly table: Name
  readonly alias: Name | undefined
  readonly set: readonly Assignment[]
  /** Undefined when the word ALL stands in its place. */
  readonly where: Expression | undefined
  readonly returning: readonly SelectItem[]
  readonly at: number
}

/** DELETE FROM table [[AS] alias] WHERE … | ALL [RETURNING …] */
export interface Delete {
  readonly kind: 'delete'
  readonly table: Name
  readonly alias: Name | undefined
  readonly where: Expression | undefined
  readonly returning: readonly SelectItem[]
  readonly at: number
}

// ── Define ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** CREATE TABLE [IF NOT EXISTS] name (column | key, …) [READ SCOPE 'x'] [WRITE SCOPE 'x'] [ROW FILTER (…)] [COMMENT 'x'] */
export interface CreateTable {
  readonly kind: 'create-table'
  readonly ifNotExists: boolean
  readonly name: Name
  readonly columns: readonly ColumnDefinition[]
  /** PRIMARY KEY (a, b) and UNIQUE (a, b) given apart from the columns. */
  readonly keys: readonly KeyDefinition[]
  readonly readScope: string | undefined
  readonly writeScope: string | undefined
  readonly rowFilter: Expression | undefined
  readonly comment: string | undefined
  readonly at: number
}

/** name type [PRIMARY KEY] [NOT NULL] [UNIQUE] [DEFAULT expression] */
export interface ColumnDefinition {
  readonly name: Name
  readonly type: TypeRef
  readonly primaryKey: boolean
  readonly notNull: boolean
  readonly unique: boolean
  readonly default: Expression | undefined
}

export interface KeyDefinition {
  readonly kind: 'primary-key' | 'unique'
  readonly columns: readonly Name[]
  readonly at: number
}

/** ALTER TABLE name ADD [COLUMN] … | DROP [COLUMN] … | RENAME [COLUMN] a TO b | SET … */
export interface AlterTable {
  readonly kind: 'alter-table'
  readonly table: Name
  readonly action:
    | { readonly kind: 'add'; readonly column: ColumnDefinition }
    | { readonly kind: 'drop'; readonly column: Name }
    | { readonly kind: 'rename'; readonly column: Name; readonly to: Name }
    | ({ readonly kind: 'set' } & TableChanges)
  readonly at: number
}

/** Undefined for what stays as it is, null for what is taken away. */
export interface TableChanges {
  readonly readScope: string | null | undefined
  readonly writeScope: string | null | undefined
  readonly rowFilter: Expression | null | undefined
  readonly comment: string | null | undefined
}

/** DROP TABLE [IF EXISTS] name */
export interface DropTable {
  readonly kind: 'drop-table'
  readonly ifExists: boolean
  readonly name: Name
  readonly at: number
}

/** CREATE [UNIQUE] INDEX [IF NOT EXISTS] name ON table (column [ASC | DESC], …) */
export interface CreateIndex {
  readonly kind: 'create-index'
  readonly unique: boolean
  readonly ifNotExists: boolean
  readonly name: Name
  readonly table: Name
  readonly columns: readonly { readonly name: Name; readonly descending: boolean }[]
  readonly at: number
}

/** DROP INDEX [IF EXISTS] name */
export interface DropIndex {
  readonly kind: 'drop-index'
  readonly ifExists: boolean
  readonly name: Name
  readonly at: number
}

// ── Look ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** EXPLAIN statement */
export interface Explain {
  readonly kind: 'explain'
  readonly statement: Query | Insert | Update | Delete
  readonly at: number
}

/** DESCRIBE table */
export interface Describe {
  readonly kind: 'describe'
  readonly table: Name
  readonly at: number
}

/** SHOW TABLES */
export interface ShowTables {
  readonly kind: 'show-tables'
  readonly at: number
}

/** SHOW COLUMNS FROM table */
export interface ShowColumns {
  readonly kind: 'show-columns'
  readonly table: Name
  readonly at: number
}
