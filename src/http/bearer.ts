/** The door of every protected address: the access token of a request, and whether it carries the right (RFC 6750). */
import type { IncomingHttpHeaders } from 'node:http'
import type { Authenticate, Principal } from '../protocol/principal.ts'
import { Refusal } from '../protocol/refusal.ts'

/** Any one of `scopes` opens the door; an empty list asks for a good token alone. */
export async function authorize(
  headers: IncomingHttpHeaders,
  authenticate: Authenticate,
  scopes: readonly string[],
): Promise<Principal> {
  const token = readBearer(headers.authorization)
  if (token === undefined) throw challenge(401, 'access.token_needed', 'An access token is needed')
  const principal = await authenticate(token)
  if (principal === undefined)
    throw challenge(401, 'access.invalid_token', 'The access token is not valid here', 'invalid_token')
  if (scopes.length > 0 && !scopes.some((scope) => principal.scopes.has(scope)))
    throw challenge(403, 'access.insufficient_scope', `This needs ${scopes.join(' or ')}`, 'insufficient_scope', scopes)
  return principal
}

/** RFC 6750 §2.1. */
export function readBearer(header: string | undefined): string | undefined {
  const credentials = bearerCredentials(header)
  return credentials !== undefined && TOKEN.test(credentials) ? credentials : undefined
}

const TOKEN = /^[\w.~+/-]+=*$/

/** Whatever follows the scheme word, which has no case (RFC 9110 §11.1); a token that is known need not be looked at for its shape. */
export function bearerCredentials(header: string | undefined): string | undefined {
  const scheme = /^bearer +/i.exec(header ?? '')
  return scheme === null ? undefined : header?.slice(scheme[0].length).trimEnd()
}

/** RFC 6750 §3: the challenge names what was wrong; a request without a token learns no error code. */
function challenge(
  status: 401 | 403,
  code: string,
  text: string,
  error?: string,
  scopes: readonly string[] = [],
): Refusal {
  const parts = ['realm="gatehouse"']
  if (error !== undefined) parts.push(`error="${error}"`, `error_description="${text}"`)
  if (scopes.length > 0) parts.push(`scope="${scopes.join(' ')}"`)
  return new Refusal(code, status, text, { headers: { 'www-authenticate': `Bearer ${parts.join(', ')}` } })
}
