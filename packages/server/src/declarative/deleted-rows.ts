/**
 * How many rows a plan would delete: those of tables and materialized views that it drops, also to build them with another query, and those that
 * are older than a retention that it sets.
 */
import type { Change } from './plan.ts'
import type { TablesPort } from './tables-port.ts'

type Count = Pick<TablesPort, 'countDeleted' | 'countRows'>

export async function withDeletedRows(changes: readonly Change[], tables: Count): Promise<readonly Change[]> {
  const counted: Change[] = []
  for (const change of changes) counted.push(await withCount(change, tables))
  return counted
}

async function withCount(change: Change, tables: Count): Promise<Change> {
  if (change.what === 'view')
    return isBuiltAnew(change) ? { ...change, rowsDeleted: await tables.countRows(change.name) } : change
  if (change.what !== 'table' || change.action === 'create') return change
  if (change.action === 'remove') return { ...change, rowsDeleted: await tables.countRows(change.name) }
  const isMoved = change.differences.some((line) => /^(?:retention|hold):/.test(line))
  return isMoved ? { ...change, rowsDeleted: await tables.countDeleted(change.target) } : change
}

/** Another query drops a materialized view. */
function isBuiltAnew(change: Extract<Change, { what: 'view' }>): boolean {
  if (change.action === 'create' || !change.before?.materialized) return false
  return (
    change.action === 'remove' || change.differences.some((line) => /^(?:query|columns|types|materialized):/.test(line))
  )
}
