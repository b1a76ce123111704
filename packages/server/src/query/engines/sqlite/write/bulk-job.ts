/** A bulk insert in the writer process: attaches the spool file, and inserts its rows with INSERT … SELECT. */
import type { Database, Statement } from 'better-sqlite3'
import type { Refusal } from 'gatehouse-protocol'
import { isUnavailable } from '../../../../lib/unavailable.ts'
import { atPlace } from '../../../batches/row-error.ts'
import type { ScalarBindable } from '../../emit/parameters.ts'
import type { BulkRequest, BulkStatement, WriteOutcome, WriteReply } from '../../engine.ts'
import { keyTakenError, verdictError } from '../../runtime-error.ts'
import { MAX_SKIPPED_ROWS } from '../../skipped-rows.ts'
import { asRefusal } from '../failure.ts'
import type { StatementCache } from '../statement-cache.ts'
import { findResponse, storeResponse } from './idempotency-keys.ts'

/** Plain data, which can cross to the writer process. */
export type BulkJob = Omit<BulkRequest, 'owner' | 'tables' | 'running' | 'columns' | 'keyColumns'>

/** In a transaction, after which the spool file is to be detached. */
export function runBulk(database: Database, statements: StatementCache, job: BulkJob): WriteReply {
  const { idempotencyKey } = job
  const first = idempotencyKey === undefined ? undefined : findResponse(database, idempotencyKey)
  if (first !== undefined) return { outcome: first, isReplay: true }
  // Within the transaction, which would otherwise lock this file for writing too.
  database.prepare('ATTACH ? AS spool').run(job.spool)
  // Its pages are read once.
  database.pragma('spool.cache_size = -1024')
  const outcome = new BulkInserts(database, statements, job).run()
  if (idempotencyKey !== undefined) storeResponse(database, { idempotencyKey, outcome })
  return { outcome, isReplay: false }
}

/** Does not throw, because the write is committed: if the file stays attached, the next bulk insert is refused. */
export function detachSpool(database: Database): void {
  try {
    const isAttached = database.prepare(`SELECT 1 FROM pragma_database_list WHERE name = 'spool'`).get() !== undefined
    if (isAttached) database.exec('DETACH spool')
  } catch (error) {
    process.stderr.write(`The spool file could not be detached: ${error}\n`)
  }
}

type Values = readonly ScalarBindable[]

/** Rows of a statement. Those of one that fails are inserted by smaller ones: SQLite undoes it as a whole. */
const LARGE_GROUP = 1000
const SMALL_GROUP = 50
/** What the rows of a large group may have: SQLite keeps a copy of them while its triggers run. */
const GROUP_BYTES = 4 * 1024 * 1024
/** Rows after a duplicate that are inserted in small groups: further ones are likely. */
const CAUTIOUS_ROWS = 10_000
/** Share of duplicates in a group from which on rows are inserted one by one. */
const MANY_DUPLICATES = 0.2

class BulkInserts {
  readonly #database: Database
  readonly #job: BulkJob
  readonly #insert: PreparedInsert
  readonly #insertOne: PreparedInsert
  readonly #unlessTaken: PreparedInsert | undefined
  readonly #replace: PreparedInsert | undefined
  #reading: Statement | undefined
  readonly #skippedRows: number[] = []
  #skipped = 0
  #replaced = 0
  #hasManyDuplicates = false
  /** Rows that are inserted in large groups are after this one. */
  #cautiousUntil = 0

  constructor(database: Database, statements: StatementCache, job: BulkJob) {
    this.#database = database
    const { insert, insertOne, unlessTaken, replace } = job.statements
    const prepare = (statement: BulkStatement) => new PreparedInsert(statements, statement, job.constraints)
    this.#job = job
    this.#insert = prepare(insert)
    this.#insertOne = prepare(insertOne ?? insert)
    this.#unlessTaken = unlessTaken === undefined ? undefined : prepare(unlessTaken)
    this.#replace = replace === undefined ? undefined : prepare(replace)
  }

