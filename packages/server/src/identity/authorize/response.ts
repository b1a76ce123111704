/** The authorization response: creates the grant, code and tokens (B-04), and encodes them for the response mode. */
import { hash, randomBytes } from 'node:crypto'
import { type Audit, type Clock, isRight } from 'gatehouse-protocol'
import type { User } from '../../store/accounts/user.ts'
import type { Grant } from '../../store/authorizations/grants.ts'
import type { Revocations } from '../../store/authorizations/revocations.ts'
import type { Session } from '../../store/authorizations/sessions.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import type { Stores } from '../../store/stores.ts'
import type { ApiRegistry } from '../apis/registry.ts'
import { BUILT_IN_TARGET, chooseTarget, isFor, isForAgents, type TokenTarget } from '../apis/targets.ts'
import { grantLifetime } from '../grants/grant.ts'
import type { TokenLifetimes } from '../grants/lifetimes.ts'
import { deriveAcr } from '../tokens/claims.ts'
import type { IssuedAccessToken, Issuer } from '../tokens/issuer.ts'
import { type AuthorizationRequest, gives, isOpenid, type Target } from './request.ts'

export interface ResponseInput {
  readonly request: AuthorizationRequest
  readonly client: Client
  readonly session: Session
  readonly user: User
  readonly scopes: readonly string[]
  readonly address: string
  readonly requestId: string
  /** Checks again, against the database, that nothing prevents the response. */
  readonly isStillGranted: () => Promise<boolean>
}

/** B-40: long enough for a slow redirect, too short to be taken from a log and used. */
const CODE_LIFETIME_MS = 60_000

interface RespondEnv extends Pick<Stores, 'grants' | 'codes' | 'sessions'> {
  readonly issuer: Issuer
  readonly apis: Pick<ApiRegistry, 'known'>
  readonly revocations: Pick<Revocations, 'revokeGrant'>
  readonly audit: Audit
  readonly clock: Clock
  readonly lifetimes: TokenLifetimes
}

/** Undefined when the user was disabled or withdrew consent before there was a grant to revoke. */
export async function respond(granted: ResponseInput, env: RespondEnv): Promise<AuthorizationResponse | undefined> {
  const { request, client, session, user, scopes, address, requestId } = granted
  const { responseType, target, nonce, challenge, boundKey, claims } = request
  const withCode = gives(responseType, 'code')
  const { audiences } = request
  const agent = isForAgents(audiences, env.apis.known()) && { agent: true }
  const details = { amr: session.amr, acr: deriveAcr(session.amr), claims, audiences, ...agent }
  const grant = await env.grants.create({
    kind: withCode ? 'authorization_code' : 'implicit',
    clientId: client.id,
    userId: user.id,
    sessionId: session.id,
    scopes,
    authTime: session.authTime,
    details,
    expiresAt: Math.min(
      env.clock() + (withCode ? CODE_LIFETIME_MS : 0) + grantLifetime({ scopes, details }, client, env),
      session.boundedUntil ?? Number.POSITIVE_INFINITY,
    ),
  })
  const code = withCode
    ? await env.codes.issue(grant.id, { redirectUri: target.redirectUri, nonce, challenge, boundKey }, CODE_LIFETIME_MS)
    : undefined
  const access = gives(responseType, 'token') ? await issueToken(granted, grant, env) : undefined
  const idToken = gives(responseType, 'id_token')
    ? await env.issuer.idToken({
        client,
        user,
        grant,
        nonce,
        accessToken: access?.token,
        code,
        withScopeClaims: responseType === 'id_token',
      })
    : undefined
  // Last: a revocation after this check finds the grant, and tokens older than itself.
  if (!(await granted.isStillGranted())) {
    await env.revocations.revokeGrant(grant.id)
    return undefined
  }
  const openid = isOpenid(request)
  if (openid) await env.sessions.addClient(session.id, client.id)
  env.audit.record({
    event: 'authorization.granted',
    actor: user.id,
    client: client.id,
    address,
    requestId,
    details: { response_type: responseType, scope: scopes, grant: grant.id },
  })
  return {
    code,
    access_token: access?.token,
    token_type: access === undefined ? undefined : 'Bearer',
    expires_in: access === undefined ? undefined : String(access.lifetime),
    scope: access === undefined || sameScopes(access.scopes, request.askedScopes) ? undefined : access.scopes.join(' '),
    id_token: idToken,
    session_state: openid ? sessionState(client.id, target.redirectUri, session.browserState) : undefined,
  }
}

/** For the target that the request determines. A user without a right there gets a token for the identity service. */
function issueToken(
  { request, client, user, scopes }: ResponseInput,
  grant: Grant,
  { issuer, apis }: RespondEnv,
): Promise<IssuedAccessToken> {
  const known = apis.known()
  const { audiences, scopes: granted } = request
  const within = (target: TokenTarget) => scopes.filter((scope) => isFor(target, scope, known))
  const chosen = chooseTarget({ named: undefined, audiences, granted }, known)
  const target = chosen.resource !== undefined && !within(chosen).some(isRight) ? BUILT_IN_TARGET : chosen
  return issuer.accessToken(client, within(target), { user, grant }, { target })
}

function sameScopes(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((scope) => b.includes(scope))
}

/** OpenID Connect Session Management §3.2: the value by which a client detects that the session has changed. */
function sessionState(clientId: string, redirectUri: string, browserState: string): string {
  const salt = randomBytes(12).toString('base64url')
  const text = `${clientId} ${postOrigin(redirectUri)} ${browserState} ${salt}`
  return `${hash('sha256', text, 'base64url')}.${salt}`
}

/** A private-use scheme has no origin. */
function postOrigin(uri: string): string {
  return URL.parse(uri)?.origin ?? 'null'
}

export type Delivery =
  | { readonly kind: 'redirect'; readonly url: string }
  | { readonly kind: 'form'; readonly action: string; readonly parameters: Readonly<Record<string, string>> }

export type AuthorizationResponse = Readonly<Record<string, string | undefined>>

/** RFC 9207: every response carries `iss`, so that a client of several servers can tell which one sent it; in a JWT it is a claim. */
export async function deliver(
  target: Target,
  client: Client,
  issuer: Pick<Issuer, 'name' | 'authorizationResponse'>,
  answer: AuthorizationResponse,
): Promise<Delivery> {
  const plain = { ...answer, state: target.state, iss: issuer.name }
  const parameters =
    target.signed === true
      ? { response: await issuer.authorizationResponse(client, plain) }
      : Object.fromEntries(
          Object.entries(plain).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
        )
  if (target.mode === 'form_post') return { kind: 'form', action: target.redirectUri, parameters }
  return { kind: 'redirect', url: addParameters(target.redirectUri, parameters, target.mode) }
}

/** Appends parameters and leaves the registered URI unchanged. */
export function addParameters(
  uri: string,
  parameters: Readonly<Record<string, string>>,
  mode: 'query' | 'fragment',
): string {
  const encoded = Object.entries(parameters)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&')
  if (encoded === '') return uri
  if (mode === 'fragment') return `${uri}#${encoded}`
  return `${uri}${uri.includes('?') ? (/[?&]$/.test(uri) ? '' : '&') : '?'}${encoded}`
}
