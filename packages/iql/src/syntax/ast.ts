/** The syntax tree of IQL statements, before names and types are resolved. */
import type { StepUpNeed } from 'gatehouse-protocol'
import type { Expression, Name, Placed, Query, SelectItem, TypeRef } from './ast-query.ts'

export type Statement =
  | Query
  | Insert
  | Update
  | Delete
  | CreateTable
  | AlterTable
  | DropTable
  | CreateView
  | AlterView
  | DropView
  | CreateKeptView
  | AlterKeptView
  | DropKeptView
  | RefreshView
  | CreateIndex
  | DropIndex
  | Explain
  | ExplainLive
  | ExplainRetention
  | Describe
  | ShowTables

// ── Write ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** INSERT INTO table [(column, …)] VALUES (…), … | query [ON CONFLICT …] [RETURNING …] */
export interface Insert extends Placed {
  readonly kind: 'insert'
  readonly table: Name
  readonly columns: readonly Name[]
  readonly source:
    | { readonly kind: 'values'; readonly rows: readonly ValueRow[] }
    | { readonly kind: 'query'; readonly query: Query }
  readonly onConflict: OnConflict | undefined
  readonly returning: readonly SelectItem[]
}

export interface ValueRow extends Placed {
  readonly values: readonly (Expression | DefaultValue)[]
}

export interface DefaultValue extends Placed {
  readonly kind: 'default'
}

/** ON CONFLICT [(column, …)] DO NOTHING | DO UPDATE SET … [WHERE …]; `excluded.column` is the row that was not inserted. */
export interface OnConflict extends Placed {
  readonly target: readonly Name[]
  readonly action:
    | { readonly kind: 'nothing' }
    | { readonly kind: 'update'; readonly set: readonly Assignment[]; readonly where: Expression | undefined }
}

/** column = expression | DEFAULT */
export interface Assignment {
  readonly column: Name
  readonly value: Expression | DefaultValue
}

/** UPDATE table [[AS] alias] SET … WHERE … | ALL [RETURNING …] */
export interface Update extends Placed {
  readonly kind: 'update'
  readonly table: Name
  readonly alias: Name | undefined
  readonly set: readonly Assignment[]
  /** Undefined if the statement has ALL instead. */
  readonly where: Expression | undefined
  readonly returning: readonly SelectItem[]
}

/** DELETE FROM table [[AS] alias] WHERE … | ALL [RETURNING …] */
export interface Delete extends Placed {
  readonly kind: 'delete'
  readonly table: Name
  readonly alias: Name | undefined
  readonly where: Expression | undefined
  readonly returning: readonly SelectItem[]
}

// ── Define ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** CREATE TABLE [IF NOT EXISTS] name (column | key | check, …) [READ SCOPE 'x'] [WRITE SCOPE 'x'] [ROW FILTER (…)] [REQUIRE (…)] [WRITE REQUIRE (…)] [COMMENT 'x'] [WITH (live = …, columns = …, retention = …, hold = …)] [AS query] */
export interface CreateTable extends Placed {
  readonly kind: 'create-table'
  readonly ifNotExists: boolean
  readonly name: Name
  readonly columns: readonly ColumnDefinition[]
  /** PRIMARY KEY (a, b) and UNIQUE (a, b) as table constraints. */
  readonly keys: readonly KeyDefinition[]
  /** Those of columns too. */
  readonly checks?: readonly CheckDefinition[] | undefined
  readonly readScope: string | undefined
  readonly writeScope: string | undefined
  readonly rowFilter: Expression | undefined
  readonly readNeed: StepUpNeed | undefined
  readonly writeNeed: StepUpNeed | undefined
  readonly comment: string | undefined
  readonly live: boolean | undefined
  readonly columnar: boolean | undefined
  readonly retention: RetentionClause | null | undefined
  readonly hold: boolean | undefined
  /** AS query, which gives the columns, and the rows. */
  readonly query?: Query | undefined
}

/** retention = 'interval' ON column */
export interface RetentionClause extends Placed {
  readonly time: string
  readonly on: Name
}

