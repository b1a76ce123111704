/** The prepared statements of one connection, cached by text. */
import type { Database, Statement } from 'better-sqlite3'
import { LruMap } from '../../../lib/lru-map.ts'

/** Longer statements are not cached: prepared, they take megabytes. */
export const MAX_CACHED_LENGTH = 10_000

/** How a statement returns its rows: `exact` as arrays with integers as bigint; the others with integers as numbers. */
const FORMS = {
  exact: (statement: Statement) => statement.raw(true).safeIntegers(true),
  arrays: (statement: Statement) => statement.raw(true),
  objects: (statement: Statement) => statement,
} as const
type Form = keyof typeof FORMS

export class StatementCache {
  readonly #database: Database
  readonly #statements: Readonly<Record<Form, LruMap<Statement>>>

  constructor(database: Database, capacity = 500) {
    this.#database = database
    this.#statements = { exact: new LruMap(capacity), arrays: new LruMap(capacity), objects: new LruMap(capacity) }
  }

  get(sql: string, form: Form = 'exact'): Statement {
    const cached = this.#statements[form].get(sql)
    if (cached !== undefined) return cached
    const statement = this.#database.prepare(sql)
    if (statement.reader) FORMS[form](statement)
    if (sql.length <= MAX_CACHED_LENGTH) this.#statements[form].set(sql, statement)
    return statement
  }
}
