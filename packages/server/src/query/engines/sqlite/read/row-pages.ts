/**
 * Passes the rows of a long read on as pages of SQLite. The statement inserts its rows into a temporary table, whose pages are taken
 * whenever they hold enough rows: each value stays as SQLite stores it, and no function is called for a row. Passed to a function row
 * by row (row-feed.ts), a million rows take 1.8 to 1.9 times the processor time (../../DESIGN.md).
 *
 * A check of the table calls the function that takes the pages and empties the table. The row at hand comes as its arguments, and is
 * not inserted. Rows with long values come in this way too, so that few bytes are in the table.
 */
import { randomBytes } from 'node:crypto'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { isLongType, type ResultColumn } from 'gatehouse-iql'
import { LruMap } from '../../../../lib/lru-map.ts'
import { release } from '../../../../lib/release.ts'
import type { Bindable, SqlStatement } from '../../emit/parameters.ts'
import { MAX_CACHED_LENGTH } from '../statement-cache.ts'
import type { PageDatabase } from './page-database.ts'
import { readRecords, type TableRecord } from './records.ts'

/** What takes rows. False when no further row is wanted. */
export interface RowTaker {
  /** Valid during the call. */
  takeRecord(record: TableRecord): boolean
  /** Integers are bigints. */
  takeRow(raw: unknown[]): boolean
}

/** The largest that SQLite has. */
const PAGE_BYTES = 65_536
/** Rows of one batch; of wide rows fewer, so that a batch has about this many values. */
const BATCH_ROWS = 1024
const BATCH_VALUES = 16 * BATCH_ROWS
/** The long values of a row that is inserted, all together. Rows with longer ones do not need the speed. */
const MAX_INSERTED_BYTES = 1024
/** SQLite's limit of the arguments of a function (SQLITE_LIMIT_FUNCTION_ARG). */
const MAX_COLUMNS = 1000
const MAX_STATEMENTS = 50

/** Thrown to end a statement early. */
const ENOUGH = new Error('No further row is wanted')

export class RowPages {
  readonly #database: DatabaseSync
  readonly #takeFailure: PageDatabase['takeFailure']
  /** A view in the file cannot know it. Functions that views cannot call are not allowed in checks either. */
  readonly #flush = `gh_flush_${randomBytes(8).toString('hex')}`
  readonly #statements = new LruMap<StatementSync>(MAX_STATEMENTS)
  readonly #isUtf8: boolean
  /** The definition of the table that exists. */
  #table = ''
  #rootPage = 0
  #taker: RowTaker = { takeRecord: () => false, takeRow: () => false }

  constructor({ database, takeFailure }: PageDatabase) {
    this.#database = database
    this.#takeFailure = takeFailure
    database.exec(`PRAGMA temp.page_size = ${PAGE_BYTES}; PRAGMA temp.journal_mode = MEMORY`)
    this.#isUtf8 = database.prepare('PRAGMA encoding').get()?.encoding === 'UTF-8'
    database.function(this.#flush, { useBigIntArguments: true, varargs: true }, (...raw) => {
      this.#takeBatch()
      if (!this.#taker.takeRow(raw.map(asBuffer))) throw ENOUGH
      return 0
    })
  }

  canRead(columns: readonly ResultColumn[]): boolean {
    return this.#isUtf8 && columns.length <= MAX_COLUMNS
  }

  /** `columns` are those of the statement. One statement at a time. */
  read({ sql, parameters }: SqlStatement, columns: readonly ResultColumn[], taker: RowTaker): void {
    this.#createTable(columns)
    const names = columns.map((_, index) => `c${index}`)
    this.#taker = taker
    try {
      const insert = this.#prepare(`INSERT OR IGNORE INTO temp.gh_rows (${names.join(', ')}) ${sql}`)
      insert.run(...inOrder(parameters))
      const failure = this.#takeFailure()
      if (failure !== undefined) throw failure.error
      this.#takeBatch()
    } catch (error) {
      // SQLite has undone the insert.
      if (error !== ENOUGH) throw withCode(error)
    } finally {
      this.#takeFailure()
      this.#prepare('DELETE FROM temp.gh_rows').run()
    }
  }

  #createTable(columns: readonly ResultColumn[]): void {
    const names = columns.map((_, index) => `c${index}`)
    const lengths = columns.flatMap(({ type }, index) =>
      isLongType(type) ? [`ifnull(octet_length(c${index}), 0)`] : [],
    )
    const isShort = lengths.length === 0 ? '' : `AND ${lengths.join(' + ')} <= ${MAX_INSERTED_BYTES} `
    const check = `row_number < ${batchRows(columns.length)} ${isShort}OR ${this.#flush}(${names.join(', ')})`
    const table = `CREATE TABLE temp.gh_rows (row_number INTEGER PRIMARY KEY, ${names.join(', ')}, CHECK (${check}))`
    if (table === this.#table) return
    this.#database.exec(`DROP TABLE IF EXISTS temp.gh_rows; ${table}`)
    this.#table = table
    this.#rootPage = Number(
      this.#database.prepare(`SELECT rootpage FROM temp.sqlite_schema WHERE name = 'gh_rows'`).get()?.rootpage,
    )
  }

  #prepare(sql: string): StatementSync {
    const cached = this.#statements.get(sql)
    if (cached !== undefined) return cached
    const statement = this.#database.prepare(sql)
    statement.setAllowUnknownNamedParameters(true)
    if (sql.length <= MAX_CACHED_LENGTH) this.#statements.set(sql, statement)
    return statement
  }

  #takeBatch(): void {
    const pages = this.#database.serialize('temp')
    const isWanted = readRecords(pages, PAGE_BYTES, this.#rootPage, (record) => this.#taker.takeRecord(record))
    release(pages)
    if (!isWanted) throw ENOUGH
    this.#prepare('DELETE FROM temp.gh_rows').run()
  }
}

function batchRows(columns: number): number {
  return Math.min(BATCH_ROWS, Math.ceil(BATCH_VALUES / columns))
}

/** As better-sqlite3 returns bytes. */
function asBuffer(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value
}

/** Node takes the parameters by name first. */
function inOrder(parameters: readonly Bindable[]): SQLInputValue[] {
  const named = parameters.at(-1)
  const isNamed = typeof named === 'object' && named !== null && !(named instanceof Uint8Array)
  const ordered = isNamed ? [named, ...parameters.slice(0, -1)] : parameters
  return ordered as SQLInputValue[]
}

/** Names of SQLite's result codes, as the errors of better-sqlite3 have them; of those that are not bugs. */
const CODES: ReadonlyMap<number, string> = new Map([
  [5, 'SQLITE_BUSY'],
  [6, 'SQLITE_LOCKED'],
  [8, 'SQLITE_READONLY'],
  [10, 'SQLITE_IOERR'],
  [13, 'SQLITE_FULL'],
  [14, 'SQLITE_CANTOPEN'],
  [778, 'SQLITE_IOERR_WRITE'],
])

function withCode(error: unknown): unknown {
  if (!(error instanceof Error) || !('errcode' in error)) return error
  const number = Number(error.errcode)
  // Without the bits of an extended code that has no name here.
  const code = CODES.get(number) ?? CODES.get(number & 0xff)
  return code === undefined ? error : Object.assign(error, { code })
}
