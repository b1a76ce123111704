/** A bulk insert in the writer process: attaches the spool file, and inserts its rows with INSERT … SELECT in one transaction. */
import type { Database, Statement } from 'better-sqlite3'
import type { Refusal } from 'gatehouse-protocol'
import { isUnavailable } from '../../../../lib/unavailable.ts'
import { atPlace } from '../../../columns/row-error.ts'
import type { ScalarBindable } from '../../emit/parameters.ts'
import type { BulkRequest, BulkStatement, WriteOutcome, WriteReply } from '../../engine.ts'
import { keyTakenError, verdictError } from '../../runtime-error.ts'
import { MAX_SKIPPED_ROWS } from '../../skipped-rows.ts'
import { asRefusal } from '../failure.ts'
import type { StatementCache } from '../statement-cache.ts'
import { findResponse, storeResponse } from './idempotency-keys.ts'

/** Plain data, which can cross to the writer process. */
export type BulkJob = Omit<BulkRequest, 'owner' | 'tables' | 'running' | 'columns' | 'keyColumns'>

export function runBulk(database: Database, statements: StatementCache, job: BulkJob): WriteReply {
  try {
    return database.transaction(() => insertOnce(database, statements, job)).immediate()
  } finally {
    detach(database)
  }
}

function insertOnce(database: Database, statements: StatementCache, job: BulkJob): WriteReply {
  const { idempotencyKey } = job
  const first = idempotencyKey === undefined ? undefined : findResponse(database, idempotencyKey)
  if (first !== undefined) return { outcome: first, isReplay: true }
  // Within the transaction, which would otherwise lock this file for writing too.
  database.prepare('ATTACH ? AS spool').run(job.spool)
  const outcome = new BulkInserts(database, statements, job).run()
  if (idempotencyKey !== undefined) storeResponse(database, { idempotencyKey, outcome })
  return { outcome, isReplay: false }
}

function detach(database: Database): void {
  const isAttached = database.prepare(`SELECT 1 FROM pragma_database_list WHERE name = 'spool'`).get() !== undefined
  if (isAttached) database.exec('DETACH spool')
}

/** Rows of a statement. Those of one that fails are inserted by smaller ones: SQLite undoes it as a whole. */
const GROUP_ROWS = [1000, 50, 1] as const
/** Share of duplicates in a group from which on rows are inserted one by one. */
const MANY_DUPLICATES = 0.2

class BulkInserts {
  readonly #database: Database
  readonly #job: BulkJob
  readonly #insert: PreparedRows
  readonly #unlessTaken: PreparedRows | undefined
  readonly #replace: PreparedRows | undefined
  readonly #skippedRows: number[] = []
  #skipped = 0
  #replaced = 0
  #hasManyDuplicates = false

  constructor(database: Database, statements: StatementCache, job: BulkJob) {
    this.#database = database
    const { insert, unlessTaken, replace } = job.statements
    const prepare = (statement: BulkStatement) => new PreparedRows(statements, statement, job.constraints)
    this.#job = job
    this.#insert = prepare(insert)
    this.#unlessTaken = unlessTaken === undefined ? undefined : prepare(unlessTaken)
    this.#replace = replace === undefined ? undefined : prepare(replace)
  }

  run(): WriteOutcome {
    const { rows, duplicates: policy } = this.#job
    this.#add(1, rows, GROUP_ROWS)
    const counts = { skipped: this.#skipped, replaced: this.#replaced, skippedRows: this.#skippedRows }
    const rowsAffected = rows - this.#skipped
    return { rowsAffected, rows: [], isTruncated: false, ...(policy === 'reject' ? {} : { duplicates: counts }) }
  }

  /** Rows are counted from 1. */
  #add(first: number, last: number, [size = 1, ...smaller]: readonly number[]): void {
    for (let from = first; from <= last; from += size) {
      const to = Math.min(last, from + size - 1)
      if (smaller.length === 0) this.#addOne(from)
      else if (this.#hasManyDuplicates || !this.#tryGroup(from, to)) this.#addSmaller(from, to, smaller)
    }
  }

  #addSmaller(first: number, last: number, sizes: readonly number[]): void {
    const before = this.#skipped + this.#replaced
    this.#add(first, last, sizes)
    if (sizes.length > 1) return
    this.#hasManyDuplicates = this.#skipped + this.#replaced - before > MANY_DUPLICATES * (last - first + 1)
  }

  #tryGroup(first: number, last: number): boolean {
    try {
      this.#insert.run(first, last)
      return true
    } catch (error) {
      // The rows of this statement are written already: they must not be inserted again, and the transaction ends here.
      if (error instanceof Refused) throw atPlace(error.refusal, { row: error.row })
      if (this.#refusalOfRow(error) === undefined) throw error
      return false
    }
  }

  #addOne(row: number): void {
    try {
      this.#addUnlessTaken(row)
    } catch (error) {
      const refusal = error instanceof Refused ? error.refusal : this.#refusalOfRow(error)
      throw refusal === undefined ? error : atPlace(refusal, { row })
    }
  }

  #addUnlessTaken(row: number): void {
    if (this.#unlessTaken === undefined) {
      this.#insert.run(row, row)
      return
    }
    if (this.#unlessTaken.run(row, row) === 1) return
    if (this.#job.duplicates === 'skip') {
      this.#skipped++
      if (this.#skippedRows.length < MAX_SKIPPED_ROWS) this.#skippedRows.push(row)
      return
    }
    // The row that has the key may be hidden from the caller.
    if (this.#replace !== undefined && this.#replace.run(row, row) !== 1) throw keyTakenError(this.#job.primaryKey)
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
  readonly row: number
  readonly refusal: Refusal

  constructor(row: number, refusal: Refusal) {
    super(refusal.message)
    this.row = row
    this.refusal = refusal
  }
}

/** A statement for some of the rows. */
class PreparedRows {
  readonly #statement: Statement
  readonly #constraints: BulkJob['constraints']
  readonly #values: readonly ScalarBindable[]
  readonly #shared: BulkStatement['shared']

  constructor(
    statements: StatementCache,
    { sql, parameters, shared }: BulkStatement,
    constraints: BulkJob['constraints'],
  ) {
    this.#statement = statements.get(sql)
    this.#constraints = constraints
    this.#values = parameters
    this.#shared = shared
  }

  /** Returns the number of rows that were written. */
  run(first: number, last: number): number {
    const named = { ...this.#shared, first, last }
    if (this.#constraints === undefined) return this.#statement.run(this.#values, named).changes
    const verdicts = this.#statement.all(this.#values, named) as readonly (readonly unknown[])[]
    for (const [index, raw] of verdicts.entries()) {
      const verdict = Number(raw[0])
      if (verdict !== -1) throw new Refused(first + index, verdictError(verdict, this.#constraints))
    }
    return verdicts.length
  }
}
