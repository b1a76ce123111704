/**
 * Passes the rows of a long read to a function. A custom aggregate over the whole statement gets each row as its arguments, and returns
 * nothing: SQLite runs to the end of the statement in one call. better-sqlite3's iterator is three calls and two objects for each row,
 * with which a million rows take 1.3 to 2.5 times the processor time, mostly (../../DESIGN.md; bench: wire-rows).
 *
 * The aggregate is called once for every row, in the order of the statement: SQLite neither omits the ORDER BY of a subquery below a
 * custom aggregate, nor merges such a subquery with the query around it (the comments in its select.c; flattenSubquery, 16).
 */
import type { Database } from 'better-sqlite3'
import type { SqlStatement } from '../../emit/parameters.ts'
import type { StatementCache } from '../statement-cache.ts'

/** False when no further row is wanted. The row belongs to the function, which may change it. */
type TakeRow = (raw: unknown[]) => boolean

/** SQLite's limit (SQLITE_LIMIT_FUNCTION_ARG). Wider rows are rare, and are read with the iterator. */
const MAX_ARGUMENTS = 1000

const TAKE_NONE: TakeRow = () => false
/** Thrown to end a statement early. */
const ENOUGH = new Error('No further row is wanted')

export class RowFeed {
  readonly #statements: StatementCache
  #take = TAKE_NONE

  constructor(connection: Database, statements: StatementCache) {
    this.#statements = statements
    connection.aggregate('gh_feed', {
      start: null,
      step: (_, ...raw: unknown[]) => {
        if (!this.#take(raw)) throw ENOUGH
      },
      varargs: true,
      safeIntegers: true,
      directOnly: true,
    })
  }

  /** `names` are the columns of the statement. One statement at a time. */
  read({ sql, parameters }: SqlStatement, names: readonly string[], take: TakeRow): void {
    if (names.length > MAX_ARGUMENTS) {
      for (const raw of this.#statements.get(sql).iterate(...parameters) as Iterable<unknown[]>) if (!take(raw)) return
      return
    }
    this.#take = take
    try {
      this.#statements.get(`SELECT gh_feed(${names.join(', ')}) FROM (${sql})`).get(...parameters)
    } catch (error) {
      if (error !== ENOUGH) throw error
    } finally {
      this.#take = TAKE_NONE
    }
  }
}
