/** How much agents have called, in the query database: a row for each grant, with the calls of its last day. Both engines share it. */
import type { ServiceStore } from './service-store.ts'

export const AGENT_CALLS = '_gh_agent_calls'

export interface AgentCalls {
  /** The grant. */
  readonly owner: string
  /** Such as 2026-01-31, in UTC. */
  readonly day: string
  readonly calls: number
  readonly rows: number
  /** In milliseconds since the epoch. */
  readonly last: number
}

export class AgentCallRows {
  readonly #store: ServiceStore
  readonly #table: string

  constructor(store: ServiceStore) {
    this.#store = store
    this.#table = `${store.schema}.${AGENT_CALLS}`
  }

  /** Adds to what the day has; a new day begins at none. */
  async add(counts: readonly AgentCalls[]): Promise<void> {
    if (counts.length === 0) return
    const added = (column: string) =>
      `${column} = CASE WHEN c.day = excluded.day THEN c.${column} ELSE 0 END + excluded.${column}`
    await this.#store.write([
      (value) => `INSERT INTO ${this.#table} AS c (owner, day, calls, rowsread, called)
        VALUES ${counts.map(({ owner, day, calls, rows, last }) => `(${[owner, day, calls, rows, last].map(value).join(', ')})`).join(', ')}
        ON CONFLICT (owner) DO UPDATE SET ${added('calls')}, ${added('rowsread')}, day = excluded.day,
          called = CASE WHEN c.called > excluded.called THEN c.called ELSE excluded.called END`,
    ])
  }

  async find(owners: readonly string[]): Promise<readonly AgentCalls[]> {
    if (owners.length === 0) return []
    const rows = await this.#store.read<AgentCalls>(
      (value) => `SELECT owner, day, calls, rowsread AS rows, called AS last FROM ${this.#table}
        WHERE owner IN (${owners.map(value).join(', ')})`,
    )
    // PostgreSQL gives bigint as text.
    return rows.map(({ owner, day, ...row }) => ({
      ...{ owner, day },
      ...{ calls: Number(row.calls), rows: Number(row.rows), last: Number(row.last) },
    }))
  }

  /** Forgets those that have not called since. */
  removeUnused(before: number): Promise<number> {
    return this.#store.write([(value) => `DELETE FROM ${this.#table} WHERE called < ${value(before)}`])
  }
}
