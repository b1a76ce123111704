/** A column of a grid. */
export interface GridColumn {
  readonly name: string
  readonly type: string
  /** Known of the rows of a table: the numbers of a key are names. */
  readonly isprimarykey?: boolean
}
