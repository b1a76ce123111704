/** Reads small results on the event loop: a row by its key, a few rows, or the first of many to see whether there are more. */

import { isLongType, type ResultColumn } from 'gatehouse-iql'
import { BOUNDED_ROWS, type CostClass } from '../../../model/cost-class.ts'
import type { Encoding } from '../../../model/result.ts'
import { TextEncoders } from '../../../results/encoders.ts'
import { BoundedRows, CHUNK_BYTES, type RowReader } from '../../bounded-rows.ts'
import type { ReadLimits, ReadRun, ReadStatement, WholeRead } from '../../engine.ts'
import { plainReader, type RawRow, rowReader } from '../representation.ts'
import type { StatementCache } from '../statement-cache.ts'

export class InlineRead {
  readonly #statements: StatementCache
  readonly #query: ReadStatement
  readonly #encoders: TextEncoders
  readonly #readRow: RowReader<RawRow>
  readonly #bounded: BoundedQuery
  /** Undefined until the form is first used. */
  readonly #plain: { objects?: PlainRead | 'none'; arrays?: PlainRead | 'none' } = {}

  constructor(statements: StatementCache, query: ReadStatement) {
    this.#statements = statements
    this.#query = query
    this.#encoders = new TextEncoders(query.columns)
    this.#readRow = rowReader([...query.columns, ...query.keyColumns])
    this.#bounded = boundedQuery(query)
  }

  /** Undefined when the result is not small: it is then read by a reader process. */
  read(run: ReadRun): WholeRead | undefined {
    const plain = this.#plainRead(run.encoding)
    if (plain?.isUsable && isWhole(run.limits)) {
      const result = this.#readPlain(plain, run)
      if (result !== 'not plain') return result
      // Such values usually recur, so this query goes straight to a reader next time.
      plain.isUsable = false
    }
    return this.#readExact(run)
  }

  #readExact(run: ReadRun): WholeRead | undefined {
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
    if (take === 'one') return asList(statement.get(...parameters)) as RawRow[]
    return (take === 'all' ? statement.all(...parameters) : statement.iterate(...parameters)) as Iterable<RawRow>
  }

  #plainRead({ format, integers, rows: form }: Encoding): PlainRead | undefined {
    if (format !== 'json' || integers !== 'numbers') return undefined
    this.#plain[form] ??= preparePlain(this.#query, form) ?? 'none'
    const plain = this.#plain[form]
    return plain === 'none' ? undefined : plain
  }

  #readPlain({ sql, cells }: PlainRead, { parameters, encoding }: ReadRun): WholeRead | 'not plain' | undefined {
    const { cost } = this.#query
    const statement = this.#statements.get(sql, encoding.rows)
    const rows = (
      cost === 'indexed' ? statement.all(...parameters) : asList(statement.get(...parameters))
    ) as PlainRow[]
    if (rows.length > BOUNDED_ROWS) return undefined
    const size = makePlain(rows, cells)
    if (size === undefined) return 'not plain'
    if (size >= CHUNK_BYTES) return undefined
    const text = this.#encoders.jsonHead + JSON.stringify(rows).slice(1, -1)
    if (text.length >= CHUNK_BYTES) return undefined
    return { text, outcome: { rowCount: rows.length, truncated: 'no', lastKey: [] } }
  }
}

function asList(row: unknown): readonly unknown[] {
  return row === undefined ? [] : [row]
}

/** No row is skipped, and no limit can truncate a small result. */
function isWhole({ skip, rows, bytes }: ReadLimits): boolean {
  return skip === 0 && rows >= BOUNDED_ROWS && bytes >= CHUNK_BYTES
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

/** The query with 0 in place of every value that is too long, and the columns in which it may be. */
export function boundedSql(
  sql: string,
  columns: readonly ResultColumn[],
  keyColumns: readonly ResultColumn[],
  cost: CostClass = 'bounded',
): Pick<BoundedQuery, 'sql' | 'longColumns'> {
  const longColumns = [...columns, ...keyColumns].flatMap(({ type }, index) => (isLongType(type) ? [index] : []))
  const maxBytes = longestValue(cost, longColumns.length)
  const outputs = [...boundedOutputs(columns, 'c', maxBytes), ...boundedOutputs(keyColumns, 'k', maxBytes)]
  return { sql: `SELECT ${outputs.join(', ')} FROM (${sql})`, longColumns }
}

/** A single row may fill the result. */
function longestValue(cost: CostClass, longColumns: number): number {
  return Math.floor((cost === 'point' ? CHUNK_BYTES : MAX_ROW_BYTES) / Math.max(1, longColumns))
}

/** The columns c0, c1, … with 0 in place of every text, or bytes, that is too long. */
function boundedOutputs(columns: readonly ResultColumn[], prefix: string, maxBytes: number): string[] {
  return columns.map(({ type }, index) => {
    const name = `${prefix}${index}`
    return isLongType(type) ? `iif(octet_length(${name}) > ${maxBytes}, 0, ${name})` : name
  })
}

/**
 * A query whose values JSON can write as SQLite returns them: its rows are passed to JSON.stringify as a whole. Written value by
 * value, 100 rows take 1.4 times as long (../../DESIGN.md).
 */
interface PlainRead {
  readonly sql: string
  readonly cells: readonly PlainCell[]
  isUsable: boolean
}

interface PlainCell {
  readonly key: string | number
  readonly read: NonNullable<ReturnType<typeof plainReader>>
  readonly isText: boolean
}

/** By the names of the columns or by their ordinals. */
type PlainRow = Record<string | number, unknown>

function preparePlain({ sql, columns, cost }: ReadStatement, form: Encoding['rows']): PlainRead | undefined {
  if (cost !== 'point' && (cost !== 'indexed' || columns.length > MAX_COLUMNS)) return undefined
  const isNamed = form === 'objects'
  if (isNamed && !columns.every(({ name }) => keepsItsPlace(name))) return undefined
  const cells: PlainCell[] = []
  for (const [index, column] of columns.entries()) {
    const read = plainReader(column)
    if (read === undefined) return undefined
    cells.push({ key: isNamed ? column.name : index, read, isText: column.type.kind === 'Text' })
  }
  const longColumns = columns.filter(({ type }) => isLongType(type)).length
  const outputs = boundedOutputs(columns, 'c', longestValue(cost, longColumns))
  const named = outputs.map((output, index) =>
    isNamed ? `${output} AS "${columns[index]?.name.replaceAll('"', '""')}"` : output,
  )
  const limit = cost === 'point' ? '' : ` LIMIT ${BOUNDED_ROWS + 1}`
  return { sql: `SELECT ${named.join(', ')} FROM (${sql})${limit}`, cells, isUsable: true }
}

/** Objects put members that look like indexes first, and `__proto__` is not a member. */
function keepsItsPlace(name: string): boolean {
  return !/^\d*$/.test(name) && name !== '__proto__'
}

/** Replaces SQLite's values by those of JSON. Returns the length of the texts; undefined when a value has no plain form. */
function makePlain(rows: readonly PlainRow[], cells: readonly PlainCell[]): number | undefined {
  let size = 0
  for (const row of rows) {
    for (const { key, read, isText } of cells) {
      const raw = row[key]
      if (raw === null) continue
      if (isText) {
        // A number replaces a text that is too long.
        size += typeof raw === 'string' ? raw.length : CHUNK_BYTES
        continue
      }
      const value = read(raw)
      if (value === undefined) return undefined
      if (value !== raw) row[key] = value
    }
  }
  return size
}
