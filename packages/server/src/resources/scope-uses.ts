/** What names the scopes of APIs, in words. */
import type { Api } from '../store/apis/apis.ts'
import type { KnownScopes } from '../store/apis/known-scopes.ts'
import type { ClientMetadata } from '../store/clients/client-metadata.ts'
import { type AnySection, readKey, resourceTitle } from './define-resource.ts'

export function namesScope(
  { namedScopes }: Pick<AnySection, 'namedScopes'>,
  item: object,
  scopes: ReadonlySet<string>,
): boolean {
  return namedScopes !== 'none' && namedScopes(item).some((scope) => scopes.has(scope ?? ''))
}

/** Those that name one of these scopes, in words. */
export function usersOfScopes(
  scopes: ReadonlySet<string>,
  resource: Pick<AnySection, 'namedScopes' | 'noun' | 'title' | 'key'>,
  items: readonly object[],
): string[] {
  const users = items.filter((item) => namesScope(resource, item, scopes))
  return users.map((item) => `the ${resourceTitle(resource)} ${readKey(resource, item)}`)
}

/** The clients that are one of these APIs (RFC 8693), in words. */
export function clientsOfApis(
  resources: ReadonlySet<string>,
  clients: readonly Pick<ClientMetadata, 'client_id' | 'api'>[],
): string[] {
  return clients.filter(({ api }) => resources.has(api ?? '')).map((one) => `the client ${one.client_id}`)
}

/** The scopes that exist no longer. */
export function removedScopes(before: Iterable<Api>, after: KnownScopes): ReadonlySet<string> {
  return new Set([...before].flatMap(({ scopes }) => scopes.map(({ name }) => name)).filter((name) => !after.has(name)))
}
