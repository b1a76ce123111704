/** Brings materialized views up to date before their table gets a new change log: they need not be evaluated as a whole. */
import type { Database } from 'better-sqlite3'
import type { KeptPlan, KeptValues } from '../../kept-engine.ts'
import { KEPT_STATES } from '../../kept-state-sql.ts'
import type { TablePosition } from '../../live-source.ts'
import { type KeptChunk, RowChunks, readTouched } from '../read/kept-read.ts'
import { readHead } from '../read/live-read.ts'
import { StatementCache } from '../statement-cache.ts'
import { keptWriteSteps } from './kept-write.ts'

/** In a transaction with the write lock. Returns the keys of those that are up to date now. */
export function catchUpViews(database: Database, table: string, plans: readonly KeptPlan[]): string[] {
  if (plans.length === 0) return []
  const statements = new StatementCache(database, 20)
  const find = database
    .prepare<[string, string], string | null>(
      `SELECT position FROM main.${KEPT_STATES} WHERE key = ? AND built AND state = 'ready' AND coalesce(cuts, '') = ?`,
    )
    .pluck()
  const count = database.prepare(`UPDATE main.${KEPT_STATES} SET rows = rows + ? WHERE key = ?`)
  return plans.flatMap((plan) => {
    if (plan.base.toLowerCase() !== table.toLowerCase()) return []
    const key = plan.view.toLowerCase()
    const position = find.get(key, plan.cuts ?? '')
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

/** Brings a view up to date in a transaction of the caller that has the write lock; not if that takes an evaluation of all of it. */
function catchUp(
  statements: StatementCache,
  plan: KeptPlan,
  position: TablePosition,
): { readonly isDone: boolean; readonly added: number } {
  const chunks: KeptChunk[] = []
  const rows = new RowChunks((chunk) => chunks.push(chunk))
  const groups = readTouched({ statements, plan, position, rows })
  if (typeof groups === 'string') return { isDone: false, added: 0 }
  rows.end()
  const found = (of: KeptChunk['of']): KeptValues[] => chunks.flatMap((chunk) => (chunk.of === of ? chunk.rows : []))
  const [inserted, deleted] = [found('inserted'), found('deleted')]
  for (const { sql, parameterSets } of keptWriteSteps(plan, [...inserted, ...found('updated')], deleted))
    for (const parameters of parameterSets) statements.get(sql).run(...parameters)
  return { isDone: true, added: inserted.length - deleted.length }
}
