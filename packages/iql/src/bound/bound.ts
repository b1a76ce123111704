/** Bound statements: typed, with rights checked and row filters in place. Engines generate SQL from them. */

import type { StepUpNeed } from 'gatehouse-protocol'
import type { Query } from '../syntax/ast-query.ts'
import type { Interval, IqlType } from '../types/types.ts'
import type { BoundExpression, BoundQuery, OutputItem, ResultColumn } from './bound-query.ts'
import type { ColumnView, MissingLicence, TableView } from './catalogue-view.ts'

/** A statement ready for an engine. It holds no values of a caller, so that callers with the same rights can share it. */
export interface Bound {
  readonly statement: BoundStatement
  /** In the order of first use. `Parameter.index` is an index into this list. */
  readonly parameters: readonly StatementParameter[]
  /** The columns of the result; empty for a write without RETURNING or a definition. */
  readonly columns: readonly ResultColumn[]
  /** The tables that the statement reads or writes, without duplicates. */
  readonly tables: readonly TableView[]
  /** The views that it reads, those in views included. Their tables are among the tables. */
  readonly views: readonly TableView[]
  /** Whether a row filter uses claims, so that callers with the same rights may see different rows. */
  readonly usesClaims: boolean
  /** The names of the attributes of the caller that the row filters use. */
  readonly attributes: ReadonlySet<string>
}

/** `name` is without its prefix: symbol for :symbol, 1 for $1. */
export interface StatementParameter {
  readonly name: string
  readonly type: IqlType
  readonly at: number
}

export type BoundStatement =
  | BoundQuery
  | Insert
  | Update
  | Delete
  | CreateTable
  | AddColumn
  | DropColumn
  | AddCheck
  | DropCheck
  | RenameColumn
  | SetRights
  | DropTable
  | CreateView
  | DropView
  | CreateKeptView
  | DropKeptView
  | RefreshView
  | CreateIndex
  | DropIndex
  | Explain
  | ExplainLive
  | ExplainRetention
  | DescribeTable
  | ShowTables

const READING: ReadonlySet<BoundStatement['kind']> = new Set<BoundStatement['kind']>([
  'query',
  'explain',
  'explain-live',
  'explain-retention',
  'describe',
  'show-tables',
])

/** Whether it neither writes nor defines. */
export function reads({ kind }: BoundStatement): boolean {
  return READING.has(kind)
}

// ── Write ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** INSERT INTO table (column, …) VALUES … | query [ON CONFLICT …] [RETURNING …] */
export interface Insert {
  readonly kind: 'insert'
  readonly table: TableView
  /** The source id of the row in the table, in `returning`, `check` and ON CONFLICT. */
  readonly source: number
  readonly columns: readonly ColumnView[]
  readonly rows:
    | { readonly kind: 'values'; readonly rows: readonly (readonly (BoundExpression | DefaultValue)[])[] }
    | { readonly kind: 'query'; readonly query: BoundQuery }
  readonly onConflict: OnConflict | undefined
  readonly returning: readonly OutputItem[]
  /** The row filter of the table. Writing a row for which it is not true is the error IQL.RowFilter. */
  readonly check: BoundExpression | undefined
  /** Writing a row for which one of them is false is the error Data.CheckViolation, or Licence.Needed. */
  readonly constraints: readonly Constraint[]
}

/** A CHECK constraint; `text` is its condition in IQL. With `missing` it is a licence that the caller lacks. */
export interface Constraint {
  readonly name: string
  readonly text: string
  readonly condition: BoundExpression
  readonly missing?: MissingLicence | undefined
}

/** The default of the column. */
export interface DefaultValue {
  readonly kind: 'default'
}

/** ON CONFLICT [(column, …)] DO NOTHING | DO UPDATE SET … [WHERE …] */
export type OnConflict =
  | { readonly kind: 'nothing'; readonly target: readonly string[] }
  | {
      readonly kind: 'update'
      /** The columns of the primary key or of a unique constraint. */
      readonly target: readonly string[]
      /** The source id of the row that was not inserted. */
      readonly excluded: number
      readonly set: readonly Assignment[]
      /** Includes the row filter. */
      readonly where: BoundExpression | undefined
    }

