/** Waits for a SQLite file that another process has locked, without blocking the event loop as SQLite's busy timeout does. */
import { setTimeout as sleep } from 'node:timers/promises'

/** How long a write, or a read, waits. */
export const LOCK_WAIT_MS = 5000
/** The first pause; it doubles up to the longest. */
const FIRST_PAUSE_MS = 1
const LONGEST_PAUSE_MS = 25

export function isLocked(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^SQLITE_BUSY/.test(String(error.code))
}

/** Runs it again while the file is locked. For connections without a busy timeout. */
export async function retryWhileLocked<T>(run: () => T, deadline = performance.now() + LOCK_WAIT_MS): Promise<T> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return run()
    } catch (error) {
      if (!isLocked(error) || performance.now() >= deadline) throw error
      await sleep(pause)
    }
  }
}
