/** Connections to PostgreSQL for a move, and its tables in batches, in the order in which they are stored or sorted by key. */
import { isLongType } from 'gatehouse-iql'
import type { ClientBase, Pool } from 'pg'
import { POSTGRES_STORAGE } from '../query/storage.ts'
import { POSTGRES_SCHEMA } from '../store/database/database.ts'
import { openServers } from '../store/database/servers/one-connection.ts'
import {
  type MovedTable,
  MoveRefused,
  maxBatchRows,
  type Order,
  type Part,
  type Row,
  sortColumns,
  tableLabel,
  type Value,
} from './table.ts'
import { fromPostgresText } from './values.ts'

const SETTINGS = {
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  bytea_output: 'hex',
  extra_float_digits: 1,
  standard_conforming_strings: 'on',
  statement_timeout: 0,
  // A commit is durable with the last one of the move, which removes the mark on another connection.
  synchronous_commit: 'off',
  // Indexes are created one at a time.
  maintenance_work_mem: '256MB',
  // All rows of a cursor are read.
  cursor_tuple_fraction: 1,
}

/** To the server that the URL chooses; `close` ends the connections. */
export function openPool(url: string, dataFolder: string): { pool: Pool; close: () => Promise<void> } {
  const servers = openServers({ url, dataFolder })
  const pool = servers.createPool({
    max: 3,
    settings: SETTINGS,
    connectionTimeoutMillis: 10_000,
    application_name: 'gatehouse move',
  })
  // A broken connection fails its statement; without a listener the event would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return {
    pool,
    async close() {
      await pool.end()
      await servers.close()
    },
  }
}

export const SCHEMAS: Readonly<Record<Part, string>> = { identity: POSTGRES_SCHEMA, query: POSTGRES_STORAGE.schema }

export function qualifiedName({ part, name }: Pick<MovedTable, 'part' | 'name'>): string {
  return `${SCHEMAS[part]}.${POSTGRES_STORAGE.identifier(name)}`
}

export async function inTransaction<T>(pool: Pool, work: (client: ClientBase) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const result = await work(client)
    await client.query('COMMIT')
    client.release()
    return result
  } catch (error) {
    // Closing the connection rolls back.
    client.release(true)
    throw error
  }
}

const BATCH_BYTES = 8 * 1024 * 1024
const AS_TEXT = { getTypeParser: () => (text: string) => text }

/** `onProblem` is called for a row with a value that SQLite cannot hold; the row is left out. */
export async function* readRows(
  pool: Pool,
  table: MovedTable,
  order: Order,
  offset: number,
  onProblem: (problem: string) => void = refuse,
): AsyncGenerator<readonly Row[]> {
  const columns = table.columns.map(({ name }) => POSTGRES_STORAGE.identifier(name)).join(', ')
  const convert = rowReader(table, onProblem)
  const client = await pool.connect()
  let isBroken = true
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const count = await batchRows(client, table)
    await client.query(
      `DECLARE moved NO SCROLL CURSOR FOR SELECT ${columns} FROM ${qualifiedName(table)} ORDER BY ${orderColumns(table, order)} OFFSET ${offset}`,
    )
    for (;;) {
      const { rows } = await client.query<(string | null)[]>({
        text: `FETCH ${count} FROM moved`,
        rowMode: 'array',
        types: AS_TEXT,
      })
      if (rows.length === 0) break
      yield rows.flatMap((row) => convert(row) ?? [])
    }
    await client.query('COMMIT')
    isBroken = false
  } finally {
    client.release(isBroken)
  }
}

/** As many rows as are sure to fit into memory. */
async function batchRows(client: ClientBase, table: MovedTable): Promise<number> {
  const lengths = table.columns
    .filter(({ type }) => isLongType(type))
    .map(({ name }) => `coalesce(octet_length(${POSTGRES_STORAGE.identifier(name)}), 0)::bigint`)
  const most = maxBatchRows(table)
  if (lengths.length === 0) return most
  const { rows } = await client.query<{ longest: string | null }>(
    `SELECT max(${lengths.join(' + ')}) AS longest FROM ${qualifiedName(table)}`,
  )
  return Math.max(1, Math.min(most, Math.floor(BATCH_BYTES / Math.max(1, Number(rows[0]?.longest ?? 0)))))
}

/** Texts are sorted by their bytes, as SQLite does. */
function orderColumns(table: MovedTable, order: Order): string {
  if (order === 'stored' && table.key.length === 0) return 'ctid'
  return sortColumns(table)
    .map(({ name, type, nullable }) => {
      const isText = type.kind === 'Text' || type.kind === 'Json'
      return `${POSTGRES_STORAGE.identifier(name)}${isText ? ' COLLATE "C"' : ''}${nullable ? ' NULLS FIRST' : ''}`
    })
    .join(', ')
}

function rowReader(
  table: MovedTable,
  onProblem: (problem: string) => void,
): (texts: readonly (string | null)[]) => [Row] | undefined {
  const readers = table.columns.map(({ type }) => fromPostgresText(type))
  return (texts) => {
    const row: Value[] = []
    for (const [index, read] of readers.entries()) {
      const text = texts[index] ?? null
      const value = text === null ? null : read(text)
      if (value === undefined) {
        onProblem(describe(table, texts, index))
        return undefined
      }
      row.push(value)
    }
    return [row]
  }
}

function describe(table: MovedTable, texts: readonly (string | null)[], index: number): string {
  const names = new Set(sortColumns(table).map(({ name }) => name))
  const key = table.columns.flatMap(({ name }, at) => (names.has(name) ? [`${name} = ${texts[at] ?? 'NULL'}`] : []))
  const { name = '', type } = table.columns[index] ?? {}
  return `${tableLabel(table)} (${key.join(', ')}): ${name} is ${texts[index]}, which is outside the range of ${type?.kind}`
}

function refuse(problem: string): never {
  throw new MoveRefused(problem)
}
