/** The rows of a live result in the model of a grid, each in its place. */
import type { Column, Live, LiveChange, Row } from '../../../client/src/index.ts'
import { GridModel, type GridRow } from './model.ts'

export class LiveRows {
  readonly model: GridModel
  readonly #held = new Map<string, GridRow>()

  constructor(columns: readonly Column[]) {
    this.model = new GridModel(columns)
  }

  /** Whether rows with these columns fit. */
  hasColumns(columns: readonly Column[]): boolean {
    const own = this.model.columns
    return (
      columns.length === own.length &&
      columns.every(({ name, type }, at) => own[at]?.name === name && own[at].type === type)
    )
  }

  /** Without an order of the result, rows stay where they are and new ones come last: no place has to be looked up. */
  apply(live: Live<Row>, { put, remove, snapshot }: LiveChange<Row>, isOrdered: boolean): void {
    for (const row of remove) this.#remove(liveKey(live, row))
    if (snapshot) {
      const rows = live.rows.map((row, at) => ({ row, key: liveKey(live, row), at }))
      const keys = new Set(rows.map(({ key }) => key))
      for (const key of [...this.#held.keys()]) if (!keys.has(key)) this.#remove(key)
      for (const { row, key, at } of rows) this.#put(key, row, at)
    } else if (isOrdered) this.#place(live, put)
    else for (const row of put) this.#put(liveKey(live, row), row)
  }

  /** The index of a row is its place when those before it are in theirs: rows that changed leave their places first. */
  #place(live: Live<Row>, put: readonly Row[]): void {
    const places = new Map(live.rows.map((row, at) => [liveKey(live, row), at]))
    const placed = put
      .map((row) => ({ row, key: liveKey(live, row) }))
      .map(({ row, key }) => ({ row, key, at: places.get(key) ?? Number.MAX_SAFE_INTEGER }))
      .sort((one, other) => one.at - other.at)
    if (placed.length > 1)
      for (const { key } of placed) {
        const held = this.#held.get(key)
        if (held !== undefined) this.model.put(key, held, Number.MAX_SAFE_INTEGER)
      }
    for (const { row, key, at } of placed) this.#put(key, row, at)
  }

  #put(key: string, row: Row, at?: number): void {
    const values = this.model.columns.map(({ name }) => row[name])
    this.#held.set(key, values)
    this.model.put(key, values, at)
  }

  #remove(key: string): void {
    this.#held.delete(key)
    this.model.remove(key)
  }
}

function liveKey(live: Live<Row>, row: Row): string {
  return live.keyOf(row) ?? ''
}
