/** The caller of a request: its bearer token (RFC 6750) as a Principal, and whether that has the scope that is needed. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { Socket } from 'node:net'
import { type Authenticate, type Principal, Refusal } from 'gatehouse-protocol'
import type { Context } from '../context.ts'

/** RFC 6750 §2.1: the token is in the Authorization header. */
export function authenticateRequest({ request }: Context, authenticate: Authenticate): Principal | Promise<Principal> {
  const { authorization = '' } = request.headers
  if (authorization === '') throw challenge(401, 'access.token_needed', 'An access token is needed')
  const token = bearerOn(request.socket, authorization)
  const principal = token === undefined ? undefined : authenticate(token)
  return principal instanceof Promise ? principal.then(orRefuse) : orRefuse(principal)
}

/** The fixed token of a machine that cannot sign in, such as a scraper of metrics. */
export function requireFixedToken({ request }: Context, expected: string): void {
  const { authorization = '' } = request.headers
  if (authorization === '') throw challenge(401, 'access.token_needed', 'A token is needed')
  // Digests have one length, as a comparison in constant time needs.
  const digest = (token: string) => hash('sha256', token, 'buffer')
  if (!timingSafeEqual(digest(readBearer(authorization) ?? ''), digest(expected)))
    throw challenge(401, 'access.invalid_token', 'The token is not valid here', 'invalid_token')
}

/** An access rule: any one of the scopes is enough. */
export function requireScope(...scopes: readonly string[]): (principal: Principal) => void {
  return (principal) => {
    if (scopes.some((scope) => principal.scopes.has(scope))) return
    throw insufficientScope(`This needs ${scopes.join(' or ')}`, scopes)
  }
}

export function insufficientScope(text: string, scopes: readonly string[] = []): Refusal {
  return challenge(403, 'access.insufficient_scope', text, 'insufficient_scope', scopes)
}

/** The token of an Authorization header; undefined for another scheme and for what cannot be a token. */
export function readBearer(header: string): string | undefined {
  return /^bearer +([\w.~+/-]+=*) *$/i.exec(header)?.[1]
}

/** Most connections send the same header again: comparing it takes half a microsecond less than reading it. */
const LAST_TOKENS = new WeakMap<Socket, { readonly header: string; readonly token: string | undefined }>()

function bearerOn(socket: Socket, header: string): string | undefined {
  const last = LAST_TOKENS.get(socket)
  if (last?.header === header) return last.token
  const token = readBearer(header)
  LAST_TOKENS.set(socket, { header, token })
  return token
}

function orRefuse(principal: Principal | undefined): Principal {
  if (principal !== undefined) return principal
  throw challenge(401, 'access.invalid_token', 'The access token is not valid here', 'invalid_token')
}

/** RFC 6750 §3: the challenge names the error; a request without a token gets no error code. */
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
