/** Access rights: who may use the service, and the catalogue as one caller sees it. */
import type { Principal } from '../../protocol/principal.ts'
import { isPlatformScope, PLATFORM_AUDIENCE } from '../../protocol/scopes.ts'
import type { Snapshot } from '../catalogue/snapshot.ts'
import { refuse } from '../errors.ts'
import type { CatalogueView, TableView } from '../iql/catalogue-view.ts'
import { didYouMean } from '../iql/did-you-mean.ts'

export const ADMIN_SCOPE = 'Platform/Admin'

/** Every request needs an access token for the platform with at least one of its scopes. */
export function requirePlatformAccess(principal: Principal): void {
  if (!principal.audiences.includes(PLATFORM_AUDIENCE)) {
    throw refuse('Auth.InvalidToken', 'The access token is not for the platform', {
      headers: {
        'www-authenticate': 'Bearer error="invalid_token", error_description="The token is for another audience"',
      },
    })
  }
  for (const scope of principal.scopes) if (isPlatformScope(scope)) return
  throw refuse('Auth.MissingScope', 'The access token has no scope of the platform', {
    headers: { 'www-authenticate': 'Bearer error="insufficient_scope"' },
    members: { Scope: 'Platform/Market' },
  })
}

/** Every scope counts, since a table may require any. */
export function sameScopes(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  // Tokens with the same scope parameter share a set, so two sets are seldom compared name by name.
  if (a === b) return true
  if (a.size !== b.size) return false
  for (const scope of a) if (!b.has(scope)) return false
  return true
}

function mayReadTable(snapshot: Snapshot, scopes: ReadonlySet<string>, { name, view }: TableView): boolean {
  if (view !== undefined) return snapshot.readScopesOf(name).isSubsetOf(scopes)
  const scope = snapshot.definitionOf(name)?.readScope
  return scope === undefined || scopes.has(scope)
}

/** The names of the views that these scopes may read, in lower case. */
export function readableViews(snapshot: Snapshot, scopes: ReadonlySet<string>): string[] {
  const views = snapshot.definitions.filter(({ view }) => view !== undefined).map(({ name }) => name.toLowerCase())
  return views.filter((name) => snapshot.readScopesOf(name).isSubsetOf(scopes))
}

/** The view omits every table that these scopes may not read. */
export function viewFor(snapshot: Snapshot, scopes: ReadonlySet<string>): CatalogueView {
  const mayRead = (table: TableView): boolean => mayReadTable(snapshot, scopes, table)
  return {
    lookup(name) {
      const table = snapshot.table(name)
      return table !== undefined && mayRead(table) ? table : undefined
    },
    *tableNames() {
      for (const table of snapshot.tables()) if (mayRead(table)) yield table.name
    },
    lookupIndex(name) {
      const found = snapshot.index(name)
      return found !== undefined && mayRead(found.table) ? found : undefined
    },
    missingWriteScope(table) {
      const scope = snapshot.definitionOf(table.name)?.writeScope ?? ADMIN_SCOPE
      return scopes.has(scope) ? undefined : scope
    },
    missingDefineScope: () => (scopes.has(ADMIN_SCOPE) ? undefined : ADMIN_SCOPE),
  }
}

/** Refuses a table that is not in the view. */
export function requireTable(view: CatalogueView, name: string): TableView {
  const table = view.lookup(name)
  if (table !== undefined) return table
  const hint = didYouMean(name, [...view.tableNames()])
  throw refuse('Data.UnknownTable', `There is no table ${JSON.stringify(name)}`, {
    members: hint === undefined ? {} : { Hint: hint },
  })
}

/** What callers with this view may do with a table that is in it. One scope is needed for all writes. */
export function rightsOn(table: TableView, view: CatalogueView): readonly TableRight[] {
  const mayWrite = table.isWritable && view.missingWriteScope(table) === undefined
  const mayDefine = !table.isSystem && view.missingDefineScope() === undefined
  return ['select', ...(mayWrite ? WRITES : []), ...(mayDefine ? (['alter'] as const) : [])]
}

export type TableRight = 'select' | 'insert' | 'update' | 'delete' | 'alter'

const WRITES = ['insert', 'update', 'delete'] as const

/** One page of the tables in the view, by name without case. `next` is the name of the last one if there are more. */
export function pageOfTables(
  snapshot: Snapshot,
  view: CatalogueView,
  { prefix, isSystem, after, limit }: TablePage,
): { readonly tables: readonly TableView[]; readonly next: string | undefined } {
  const start = prefix.toLowerCase()
  // With a NUL it is the least name after it.
  const following = after === '' ? '' : `${after.toLowerCase()}\0`
  const tables: TableView[] = []
  for (const { name } of snapshot.tablesFrom(following > start ? following : start)) {
    if (!name.toLowerCase().startsWith(start)) break
    const table = view.lookup(name)
    if (table === undefined || (isSystem !== undefined && table.isSystem !== isSystem)) continue
    if (tables.length >= limit) return { tables, next: tables.at(-1)?.name }
    tables.push(table)
  }
  return { tables, next: undefined }
}

export interface TablePage {
  /** The beginning of the names, without case. */
  readonly prefix: string
  /** Only system tables, or only others. */
  readonly isSystem?: boolean | undefined
  /** The name of the last table on the page before; empty at the start. */
  readonly after: string
  readonly limit: number
}
