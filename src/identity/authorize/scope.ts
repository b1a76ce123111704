/** Which scopes a request may ask for, and which a grant will hold in the end (B-43 to B-45). */
import { isRight } from '../../protocol/scopes.ts'
import type { Client, ResponseType } from '../../store/client-metadata.ts'
import type { User } from '../../store/users.ts'
import { allowedToClient, parseScope } from '../scope.ts'
import { refuse } from './refuse.ts'
import { type Ask, type AuthorizationRequest, gives } from './request.ts'

export function readScopes({ parameters, client }: Ask): readonly string[] {
  const named = parseScope(parameters.get('scope'))
  if (named === undefined) throw refuse('invalid_scope', 'scope is missing')
  return allowedToClient(named, client)
}

export function scopeWords({ parameters }: Ask): string[] {
  return [...new Set((parameters.get('scope') ?? '').split(' ').filter((word) => word !== ''))]
}

/** OpenID Connect Core §3.2.2.1, §3.3.2.11: the nonce binds an ID token that comes through the browser. */
export function readNonce(
  { parameters }: Ask,
  responseType: ResponseType,
  scopes: readonly string[],
): string | undefined {
  const nonce = parameters.get('nonce')
  if (!gives(responseType, 'id_token')) return nonce
  if (!scopes.includes('openid')) throw refuse('invalid_request', 'An ID token needs the scope openid')
  if (nonce === undefined) throw refuse('invalid_request', 'nonce is needed with this response_type')
  return nonce
}

/** Rights come through roles; offline access needs a code to be redeemed and a client that refreshes. */
export function grantableScopes(request: AuthorizationRequest, client: Client, user: User): string[] {
  return request.scopes.filter((scope) => {
    if (scope === 'offline_access') return gives(request.responseType, 'code') && client.grantTypes.has('refresh_token')
    return !isRight(scope) || user.rights.has(scope)
  })
}
