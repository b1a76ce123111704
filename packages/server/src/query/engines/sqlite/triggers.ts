/** Triggers that the server keeps for a table: each kind has names that begin alike, and texts that say whether a trigger is the current one. */
import type { Database } from 'better-sqlite3'
import type { TableDefinition } from '../../catalogue/definition.ts'
import type { Sql } from '../emit/dialect.ts'
import { SQLITE } from './dialect/dialect.ts'

export interface Trigger {
  readonly name: string
  /** As SQLite stores it: without a schema. */
  readonly sql: Sql
}

export function defineTrigger(name: string, event: Sql, table: Sql, condition: Sql, actions: readonly Sql[]): Trigger {
  return { name, sql: `CREATE TRIGGER ${name} ${event} ON ${table} WHEN ${condition} BEGIN ${actions.join(' ')} END` }
}

/** The columns of the keys and unique indexes: INSERT OR REPLACE of another program deletes rows with equal ones, and fires no trigger for them. */
export function listUniqueKeys({ primaryKey, uniques, indexes }: TableDefinition): (readonly string[])[] {
  const others = indexes.flatMap((index) => (index.unique ? [index.columns.map((column) => column.name)] : []))
  return [...(primaryKey.length === 0 ? [] : [primaryKey]), ...uniques, ...others]
}

/** Whether the row `r` has the new values of these columns. */
export function isReplaced(columns: readonly string[]): Sql {
  return columns.map((name) => `r.${SQLITE.identifier(name)} = NEW.${SQLITE.identifier(name)}`).join(' AND ')
}

/** The event of an update that may take the keys of another row. */
export function beforeRekeying(keys: readonly (readonly string[])[]): Sql {
  return `BEFORE UPDATE OF ${[...new Set(keys.flat())].map(SQLITE.identifier).join(', ')}`
}

/** In a transaction. */
export function createAll(database: Database, triggers: readonly Trigger[]): void {
  for (const { sql } of triggers) database.exec(sql)
}

/** In a transaction: those whose names begin so. */
export function dropAll(database: Database, prefix: string): void {
  for (const name of storedTriggers(database, prefix).keys()) database.exec(`DROP TRIGGER main.${name}`)
}

/** Whether these triggers are stored as they should be. An earlier version may have created others. */
export function hasAll(stored: ReadonlyMap<string, Sql>, triggers: readonly Trigger[]): boolean {
  return triggers.every(({ name, sql }) => stored.get(name) === sql)
}

/** The texts of the triggers whose names begin so, by name. */
export function storedTriggers(database: Database, prefix: string): ReadonlyMap<string, Sql> {
  return new Map(
    database
      .prepare<[number, string], [string, Sql]>(
        "SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND substr(name, 1, ?) = ?",
      )
      .raw(true)
      .all(prefix.length, prefix),
  )
}
