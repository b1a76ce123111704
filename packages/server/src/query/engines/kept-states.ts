/** The states of materialized views: what all nodes know of them, and what they ask of the keeper. */
import type { KeptState } from '../catalogue/definition.ts'
import type { Sql } from './emit/dialect.ts'
import type { SqlStatement } from './emit/parameters.ts'
import type { KeeperTerm } from './keeper-lease.ts'
import { KEPT_STATES } from './kept-state-sql.ts'
import type { TablePosition } from './live-source.ts'
import { RETENTION } from './retention.ts'
import { type BuildSql, buildStatement, type ServiceStore } from './service-store.ts'

/** The row of a view. */
export interface KeptRow {
  /** Its name in lower case. */
  readonly key: string
  readonly state: KeptState['state']
  readonly progress: number
  /** Of its table, in the snapshot that its rows are of. */
  readonly position: TablePosition | undefined
  /** Whether its rows are complete; false until the first build ends. */
  readonly isBuilt: boolean
  readonly error: string | undefined
  readonly rows: number
  readonly builds: number
  /** How often it was asked to be built anew, and how often that was done. */
  readonly asked: number
  readonly done: number
  /** The rows that were wrong when it was last built anew. */
  readonly wrong: number
  /** A digest of the time zones that its query names. */
  readonly zones: string | undefined
  /** Groups that begin earlier keep their rows: by the column of the table, in microseconds since the epoch, as JSON. */
  readonly cuts: string | undefined
  /** Of its own retention: earlier rows are closed. */
  readonly horizon: { readonly column: string; readonly time: bigint } | undefined
}

interface StoredRow {
  readonly key: string
  readonly state: KeptState['state']
  readonly position: string | null
  readonly built: number | boolean
  readonly error: string | null
  readonly zones: string | null
  // Drivers read 64-bit integers as numbers or as texts.
  readonly progress: number | string
  readonly rows: number | string
  readonly builds: number | string
  readonly asked: number | string
  readonly done: number | string
  readonly wrong: number | string
  readonly cuts: string | null
  readonly time_column: string | null
  readonly horizon: number | string | null
}

/** `column = value`, for some columns of a row. */
export type SetColumns = (value: Parameters<BuildSql>[0]) => readonly Sql[]

export class KeptStates {
  readonly #store: ServiceStore
  readonly #placeholder: (position: number) => Sql
  readonly #table: Sql

  constructor(store: ServiceStore, placeholder: (position: number) => Sql) {
    this.#store = store
    this.#placeholder = placeholder
    this.#table = `${store.schema}.${KEPT_STATES}`
  }

  async list(): Promise<KeptRow[]> {
    const rows = await this.#store.read<StoredRow>(() => `${this.#select()} ORDER BY v.key`)
    return rows.map(readRow)
  }

  async find(view: string): Promise<KeptRow | undefined> {
    const [row] = await this.#store.read<StoredRow>(
      (value) => `${this.#select()} WHERE v.key = ${value(view.toLowerCase())}`,
    )
    return row && readRow(row)
  }

  /** Asks the keeper to build it anew. Returns how often that was asked. */
  async ask(view: string): Promise<number> {
    await this.#store.write([
      (value) => `UPDATE ${this.#table} SET asked = asked + 1 WHERE key = ${value(view.toLowerCase())}`,
    ])
    return (await this.find(view))?.asked ?? 0
  }

  /** In a transaction of the keeper. */
  async set(term: KeeperTerm, view: string, set: SetColumns): Promise<void> {
    await this.#store.writeInTerm(term, [(value) => this.#update(view, value, set, () => '')])
  }

  /** Changes the row of a view only if its position and its cuts are as expected. */
  move(
    { view, cuts }: { readonly view: string; readonly cuts: string | undefined },
    expected: TablePosition | undefined,
    set: SetColumns,
  ): SqlStatement {
    const condition: WriteSql = (value) =>
      ` AND ${expected === undefined ? 'position IS NULL' : `position = ${value(expected)}`} AND coalesce(cuts, '') = ${value(cuts ?? '')}`
    return buildStatement((value) => this.#update(view, value, set, condition), this.#placeholder)
  }

  #select(): Sql {
    return `SELECT v.*, r.time_column, r.horizon FROM ${this.#table} AS v LEFT JOIN ${this.#store.schema}.${RETENTION} AS r ON r.name = v.key`
  }

  #update(view: string, value: Parameters<BuildSql>[0], set: SetColumns, condition: WriteSql): Sql {
    return `UPDATE ${this.#table} SET ${set(value).join(', ')} WHERE key = ${value(view.toLowerCase())}${condition(value)}`
  }
}

type WriteSql = (value: Parameters<BuildSql>[0]) => Sql

function readRow({ built, ...row }: StoredRow): KeptRow {
  return {
    key: row.key,
    state: row.state,
    progress: Number(row.progress) / 1000,
    position: row.position ?? undefined,
    isBuilt: Boolean(built),
    error: row.error ?? undefined,
    rows: Number(row.rows),
    builds: Number(row.builds),
    asked: Number(row.asked),
    done: Number(row.done),
    wrong: Number(row.wrong),
    zones: row.zones ?? undefined,
    cuts: row.cuts ?? undefined,
    horizon:
      row.time_column === null || row.horizon === null
        ? undefined
        : { column: row.time_column, time: BigInt(row.horizon) },
  }
}
