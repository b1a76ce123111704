/** Brings materialized views up to date before their table gets a new change log: they need not be evaluated as a whole. */
import type { Database } from 'better-sqlite3'
import type { KeptPlan } from '../../kept-reads.ts'
import { KEPT_STATES } from '../../kept-state-sql.ts'
import { catchUp } from '../read/kept-read.ts'
import { readHead } from '../read/live-read.ts'
import { StatementCache } from '../statement-cache.ts'

/** In a transaction with the write lock. Returns the keys of those that are up to date now. */
export function catchUpViews(database: Database, table: string, plans: readonly KeptPlan[]): string[] {
  if (plans.length === 0) return []
  const statements = new StatementCache(database, 20)
  const find = database
    .prepare<[string], string | null>(
      `SELECT position FROM main.${KEPT_STATES} WHERE key = ? AND built AND state = 'ready'`,
    )
    .pluck()
  const count = database.prepare(`UPDATE main.${KEPT_STATES} SET rows = rows + ? WHERE key = ?`)
  return plans.flatMap((plan) => {
    if (plan.base.toLowerCase() !== table.toLowerCase()) return []
    const key = plan.view.toLowerCase()
    const position = find.get(key)
    if (typeof position !== 'string') return []
    const { isDone, added } = catchUp(statements, plan, position)
    if (added !== 0) count.run(added, key)
    return isDone ? [key] : []
  })
}

/** They go on from the beginning of the new log. */
export function moveViews(database: Database, table: string, keys: readonly string[]): void {
  const head = keys.length === 0 ? undefined : readHead(new StatementCache(database, 2), table)
  if (head === undefined) return
  const move = database.prepare(`UPDATE main.${KEPT_STATES} SET position = ? WHERE key = ?`)
  for (const key of keys) move.run(head.position, key)
}
