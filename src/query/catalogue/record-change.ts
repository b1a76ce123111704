/** Puts every change of the catalogue on record: who defined what. */
import type { Audit } from '../../protocol/audit-events.ts'
import type { Run } from '../execution.ts'
import type { CatalogueChange, TableDefinition } from './definition.ts'

export function recordChanges(
  audit: Audit,
  { principal, requestId, address }: Run,
  changes: readonly CatalogueChange[],
): void {
  for (const change of changes) {
    const table = change.kind === 'create' ? change.table.name : change.name
    audit.record({
      event: 'query.defined',
      actor: principal.subject,
      client: principal.clientId,
      target: table,
      address,
      requestId,
      details: { statement: change.kind === 'alter' ? change.step.kind : change.kind, table, ...changedBy(change) },
    })
  }
}

const RIGHTS = [
  'readScope',
  'writeScope',
  'rowFilter',
  'description',
] as const satisfies readonly (keyof TableDefinition)[]

/** Which of them a change of rights has changed. */
function changedBy(change: CatalogueChange): { changed?: readonly string[] } {
  if (change.kind !== 'alter' || change.step.kind !== 'rights') return {}
  const { from, table } = change
  return { changed: RIGHTS.filter((name) => table[name] !== from[name]).map((name) => name.toLowerCase()) }
}
