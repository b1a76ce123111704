/** The state of retention in the query database, and the deletion of rows: what both engines share. Times are in microseconds since the epoch. */
import { DATE, type IqlType, MICROS_PER_DAY, TIMESTAMP } from 'gatehouse-iql'
import type { TableDefinition } from '../catalogue/definition.ts'
import type { WrittenTable } from './commit-listeners.ts'
import type { Sql } from './emit/dialect.ts'
import type { ScalarBindable, SqlStatement } from './emit/parameters.ts'
import type { KeeperTerm } from './keeper-lease.ts'
import { CUTS, RETENTION } from './retention.ts'
import type { BuildSql, ServiceStore } from './service-store.ts'

export interface RetentionState {
  /** In lower case. */
  readonly name: string
  /** What the definition says of how long rows are kept. */
  readonly time: string | undefined
  /** The column of these times: another one is counted anew. */
  readonly timeColumn: string | undefined
  readonly isHeld: boolean
  /** Rows before it are closed. */
  readonly horizon: bigint | undefined
  /** A horizon that becomes the cut when transactions that may not know of it have ended. */
  readonly settling: bigint | undefined
  /** Rows before it are deleted. */
  readonly cut: bigint | undefined
  /** Rounds that were asked for, and those that have ended. */
  readonly requested: number
  readonly done: number
  /** Rows that the last round that was asked for has deleted. */
  readonly removed: number
  /** Why nothing moves. */
  readonly fault: string | undefined
  /** Rows that were deleted and are not in the audit log yet. */
  readonly unrecorded: number
  /** Since when, in milliseconds by the clock of the database. */
  readonly unrecordedSince: number | undefined
  /** The time of the oldest of them. */
  readonly unrecordedOldest: bigint | undefined
}

export interface RetentionSql {
  readonly identifier: (name: string) => Sql
  /** A condition for the rows that a query of row identifiers returns; undefined if rows have none. */
  readonly isOneOf: (table: TableDefinition, rows: (rowId: Sql) => Sql) => Sql | undefined
  /** A value of a column in microseconds since the epoch. */
  readonly micros: (value: Sql, type: IqlType) => Sql
  /** Whether deleted rows stay in an index for a while, and are passed by each read of it. */
  readonly leavesEntries: boolean
  /** Selects, as `writer`, the transactions that have written to a table; undefined if none can run beside the one that asks. */
  readonly writers: ((table: Sql) => Sql) | undefined
}

export interface RetentionEnv {
  /** Called when rows of a table were deleted. */
  readonly onCommit: (tables: readonly WrittenTable[]) => void
  /** Reads the one number, c0, of a statement that takes long. */
  readonly readNumber: (statement: SqlStatement) => Promise<number>
}

export interface Removal {
  /** Rows before it are deleted. */
  readonly cut: bigint
  readonly limit: number
  /** Told for how many milliseconds others could not write to the database. */
  readonly onBlocked: (milliseconds: number) => void
}

type StateRow = { readonly [Column in keyof typeof STATE_COLUMNS]: number | string | null }

const STATE_COLUMNS = {
  name: true,
  time: true,
  time_column: true,
  held: true,
  horizon: true,
  settling: true,
  cut: true,
  requested: true,
  done: true,
  removed: true,
  fault: true,
  unrecorded: true,
  unrecorded_since: true,
  unrecorded_oldest: true,
} as const

export class RetentionRows {
  readonly #store: ServiceStore
  readonly #sql: RetentionSql
  readonly #env: RetentionEnv
  /** How far the sweeps of tables are that go on, by name in lower case. */
  readonly #swept = new Map<string, bigint>()
  readonly #table: string
  readonly #cuts: string

  constructor(store: ServiceStore, sql: RetentionSql, env: RetentionEnv) {
    this.#store = store
    this.#sql = sql
    this.#env = env
    this.#table = `${store.schema}.${RETENTION}`
    this.#cuts = `${store.schema}.${CUTS}`
  }

  /** The time by the clock of the database. */
  async now(): Promise<bigint> {
    const [row] = await this.#store.read<{ now: number | string }>(() => `SELECT ${this.#store.now} AS now`)
    return BigInt(row?.now ?? 0) * 1000n
  }

