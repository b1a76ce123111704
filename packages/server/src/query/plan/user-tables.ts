/** The tables that a user could use, for administrators: with the rights of the user's roles, and the row filter as it applies. */
import { opensPlatform } from 'gatehouse-protocol'
import {
  type CatalogueSnapshot,
  pageOfTables,
  rightsOn,
  type TablePage,
  type TableRight,
  viewFor,
} from '../catalogue/snapshot.ts'
import { type FilterClaims, filterFor } from './row-filter-text.ts'

export interface TableUser extends FilterClaims {
  readonly scopes: readonly string[]
}

export interface UserTable {
  readonly name: string
  readonly issystem: boolean
  readonly rights: readonly TableRight[]
  /** The rows that exist for the user; null: all. */
  readonly rowfilter: string | null
}

/** `next` is the name of the last table of the page if there are more. */
export function tablesOfUser(
  snapshot: CatalogueSnapshot,
  user: TableUser,
  page: TablePage,
): { readonly items: readonly UserTable[]; readonly next: string | undefined } {
  // Without a scope of the platform nothing of the service can be used.
  if (!user.scopes.some(opensPlatform)) return { items: [], next: undefined }
  const view = viewFor(snapshot, new Set(user.scopes))
  const { tables, next } = pageOfTables(snapshot, view, page)
  const items = tables.map((table) => {
    const filter = snapshot.findRowFilter(table.name)
    const rowfilter = filter === undefined ? null : filterFor(filter, user, snapshot.attributes)
    return { name: table.name, issystem: table.isSystem, rights: rightsOn(table, view), rowfilter }
  })
  return { items, next }
}
