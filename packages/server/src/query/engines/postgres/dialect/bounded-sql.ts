/** SQL that fails on a row that is too long. */
import type { ResultColumn } from 'gatehouse-iql'
import type { Sql } from '../../emit/dialect.ts'
import { rowLengthCheck } from '../../emit/text-limits.ts'
import { POSTGRES } from './dialect.ts'

/**
 * A row is in memory as a whole, in the database and here, before any of it is sent. `columns` are c0, c1, … in the query, and
 * `further` ones, such as those of a key, k0, k1, ….
 */
export function boundedRows(sql: Sql, columns: readonly ResultColumn[], further: readonly ResultColumn[]): Sql {
  const named = (prefix: string) => (column: ResultColumn, index: number) => ({
    sql: `q.${prefix}${index}`,
    type: column.type,
  })
  const check = rowLengthCheck([...columns.map(named('c')), ...further.map(named('k'))], POSTGRES)
  return check === undefined ? sql : `SELECT * FROM (${sql}) AS q WHERE ${check}`
}