  async list(): Promise<ReadonlyMap<string, RetentionState>> {
    const rows = await this.#store.read<StateRow>(
      () => `SELECT ${Object.keys(STATE_COLUMNS).join(', ')} FROM ${this.#table} ORDER BY name`,
    )
    return new Map(rows.map((row) => [String(row.name), toState(row)]))
  }

  async find(table: string): Promise<RetentionState | undefined> {
    const [row] = await this.#store.read<StateRow>(
      (value) => `SELECT ${Object.keys(STATE_COLUMNS).join(', ')} FROM ${this.#table} WHERE ${isNamed(table, value)}`,
    )
    return row && toState(row)
  }

  /** Closes the rows before the horizon, unless the table is held or its definition is another one by now. It never moves back. */
  async close(term: KeeperTerm, table: TableDefinition, horizon: bigint): Promise<void> {
    await this.#store.writeInTerm(term, [
      (
        value,
      ) => `UPDATE ${this.#table} SET horizon = ${value(horizon)}, settling = coalesce(settling, ${value(horizon)})
        WHERE ${isMovable(table, value)} AND (horizon IS NULL OR horizon < ${value(horizon)})`,
    ])
  }

  /** Begins to settle the horizon, if that has not begun and there is need. */
  async settle(term: KeeperTerm, table: TableDefinition): Promise<void> {
    await this.#store.writeInTerm(term, [
      (value) => `UPDATE ${this.#table} SET settling = horizon
        WHERE ${isMovable(table, value)} AND settling IS NULL AND horizon > coalesce(cut, horizon - 1)`,
    ])
  }

  /** The transactions that have written to the table and have not ended. */
  async writers({ name }: TableDefinition): Promise<ReadonlySet<string>> {
    const { writers, identifier } = this.#sql
    if (writers === undefined) return new Set()
    const found = await this.#store.read<{ writer: string }>(() => writers(`${this.#store.schema}.${identifier(name)}`))
    return new Set(found.map(({ writer }) => writer))
  }

  /** `settled` is the horizon that has settled, and the cut is at or before it. */
  async moveCut(term: KeeperTerm, table: TableDefinition, settled: bigint, cut: bigint): Promise<void> {
    await this.#store.writeInTerm(term, [
      (value) => `UPDATE ${this.#table} SET cut = CASE WHEN cut > ${value(cut)} THEN cut ELSE ${value(cut)} END,
          settling = NULL
        WHERE ${isMovable(table, value)} AND settling = ${value(settled)}`,
    ])
    this.#swept.delete(table.name.toLowerCase())
  }

  /** Deletes the oldest rows before the cut, unless a hold or another definition came in between. Returns how many there were. */
  async removeOldest(term: KeeperTerm, table: TableDefinition, { cut, limit, onBlocked }: Removal): Promise<number> {
    const [column, type] = timeColumn(table)
    const target = `${this.#store.schema}.${this.#sql.identifier(table.name)}`
    const place = this.#sql.identifier(column)
    const key = table.name.toLowerCase()
    const builds: BuildSql[] = [
      (value) => `INSERT INTO ${this.#cuts} (name) VALUES (${value(key)})`,
      (value) => {
        const bounds = `${place} < ${value(this.#bind(cut, type))}${this.#after(table, value)}`
        const rows = (rowId: Sql): Sql =>
          `SELECT ${rowId} FROM ${target} WHERE ${bounds} ORDER BY ${place} LIMIT ${limit}`
        const isOneOf = this.#sql.isOneOf(table, rows)
        return `DELETE FROM ${target} WHERE ${isOneOf ?? `${place} IN (${rows(place)})`}
          AND EXISTS (SELECT 1 FROM ${this.#table} WHERE ${isMovable(table, value)} AND cut >= ${value(cut)})`
      },
      (value) => `DELETE FROM ${this.#cuts} WHERE name = ${value(key)}`,
    ]
    const [, removed = 0] = await this.#store.writeInTerm(term, builds, onBlocked)
    if (removed > 0) this.#env.onCommit([{ name: table.name, isLive: table.isLive }])
    if (this.#sql.leavesEntries) await this.#sweep(table, removed === limit)
    return removed
  }

  /** A sweep goes on where it is; the next one begins at the start again. */
  async #sweep(table: TableDefinition, isGoingOn: boolean): Promise<void> {
    const oldest = isGoingOn ? await this.oldest(table) : undefined
    if (oldest === undefined) this.#swept.delete(table.name.toLowerCase())
    else this.#swept.set(table.name.toLowerCase(), oldest)
  }

  /** Rows before where the sweep is are gone. */
  #after(table: TableDefinition, value: Parameters<BuildSql>[0]): Sql {
    const swept = this.#swept.get(table.name.toLowerCase())
    if (swept === undefined) return ''
    const [column, type] = timeColumn(table)
    return ` AND ${this.#sql.identifier(column)} >= ${value(this.#bind(swept, type))}`
  }

  /** Undefined if there is no row. */
  async oldest(table: TableDefinition): Promise<bigint | undefined> {
    const [column, type] = timeColumn(table)
    const least = this.#sql.micros(`min(${this.#sql.identifier(column)})`, type)
    const [row] = await this.#store.read<{ oldest: number | string | null }>(
      (value) => `SELECT ${least} AS oldest FROM ${this.#store.schema}.${this.#sql.identifier(table.name)}
        WHERE TRUE${this.#after(table, value)}`,
    )
    return toBigint(row?.oldest ?? null)
  }

  /** The rows before a time, counted up to `most`. */
  async countBefore(table: TableDefinition, time: bigint, most: number): Promise<number> {
    const [column, type] = timeColumn(table)
    const place = this.#sql.identifier(column)
    const from = `${this.#store.schema}.${this.#sql.identifier(table.name)}`
    return this.#env.readNumber(
      this.#store.build(
        (value) =>
          `SELECT count(*) AS c0 FROM (SELECT 1 FROM ${from} WHERE ${place} < ${value(this.#bind(time, type))} LIMIT ${most}) AS r`,
      ),
    )
  }

  /** All rows, counted up to `most`. */
  async count({ name }: TableDefinition, most: number): Promise<number> {
    const from = `${this.#store.schema}.${this.#sql.identifier(name)}`
    const sql = `SELECT count(*) AS c0 FROM (SELECT 1 FROM ${from} LIMIT ${most}) AS r`
    return this.#env.readNumber(this.#store.build(() => sql))
  }

  /** Asks the keeper for a round. Returns its number; undefined if the table has no retention. */
  async request(table: string): Promise<number | undefined> {
    await this.#store.write([
      (value) => `UPDATE ${this.#table} SET requested = requested + 1 WHERE ${isNamed(table, value)}`,
    ])
    return (await this.find(table))?.requested
  }

  async finish(term: KeeperTerm, { name }: TableDefinition, round: number, removed: number): Promise<void> {
    await this.#store.writeInTerm(term, [
      (value) => `UPDATE ${this.#table} SET done = ${value(BigInt(round))}, removed = ${value(BigInt(removed))}
        WHERE ${isNamed(name, value)} AND done < ${value(BigInt(round))}`,
    ])
  }

  /** Deleted rows that the audit log is to have, whichever node is the keeper then. */
  async addUnrecorded(
    term: KeeperTerm,
    { name }: TableDefinition,
    rows: number,
    oldest: bigint | undefined,
  ): Promise<void> {
    await this.#store.writeInTerm(term, [
      (value) => `UPDATE ${this.#table} SET unrecorded = unrecorded + ${value(BigInt(rows))},
          unrecorded_since = coalesce(unrecorded_since, ${this.#store.now}),
          unrecorded_oldest = coalesce(unrecorded_oldest, ${value(oldest ?? null)})
        WHERE ${isNamed(name, value)}`,
    ])
  }

  /** The audit log has them. */
  async clearUnrecorded(term: KeeperTerm, { name }: TableDefinition): Promise<void> {
    await this.#store.writeInTerm(term, [
      (value) => `UPDATE ${this.#table} SET unrecorded = 0, unrecorded_since = NULL, unrecorded_oldest = NULL
        WHERE ${isNamed(name, value)}`,
    ])
  }

  async setFault(term: KeeperTerm, { name }: TableDefinition, fault: string | undefined): Promise<void> {
    await this.#store.writeInTerm(term, [
      (value) => `UPDATE ${this.#table} SET fault = ${value(fault ?? null)} WHERE ${isNamed(name, value)}`,
    ])
  }

  #bind(micros: bigint, type: IqlType): ScalarBindable {
    return type.kind === 'Date' ? this.#store.bind(micros / MICROS_PER_DAY, DATE) : this.#store.bind(micros, TIMESTAMP)
  }
}

