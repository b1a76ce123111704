/** The column segments of tables, for operators. */

export interface ColumnTables {
  /** False: the setting query_columns. */
  readonly isOn: boolean
  /** How many segments of a table can be read now, and how many cannot. */
  count(table: string): { readonly ready: number; readonly others: number }
  /** The segments of all tables by state. */
  counts(): readonly (readonly [state: 'ready' | 'marked' | 'missing', count: number])[]
  /** Of all tables with `columns = on`. */
  status(): Promise<readonly ColumnStatus[]>
  /** Compares the segments of a table with its rows; those that differ are written again. Undefined if the table has none. */
  verify(table: string, signal: AbortSignal): Promise<ColumnsVerified | undefined>
  /** Writes the segments of a table anew. False if the table has none. */
  rebuild(table: string): Promise<boolean>
}

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
