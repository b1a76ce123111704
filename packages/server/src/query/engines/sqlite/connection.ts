/** Connections to the embedded query database, with IQL's own functions. */
import { chmodSync, closeSync, openSync } from 'node:fs'
import Sqlite, { type Database } from 'better-sqlite3'
import { registerFunctions } from './functions/functions.ts'

/** For connections of processes that do nothing else. On the event loop the wait is asynchronous: see store/write-lock.ts. */
export const BUSY_MS = 5000

export function openForWriting(path: string): Database {
  // SQLite would create it readable by everyone; its journals take their mode from it.
  closeSync(openSync(path, 'a', 0o600))
  // An earlier release may have created it that way.
  chmodSync(path, 0o600)
  const database = new Sqlite(path)
  database.pragma('journal_mode = WAL')
  // FULL: an acknowledged commit survives a power failure.
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = OFF')
  database.pragma(`busy_timeout = ${BUSY_MS}`)
  registerFunctions(database)
  return database
}

export function openForReading(path: string): Database {
  const database = new Sqlite(path, { readonly: true })
  database.pragma('query_only = ON')
  database.pragma(`busy_timeout = ${BUSY_MS}`)
  registerFunctions(database)
  return database
}

/** SQLite sorts for GROUP BY and ORDER BY in runs of the size of its page cache, fastest if a run fits into a processor's cache. */
const RUN_KIB = 2000
/** The most bytes that SQLite maps. The rest is read through the page cache. */
const MAX_MAPPED_BYTES = 0x7fff0000

/**
 * For long reads in a process of their own. A large page cache makes a grouping of a million rows take twice as long; mapped pages need
 * none. A mapped page that the disk cannot read ends the process, so that the server's own connections do not map the file.
 */
export function prepareLongReads(database: { pragma(text: string): unknown }): void {
  database.pragma(`cache_size = -${RUN_KIB}`)
  database.pragma(`mmap_size = ${MAX_MAPPED_BYTES}`)
}

/** From now on a statement fails immediately while another process has locked the file. */
export function doNotBlock(...databases: readonly Database[]): void {
  for (const database of databases) database.pragma('busy_timeout = 0')
}
