/** The prepared statements of one connection, cached by text. */
import type { Database, Statement } from 'better-sqlite3'
import { LruMap } from '../../../lib/lru-map.ts'

/** Longer statements are not cached: prepared, they take megabytes. */
export const MAX_CACHED_LENGTH = 10_000

/** How a statement returns its rows: as arrays with integers as bigints, or as numbers. */
const FORMS = {
  bigints: (statement: Statement) => statement.raw(true).safeIntegers(true),
  numbers: (statement: Statement) => statement.raw(true),
} as const
type Form = keyof typeof FORMS

export class StatementCache {
  readonly #database: Database
  readonly #statements: Readonly<Record<Form, LruMap<Statement>>>

  constructor(database: Database, capacity = 500) {
    this.#database = database
    this.#statements = { bigints: new LruMap(capacity), numbers: new LruMap(capacity) }
  }

  get(sql: string, form: Form = 'bigints'): Statement {
    const cached = this.#statements[form].get(sql)
    if (cached !== undefined) return cached
    const statement = this.#database.prepare(sql)
    if (statement.reader) FORMS[form](statement)
    if (sql.length <= MAX_CACHED_LENGTH) this.#statements[form].set(sql, statement)
    return statement
  }
}
