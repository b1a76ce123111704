/** Which scopes a request may ask for, and which a grant will hold in the end (B-43 to B-45). */
import { isRight, SCOPES } from '../../protocol/scopes.ts'
import type { Client, ResponseType } from '../../store/client-metadata.ts'
import type { User } from '../../store/users.ts'
import { refuse } from './refuse.ts'
import { type Ask, type AuthorizationRequest, gives } from './request.ts'

/** RFC 6749 §3.3. */
const LEGAL = /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/
const MOST = 100
const KNOWN: ReadonlySet<string> = new Set(SCOPES)

/** Scopes that nobody knows are left out; those that others may have and this client may not are an error. */
export function readScopes(ask: Ask): string[] {
  const words = scopeWords(ask)
  if (words.length > MOST || !words.every((word) => LEGAL.test(word)))
    throw refuse('invalid_scope', 'scope holds characters or a number of words that no scope has')
  const scopes = words.filter((word) => {
    if (ask.client.scopes.has(word)) return true
    if (KNOWN.has(word)) throw refuse('invalid_scope', `The client may not ask for ${word}`)
    return false
  })
  if (scopes.length === 0) throw refuse('invalid_scope', 'scope names nothing that the client may ask for')
  return scopes
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
