/** Reads small results on the event loop: a row by its key, a few rows, or the first of many to see whether there are more. */

import { isLongType, type ResultColumn } from 'gatehouse-iql'
import { BOUNDED_ROWS, type CostClass } from '../../../model/cost-class.ts'
import { TextEncoders } from '../../../results/encoders.ts'
import { BoundedRows, CHUNK_BYTES, type RowReader } from '../../bounded-rows.ts'
import type { ReadRun, ReadStatement, WholeRead } from '../../engine.ts'
import { type RawRow, rowReader } from '../representation.ts'
import type { StatementCache } from '../statement-cache.ts'

export class InlineRead {
  readonly #statements: StatementCache
  readonly #query: ReadStatement
  readonly #encoders: TextEncoders
  readonly #readRow: RowReader<RawRow>
  readonly #bounded: BoundedQuery

  constructor(statements: StatementCache, query: ReadStatement) {
    this.#statements = statements
    this.#query = query
    this.#encoders = new TextEncoders(query.columns)
    this.#readRow = rowReader([...query.columns, ...query.keyColumns])
    this.#bounded = boundedQuery(query)
  }

  /** Undefined when the result is not small: it is then read by a reader process. */
  read(run: ReadRun): WholeRead | undefined {
    const { encoding, limits } = run
    const { columns, cost } = this.#query
    // Rows that are skipped are read too.
    if (cost !== 'point' && limits.skip > 0) return undefined
    const encoder = this.#encoders.create(encoding)
    const inlineLimits = {
      skip: limits.skip,
      rows: Math.min(limits.rows, BOUNDED_ROWS),
      bytes: Math.min(limits.bytes, CHUNK_BYTES),
    }
    const rows = new BoundedRows(encoder, inlineLimits, this.#readRow)
    const { longColumns } = this.#bounded
    for (const raw of this.#rows(run)) {
      if (longColumns.some((index) => typeof raw[index] === 'bigint')) return undefined
      if (!rows.add(raw)) break
    }
    const outcome = rows.outcome(columns.length)
    if (outcome.truncated !== 'no' && limits[outcome.truncated] > inlineLimits[outcome.truncated]) return undefined
    return { text: encoder.takeText(), outcome }
  }

  #rows({ parameters }: ReadRun): Iterable<RawRow> {
    const { sql, take } = this.#bounded
    const statement = this.#statements.get(sql)
    // `get` takes half the time of the same row from an iterator, and `all` a third.
    if (take === 'one') {
      const row = statement.get(...parameters)
      return row === undefined ? [] : [row as RawRow]
    }
    return (take === 'all' ? statement.all(...parameters) : statement.iterate(...parameters)) as Iterable<RawRow>
  }
}

interface BoundedQuery {
  readonly sql: string
  /** Columns in which 0 replaces a value that is too long. */
  readonly longColumns: readonly number[]
  readonly take: 'one' | 'all' | 'one by one'
}

const MAX_COLUMNS = 32
const MAX_ROW_BYTES = 8 * 1024

/** Rows are bounded in SQL: long values are not read, and where all rows are read at once, at most one more than a small result has. */
function boundedQuery({ sql, columns, keyColumns, cost }: ReadStatement): BoundedQuery {
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
  const bounded = (prefix: string) => (column: ResultColumn, index: number) => {
    const name = `${prefix}${index}`
    return isLongType(column.type) ? `iif(octet_length(${name}) > ${maxBytes}, 0, ${name})` : name
  }
  const outputs = [...columns.map(bounded('c')), ...keyColumns.map(bounded('k'))]
  return { sql: `SELECT ${outputs.join(', ')} FROM (${sql})`, longColumns }
}
