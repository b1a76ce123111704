/** Queries for reads on the event loop: SQLite itself leaves out values that are too long and rows that are too many. */
import type { Statement } from 'better-sqlite3'
import { isLongType, type ResultColumn } from 'gatehouse-iql'
import { BOUNDED_ROWS, type CostClass } from '../../../model/cost-class.ts'
import { CHUNK_BYTES } from '../../bounded-rows.ts'
import type { ReadRun, ReadStatement } from '../../engine.ts'

export interface BoundedQuery {
  readonly sql: string
  /** Columns in which 0 replaces a value that is too long. */
  readonly longColumns: readonly number[]
  readonly take: 'one' | 'all' | 'one by one'
}

const MAX_COLUMNS = 32
const MAX_ROW_BYTES = 8 * 1024

/** Where all rows are read at once, they are at most one more than a small result has. */
export function boundedQuery({ sql, columns, keyColumns, cost }: ReadStatement): BoundedQuery {
  const take = cost === 'point' ? 'one' : cost === 'indexed' && columns.length <= MAX_COLUMNS ? 'all' : 'one by one'
  const limit = take === 'all' ? ` LIMIT ${BOUNDED_ROWS + 1}` : ''
  const bounded = boundedSql(sql, columns, keyColumns, cost)
  return { ...bounded, sql: bounded.sql + limit, take }
}

/** The query with 0 in place of every text, or bytes, that is too long, and the columns in which it may be. */
export function boundedSql(
  sql: string,
  columns: readonly ResultColumn[],
  keyColumns: readonly ResultColumn[],
  cost: CostClass = 'bounded',
): Pick<BoundedQuery, 'sql' | 'longColumns'> {
  const longColumns = [...columns, ...keyColumns].flatMap(({ type }, index) => (isLongType(type) ? [index] : []))
  // A single row may fill the result.
  const maxBytes = Math.floor((cost === 'point' ? CHUNK_BYTES : MAX_ROW_BYTES) / Math.max(1, longColumns.length))
  const bounded = ({ type }: ResultColumn, value: string) =>
    isLongType(type) ? `iif(octet_length(${value}) > ${maxBytes}, 0, ${value})` : value
  const outputs = [
    ...columns.map((column, index) => bounded(column, `c${index}`)),
    ...keyColumns.map((column, index) => bounded(column, `k${index}`)),
  ]
  return { sql: `SELECT ${outputs.join(', ')} FROM (${sql})`, longColumns }
}

export function takeRows(
  statement: Statement,
  take: BoundedQuery['take'],
  parameters: ReadRun['parameters'],
): Iterable<unknown> {
  // `get` takes half the time of the same row from an iterator, and `all` a third.
  if (take === 'one') {
    const row = statement.get(...parameters)
    return row === undefined ? [] : [row]
  }
  return take === 'all' ? statement.all(...parameters) : statement.iterate(...parameters)
}
