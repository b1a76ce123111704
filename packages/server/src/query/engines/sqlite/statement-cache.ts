/** The prepared statements of one connection, cached by text. Rows are arrays, with integers as bigint. */
import type { Database, Statement } from 'better-sqlite3'
import { LruMap } from '../../../lib/lru-map.ts'

/** Longer statements are not cached: prepared, they take megabytes. */
const MAX_CACHED_LENGTH = 10_000

export class StatementCache {
  readonly #database: Database
  readonly #statements: LruMap<Statement>

  constructor(database: Database, capacity = 500) {
    this.#database = database
    this.#statements = new LruMap(capacity)
  }

  get(sql: string): Statement {
    const cached = this.#statements.get(sql)
    if (cached !== undefined) return cached
    const statement = this.#database.prepare(sql)
    if (statement.reader) statement.raw(true).safeIntegers(true)
    if (sql.length <= MAX_CACHED_LENGTH) this.#statements.set(sql, statement)
    return statement
  }
}
