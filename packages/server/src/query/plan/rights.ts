/** Access rights: who may use the service, and the catalogue as one caller sees it. */

import { type CatalogueView, definitionIn, didYouMean, needsScopes, type TableView } from 'gatehouse-iql'
import { isPlatformScope, PLATFORM_AUDIENCE, type Principal, type Refusal } from 'gatehouse-protocol'
import type { Snapshot } from '../catalogue/snapshot.ts'
import { ADMIN_SCOPE } from '../catalogue/system-tables.ts'
import { refuse } from '../errors.ts'

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

function mayReadTable(snapshot: Snapshot, scopes: ReadonlySet<string>, { name, view }: TableView): boolean {
  if (view !== undefined) return snapshot.readScopesOf(name).isSubsetOf(scopes)
  const scope = snapshot.definitionOf(name)?.readScope
  return scope === undefined || scopes.has(scope)
}

/** The names of the views whose definitions these scopes may see, in lower case. */
export function visibleViews(snapshot: Snapshot, scopes: ReadonlySet<string>): string[] {
  const views = snapshot.definitions.filter(({ view }) => view !== undefined).map(({ name }) => name.toLowerCase())
  if (scopes.has(ADMIN_SCOPE)) return views
  return views.filter((name) => snapshot.readScopesOf(name).isSubsetOf(scopes))
}

/**
 * The view omits every table that these scopes may not read. Who may define tables sees every definition besides: otherwise
 * nobody could find or mend a table whose read scope nobody holds.
 */
export function viewFor(snapshot: Snapshot, scopes: ReadonlySet<string>): CatalogueView {
  const mayDefine = scopes.has(ADMIN_SCOPE)
  const mayRead = (table: TableView): boolean => mayReadTable(snapshot, scopes, table)
  const maySee = (table: TableView): boolean => (mayDefine && !table.isSystem) || mayRead(table)
  return {
    lookup(name) {
      const table = snapshot.table(name)
      return table !== undefined && mayRead(table) ? table : undefined
    },
    hidden(name) {
      const table = snapshot.table(name)
      if (table === undefined || !maySee(table) || mayRead(table)) return undefined
      return { table, missing: [...snapshot.readScopesOf(table.name).difference(scopes)] }
    },
    *tableNames() {
      for (const table of snapshot.tables()) if (maySee(table)) yield table.name
    },
    lookupIndex(name) {
      const found = snapshot.index(name)
      return found !== undefined && maySee(found.table) ? found : undefined
    },
    missingWriteScope(table) {
      const scope = snapshot.definitionOf(table.name)?.writeScope ?? ADMIN_SCOPE
      return scopes.has(scope) ? undefined : scope
    },
    missingDefineScope: () => (mayDefine ? undefined : ADMIN_SCOPE),
  }
}

/** Refuses a table whose rows cannot be read in the view. */
export function requireTable(view: CatalogueView, name: string): TableView {
  const table = view.lookup(name)
  if (table !== undefined) return table
  const hidden = view.hidden(name)
  if (hidden !== undefined)
    throw refuse('Auth.MissingScope', needsScopes(hidden), { members: { Scope: hidden.missing.join(' ') } })
  throw unknownTable(view, name)
}

/** The definition of a table, whose rows perhaps cannot be read. */
export function requireDefinition(view: CatalogueView, name: string): TableView {
  const table = definitionIn(view, name)
  if (table === undefined) throw unknownTable(view, name)
  return table
}

function unknownTable(view: CatalogueView, name: string): Refusal {
  const hint = didYouMean(name, [...view.tableNames()])
  return refuse('Data.UnknownTable', `There is no table ${JSON.stringify(name)}`, {
    members: hint === undefined ? {} : { Hint: hint },
  })
}

/** What callers with this view may do with a table whose definition is in it. One scope is needed for all writes. */
export function rightsOn(table: TableView, view: CatalogueView): readonly TableRight[] {
  const mayRead = view.hidden(table.name) === undefined
  const mayWrite = mayRead && table.isWritable && view.missingWriteScope(table) === undefined
  const mayDefine = !table.isSystem && view.missingDefineScope() === undefined
  return [
    ...(mayRead ? (['select'] as const) : []),
    ...(mayWrite ? WRITES : []),
    ...(mayDefine ? (['alter'] as const) : []),
  ]
}

export type TableRight = 'select' | 'insert' | 'update' | 'delete' | 'alter'

const WRITES = ['insert', 'update', 'delete'] as const

/** One page of the definitions in the view, by name without case. `next` is the name of the last one if there are more. */
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
    const table = definitionIn(view, name)
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
