/** Who may do what: the door of the service, and the catalogue as one caller sees it. */
import type { Principal } from '../protocol/principal.ts'
import { isPlatformScope, PLATFORM_AUDIENCE } from '../protocol/scopes.ts'
import type { Snapshot } from './catalogue/snapshot.ts'
import { refuse } from './errors.ts'
import type { CatalogueView, TableView } from './iql/catalogue-view.ts'

export const ADMIN_SCOPE = 'Platform/Admin'

/** Every call needs a token for the platform with at least one of its scopes. */
export function checkDoor(principal: Principal): void {
  if (!principal.audiences.includes(PLATFORM_AUDIENCE)) {
    throw refuse('Auth.InvalidToken', 'The access token is not for the platform', {
      headers: {
        'WWW-Authenticate': 'Bearer error="invalid_token", error_description="The token is for another audience"',
      },
    })
  }
  for (const scope of principal.scopes) if (isPlatformScope(scope)) return
  throw refuse('Auth.MissingScope', 'The access token has no scope of the platform', {
    headers: { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' },
    members: { Scope: 'Platform/Market' },
  })
}

/** The scopes in a form that equal rights share: all of them, for a table may name any as its own. */
export function rightsKey({ scopes }: Principal): string {
  const known = RIGHTS_KEYS.get(scopes)
  if (known !== undefined) return known
  const key = [...scopes].sort().join(' ')
  RIGHTS_KEYS.set(scopes, key)
  return key
}

/** A token that was verified before gives the same set again; no one changes it. */
const RIGHTS_KEYS = new WeakMap<ReadonlySet<string>, string>()

/** A table that the scopes may not read is not in the view under any name. */
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