export interface Assignment {
  readonly column: ColumnView
  readonly value: BoundExpression | DefaultValue
}

/** UPDATE table SET … [WHERE …] [RETURNING …]; `where` includes the row filter, and `check` must be true for the new row. */
export interface Update {
  readonly kind: 'update'
  readonly table: TableView
  readonly source: number
  readonly set: readonly Assignment[]
  readonly where: BoundExpression | undefined
  readonly returning: readonly OutputItem[]
  readonly check: BoundExpression | undefined
  readonly constraints: readonly Constraint[]
}

/** DELETE FROM table [WHERE …] [RETURNING …]; `where` includes the row filter. */
export interface Delete {
  readonly kind: 'delete'
  readonly table: TableView
  readonly source: number
  readonly where: BoundExpression | undefined
  readonly returning: readonly OutputItem[]
}

// ── Define ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** CREATE TABLE [IF NOT EXISTS] name (…) … A table that the caller may not read can still have the name. */
export interface CreateTable {
  readonly kind: 'create-table'
  readonly name: string
  /** The table exists and the statement has IF NOT EXISTS: there is nothing to do. */
  readonly exists: boolean
  readonly columns: readonly BoundColumn[]
  readonly primaryKey: readonly string[]
  readonly uniques: readonly (readonly string[])[]
  readonly checks: readonly NamedCheck[]
  readonly readScope: string | undefined
  readonly writeScope: string | undefined
  /** IQL text, checked against the columns; parseExpressionText parses it. */
  readonly rowFilter: string | undefined
  readonly readNeed: StepUpNeed | undefined
  readonly writeNeed: StepUpNeed | undefined
  readonly comment: string | undefined
  /** Whether changes are logged for live queries. */
  readonly isLive: boolean
  /** Whether the rows are also kept by column. */
  readonly isColumnar: boolean
  readonly retention: RetentionChange | null | undefined
  readonly isHeld: boolean
  /** AS query: the rows of the new table. */
  readonly query: Query | undefined
}

/** How long rows are kept, and the column that says how old one is. */
export interface RetentionChange {
  readonly time: Interval
  readonly on: string
}

/** A CHECK constraint as IQL text, checked against the columns. */
export interface NamedCheck {
  readonly name: string
  readonly condition: string
}

/** name type [NOT NULL] [DEFAULT expression] */
export interface BoundColumn {
  readonly name: string
  readonly type: IqlType
  readonly nullable: boolean
  readonly unique: boolean
  /** An expression without columns, of the column's type; `text` is the expression in IQL. */
  readonly default: { readonly expression: BoundExpression; readonly text: string } | undefined
}

/** ALTER TABLE table ADD COLUMN …; a NOT NULL column has a default. */
export interface AddColumn {
  readonly kind: 'add-column'
  readonly table: TableView
  readonly column: BoundColumn
}

/** ALTER TABLE table DROP COLUMN …; never a column of a key, nor the last column. */
export interface DropColumn {
  readonly kind: 'drop-column'
  readonly table: TableView
  readonly column: ColumnView
}

/** ALTER TABLE table ADD [CONSTRAINT name] CHECK (…); `violation` finds a row that violates it. */
export interface AddCheck {
  readonly kind: 'add-check'
  readonly table: TableView
  readonly check: NamedCheck
  readonly violation: BoundQuery
}

/** ALTER TABLE table DROP CONSTRAINT name */
export interface DropCheck {
  readonly kind: 'drop-check'
  readonly table: TableView
  readonly name: string
}

/** ALTER TABLE table RENAME COLUMN column TO to */
export interface RenameColumn {
  readonly kind: 'rename-column'
  readonly table: TableView
  readonly column: ColumnView
  readonly to: string
}

