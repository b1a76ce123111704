/** The rows of a live result in the model of a grid, each in its place. */
import type { Column, Live, LiveChange, Row } from '../../../../client/src/index.ts'
import { GridModel, type GridRow } from '../../grid/model.ts'

export class LiveRows {
  readonly model: GridModel
  readonly #held = new Map<string, GridRow>()

  constructor(columns: readonly Column[]) {
    this.model = new GridModel(columns)
  }

  /** Whether rows with these columns fit. */
  hasColumns(columns: readonly Column[]): boolean {
    const own = this.model.columns
    return columns.length === own.length && columns.every(({ name, type }, at) => isColumn(own[at], name, type))
  }

  apply(live: Live, { put, snapshot }: LiveChange<Row>): void {
    const places = new Map(live.rows.map((row, at) => [live.keyOf(row) ?? '', at]))
    for (const key of [...this.#held.keys()]) if (!places.has(key)) this.#remove(key)
    const changed = (snapshot ? live.rows : put).map((row) => ({ row, key: live.keyOf(row) ?? '' }))
    const placed = changed
      .map(({ row, key }) => ({ row, key, at: places.get(key) ?? 0 }))
      .sort((one, other) => one.at - other.at)
    // A place counts when the rows before it are in theirs: those that changed leave their places first.
    if (placed.length > 1)
      for (const { key } of placed) {
        const held = this.#held.get(key)
        if (held !== undefined) this.model.put(key, held, Number.MAX_SAFE_INTEGER)
      }
    for (const { row, key, at } of placed) {
      const values = this.model.columns.map(({ name }) => row[name])
      this.#held.set(key, values)
      this.model.put(key, values, at)
    }
  }

  #remove(key: string): void {
    this.#held.delete(key)
    this.model.remove(key)
  }
}

function isColumn(column: { readonly name: string; readonly type: string } | undefined, name: string, type: string) {
  return column?.name === name && column.type === type
}
