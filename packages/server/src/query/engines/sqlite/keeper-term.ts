/** The condition of a commit of the keeper in SQLite. */
import type { Database } from 'better-sqlite3'
import { isOfTerm, KEEPER, type KeeperTerm, TermLost } from '../keeper-lease.ts'
import { buildStatement } from '../service-store.ts'

/** In a transaction that has the write lock. Throws `TermLost`. */
export function requireTerm(database: Database, term: KeeperTerm): void {
  const { sql, parameters } = buildStatement(
    (value) => `SELECT 1 FROM main.${KEEPER} WHERE ${isOfTerm(term, value)}`,
    () => '?',
  )
  if (database.prepare(sql).get(...parameters) === undefined) throw new TermLost()
}
