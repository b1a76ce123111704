/** The rules about clients that exchange tokens (RFC 8693): the API that each is, and the scopes that it may get elsewhere. */
import { isRight, nearest, PLATFORM_AUDIENCE } from 'gatehouse-protocol'
import type { Fault } from '../schema/check-schema.ts'
import type { KnownScopes } from '../store/apis/known-scopes.ts'
import { TOKEN_EXCHANGE } from '../store/clients/client-metadata.ts'
import type { DeclaredClient } from './client-shape.ts'

export function exchangeFaults(client: DeclaredClient, known: KnownScopes): Fault[] {
  const { api, exchange_scope: text, grant_types: grants = [], token_endpoint_auth_method: method } = client
  const faults: Fault[] = []
  const fault = (path: string, reason: string) => faults.push({ path, text: reason })
  const at = grants.indexOf(TOKEN_EXCHANGE)
  if (at !== -1 && method === 'none') fault(`grant_types[${at}]`, 'a public client cannot exchange tokens')
  if (at !== -1 && api === undefined)
    fault('api', 'is missing: a client that exchanges tokens names the resource of the API that it is')
  if (at === -1 && text !== undefined) fault('exchange_scope', `needs ${TOKEN_EXCHANGE} in grant_types`)
  if (api !== undefined && (api === PLATFORM_AUDIENCE || known.find(api) === undefined)) {
    const near = nearest(
      api,
      known.apis.map(({ resource }) => resource),
    )
    fault('api', `unknown API "${api}"${near === undefined ? '' : `; did you mean "${near}"?`}`)
  }
  const seen = new Set<string>()
  for (const scope of text?.split(' ') ?? []) {
    const reason = seen.has(scope) ? `"${scope}" is listed twice` : scopeFault(scope, api, known)
    if (reason !== undefined) fault('exchange_scope', reason)
    seen.add(scope)
  }
  return faults
}

function scopeFault(scope: string, api: string | undefined, known: KnownScopes): string | undefined {
  if (scope === '') return 'scopes must be separated by single spaces'
  if (!known.has(scope)) {
    const near = nearest(scope, known.rights())
    return `unknown scope "${scope}"${near === undefined ? '' : `; did you mean "${near}"?`}`
  }
  if (!isRight(scope)) return `"${scope}" is no right: tokens from an exchange have rights only`
  return known.findAudience(scope) === api
    ? `"${scope}" is a scope of the API that the client is, where it gets those of the token that it exchanges`
    : undefined
}
