/** Waits for a SQLite file that another process has locked, without blocking the event loop as SQLite's busy timeout does. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Backoff, pauseAfter } from '../../lib/retry.ts'

/** How long a write, or a read, waits. */
export const LOCK_WAIT_MS = 5000
const PAUSES: Backoff = { firstMs: 1, longestMs: 25 }

export function isLocked(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^SQLITE_BUSY/.test(String(error.code))
}

/** Runs it again while the file is locked. For connections without a busy timeout. */
export async function retryWhileLocked<T>(run: () => T, deadline = performance.now() + LOCK_WAIT_MS): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return run()
    } catch (error) {
      if (!isLocked(error) || performance.now() >= deadline) throw error
      await sleep(pauseAfter(failures, PAUSES))
    }
  }
}
