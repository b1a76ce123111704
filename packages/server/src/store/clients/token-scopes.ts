/** The scopes that the tokens of a client may have: those of its registration, and those that it may get by token exchange. */
import type { Apis } from '../apis/apis.ts'
import { KnownScopes } from '../apis/known-scopes.ts'
import type { Client } from './client-metadata.ts'

export async function tokenScopes(client: Client, apis: Pick<Apis, 'find' | 'list'>): Promise<ReadonlySet<string>> {
  const { api, scopes, exchangeScopes, document } = client
  // Which of them its tokens get depends on which agents are allowed.
  if (document) return new Set(new KnownScopes(await apis.list()).platformRights())
  if (api === undefined) return scopes
  const own = (await apis.find(api))?.scopes.map(({ name }) => name) ?? []
  return new Set([...scopes, ...exchangeScopes, ...own])
}
