/** The tables that are moved, and their rows as both databases are read and written. */
import type { IqlType } from 'gatehouse-iql'
import type { TableDefinition } from '../query/storage.ts'

/** SQLite has a file for each of these, PostgreSQL a schema. */
export type Part = 'identity' | 'query'

export interface MovedColumn {
  readonly name: string
  readonly type: IqlType
  readonly nullable: boolean
}

export interface MovedTable {
  readonly part: Part
  readonly name: string
  readonly columns: readonly MovedColumn[]
  /** The columns of the primary key; empty if the table has none. */
  readonly key: readonly string[]
  /** Of a table of callers, which the move creates. All others exist in every prepared database. */
  readonly definition?: TableDefinition
}

/** As SQLite stores it: see query/engines/sqlite/representation.ts. */
export type Value = string | number | bigint | Uint8Array | null
export type Row = readonly Value[]

/** `stored`: the same in every run as long as the table does not change. `sorted`: the same in both databases. */
export type Order = 'stored' | 'sorted'

/** The columns by which a table is sorted: its key, or all of them. */
export function sortColumns({ columns, key }: MovedTable): readonly MovedColumn[] {
  if (key.length === 0) return columns
  return key.flatMap((name) => columns.find((column) => column.name === name) ?? [])
}

const MOST_ROWS = 5000
const MOST_VALUES = 50_000

/** The most rows of a batch, which is fewer for a table with many columns: a batch is held in memory. */
export function maxBatchRows({ columns }: MovedTable): number {
  return Math.max(1, Math.min(MOST_ROWS, Math.floor(MOST_VALUES / columns.length)))
}

/** The name of a table in messages and in the record of the progress. */
export function tableLabel({ part, name }: Pick<MovedTable, 'part' | 'name'>): string {
  return `${part}.${name}`
}

/** How a message names a row: by its key, or by all values. */
export function nameRow(table: MovedTable, row: Row): string {
  const names = new Set(sortColumns(table).map(({ name }) => name))
  const values = table.columns.flatMap(({ name }, index) =>
    names.has(name) ? [`${name} = ${showValue(row[index] ?? null)}`] : [],
  )
  return values.join(', ')
}

const SHOWN = 60

export function showValue(value: Value): string {
  if (value === null) return 'NULL'
  if (value instanceof Uint8Array) return `0x${Buffer.from(value.subarray(0, SHOWN)).toString('hex')}`
  if (typeof value !== 'string') return String(value)
  return JSON.stringify(value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value)
}

/** One side of a move. */
export interface Reader {
  /** The data folder or the URL without credentials. */
  readonly location: string
  /** Batches of bounded size. */
  rows(table: MovedTable, order: Order, offset: number): AsyncGenerator<readonly Row[]>
}

export interface Source extends Reader {
  tables(): Promise<readonly MovedTable[]>
  /** Tables that other programs created next to ours. */
  foreignTables(tables: readonly MovedTable[]): Promise<readonly string[]>
  /** The last number that the database has given to an event. */
  lastEvent(): Promise<number>
  /** What the other database cannot hold, at most `limit` values of the table. */
  unmovable(table: MovedTable, limit: number): Promise<readonly string[]>
  /** Until it is closed, nothing can be written to it. */
  hold(): Promise<void>
  close(): Promise<void>
}

/** What has been done of a table. */
export interface Progress {
  readonly rows: number
  readonly state: 'copying' | 'copied' | 'verified'
}

export interface Target extends Reader {
  /** Creates what every database has. The mark of the move is there already. */
  prepare(hasQuery: boolean): Promise<void>
  progress(): Promise<ReadonlyMap<string, Progress>>
  /** Creates the table, or empties it. */
  begin(table: MovedTable): Promise<void>
  /** Adds rows; `total` is the number of rows of the table afterwards, recorded in the same transaction. */
  append(table: MovedTable, rows: readonly Row[], total: number): Promise<void>
  /** Creates the indexes. */
  copied(table: MovedTable): Promise<void>
  verified(table: MovedTable): Promise<void>
  /** After all tables: sequences, statistics, and the record of the progress, which is removed. */
  finish(tables: readonly MovedTable[], lastEvent: number): Promise<void>
  close(): Promise<void>
}

/** The move cannot be made, or not be continued; the message says what to do. */
export class MoveRefused extends Error {
  override name = 'MoveRefused'
}
