/** Tells, while one INSERT … ON CONFLICT DO UPDATE runs, whether it meets a row that it has written itself: SQLite would change it again. */
import type { Database } from 'better-sqlite3'
import { iqlError } from '../runtime-error.ts'

const TOUCHED = new WeakMap<Database, Set<unknown>>()

/** RETURNING notes each row as it is written; the WHERE of DO UPDATE asks before its condition does. */
export function registerTouchedRows(database: Database): void {
  const touched = new Set<unknown>()
  TOUCHED.set(database, touched)
  const options = { deterministic: false, safeIntegers: true, directOnly: true }
  database.function('gh_touch', options, (identity: unknown) => {
    touched.add(identity)
    return null
  })
  database.function('gh_untouched', options, (identity: unknown) => {
    if (!touched.has(identity)) return 1n
    throw iqlError('RowTwice', 'Two of the rows given have the same key, and one of them would change the other')
  })
}

/** Before each run of such a statement. */
export function forgetTouchedRows(database: Database): void {
  TOUCHED.get(database)?.clear()
}