/** ALTER TABLE | VIEW table SET …; undefined: unchanged, null: removed. */
export interface SetRights {
  readonly kind: 'set-rights'
  readonly table: TableView
  readonly readScope: string | null | undefined
  readonly writeScope: string | null | undefined
  /** IQL text, checked against the columns. */
  readonly rowFilter: string | null | undefined
  readonly readNeed: StepUpNeed | null | undefined
  readonly writeNeed: StepUpNeed | null | undefined
  readonly comment: string | null | undefined
  readonly isLive: boolean | undefined
  readonly isColumnar: boolean | undefined
  readonly retention: RetentionChange | null | undefined
  readonly isHeld: boolean | undefined
}

/** DROP TABLE [IF EXISTS] name; undefined if IF EXISTS found no table. */
export interface DropTable {
  readonly kind: 'drop-table'
  readonly table: TableView | undefined
}

/** CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name … AS query */
export interface CreateView {
  readonly kind: 'create-view'
  readonly name: string
  /** The view exists and the statement has IF NOT EXISTS: there is nothing to do. */
  readonly exists: boolean
  /** The view that it replaces. */
  readonly replaced: TableView | undefined
  readonly columns: readonly ResultColumn[]
  /** The query as IQL text, in which each * is a list of columns. */
  readonly text: string
  /** The tables and views that the text names. */
  readonly uses: readonly string[]
  readonly readScope: string | undefined
  readonly comment: string | undefined
}

/** DROP VIEW [IF EXISTS] name; undefined if IF EXISTS found no view. */
export interface DropView {
  readonly kind: 'drop-view'
  readonly view: TableView | undefined
}

/** CREATE MATERIALIZED VIEW [IF NOT EXISTS] name … AS query */
export interface CreateKeptView
  extends Pick<CreateView, 'name' | 'exists' | 'columns' | 'text' | 'readScope' | 'comment'> {
  readonly kind: 'create-kept-view'
  readonly readNeed: StepUpNeed | undefined
  readonly isColumnar: boolean
  readonly retention: RetentionChange | undefined
  /** The table, or the materialized view, that it reads. */
  readonly base: TableView
  /** The groups or partitions of the query, in their order: the primary key. */
  readonly keys: readonly KeptKey[]
  /** The columns of the base that decide which rows belong to which group. */
  readonly logged: readonly string[]
  /** Where errors about the query as a whole point. */
  readonly queryAt: number
}

/** A GROUP BY or PARTITION BY expression of a materialized view. */
export interface KeptKey {
  /** The column of the view. */
  readonly column: string
  readonly expression: BoundExpression
}

/** DROP MATERIALIZED VIEW [IF EXISTS] name; undefined if IF EXISTS found no view. */
export interface DropKeptView {
  readonly kind: 'drop-kept-view'
  readonly view: TableView | undefined
}

/** REFRESH MATERIALIZED VIEW name [FULL] */
export interface RefreshView {
  readonly kind: 'refresh-view'
  readonly view: TableView
  readonly isFull: boolean
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

/** DROP INDEX [IF EXISTS] name; undefined if IF EXISTS found no index. */
export interface DropIndex {
  readonly kind: 'drop-index'
  readonly index: { readonly name: string; readonly table: TableView } | undefined
}

// ── Introspect ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** EXPLAIN [ANALYZE] statement: describes how it would run, without running it unless it is to be analyzed. */
export interface Explain {
  readonly kind: 'explain'
  /** The query of EXPLAIN ANALYZE. */
  readonly analyzed?: Query | undefined
  readonly statement: BoundQuery | Insert | Update | Delete
}

/** EXPLAIN LIVE query: says whether and how the query can be live, without running it. */
export interface ExplainLive {
  readonly kind: 'explain-live'
  readonly query: BoundQuery
}

/** EXPLAIN ALTER TABLE … SET WITH (retention = …): which rows it would delete. */
export interface ExplainRetention {
  readonly kind: 'explain-retention'
  readonly change: SetRights
}

/** DESCRIBE table, SHOW COLUMNS FROM table */
export interface DescribeTable {
  readonly kind: 'describe'
  readonly table: TableView
}

/** SHOW TABLES: the tables that the caller may read. */
export interface ShowTables {
  readonly kind: 'show-tables'
}
