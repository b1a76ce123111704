/** Access rights: who may use the service, and the catalogue as one caller sees it. */
import type { Principal } from '../../protocol/principal.ts'
import { isPlatformScope, PLATFORM_AUDIENCE } from '../../protocol/scopes.ts'
import type { Snapshot } from '../catalogue/snapshot.ts'
import { refuse } from '../errors.ts'
import type { CatalogueView, TableView } from '../iql/catalogue-view.ts'

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

/** The view omits every table that these scopes may not read. */
export function viewFor(snapshot: Snapshot, scopes: ReadonlySet<string>): CatalogueView {
  const mayRead = (table: TableView): boolean => {
    const scope = snapshot.definitionOf(table.name)?.readScope
    return scope === undefined || scopes.has(scope)
  }
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
