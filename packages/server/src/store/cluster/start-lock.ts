/** The lock under which a server starts: migrations, functions, roles, keys, declarative file. */
import { closeSync, existsSync, openSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import SqliteDatabase from 'better-sqlite3'
import { checkDataFolder, createFolder } from '../database/data-folder.ts'
import type { DataLocation } from '../database/database.ts'
import { refuseTransactionPooling } from '../database/servers/pooler.ts'
import { DatabaseServers } from '../database/servers/servers.ts'

export interface StartLockOptions extends DataLocation {
  /** Called if another server is starting. */
  readonly onWait?: () => void
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined
}

/** May be called twice. */
export type Unlock = () => Promise<void>

/** Waits until no other server starts on the database. A process that dies releases the lock. */
export async function lockStart(options: StartLockOptions): Promise<Unlock> {
  options.signal?.throwIfAborted()
  return options.url === '' ? lockFolder(options) : lockPostgres(options)
}

/** SQLite locks files on every operating system, and Node does not. Ends in .tmp: the file is no part of the data. */
const LOCK_FILE = 'start.lock.tmp'
const POLL_MS = 20

async function lockFolder({ dataFolder: folder, onWait, signal }: StartLockOptions): Promise<Unlock> {
  checkDataFolder(folder)
  const isNew = !existsSync(folder)
  const file = join(folder, LOCK_FILE)
  let isTold = false
  for (;;) {
    createFolder(folder)
    closeSync(openSync(file, 'a', 0o600))
    const opened = readInode(file)
    const database = new SqliteDatabase(file, { timeout: 0 })
    await waitForLock(database, tellOnce, signal)
    // Another server may have removed the file when it released its lock: then the lock of this one excludes no other.
    if (opened !== undefined && readInode(file) === opened) return () => release(database)
    database.close()
  }

  function tellOnce(): void {
    if (!isTold) onWait?.()
    isTold = true
  }

  async function release(database: SqliteDatabase.Database): Promise<void> {
    if (!database.open) return
    removeFile(file)
    // A refused first start leaves no folder behind.
    if (isNew && readdirSync(folder).length === 0) rmdirSync(folder)
    database.close()
  }
}

async function waitForLock(
  database: SqliteDatabase.Database,
  onWait: () => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    // Not SQLite's own timeout, which would block the event loop.
    for (let tries = 0; !isLocked(database); tries++) {
      signal?.throwIfAborted()
      if (tries === 0) onWait()
      await sleep(POLL_MS)
    }
  } catch (error) {
    database.close()
    throw error
  }
}

function readInode(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino
}

/** Windows keeps a file that is open. */
function removeFile(file: string): void {
  try {
    rmSync(file, { force: true })
  } catch {}
}

function isLocked(database: SqliteDatabase.Database): boolean {
  try {
    // A lock needs no journal file.
    database.exec('pragma journal_mode = memory; begin exclusive')
    return true
  } catch (error) {
    if (error instanceof SqliteDatabase.SqliteError && error.code.startsWith('SQLITE_BUSY')) return false
    throw error
  }
}

const START_LOCK = 7_203_519_003

async function lockPostgres({ url, dataFolder, servers: shared, onWait, signal }: StartLockOptions): Promise<Unlock> {
  const servers = shared ?? new DatabaseServers(url, { dataFolder })
  const client = servers.createClient({
    connectionTimeoutMillis: 10_000,
    application_name: 'gatehouse start',
  })
  // A broken connection has released the lock. Without a listener the error would end the process.
  client.on('error', () => {})
  const end = async () => {
    await client.end().catch(() => {})
    if (shared === undefined) await servers.close()
  }
  signal?.addEventListener('abort', end, { once: true })
  try {
    await client.connect()
    if (servers.isPooled) await refuseTransactionPooling(servers)
    const { rows } = await client.query<{ isLocked: boolean }>(
      `select pg_try_advisory_lock(${START_LOCK}) as "isLocked"`,
    )
    if (rows[0]?.isLocked !== true) {
      onWait?.()
      await client.query(`select pg_advisory_lock(${START_LOCK})`)
    }
  } catch (error) {
    await end()
    signal?.throwIfAborted()
    throw error
  } finally {
    signal?.removeEventListener('abort', end)
  }
  let isReleased = false
  return async () => {
    if (isReleased) return
    isReleased = true
    await client.query(`select pg_advisory_unlock(${START_LOCK})`).catch(() => {})
    await end()
  }
}
