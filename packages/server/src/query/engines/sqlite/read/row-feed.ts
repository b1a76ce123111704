/** Passes the rows of a statement to a function, within one call of SQLite. */
import type { Database } from 'better-sqlite3'
import type { ResultColumn } from 'gatehouse-iql'
import type { RawRow } from '../representation.ts'
import type { StatementCache } from '../statement-cache.ts'

/** SQLite passes no more than 127 values to a function unless it was built otherwise. */
const MAX_VALUES = 100

/** False when no further row is wanted. */
export type TakeRow = (raw: RawRow) => boolean

export interface FedStatement {
  readonly sql: string
  readonly columns: readonly ResultColumn[]
  readonly keyColumns: readonly ResultColumn[]
  readonly parameters: readonly unknown[]
}

export class RowFeed {
  readonly #statements: StatementCache
  #take: TakeRow = () => false

  constructor(database: Database, statements: StatementCache) {
    this.#statements = statements
    database.function('gh_row', { varargs: true, safeIntegers: true }, (...raw: unknown[]) => {
      if (!this.#take(raw)) throw ENOUGH
      return null
    })
  }

  /**
   * An iterator creates two objects for a row and takes twice as long (bench: query-stream). The statement is an aggregate, because
   * SQLite moves no ORDER BY out of the rows of an aggregate: their order is kept.
   */
  read(statement: FedStatement, take: TakeRow): void {
    const { sql, columns, keyColumns, parameters } = statement
    const names = [...columns.map((_, index) => `c${index}`), ...keyColumns.map((_, index) => `k${index}`)]
    if (names.length > MAX_VALUES) {
      for (const raw of this.#statements.get(sql).iterate(...parameters)) if (!take(raw as RawRow)) return
      return
    }
    this.#take = take
    try {
      this.#statements.get(`SELECT count(gh_row(${names.join(', ')})) FROM (${sql})`).get(...parameters)
    } catch (error) {
      if (error !== ENOUGH) throw error
    }
  }
}

const ENOUGH = new Error('No further row is wanted')
