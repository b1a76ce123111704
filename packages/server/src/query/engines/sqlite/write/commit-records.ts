/** Records of the latest long writes, each in the transaction of its write: they show whether a writer process that died had committed. */
import type { Database } from 'better-sqlite3'

export const COMMITS = '_gh_commits'

/** More than all workers can commit between the end of a process and the search for its record. */
const KEPT = 1000

export function prepareCommitRecords(database: Database): void {
  database.exec(
    `CREATE TABLE IF NOT EXISTS main.${COMMITS} (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE ON CONFLICT IGNORE)`,
  )
}

/** Call in the transaction of the write. False if there is such a record. */
export function recordCommit(database: Database, id: string): boolean {
  const { changes, lastInsertRowid } = database.prepare(`INSERT INTO main.${COMMITS} (id) VALUES (?)`).run(id)
  if (changes === 0) return false
  database.prepare(`DELETE FROM main.${COMMITS} WHERE number <= ?`).run(Number(lastInsertRowid) - KEPT)
  return true
}

/**
 * Whether the write was committed. Call in a transaction that is committed afterwards: it writes a record where there is none. In the
 * log of SQLite this replaces the pages of a commit that was not completed, which a restart could otherwise take for a whole one.
 */
export function wasCommitted(database: Database, id: string): boolean {
  return !recordCommit(database, id)
}
