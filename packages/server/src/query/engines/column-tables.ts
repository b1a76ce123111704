/** The column segments of tables, for operators and for EXPLAIN. */
import type { SqlStatement } from './emit/parameters.ts'
import type { PartsRun } from './parts-run.ts'

export interface ColumnTables {
  /** False: the setting query_columns. */
  readonly isOn: boolean
  /** How a query would read segments, without reading them. */
  explain(query: ExplainedQuery, signal: AbortSignal): Promise<ColumnsExplained>
  /** The segments of all tables by state. */
  counts(): readonly (readonly [state: 'ready' | 'marked' | 'missing', count: number])[]
  /** Of all tables with `columns = on`. */
  status(): Promise<readonly ColumnStatus[]>
  /** Compares the segments of a table with its rows; those that differ are written again. Undefined if the table has none. */
  verify(table: string, signal: AbortSignal): Promise<ColumnsVerified | undefined>
  /** Writes the segments of a table anew. False if the table has none. */
  rebuild(table: string): Promise<boolean>
}

export interface ExplainedQuery extends SqlStatement {
  readonly owner: string
  readonly parts: PartsRun
  /** Whether the caller sees all rows. */
  readonly isAllSeen: boolean
}

/** For a reader process. */
export interface ExplainJob extends Pick<ExplainedQuery, 'parts' | 'isAllSeen'> {
  readonly kind: 'explain-columns'
  readonly usual: SqlStatement
}

export interface ExplainOutcome {
  readonly kind: 'explained'
  readonly explained: ColumnsExplained
}

/** Of the segments of the table that is grouped: `skipped` are those of which no row fits, as their headers say. */
export type ColumnsExplained =
  | { readonly read: number; readonly fromRows: number; readonly skipped: number | undefined }
  /** Why rows are read, if they are. */
  | { readonly why: string }

export interface ColumnStatus {
  readonly table: string
  /** The segments that are read, those whose rows have changed, and those that are not written yet. */
  readonly ready: number
  readonly marked: number
  readonly missing: number
  /** In the files. */
  readonly rows: number
  readonly bytes: number
}

export interface ColumnsVerified {
  readonly table: string
  /** Segments that are as the rows, and those that are not. */
  readonly equal: number
  readonly different: number
  /** Segments whose rows have changed meanwhile. */
  readonly changed: number
}