  run(): WriteOutcome {
    const { rows, duplicates: policy } = this.#job
    const longest = Number(this.#database.pragma('spool.user_version', { simple: true }))
    const large = Math.max(SMALL_GROUP, Math.min(LARGE_GROUP, Math.floor(GROUP_BYTES / longest)))
    for (let first = 1; first <= rows; ) {
      const last = Math.min(rows, first + (first > this.#cautiousUntil ? large : SMALL_GROUP) - 1)
      this.#addGroup(first, last)
      first = last + 1
    }
    const counts = { skipped: this.#skipped, replaced: this.#replaced, skippedRows: this.#skippedRows }
    const rowsAffected = rows - this.#skipped
    return { rowsAffected, rows: [], isTruncated: false, ...(policy === 'reject' ? {} : { duplicates: counts }) }
  }

  /** Rows are counted from 1. */
  #addGroup(first: number, last: number): void {
    if (!this.#hasManyDuplicates && this.#tryGroup(first, last)) return
    this.#cautiousUntil = last + CAUTIOUS_ROWS
    if (last - first < SMALL_GROUP) this.#addEach(first, last)
    else
      for (let from = first; from <= last; from += SMALL_GROUP)
        this.#addGroup(from, Math.min(last, from + SMALL_GROUP - 1))
  }

  #addEach(first: number, last: number): void {
    const before = this.#skipped + this.#replaced
    for (const [index, values] of this.#read(first, last).entries()) this.#addOne(values, first + index)
    this.#hasManyDuplicates = this.#skipped + this.#replaced - before > MANY_DUPLICATES * (last - first + 1)
  }

  /** Values are bound for single rows: INSERT … SELECT would create a temporary table for each. */
  #read(first: number, last: number): readonly Values[] {
    this.#reading ??= this.#database
      .prepare('SELECT * FROM spool.b WHERE rowid BETWEEN ? AND ? ORDER BY rowid')
      .raw(true)
      .safeIntegers(true)
    return this.#reading.all(first, last) as Values[]
  }

  #tryGroup(first: number, last: number): boolean {
    try {
      this.#insert.runAll(first, last)
      return true
    } catch (error) {
      // The rows of this statement are written already: they must not be inserted again, and the transaction ends here.
      if (error instanceof Refused) throw atPlace(error.refusal, { row: first + error.index })
      if (this.#refusalOfRow(error) === undefined) throw error
      return false
    }
  }

  #addOne(values: Values, row: number): void {
    try {
      this.#addUnlessTaken(values, row)
    } catch (error) {
      const refusal = error instanceof Refused ? error.refusal : this.#refusalOfRow(error)
      throw refusal === undefined ? error : atPlace(refusal, { row })
    }
  }

  #addUnlessTaken(values: Values, row: number): void {
    if (this.#unlessTaken === undefined) {
      this.#insertOne.runOne(values)
      return
    }
    if (this.#unlessTaken.runOne(values) === 1) return
    if (this.#job.duplicates === 'skip') {
      this.#skipped++
      if (this.#skippedRows.length < MAX_SKIPPED_ROWS) this.#skippedRows.push(row)
      return
    }
    // The row that has the key may be hidden from the caller.
    if (this.#replace !== undefined && this.#replace.runOne(values) !== 1) throw keyTakenError(this.#job.primaryKey)
    this.#replaced++
  }

  /**
   * Undefined if the error is not about a row. After some, such as a full disk, SQLite has ended the transaction: each further row would
   * be committed by itself.
   */
  #refusalOfRow(error: unknown): Refusal | undefined {
    return !this.#database.inTransaction || isUnavailable(error) ? undefined : asRefusal(error)
  }
}

/** A row of a statement may not be written, although the database has written it. */
class Refused extends Error {
  /** Among the rows of the statement. */
  readonly index: number
  readonly refusal: Refusal

  constructor(index: number, refusal: Refusal) {
    super(refusal.message)
    this.index = index
    this.refusal = refusal
  }
}

/** A statement, for rows of the file or for one row. */
class PreparedInsert {
  readonly #statement: Statement
  readonly #constraints: BulkJob['constraints']
  readonly #values: ScalarBindable[]
  /** The parameters that are values of the row, each with its column. */
  readonly #columns: readonly (readonly [parameter: number, column: number])[]
  readonly #shared: BulkStatement['shared']

  constructor(
    statements: StatementCache,
    { sql, parameters, shared }: BulkStatement,
    constraints: BulkJob['constraints'],
  ) {
    this.#statement = statements.get(sql)
    this.#constraints = constraints
    this.#values = parameters.map((parameter) => ('value' in parameter ? parameter.value : null))
    this.#columns = parameters.flatMap((parameter, index) => ('value' in parameter ? [] : [[index, parameter.column]]))
    this.#shared = shared
  }

  runAll(first: number, last: number): void {
    this.#run({ ...this.#shared, first, last })
  }

  /** Returns the number of rows that were written. */
  runOne(row: Values): number {
    for (const [parameter, column] of this.#columns) this.#values[parameter] = row[column] ?? null
    return this.#run(this.#shared)
  }

  #run(named: BulkStatement['shared']): number {
    const values = named === undefined ? [this.#values] : [this.#values, named]
    if (this.#constraints === undefined) return this.#statement.run(...values).changes
    const verdicts = this.#statement.all(...values) as readonly (readonly unknown[])[]
    for (const [index, raw] of verdicts.entries()) {
      const verdict = Number(raw[0])
      if (verdict !== -1) throw new Refused(index, verdictError(verdict, this.#constraints))
    }
    return verdicts.length
  }
}
