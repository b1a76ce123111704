/** The limit of temporary files of the connections that run queries. */
import type { TempFileLimit } from '../../../store/database/temp-files.ts'
import type { TempLimits } from '../engine.ts'

export interface TempFileSetting {
  /** In KiB. */
  readonly temp_file_limit?: number
}

/**
 * PostgreSQL counts each process separately, so every connection that a user can have gets a share. Empty if the parameter may not be
 * set; a lower limit of the database itself remains.
 */
export function tempFileSetting(
  { current, isSettable }: TempFileLimit,
  { statement, user }: TempLimits,
  connections: number,
): TempFileSetting {
  if (!isSettable) return {}
  // With two or more connections, no user gets all of them.
  const kib = Math.floor(Math.min(statement, user / Math.max(1, connections - 1)) / 1024)
  return { temp_file_limit: Math.min(kib, current < 0 ? MAX_KIB : current) }
}

/** The largest value that PostgreSQL accepts. */
const MAX_KIB = 2 ** 31 - 1