/** [CONSTRAINT name] CHECK (condition); `column` is that of the definition that it is part of. */
export interface CheckDefinition extends Placed {
  readonly name: Name | undefined
  readonly column: Name | undefined
  readonly condition: Expression
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

export interface KeyDefinition extends Placed {
  readonly kind: 'primary-key' | 'unique'
  readonly columns: readonly Name[]
}

/** ALTER TABLE name ADD [COLUMN] … | DROP [COLUMN] … | ADD CHECK (…) | DROP CONSTRAINT … | RENAME [COLUMN] a TO b | SET … */
export interface AlterTable extends Placed {
  readonly kind: 'alter-table'
  readonly table: Name
  readonly action:
    | { readonly kind: 'add'; readonly column: ColumnDefinition }
    | { readonly kind: 'drop'; readonly column: Name }
    | { readonly kind: 'add-check'; readonly check: CheckDefinition }
    | { readonly kind: 'drop-check'; readonly name: Name }
    | { readonly kind: 'rename'; readonly column: Name; readonly to: Name }
    | ({ readonly kind: 'set' } & TableChanges)
}

/** Undefined: unchanged. Null: removed. */
export interface TableChanges {
  readonly readScope: string | null | undefined
  readonly writeScope: string | null | undefined
  readonly rowFilter: Expression | null | undefined
  readonly readNeed: StepUpNeed | null | undefined
  readonly writeNeed: StepUpNeed | null | undefined
  readonly comment: string | null | undefined
  readonly live: boolean | undefined
  readonly columnar: boolean | undefined
  readonly retention: RetentionClause | null | undefined
  readonly hold: boolean | undefined
}

/** DROP TABLE | VIEW | MATERIALIZED VIEW | INDEX [IF EXISTS] name */
interface Drop<Kind extends string> extends Placed {
  readonly kind: Kind
  readonly ifExists: boolean
  readonly name: Name
}
export type DropTable = Drop<'drop-table'>
export type DropView = Drop<'drop-view'>
export type DropIndex = Drop<'drop-index'>

/** CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name [(column, …)] [READ SCOPE 'x'] [COMMENT 'x'] AS query */
export interface CreateView extends Placed {
  readonly kind: 'create-view'
  readonly orReplace: boolean
  readonly ifNotExists: boolean
  readonly name: Name
  readonly columns: readonly Name[]
  readonly readScope: string | undefined
  readonly comment: string | undefined
  readonly query: Query
}

/** ALTER VIEW name SET … */
export interface AlterView extends Placed {
  readonly kind: 'alter-view'
  readonly name: Name
  readonly changes: ViewChanges
}

/** Undefined: unchanged. Null: removed. */
export type ViewChanges = Pick<TableChanges, 'readScope' | 'comment'>

/** CREATE MATERIALIZED VIEW [IF NOT EXISTS] name [(column, …)] [READ SCOPE 'x'] [REQUIRE (…)] [COMMENT 'x'] [WITH (…)] AS query [WITH DATA] */
export interface CreateKeptView extends Placed {
  readonly kind: 'create-kept-view'
  readonly ifNotExists: boolean
  readonly name: Name
  readonly columns: readonly Name[]
  readonly changes: KeptViewChanges
  readonly query: Query
}

/** ALTER MATERIALIZED VIEW name SET … */
export interface AlterKeptView extends Placed {
  readonly kind: 'alter-kept-view'
  readonly name: Name
  readonly changes: KeptViewChanges
}

/** Undefined: unchanged. Null: removed. */
export type KeptViewChanges = Omit<TableChanges, 'writeScope' | 'writeNeed' | 'rowFilter' | 'live' | 'hold'>

export type DropKeptView = Drop<'drop-kept-view'>

/** REFRESH MATERIALIZED VIEW [CONCURRENTLY] name [FULL] [WITH DATA] */
export interface RefreshView extends Placed {
  readonly kind: 'refresh-view'
  readonly name: Name
  readonly isFull: boolean
}

/** CREATE [UNIQUE] INDEX [IF NOT EXISTS] name ON table (column [ASC | DESC], …) */
export interface CreateIndex extends Placed {
  readonly kind: 'create-index'
  readonly unique: boolean
  readonly ifNotExists: boolean
  readonly name: Name
  readonly table: Name
  readonly columns: readonly { readonly name: Name; readonly descending: boolean }[]
}

// ── Introspect ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** EXPLAIN [ANALYZE] statement */
export interface Explain extends Placed {
  readonly kind: 'explain'
  /** Only of a query, which is run. */
  readonly analyze?: true | undefined
  readonly statement: Query | Insert | Update | Delete
}

/** EXPLAIN ALTER TABLE … SET WITH (retention = …), or ALTER MATERIALIZED VIEW */
export interface ExplainRetention extends Placed {
  readonly kind: 'explain-retention'
  readonly statement: AlterTable | AlterKeptView
}

/** EXPLAIN LIVE query */
export interface ExplainLive extends Placed {
  readonly kind: 'explain-live'
  readonly query: Query
}

/** DESCRIBE table | SHOW COLUMNS FROM table */
export interface Describe extends Placed {
  readonly kind: 'describe'
  readonly table: Name
}

/** SHOW TABLES */
export interface ShowTables extends Placed {
  readonly kind: 'show-tables'
}
