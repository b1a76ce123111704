/** The scopes of a request: those it asks for, limited to what the client may request and the rights of the user (RFC 6749 §3.3). */

import { isRight } from 'gatehouse-protocol'
import { splitWords } from '../../lib/words.ts'
import type { User } from '../../store/accounts/user.ts'
import type { KnownScopes } from '../../store/apis/known-scopes.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import { isForAgents } from '../apis/targets.ts'
import { refuse } from '../oauth-error.ts'

/** `scope-token` of RFC 6749 §3.3. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/
const MAX_LENGTH = 2000

/**
 * The requested scopes without duplicates; undefined when the parameter is absent. Every endpoint ignores unknown scopes
 * (B-43, OpenID Connect Core §3.1.2.1), reports the rest in `scope` of the response, and refuses a request without known ones.
 */
export function parseScope(text: string | undefined, scopes: KnownScopes): readonly string[] | undefined {
  if (text === undefined) return undefined
  if (text.length > MAX_LENGTH) throw refuse('invalid_scope', 'The scope is too long')
  const names = [...new Set(splitWords(text))]
  if (names.length === 0 || !names.every((name) => SCOPE_TOKEN.test(name))) {
    throw refuse('invalid_scope', 'The scope contains characters that are not allowed')
  }
  const known = names.filter((name) => scopes.has(name))
  if (known.length === 0)
    throw refuse(
      'invalid_scope',
      'None of the requested scopes is supported: see scopes_supported in the discovery document',
    )
  return known
}

/**
 * The requested scopes that the client may have, all of its own where the parameter is absent. Agents ask for the scopes that they have seen
 * anywhere: what is not for agents is left out, and refused only if nothing is left.
 */
export function readAllowedScopes(
  text: string | undefined,
  client: Client,
  audiences: readonly string[] | undefined,
  known: KnownScopes,
): readonly string[] {
  const requested = parseScope(text, known)
  if (!isForAgents(audiences, known)) return requireAllowedScopes(requested, client)
  const allowed = [...client.scopes].filter((name) => known.isOfAgents(name))
  const left = allowed.filter((name) => requested?.includes(name) !== false)
  if (left.length === 0)
    throw refuse('invalid_scope', 'None of the scopes is for agents and one that the client is registered for')
  return isOfflineGranted(requested, client) ? [...left, 'offline_access'] : left
}

/** Many agents do not ask for a refresh token, and ask their users to sign in again and again. */
function isOfflineGranted(requested: readonly string[] | undefined, client: Client): boolean {
  return client.agent || (requested?.includes('offline_access') === true && client.scopes.has('offline_access'))
}

/** B-43: a scope that the client is not registered for is an error; without the parameter the client gets all of its scopes. */
export function requireAllowedScopes(requested: readonly string[] | undefined, client: Client): readonly string[] {
  if (requested === undefined) return [...client.scopes]
  const others = requested.filter((name) => !client.scopes.has(name))
  if (others.length > 0)
    throw refuse('invalid_scope', `${scopeNames(others)} not among the scopes that the client is registered for`)
  return requested
}

/** The beginning of a sentence about known scopes, whose names are safe in an error_description (RFC 6749 §5.2). */
export function scopeNames(scopes: readonly string[]): string {
  return scopes.length === 1 ? `The scope ${scopes[0]} is` : `The scopes ${scopes.join(', ')} are`
}

/** Rights that the user does not have are dropped; `scope` in the response reports the rest. */
export function limitToRights(scopes: readonly string[], user: Pick<User, 'rights'>): readonly string[] {
  return sortScopes(scopes.filter((name) => !isRight(name) || user.rights.has(name)))
}

/** Only a client with the refresh_token grant can use offline access. */
export function dropUnusableOfflineAccess(scopes: readonly string[], client: Client): readonly string[] {
  return client.grantTypes.has('refresh_token') ? scopes : scopes.filter((name) => name !== 'offline_access')
}

/** Sorts case-insensitively, the order of the contract. */
export function sortScopes(scopes: readonly string[]): readonly string[] {
  return [...scopes].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1))
}
