/** The priority of a process. On Linux every thread has its own, including those of the garbage collector. */
import { readdirSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/** Lower than the server and its lookups. */
export const READ_PRIORITY = constants.priority.PRIORITY_BELOW_NORMAL
/** Lower than the reads of others. */
export const BACKGROUND_PRIORITY = constants.priority.PRIORITY_LOW

/** It cannot be raised again: that needs a privilege. */
export function lowerPriority(pid: number, priority: number): void {
  const threads = process.platform === 'linux' ? readdirSync(`/proc/${pid}/task`).map(Number) : [pid]
  for (const thread of threads) setPriority(thread, priority)
}
