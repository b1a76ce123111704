/** The scopes that a declarative file may refer to, and those that it cannot remove because something else still names them. */
import { readAllClients } from '../resources/all-pages.ts'
import { APIS } from '../resources/apis.ts'
import { CLIENTS } from '../resources/clients.ts'
import type { AnyResource, AnySection } from '../resources/define-resource.ts'
import { clientsOfApis, removedScopes, usersOfScopes } from '../resources/scope-uses.ts'
import { TABLES } from '../resources/tables.ts'
import { VIEWS } from '../resources/views.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { Api } from '../store/apis/apis.ts'
import { KnownScopes, type KnownScopesOptions } from '../store/apis/known-scopes.ts'
import type { Stores } from '../store/stores.ts'
import type { CurrentState } from './plan.ts'
import { stateFor, undeclaredItems, wantedItems } from './sections.ts'
import type { Declaration } from './shape.ts'

/** The scopes to which the declaration may refer. */
export function wantedScopes(
  declaration: Declaration,
  existing: Iterable<Api>,
  options: KnownScopesOptions = {},
): KnownScopes {
  return new KnownScopes([...wantedItems(APIS, declaration, existing).values()], options)
}

/** What the file declares is checked as it declares it; this finds the others, which stay as they are. */
export async function scopeRemovalFaults(
  declaration: Declaration,
  state: CurrentState,
  stores: Stores,
  resources: readonly AnyResource[],
): Promise<Fault[]> {
  const wanted = wantedItems(APIS, declaration, state.apis.values())
  const gone = new Set([...state.apis.keys()].filter((resource) => !wanted.has(resource)))
  const clients = gone.size === 0 ? [] : undeclaredItems(CLIENTS, declaration, await readAllClients(stores))
  const ofApis = clientsOfApis(gone, clients)
  if (ofApis.length > 0)
    return [{ path: 'apis', text: `an API that a client is cannot be removed; ${ofApis.join(', ')} name it as api` }]
  const removed = removedScopes(state.apis.values(), wantedScopes(declaration, state.apis.values()))
  if (removed.size === 0) return []
  const users: string[] = []
  const addUsers = (resource: AnySection, existing: Iterable<object>) =>
    users.push(...usersOfScopes(removed, resource, undeclaredItems(resource, declaration, existing)))
  // Of a large kind, the state has only those that the file names.
  for (const resource of resources.filter(({ namedScopes }) => namedScopes !== 'none'))
    addUsers(resource, resource.isLarge ? await resource.store(stores).list() : stateFor(resource, state).values())
  for (const resource of [TABLES, VIEWS]) addUsers(resource, stateFor(resource, state).values())
  if (users.length === 0) return []
  return [{ path: 'apis', text: `scopes that are still named cannot be removed; ${users.join(', ')} use them` }]
}
