/** What uses an API: whatever names one of its scopes, and the client that it is. */
import type { Api } from '../store/apis/apis.ts'
import { KnownScopes } from '../store/apis/known-scopes.ts'
import { readAllClients } from './all-pages.ts'
import type { World } from './define-resource.ts'
import { clientsOfApis, removedScopes, usersOfScopes } from './scope-uses.ts'
import { TABLES } from './tables.ts'

/** Users of scopes that a refusal names. */
const MOST_NAMED = 20

/** Scopes that something names are not removed, nor the API that a client is. */
export async function refuseUsed(
  before: Api,
  after: Api | undefined,
  { stores, tables, resources }: World,
): Promise<string | undefined> {
  const ofApi = after === undefined ? clientsOfApis(new Set([before.resource]), await readAllClients(stores)) : []
  if (ofApi.length > 0) return `The API is named by ${ofApi.slice(0, MOST_NAMED).join(', ')} as api: change these first`
  const removed = removedScopes([before], new KnownScopes(after === undefined ? [] : [after]))
  if (removed.size === 0) return undefined
  const users: string[] = []
  for (const resource of resources.filter(({ namedScopes }) => namedScopes !== 'none'))
    users.push(...usersOfScopes(removed, resource, await resource.store(stores).list()))
  users.push(...usersOfScopes(removed, TABLES, tables))
  if (users.length === 0) return undefined
  const named = [...users.slice(0, MOST_NAMED), ...(users.length > MOST_NAMED ? ['others'] : [])].join(', ')
  return `The scopes ${[...removed].slice(0, MOST_NAMED).join(', ')} are used by ${named}: change these first`
}
