/** /connect/userinfo (OpenID Connect Core §5.3): the current claims about the user of an access token. */

import { type Authenticate, type Principal, Refusal } from 'gatehouse-protocol'
import { type Context, JSON_TYPE } from '../../http/context.ts'
import { limitedCaller, type RateLimits } from '../../http/limits/rate-limits.ts'
import { type Credentials, credentialsOn, readProof } from '../../http/request/authentication.ts'
import { FORM, isForm } from '../../http/request/body.ts'
import { setInteractionId } from '../../http/request/interaction-id.ts'
import { bothSchemes, type CheckProof, proofChallenge } from '../../http/request/proof.ts'
import type { Route } from '../../http/route.ts'
import { LruMap } from '../../lib/lru-map.ts'
import type { User } from '../../store/accounts/user.ts'
import type { Grants, RequestedClaim } from '../../store/authorizations/grants.ts'
import type { AttributeClaims } from '../attributes/attribute-claims.ts'
import type { AttributeDirectory } from '../attributes/attribute-directory.ts'
import { readForm } from '../clients/client-request.ts'
import { printable, replyWithOAuthError, TOKEN_NEEDED } from '../oauth-error.ts'
import { claimsAbout } from '../tokens/claims.ts'
import type { UserDirectory } from '../user-directory.ts'

export interface UserinfoEnv {
  readonly rateLimits: Pick<RateLimits, 'countCaller'>
  readonly authenticate: Authenticate
  readonly checkProof: CheckProof
  readonly users: Pick<UserDirectory, 'findById' | 'recent'>
  readonly attributes: Pick<AttributeDirectory, 'claims'>
  readonly stores: { readonly grants: Pick<Grants, 'find'> }
}

type RequestedClaims = Readonly<Record<string, RequestedClaim>>

interface Reply {
  readonly user: User
  readonly attributes: AttributeClaims
  readonly text: string
}

const CACHED_GRANTS = 10_000

export function userinfoRoutes(env: UserinfoEnv): readonly Route[] {
  const { authenticate, checkProof, users, attributes, stores, rateLimits } = env
  /** The `claims` parameter of a grant never changes. */
  const requestedClaims = new LruMap<RequestedClaims>(CACHED_GRANTS)

  /** The last reply for a token: its principal, the user and the attributes stay the same objects until something about them changes. */
  const replies = new WeakMap<Principal, Reply>()

  /** A known bearer token of a user read a moment ago is served in one turn, without a promise (`npm run bench -- userinfo`). */
  const handle = (context: Context): void | Promise<void> => {
    setInteractionId(context)
    const credentials = readToken(context)
    const principal = authenticate(credentials.token)
    if (credentials.isProven || principal instanceof Promise) return handleLater(context, credentials, principal)
    return reply(context, checkScheme(principal, false))
  }

  return [
    { method: 'GET', path: '/connect/userinfo', handle },
    { method: 'POST', path: '/connect/userinfo', body: FORM, handle },
  ]

  async function handleLater(
    context: Context,
    { token, isProven }: Credentials,
    authenticated: ReturnType<Authenticate>,
  ): Promise<void> {
    const principal = checkScheme(await authenticated, isProven)
    context.principal = principal
    if (isProven) await useProof(context, token, principal)
    await reply(context, principal)
  }

  function reply(context: Context, principal: Principal): void | Promise<void> {
    context.principal = principal
    context.setLimits(rateLimits.countCaller('token', context.address, limitedCaller(principal)))
    if (principal.kind !== 'user' || !principal.scopes.has('openid')) throw notOpenId()
    const last = replies.get(principal)
    const isCurrent = last?.user === users.recent(principal.subject) && last?.attributes === attributes.claims()
    if (last === undefined || !isCurrent) return describe(context, principal)
    context.send(JSON_TYPE, last.text)
  }

  async function describe(context: Context, principal: Principal): Promise<void> {
    const user = await users.findById(principal.subject)
    if (user === undefined || user.disabled) throw notValid()
    const requested = await loadRequestedClaims(principal)
    const known = attributes.claims()
    const text = JSON.stringify({ sub: user.id, ...claimsAbout(user, known, principal.scopes, requested) })
    replies.set(principal, { user, attributes: known, text })
    context.send(JSON_TYPE, text)
  }

  async function useProof(context: Context, accessToken: string, principal: Principal): Promise<void> {
    const { method, path, address, id: requestId } = context
    const use = { proof: readProof(context), method, path, accessToken, principal, isShared: false, address, requestId }
    const nonce = await checkProof(use)
    if (nonce !== undefined) context.setHeader('dpop-nonce', nonce)
  }

  async function loadRequestedClaims({ grantId }: Principal): Promise<RequestedClaims> {
    if (grantId === undefined) return {}
    let claims = requestedClaims.get(grantId)
    if (claims === undefined) {
      claims = (await stores.grants.find(grantId))?.details.claims?.userinfo ?? {}
      requestedClaims.set(grantId, claims)
    }
    return claims
  }
}

