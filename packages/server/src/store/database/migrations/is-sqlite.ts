/** Which engine a migration runs on, where the two need different statements. */
import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'

export function isSqlite(db: Kysely<Schema>): boolean {
  return db.getExecutor().adapter.constructor.name === 'SqliteAdapter'
}
