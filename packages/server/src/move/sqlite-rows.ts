/** Reads the tables of a SQLite file in batches, in the order in which they are stored or sorted by key. */
import { join } from 'node:path'
import type { Database, Statement } from 'better-sqlite3'
import { isLongType } from 'gatehouse-iql'
import { SQLITE_STORAGE } from '../query/storage.ts'
import { type MovedTable, maxBatchRows, type Order, type Part, type Row, sortColumns, type Value } from './table.ts'

/** A batch ends when the texts in it are longer. */
const BATCH_LENGTH = 4 * 1024 * 1024

export const PARTS: readonly Part[] = ['identity', 'query']

export function databaseFile(dataFolder: string, part: Part): string {
  return join(dataFolder, `${part}.db`)
}

export async function* readRows(
  database: Database,
  table: MovedTable,
  order: Order,
  offset: number,
): AsyncGenerator<readonly Row[]> {
  const long = table.columns.flatMap(({ type }, index) => (isLongType(type) ? [index] : []))
  const most = maxBatchRows(table)
  let batch: Row[] = []
  let length = 0
  for (const row of select(
    database,
    table,
    `ORDER BY ${orderColumns(database, table, order)} LIMIT -1 OFFSET ?`,
  ).iterate(offset)) {
    batch.push(row)
    for (const index of long) length += valueLength(row[index] ?? null)
    if (batch.length < most && length < BATCH_LENGTH) continue
    yield batch
    batch = []
    length = 0
  }
  if (batch.length > 0) yield batch
}

export function select(database: Database, table: MovedTable, rest: string): Statement<unknown[], Row> {
  const columns = table.columns.map(({ name }) => SQLITE_STORAGE.identifier(name)).join(', ')
  return database
    .prepare<unknown[], Row>(`SELECT ${columns} FROM ${qualifiedName(table)} ${rest}`)
    .safeIntegers(true)
    .raw(true)
}

export function qualifiedName({ name }: MovedTable): string {
  return `main.${SQLITE_STORAGE.identifier(name)}`
}

/** Rows are stored in the order of their identifier, which tables WITHOUT ROWID do not have. */
function orderColumns(database: Database, table: MovedTable, order: Order): string {
  const id = order === 'stored' ? SQLITE_STORAGE.rowId(table.columns.map(({ name }) => name)) : undefined
  if (id !== undefined && hasRowId(database, table)) return id
  return sortColumns(table)
    .map(({ name }) => SQLITE_STORAGE.identifier(name))
    .join(', ')
}

function hasRowId(database: Database, { name }: MovedTable): boolean {
  return database.prepare(`SELECT wr FROM pragma_table_list(?) WHERE schema = 'main'`).pluck().get(name) === 0
}

export function valueLength(value: Value): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 0
}

export function namesIn(database: Database): string[] {
  return database
    .prepare<[], string>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name`,
    )
    .pluck()
    .all()
}