/** RFC 6750 §3: errors of the body carry a challenge too. */
export function replyWithUserinfoError(context: Context, error: unknown): void {
  const isPlain = error instanceof Refusal && error.details.headers === undefined && [400, 415].includes(error.status)
  replyWithOAuthError(context, isPlain ? challenge(400, 'invalid_request', printable(error.message)) : error)
}

/** RFC 6750 §2: in the header or in the form of a POST, not in both. A token in the query string is ignored. */
function readToken(context: Context): Credentials {
  const { authorization } = context.headers
  const inBody = bodyToken(context)
  if (authorization === undefined) {
    if (inBody === undefined) throw new Refusal(TOKEN_NEEDED, 401, 'An access token is needed', tokenNeeded())
    return { token: inBody, isProven: false }
  }
  const credentials = credentialsOn(context.request.socket, authorization)
  if (credentials === undefined) throw malformed()
  if (inBody !== undefined)
    throw challenge(400, 'invalid_request', 'The access token was sent both in the header and in the body')
  return credentials
}

function bodyToken(context: Context): string | undefined {
  if (!isForm(context)) return undefined
  if (context.method !== 'POST') throw challenge(400, 'invalid_request', 'A GET request must not have a form body')
  return readForm(context).get('access_token')
}

/** RFC 9449 §7.1: a token is valid in one of the schemes only. */
function checkScheme(principal: Principal | undefined, isProven: boolean): Principal {
  if (principal === undefined || (principal.boundKey !== undefined) !== isProven)
    throw notValid(isProven || principal !== undefined)
  return principal
}

function notValid(isBound = false): Refusal {
  const text = 'The access token is not valid'
  if (!isBound) return challenge(401, 'invalid_token', text)
  return new Refusal('invalid_token', 401, text, {
    headers: { 'www-authenticate': proofChallenge('invalid_token', text) },
  })
}

function malformed(): Refusal {
  return challenge(400, 'invalid_request', 'The Authorization header is malformed')
}

function notOpenId(): Refusal {
  return new Refusal('insufficient_scope', 403, 'The access token does not have the scope openid', {
    ...bearer('error="insufficient_scope"', 'scope="openid"'),
  })
}

function challenge(status: 400 | 401, error: 'invalid_token' | 'invalid_request', text: string): Refusal {
  return new Refusal(error, status, text, bearer(`error="${error}"`, `error_description="${text}"`))
}

/** RFC 6750 §3: without a token there is no error code. */
function tokenNeeded() {
  return { headers: { 'www-authenticate': bothSchemes('Bearer realm="gatehouse"') } }
}

function bearer(...parts: string[]) {
  return { headers: { 'www-authenticate': ['Bearer realm="gatehouse"', ...parts].join(', ') } }
}
