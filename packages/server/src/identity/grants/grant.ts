/** What the grants of the token endpoint share: their types, and creating a stored grant. */

import type { Actor, AncestorToken, Audit, Authenticate, Clock } from 'gatehouse-protocol'
import type { RevocationList } from '../../events/revocation-list.ts'
import type { FormParameters } from '../../http/request/body.ts'
import type { User } from '../../store/accounts/user.ts'
import type { Grant, NewGrant } from '../../store/authorizations/grants.ts'
import type { Undelivered } from '../../store/authorizations/refresh-tokens.ts'
import type { Revocations } from '../../store/authorizations/revocations.ts'
import type { Client, GrantType } from '../../store/clients/client-metadata.ts'
import type { Stores } from '../../store/stores.ts'
import type { ApiRegistry } from '../apis/registry.ts'
import { chooseTarget, isForAgents, scopesOfTarget, type TokenTarget } from '../apis/targets.ts'
import type { ClientRequest } from '../clients/client-request.ts'
import type { CheckPassword } from '../passwords/password-check.ts'
import type { ProviderDirectory } from '../provider-directory.ts'
import type { RemoteKeys } from '../remote-keys/remote-keys.ts'
import type { Issuer } from '../tokens/issuer.ts'
import { chooseLifetimes, type LifetimesEnv, type TokenLifetimes } from './lifetimes.ts'

export interface GrantEnv {
  readonly apis: Pick<ApiRegistry, 'known' | 'find'>
  readonly stores: Pick<
    Stores,
    'users' | 'grants' | 'codes' | 'refreshTokens' | 'deviceCodes' | 'consents' | 'identities' | 'spentJwts' | 'nodes'
  >
  readonly revocations: Revocations
  readonly revocationList: RevocationList
  readonly checkPassword: CheckPassword
  readonly authenticate: Authenticate
  readonly audit: Audit
  readonly clock: Clock
  readonly lifetimes: TokenLifetimes
  readonly undelivered: Undelivered
  readonly issuer: Pick<Issuer, 'name'>
  /** Those that vouch for users to agents are among them. */
  readonly providers: Pick<ProviderDirectory, 'list'>
  readonly remoteKeys: () => Promise<RemoteKeys>
}

export interface GrantRequest {
  readonly form: FormParameters
  readonly client: Client
  readonly caller: ClientRequest
  /** The thumbprint of the key that the request proved (RFC 9449). */
  readonly boundKey: string | undefined
  /** The audience that the request names with `resource`. */
  readonly audience: string | undefined
  /** Throws when the user has exceeded the rate limit. Call it before spending a token that can be used again later. */
  readonly countUser: (user: User) => void
}

/** A redeemed grant: what the token endpoint may issue. */
export interface Redeemed {
  /** Those of the target. */
  readonly scopes: readonly string[]
  readonly target: TokenTarget
  /** Absent when the client acts for itself. */
  readonly onBehalfOf?: { readonly user: User; readonly grant: Grant }
  /** May be a promise: the other tokens can be signed while this one is being stored. */
  readonly refreshToken?: string | Promise<string> | undefined
  /** To be called if the reply does not reach the client: the refresh token may then be asked for again. */
  readonly noteUndelivered?: () => void
  /** When the user consented, if before this request: a revocation since then may not have found a grant to revoke. */
  readonly asOf?: number | undefined
  /** Present if an ID token will be issued. */
  readonly idToken?: { readonly nonce?: string | undefined }
  /** Present for a token exchange. */
  readonly exchange?: Exchange
}

/** What a token from a token exchange has of the token that it came from. */
export interface Exchange {
  readonly actor: Actor
  readonly ancestors: readonly AncestorToken[]
  readonly subjectTokenId: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

export type Redeem = (request: GrantRequest, env: GrantEnv) => Promise<Redeemed>

/** The target of a token under a grant, and its scopes: those that the user and the client still have. */
export function chooseGrantTarget(
  { audience: named, client }: Pick<GrantRequest, 'audience' | 'client'>,
  grant: Pick<Grant, 'details' | 'scopes'>,
  held: readonly string[],
  { apis }: Pick<GrantEnv, 'apis'>,
): Pick<Redeemed, 'target' | 'scopes'> {
  const known = apis.known()
  const target = chooseTarget({ named, audiences: grant.details.audiences, granted: grant.scopes }, known)
  const allowed = held.filter((scope) => client.scopes.has(scope))
  return { target, scopes: scopesOfTarget(allowed, target, known) }
}

/** The grant types of the token endpoint, which `implicit` does not use. */
export type TokenGrantType = Exclude<GrantType, 'implicit'>

/** Creates a grant, with its first refresh token if it has offline access. */
export async function createGrant(
  grant: Omit<NewGrant, 'expiresAt'>,
  client: Client,
  env: GrantEnv,
  boundedUntil = Number.POSITIVE_INFINITY,
): Promise<{ grant: Grant; refreshToken: string | undefined }> {
  const { audiences } = grant.details
  const created = await env.stores.grants.create({
    ...grant,
    details: { ...grant.details, ...(isForAgents(audiences, env.apis.known()) && { agent: true }) },
    expiresAt: Math.min(env.clock() + grantLifetime(grant, client, env), boundedUntil),
  })
  return { grant: created, refreshToken: await issueFirstRefreshToken(created, env) }
}

/** A grant without offline access ends with its access token. */
export function grantLifetime(
  { scopes, details }: Pick<Grant, 'scopes' | 'details'>,
  client: Client,
  env: LifetimesEnv,
): number {
  const lifetimes = chooseLifetimes(details.audiences, env)
  if (scopes.includes('offline_access')) return lifetimes.refreshMs
  return client.accessTokenLifetime === undefined ? lifetimes.accessTokenMs : client.accessTokenLifetime * 1000
}

export async function issueFirstRefreshToken(grant: Grant, env: GrantEnv): Promise<string | undefined> {
  if (!grant.scopes.includes('offline_access')) return undefined
  return env.stores.refreshTokens.issue(grant, chooseLifetimes(grant.details.audiences, env))
}

/** RFC 9449 §5: refresh tokens of public clients are bound to the key. Others authenticate, and may come with a new key. */
export function refreshTokenKey({ client, boundKey }: Pick<GrantRequest, 'client' | 'boundKey'>): {
  boundKey?: string
} {
  return client.public && boundKey !== undefined ? { boundKey } : {}
}
