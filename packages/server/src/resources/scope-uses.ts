/** What names the scopes of APIs, in words. */
import { splitWords } from '../lib/words.ts'
import type { Api } from '../store/apis/apis.ts'
import type { KnownScopes } from '../store/apis/known-scopes.ts'
import type { ClientMetadata } from '../store/clients/client-metadata.ts'

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
      .filter(({ scope, exchange_scope: exchanged }) =>
        names(...splitWords(scope ?? ''), ...splitWords(exchanged ?? '')),
      )
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
