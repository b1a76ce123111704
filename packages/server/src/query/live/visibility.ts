/** Which rows of the tables of a statement its caller may see, as a digest. */
import { createHash } from 'node:crypto'
import type { TableView } from 'gatehouse-iql'
import type { Principal } from 'gatehouse-protocol'
import type { AttributeValues } from '../../store/accounts/user.ts'
import { type Copies, findAccess, isDelayed } from '../catalogue/licences.ts'
import type { CatalogueSnapshot } from '../catalogue/snapshot.ts'
import { AUDIT_LOG } from '../catalogue/system-tables.ts'
import { writeFilter } from '../plan/row-filter-text.ts'

export interface Viewer {
  readonly principal: Pick<Principal, 'subject' | 'username' | 'clientId' | 'roles' | 'scopes'>
  /** Of the attributes of the caller. */
  readonly values: AttributeValues
}

/** What there is to be seen, besides what a caller may see of it. */
export interface Visible {
  readonly snapshot: CatalogueSnapshot
  readonly copies: Pick<Copies, 'find'>
}

/**
 * Another one if row filters, licences, or what these use of the caller leave other rows, and only then: it depends neither on columns nor on
 * the engine.
 */
export function digestVisibility(tables: readonly TableView[], viewer: Viewer, visible: Visible): string {
  // A table and its copies have one name.
  const byName = new Map(tables.map((table) => [table.name.toLowerCase(), table]))
  const rows = [...byName].map(([name, table]) => [name, ...describeRows(table, viewer, visible)])
  rows.sort(([one], [other]) => (String(one) < String(other) ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(rows)).digest('base64url')
}

function describeRows(table: TableView, { principal, values }: Viewer, { snapshot, copies }: Visible): unknown[] {
  const { subject, username, clientId, roles, scopes } = principal
  if (table.isSystem && table.name === AUDIT_LOG) return []
  // They list what the caller may see.
  if (table.isSystem) return [subject, [...scopes].sort()]
  const claims = { subject, username, clientId, roles: [...roles].sort(), attributes: values }
  // Without what licences add to it.
  const { rowFilter } = snapshot.table(table.name) ?? table
  const parts = findAccess(table)?.parts.map((part) => {
    const isMissing = isDelayed(part) && copies.find(table, part.delay) === undefined
    return [part.rows, isMissing ? 'none' : part.access, part.delay]
  })
  return [rowFilter && writeFilter(rowFilter, claims, snapshot.attributes), parts]
}