function timeColumn({ name, columns, retention }: TableDefinition): readonly [name: string, type: IqlType] {
  const column = columns.find((known) => known.name === retention?.on)
  if (column === undefined) throw new Error(`${name} has no retention`)
  return [column.name, column.type]
}

function isNamed(table: string, value: Parameters<BuildSql>[0]): Sql {
  return `name = ${value(table.toLowerCase())}`
}

/** The keeper may not have loaded yet what the table says now: rows that should be kept must not be judged by what it said before. */
function isMovable({ name, retention }: TableDefinition, value: Parameters<BuildSql>[0]): Sql {
  const { time, on } = retention ?? {}
  return `${isNamed(name, value)} AND held = 0 AND time = ${value(time ?? null)} AND time_column = ${value(on ?? null)}`
}

function toState(row: StateRow): RetentionState {
  return {
    name: String(row.name),
    time: row.time === null ? undefined : String(row.time),
    timeColumn: row.time_column === null ? undefined : String(row.time_column),
    isHeld: Number(row.held) === 1,
    horizon: toBigint(row.horizon),
    settling: toBigint(row.settling),
    cut: toBigint(row.cut),
    requested: Number(row.requested),
    done: Number(row.done),
    removed: Number(row.removed),
    fault: row.fault === null ? undefined : String(row.fault),
    unrecorded: Number(row.unrecorded),
    unrecordedSince: row.unrecorded_since === null ? undefined : Number(row.unrecorded_since),
    unrecordedOldest: toBigint(row.unrecorded_oldest),
  }
}

function toBigint(value: number | string | null): bigint | undefined {
  return value === null ? undefined : BigInt(value)
}
