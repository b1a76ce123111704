/** Connections to the embedded query database, each with IQL's own functions. */
import { chmodSync, closeSync, openSync } from 'node:fs'
import Sqlite, { type Database } from 'better-sqlite3'
import { WalSync } from '../../../store/wal-sync.ts'
import { registerFunctions } from './functions.ts'

/** One query may take this much memory inside SQLite before it is refused; sorting goes to temporary files long before. */
const HEAP_LIMIT_BYTES = 256 * 1024 * 1024

export function openForWriting(path: string): Database {
  // Made before SQLite makes it for everybody to read; its journals take their mode from it.
  closeSync(openSync(path, 'a', 0o600))
  // One that an earlier release made for everybody.
  chmodSync(path, 0o600)
  const database = new Sqlite(path)
  database.pragma('journal_mode = WAL')
  // FULL: a commit that was acknowledged survives the loss of power.
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = OFF')
  database.pragma('busy_timeout = 5000')
  registerFunctions(database)
  return database
}

/** Commits are from now on written at once and synced by what is returned; where there is no log to sync, all stays as it is. */
export function leaveSyncing(database: Database, path: string): WalSync | undefined {
  const wal = WalSync.of(path)
  if (wal !== undefined) database.pragma('synchronous = NORMAL')
  return wal
}

export function openForReading(path: string): Database {
  const database = new Sqlite(path, { readonly: true })
  database.pragma('query_only = ON')
  database.pragma('busy_timeout = 5000')
  database.pragma(`hard_heap_limit = ${HEAP_LIMIT_BYTES}`)
  registerFunctions(database)
  return database
}
