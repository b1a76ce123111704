/** About how many rows tables have, without reading them whole. Both engines share it. */
import type { TableView } from 'gatehouse-iql'
import type { Sql } from './emit/dialect.ts'
import type { ServiceStore } from './service-store.ts'

/** Writes a query that gives a number; undefined for a table that has none. */
export type SizeSql = (table: TableView) => Sql | undefined

export class TableSizes {
  readonly #store: ServiceStore
  readonly #sql: SizeSql

  constructor(store: ServiceStore, sql: SizeSql) {
    this.#store = store
    this.#sql = sql
  }

  async estimate(table: TableView): Promise<number | undefined> {
    const sql = table.view === undefined ? this.#sql(table) : undefined
    if (sql === undefined) return undefined
    const [row] = await this.#store.read<{ n: number | string }>(() => sql)
    return Math.round(Number(row?.n ?? 0))
  }
}
