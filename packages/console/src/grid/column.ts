/** A column of a grid. */
export interface GridColumn {
  readonly name: string
  readonly type: string
}
