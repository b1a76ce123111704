/** The lock on the stored logins. The operating system holds it and releases it when its process ends, however that ends. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CommandError } from '../errors.ts'

const POLL_MS = 50
const LONGEST_WAIT_MS = 60_000

/**
 * Runs the act while no other command of this user does. Node cannot lock a file itself; SQLite does, also on systems without
 * `flock`, and never leaves a stale lock behind.
 */
export async function withCredentialsLocked<T>(credentials: string, act: () => T | Promise<T>): Promise<T> {
  const { default: Sqlite } = await import('better-sqlite3')
  mkdirSync(dirname(credentials), { recursive: true, mode: 0o700 })
  const lock = new Sqlite(`${credentials}.lock.db`, { timeout: 0 })
  try {
    const end = performance.now() + LONGEST_WAIT_MS
    while (!tryLock()) {
      if (performance.now() > end)
        throw new CommandError(`Another command has held the lock on ${credentials} for a minute`)
      await sleep(POLL_MS)
    }
    return await act()
  } finally {
    lock.close()
  }

  function tryLock(): boolean {
    try {
      lock.exec('BEGIN EXCLUSIVE')
      return true
    } catch (error) {
      if (error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')) return false
      throw error
    }
  }
}
