/** What agents watch, in the query database: statements and topics, and the positions that they were given. Both engines share it. */
import type { ServiceStore } from './service-store.ts'

export const WATCHES = '_gh_watches'

export interface WatchRow {
  readonly id: string
  /** The grant that may use it. */
  readonly owner: string
  /** JSON: what is watched. */
  readonly body: string
  /** JSON: the positions, by their numbers. */
  readonly positions: string
  /** When it was used last, in milliseconds since the epoch. */
  readonly used: number
}

export class WatchRows {
  readonly #store: ServiceStore
  readonly #table: string

  constructor(store: ServiceStore) {
    this.#store = store
    this.#table = `${store.schema}.${WATCHES}`
  }

  async find(id: string): Promise<WatchRow | undefined> {
    const [row] = await this.#store.read<WatchRow>(
      (value) => `SELECT id, owner, body, positions, used FROM ${this.#table} WHERE id = ${value(id)}`,
    )
    return row && { ...row, used: Number(row.used) }
  }

  async count(): Promise<number> {
    const [row] = await this.#store.read<{ n: number }>(() => `SELECT count(*) AS n FROM ${this.#table}`)
    return Number(row?.n ?? 0)
  }

  /** How many each of these owners has that were used since. */
  async countByOwner(owners: readonly string[], since: number): Promise<ReadonlyMap<string, number>> {
    if (owners.length === 0) return new Map()
    const rows = await this.#store.read<{ owner: string; n: number }>(
      (value) => `SELECT owner, count(*) AS n FROM ${this.#table}
        WHERE owner IN (${owners.map(value).join(', ')}) AND used >= ${value(since)} GROUP BY owner`,
    )
    return new Map(rows.map(({ owner, n }) => [owner, Number(n)]))
  }

  /** False if the owner has `most` of them already. */
  async insert({ id, owner, body, positions, used }: WatchRow, most: number): Promise<boolean> {
    const inserted = await this.#store.write(
      [
        (value) => `INSERT INTO ${this.#table} (id, owner, body, positions, used)
          SELECT ${[id, owner, body, positions, used].map(value).join(', ')}
          WHERE (SELECT count(*) FROM ${this.#table} WHERE owner = ${value(owner)}) < ${value(most)}`,
      ],
      this.#table,
    )
    return inserted > 0
  }

  /** False unless the stored row has the positions `before`: another call was faster. */
  async update({ id, body, positions, used }: WatchRow, before: string): Promise<boolean> {
    const updated = await this.#store.write([
      (
        value,
      ) => `UPDATE ${this.#table} SET body = ${value(body)}, positions = ${value(positions)}, used = ${value(used)}
        WHERE id = ${value(id)} AND positions = ${value(before)}`,
    ])
    return updated > 0
  }

  /** Removes those that were not used since; returns how many. */
  removeUnused(before: number): Promise<number> {
    return this.#store.write([(value) => `DELETE FROM ${this.#table} WHERE used < ${value(before)}`])
  }
}
