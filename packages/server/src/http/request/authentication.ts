/** The caller of a request: its access token (RFC 6750, RFC 9449) as a Principal, and whether that has the scope that is needed. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { Socket } from 'node:net'
import { type Authenticate, type Principal, Refusal } from 'gatehouse-protocol'
import type { Context } from '../context.ts'
import { bothSchemes, type CheckProof, proofChallenge } from './proof.ts'

export interface Authentication {
  readonly authenticate: Authenticate
  /** Undefined where no token is bound to a key. */
  readonly checkProof?: CheckProof | undefined
}

/** RFC 6750 §2.1, RFC 9449 §7.1: the token is in the Authorization header. `isShared`: a proof is accepted once on all nodes. */
export function authenticateRequest(
  context: Context,
  { authenticate, checkProof }: Authentication,
  isShared = false,
): Principal | Promise<Principal> {
  const { request } = context
  const { authorization = '' } = request.headers
  if (authorization === '') throw tokenNeeded('An access token is needed')
  const credentials = credentialsOn(request.socket, authorization)
  const principal = credentials === undefined ? undefined : authenticate(credentials.token)
  if (credentials?.isProven === true) return withProof(context, principal, credentials.token, checkProof, isShared)
  return principal instanceof Promise ? principal.then(asBearer) : asBearer(principal)
}

async function withProof(
  context: Context,
  authenticated: ReturnType<Authenticate>,
  accessToken: string,
  checkProof: CheckProof | undefined,
  isShared: boolean,
): Promise<Principal> {
  const principal = await authenticated
  // RFC 9449 §7.1: a token that is bound to no key is not accepted in this scheme.
  if (principal?.boundKey === undefined) throw invalidBoundToken()
  // The token is checked again while a body arrives; the proof counts once.
  if (context.isProven) return principal
  if (checkProof === undefined) throw invalidBoundToken()
  const { method, path, address, id: requestId } = context
  const proof = readProof(context)
  const nonce = await checkProof({ proof, method, path, accessToken, principal, isShared, address, requestId })
  if (nonce !== undefined) context.setHeader('dpop-nonce', nonce)
  context.isProven = true
  return principal
}

/** Two header fields are joined with a comma, which no proof contains. */
export function readProof({ headers }: Pick<Context, 'headers'>): string | undefined {
  const { dpop } = headers
  return Array.isArray(dpop) ? dpop.join(', ') : dpop
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
    const refusal = insufficientScope(`This needs ${scopes.join(' or ')}`, scopes)
    throw principal.boundKey === undefined ? refusal : inScheme('DPoP', refusal)
  }
}

export function insufficientScope(text: string, scopes: readonly string[] = []): Refusal {
  return challenge(403, 'access.insufficient_scope', text, 'insufficient_scope', scopes)
}

/** The token of an Authorization header; undefined for another scheme and for what cannot be a token. */
export function readBearer(header: string): string | undefined {
  return /^bearer +([\w.~+/-]+=*) *$/i.exec(header)?.[1]
}

export interface Credentials {
  readonly token: string
  /** Sent with the scheme DPoP: a proof comes with it. */
  readonly isProven: boolean
}

/** The access token of an Authorization header in either scheme. */
export function readCredentials(header: string): Credentials | undefined {
  const bearer = readBearer(header)
  if (bearer !== undefined) return { token: bearer, isProven: false }
  const bound = /^dpop +([\w.~+/-]+=*) *$/i.exec(header)?.[1]
  return bound === undefined ? undefined : { token: bound, isProven: true }
}

interface LastHeader {
  readonly header: string
  readonly credentials: Credentials | undefined
}

/** Most connections send the same header again: comparing it takes half a microsecond less than reading it. */
const LAST_HEADERS = new WeakMap<Socket, LastHeader>()

/** As `readCredentials`, for a header that came on this connection. */
export function credentialsOn(socket: Socket, header: string): Credentials | undefined {
  const last = LAST_HEADERS.get(socket)
  if (last?.header === header) return last.credentials
  const credentials = readCredentials(header)
  LAST_HEADERS.set(socket, { header, credentials })
  return credentials
}

function asBearer(principal: Principal | undefined): Principal {
  if (principal === undefined)
    throw challenge(401, 'access.invalid_token', 'The access token is not valid here', 'invalid_token')
  if (principal.boundKey !== undefined) throw invalidBoundToken()
  return principal
}

/** RFC 9449 §7.1: a token is not valid in the other scheme. */
function invalidBoundToken(): Refusal {
  const text = 'The access token is not valid here'
  const headers = { 'www-authenticate': proofChallenge('invalid_token', text) }
  return new Refusal('access.invalid_token', 401, text, { headers })
}

function tokenNeeded(text: string): Refusal {
  const headers = { 'www-authenticate': bothSchemes('Bearer realm="gatehouse"') }
  return new Refusal('access.token_needed', 401, text, { headers })
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

function inScheme(scheme: string, { code, status, message, details }: Refusal): Refusal {
  const challenge = details.headers?.['www-authenticate']?.replace(/^Bearer/, scheme)
  return new Refusal(code, status, message, {
    headers: challenge === undefined ? {} : { 'www-authenticate': challenge },
  })
}
