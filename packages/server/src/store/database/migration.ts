/** What a migration is, and how to write one. Times are in milliseconds, flags are 0 or 1, lists and objects are JSON. */
import { CompiledQuery, type Kysely } from 'kysely'
import type { Schema } from './schema.ts'

export interface Migration {
  readonly name: string
  /**
   * Set if programs of the schema before can go on serving the database: it only adds what they do not need. Their nodes then stay while
   * an upgrade replaces them one by one. Otherwise they stop serving when it is applied.
   */
  readonly isCompatible?: true
  up(db: Kysely<Schema>): Promise<void>
}

/** SQLite and PostgreSQL take these statements alike. */
export function statements(name: string, texts: readonly string[]): Migration {
  return {
    name,
    async up(db) {
      for (const text of texts) await db.executeQuery(CompiledQuery.raw(text))
    },
  }
}

export function isSqlite(db: Kysely<Schema>): boolean {
  return db.getExecutor().adapter.constructor.name === 'SqliteAdapter'
}

/** One that only adds what programs of the schema before do not need. */
export function additions(name: string, texts: readonly string[]): Migration {
  return { ...statements(name, texts), isCompatible: true }
}
