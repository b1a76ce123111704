/** The scopes that a declarative file may refer to, and those that it cannot remove because something else still names them. */
import { APIS } from '../resources/apis.ts'
import { ATTRIBUTES } from '../resources/attributes.ts'
import { CLIENTS } from '../resources/clients.ts'
import { CONTROLLERS } from '../resources/controllers.ts'
import { FEEDS } from '../resources/feeds.ts'
import { ROLES } from '../resources/roles.ts'
import { clientsOfApis, removedScopes, usersOfScopes } from '../resources/scope-uses.ts'
import { TABLES } from '../resources/tables.ts'
import { VIEWS } from '../resources/views.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { Api } from '../store/apis/apis.ts'
import { KnownScopes, type KnownScopesOptions } from '../store/apis/known-scopes.ts'
import type { ClientMetadata } from '../store/clients/client-metadata.ts'
import type { CurrentState } from './plan.ts'
import { undeclaredItems, wantedItems } from './sections.ts'
import type { Declaration } from './shape.ts'

/** The scopes to which the declaration may refer. */
export function wantedScopes(
  declaration: Declaration,
  existing: Iterable<Api>,
  options: KnownScopesOptions = {},
): KnownScopes {
  return new KnownScopes([...wantedItems(APIS, declaration, existing).values()], options)
}

/**
 * What the file declares is checked as it declares it; this finds the others, which stay as they are. `clients` are all in the database.
 */
export function scopeRemovalFaults(
  declaration: Declaration,
  state: CurrentState,
  clients: readonly ClientMetadata[],
): Fault[] {
  const removed = removedScopes(state.apis.values(), wantedScopes(declaration, state.apis.values()))
  const otherClients = undeclaredItems(CLIENTS, declaration, clients)
  const views = undeclaredItems(VIEWS, declaration, state.views.values())
  const users = usersOfScopes(removed, {
    roles: undeclaredItems(ROLES, declaration, state.roles.values()),
    clients: otherClients,
    attributes: undeclaredItems(ATTRIBUTES, declaration, state.attributes.values()),
    feeds: undeclaredItems(FEEDS, declaration, state.feeds.values()),
    controllers: undeclaredItems(CONTROLLERS, declaration, state.controllers.values()),
    tables: [
      ...undeclaredItems(TABLES, declaration, state.tables.values()),
      ...views.map(({ name, readScope }) => ({ name, readScope })),
    ],
  })
  const wanted = wantedItems(APIS, declaration, state.apis.values())
  const gone = new Set([...state.apis.keys()].filter((resource) => !wanted.has(resource)))
  const ofApis = clientsOfApis(gone, otherClients)
  if (ofApis.length > 0)
    return [{ path: 'apis', text: `an API that a client is cannot be removed; ${ofApis.join(', ')} name it as api` }]
  if (users.length === 0) return []
  return [{ path: 'apis', text: `scopes that are still named cannot be removed; ${users.join(', ')} use them` }]
}
