/** The rows of a chart that follows its data: by key, in the order in which they came. */
import { signal } from '@preact/signals'
import type { ChartModel } from '../chart/chart.tsx'
import type { ChartColumn } from '../chart/choose.ts'
import type { ChangedRows, DrawnResult, Row } from './tool-result.ts'

export class DrawnRows implements ChartModel {
  readonly version = signal(0)
  readonly columns: readonly ChartColumn[]
  readonly #byKey: Map<string, Row>
  #rows: readonly Row[]

  constructor({ columns, rows, keys }: DrawnResult) {
    this.columns = columns
    this.#rows = rows
    this.#byKey = new Map(rows.map((row, index) => [JSON.stringify(keys[index] ?? index), row]))
  }

  get size(): number {
    return this.#rows.length
  }

  row(index: number): Row {
    return this.#rows[index] ?? []
  }

  apply({ put, remove }: ChangedRows): void {
    if (put.length + remove.length === 0) return
    for (const key of remove) this.#byKey.delete(JSON.stringify(key))
    for (const { key, row } of put) this.#byKey.set(JSON.stringify(key), row)
    this.#rows = [...this.#byKey.values()]
    this.version.value++
  }
}
