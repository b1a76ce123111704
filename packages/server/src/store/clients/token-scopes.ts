/** The scopes that the tokens of a client may have: those of its registration, and those that it may get by token exchange. */
import type { Apis } from '../apis/apis.ts'
import type { Client } from './client-metadata.ts'

export async function tokenScopes(client: Client, apis: Pick<Apis, 'find'>): Promise<ReadonlySet<string>> {
  const { api, scopes, exchangeScopes } = client
  if (api === undefined) return scopes
  const own = (await apis.find(api))?.scopes.map(({ name }) => name) ?? []
  return new Set([...scopes, ...exchangeScopes, ...own])
}
