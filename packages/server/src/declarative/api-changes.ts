/** The APIs as a declarative file wants them, and what it cannot do: remove scopes that something else still names. */
import { wordsOf } from '../lib/words.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { Api } from '../store/apis/apis.ts'
import { KnownScopes, type KnownScopesOptions } from '../store/apis/known-scopes.ts'
import type { ClientMetadata } from '../store/clients/client-metadata.ts'
import { apisFaults, apiTarget } from './declared-api.ts'
import type { CurrentState } from './plan.ts'
import type { Declaration } from './shape.ts'

/** The APIs as they will be, by resource. */
export function wantedApis({ prune, apis }: Declaration, existing: Iterable<Api>): ReadonlyMap<string, Api> {
  const kept = prune === true && apis !== undefined ? [] : [...existing]
  return new Map([...kept, ...(apis ?? []).map(apiTarget)].map((api) => [api.resource, api]))
}

/** The scopes to which the declaration may refer. */
export function wantedScopes(
  declaration: Declaration,
  existing: Iterable<Api>,
  options: KnownScopesOptions = {},
): KnownScopes {
  return new KnownScopes([...wantedApis(declaration, existing).values()], options)
}

export function apiChangeFaults(declaration: Declaration, existing: Iterable<Api>): Fault[] {
  const index = new Map((declaration.apis ?? []).map(({ resource }, at) => [resource, at]))
  const pathOf = (resource: string) => (index.has(resource) ? `apis[${index.get(resource)}].` : 'apis.')
  return apisFaults([...wantedApis(declaration, existing).values()], pathOf).map(({ path, text }) => ({
    path: path === '' ? 'apis' : path,
    text,
  }))
}

/** What can name scopes. */
export interface ScopeUsers {
  readonly roles: readonly { readonly name: string; readonly scopes: readonly string[] }[]
  readonly clients: readonly Pick<ClientMetadata, 'client_id' | 'scope' | 'exchange_scope' | 'api'>[]
  readonly attributes: readonly { readonly name: string; readonly scope: string | undefined }[]
  readonly feeds: readonly { readonly name: string; readonly read: string; readonly write: string }[]
  readonly controllers: readonly { readonly name: string; readonly topics: readonly { readonly needs: string }[] }[]
  readonly tables: readonly {
    readonly name: string
    readonly readScope: string | null
    readonly writeScope?: string | null
  }[]
}

/** Who names these scopes, in words. */
export function usersOfScopes(scopes: ReadonlySet<string>, users: ScopeUsers): string[] {
  const names = (...some: readonly (string | null | undefined)[]) => some.some((scope) => scopes.has(scope ?? ''))
  return [
    ...users.roles.filter((role) => names(...role.scopes)).map(({ name }) => `the role ${name}`),
    ...users.clients
      .filter(({ scope, exchange_scope: exchanged }) => names(...wordsOf(scope ?? ''), ...wordsOf(exchanged ?? '')))
      .map((one) => `the client ${one.client_id}`),
    ...users.attributes.filter(({ scope }) => names(scope)).map(({ name }) => `the attribute ${name}`),
    ...users.feeds.filter(({ read, write }) => names(read, write)).map(({ name }) => `the feed ${name}`),
    ...users.controllers
      .filter(({ topics }) => names(...topics.map(({ needs }) => needs)))
      .map(({ name }) => `the controller ${name}`),
    ...users.tables.filter((table) => names(table.readScope, table.writeScope)).map(({ name }) => `the table ${name}`),
  ]
}

/** The clients that are one of these APIs (RFC 8693), in words. */
export function clientsOfApis(resources: ReadonlySet<string>, clients: ScopeUsers['clients']): string[] {
  return clients.filter(({ api }) => resources.has(api ?? '')).map((one) => `the client ${one.client_id}`)
}

/** The scopes that exist no longer. */
export function removedScopes(before: Iterable<Api>, after: KnownScopes): ReadonlySet<string> {
  return new Set([...before].flatMap(({ scopes }) => scopes.map(({ name }) => name)).filter((name) => !after.has(name)))
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
    keyOf: (item: Item) => string,
    keys: readonly string[],
  ): readonly Item[] =>
    prune === true && declared !== undefined ? [] : existing.filter((item) => !keys.includes(keyOf(item)))
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
  const wanted = wantedApis(declaration, state.apis.values())
  const gone = new Set([...state.apis.keys()].filter((resource) => !wanted.has(resource)))
  const ofApis = clientsOfApis(gone, otherClients)
  if (ofApis.length > 0)
    return [{ path: 'apis', text: `an API that a client is cannot be removed; ${ofApis.join(', ')} name it as api` }]
  if (users.length === 0) return []
  return [{ path: 'apis', text: `scopes that are still named cannot be removed; ${users.join(', ')} use them` }]
}
