/** Refuses statements on materialized views whose rows are not complete, or not those of their query. */
import type { Bound } from 'gatehouse-iql'
import type { CatalogueSnapshot } from '../catalogue/snapshot.ts'
import { refuse } from '../errors.ts'

/** Definitions and descriptions read no row. */
const READING: ReadonlySet<string> = new Set(['query', 'insert', 'update', 'delete', 'explain', 'create-table'])

export function refuseUnready({ statement, tables }: Bound, snapshot: CatalogueSnapshot): void {
  if (!READING.has(statement.kind)) return
  for (const { name, isKept } of tables) {
    const state = isKept ? snapshot.findDefinition(name)?.keptState : undefined
    if (state === undefined || state.state === 'ready') continue
    if (state.state === 'failed') throw viewFailed(name, state.error)
    throw refuse('Data.Building', `The materialized view ${name} is being built`, {
      members: { Progress: state.progress },
    })
  }
}

export function viewFailed(view: string, cause: string) {
  return refuse('Data.ViewFailed', `The query of the materialized view ${view} fails: ${cause}`, {
    members: { Cause: cause },
  })
}
