/** Which scopes a request gets: what it asks for, held against what the client may ask and the user holds (RFC 6749 §3.3). */
import { isRight, SCOPES } from '../protocol/scopes.ts'
import type { Client } from '../store/client-metadata.ts'
import type { User } from '../store/users.ts'
import { refuse } from './oauth-error.ts'

const TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/
const LONGEST = 2000

const KNOWN: ReadonlySet<string> = new Set(SCOPES)

/**
 * The scopes that a request names, each once; undefined when it names none. The rule of every endpoint (B-43): what nobody
 * knows is left out (OpenID Connect Core §3.1.2.1), and `scope` in the response says so; a request with nothing else is refused.
 */
export function parseScope(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined
  if (text.length > LONGEST) throw refuse('invalid_scope', 'The scope is too long')
  const names = [...new Set(text.split(' ').filter((name) => name !== ''))]
  if (names.length === 0 || !names.every((name) => TOKEN.test(name))) {
    throw refuse('invalid_scope', 'The scope holds characters that no scope has')
  }
  const known = names.filter((name) => KNOWN.has(name))
  if (known.length === 0) throw refuse('invalid_scope', 'The scope names nothing that is offered here')
  return known
}

/** B-43: a scope that others may have and the client may not is an error; leaving the parameter out asks for everything it may. */
export function allowedToClient(requested: readonly string[] | undefined, client: Client): readonly string[] {
  if (requested === undefined) return [...client.scopes]
  if (requested.some((name) => !client.scopes.has(name))) {
    throw refuse('invalid_scope', 'The client may not ask for this scope')
  }
  return requested
}

/** Rights that the user does not hold are dropped, and `scope` in the response says what is left. */
export function heldByUser(scopes: readonly string[], user: Pick<User, 'rights'>): readonly string[] {
  return inOrder(scopes.filter((name) => !isRight(name) || user.rights.has(name)))
}

/** A refresh token is of use only to a client that may use it. */
export function withoutUselessOffline(scopes: readonly string[], client: Client): readonly string[] {
  return client.grantTypes.has('refresh_token') ? scopes : scopes.filter((name) => name !== 'offline_access')
}

/** As the contract shows them: by the alphabet, whatever the case. */
export function inOrder(scopes: readonly string[]): readonly string[] {
  return [...scopes].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1))
}
