/** How many files and sockets a process may have open at once (RLIMIT_NOFILE), on Linux. */
import { readFileSync } from 'node:fs'

/** Node raises its soft limit to the hard one. Undefined where it cannot be read, as without /proc, and where there is none. */
export function openFilesLimit(process: number | 'self' = 'self'): number | undefined {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${process}/limits`, 'utf8'))?.[1]
    return limit === undefined ? undefined : Number(limit)
  } catch {
    return undefined
  }
}
