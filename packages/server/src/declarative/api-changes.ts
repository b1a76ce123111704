/** The scopes that a declarative file may refer to, and those that it cannot remove because something else still names them. */
import { APIS } from '../resources/apis.ts'
import { clientsOfApis, removedScopes, type ScopeUsers, usersOfScopes } from '../resources/scope-uses.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { Api } from '../store/apis/apis.ts'
import { KnownScopes, type KnownScopesOptions } from '../store/apis/known-scopes.ts'
import type { CurrentState } from './plan.ts'
import { wantedItems } from './sections.ts'
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
  clients: ScopeUsers['clients'],
): Fault[] {
  const removed = removedScopes(state.apis.values(), wantedScopes(declaration, state.apis.values()))
  const { prune } = declaration
  const others = <Item>(
    existing: readonly Item[],
    declared: readonly object[] | undefined,
    readKey: (item: Item) => string,
    keys: readonly string[],
  ): readonly Item[] =>
    prune === true && declared !== undefined ? [] : existing.filter((item) => !keys.includes(readKey(item)))
  const byName = <Item extends { readonly name: string }>(
    existing: Iterable<Item>,
    declared: readonly { readonly name: string }[] | undefined,
  ) =>
    others(
      [...existing],
      declared,
      ({ name }) => name.toLowerCase(),
      (declared ?? []).map(({ name }) => name.toLowerCase()),
    )
  const otherClients = others(
    clients,
    declaration.clients,
    (client) => client.client_id,
    (declaration.clients ?? []).map(({ client_id }) => client_id),
  )
  const users = usersOfScopes(removed, {
    roles: byName(state.roles.values(), declaration.roles),
    clients: otherClients,
    attributes: byName(state.attributes.values(), declaration.attributes),
    feeds: byName(state.feeds.values(), declaration.feeds),
    controllers: byName(state.controllers.values(), declaration.controllers),
    tables: [
      ...byName(state.tables.values(), declaration.tables),
      ...byName(state.views.values(), declaration.views).map(({ name, readScope }) => ({ name, readScope })),
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
