/** What the grants of the token endpoint share: their types, and creating a stored grant. */

import type { Audit, Clock } from 'gatehouse-protocol'
import type { RevocationList } from '../../events/revocation-list.ts'
import type { Parameters } from '../../http/request/body.ts'
import type { User } from '../../store/accounts/user.ts'
import type { Grant, NewGrant } from '../../store/authorizations/grants.ts'
import type { Revocations } from '../../store/authorizations/revocations.ts'
import type { Client, GrantType } from '../../store/clients/client-metadata.ts'
import type { Stores } from '../../store/stores.ts'
import type { ClientRequest } from '../clients/client-request.ts'
import type { CheckPassword } from '../passwords/password-check.ts'

export interface GrantEnv {
  readonly stores: Pick<Stores, 'users' | 'grants' | 'codes' | 'refreshTokens' | 'deviceCodes' | 'consents'>
  readonly revocations: Revocations
  readonly revocationList: RevocationList
  readonly checkPassword: CheckPassword
  readonly audit: Audit
  readonly clock: Clock
  readonly lifetimes: TokenLifetimes
}

export interface TokenLifetimes {
  readonly accessTokenMs: number
  /** Lifetime of a grant with offline access, however often it is refreshed. */
  readonly refreshMs: number
  /** How long an unused refresh token lives. */
  readonly idleMs: number
  /** How long after its rotation a refresh token may be sent again. */
  readonly graceMs: number
}

export interface GrantRequest {
  readonly form: Parameters
  readonly client: Client
  readonly caller: ClientRequest
  /** Throws when the user has exceeded the rate limit. Call it before spending a token that can be used again later. */
  readonly countUser: (user: User) => void
}

/** A redeemed grant: what the token endpoint may issue. */
export interface Redeemed {
  readonly scopes: readonly string[]
  /** Absent when the client acts for itself. */
  readonly onBehalfOf?: { readonly user: User; readonly grant: Grant }
  /** May be a promise: the other tokens can be signed while this one is being stored. */
  readonly refreshToken?: string | Promise<string> | undefined
  /** When the user consented, if before this request: a revocation since then may not have found a grant to revoke. */
  readonly asOf?: number | undefined
  /** Present if an ID token will be issued. */
  readonly idToken?: { readonly nonce?: string | undefined }
}

export type Redeem = (request: GrantRequest, env: GrantEnv) => Promise<Redeemed>

/** The grant types of the token endpoint, which `implicit` does not use. */
export type TokenGrantType = Exclude<GrantType, 'implicit'>

/** Creates a grant, with its first refresh token if it has offline access. */
export async function createGrant(
  grant: Omit<NewGrant, 'expiresAt'>,
  client: Client,
  env: GrantEnv,
  boundedUntil = Number.POSITIVE_INFINITY,
): Promise<{ grant: Grant; refreshToken: string | undefined }> {
  const created = await env.stores.grants.create({
    ...grant,
    expiresAt: Math.min(env.clock() + grantLifetime(grant.scopes, client, env), boundedUntil),
  })
  return { grant: created, refreshToken: await issueFirstRefreshToken(created, env) }
}

/** A grant without offline access ends with its access token. */
export function grantLifetime(
  scopes: readonly string[],
  client: Client,
  { lifetimes }: Pick<GrantEnv, 'lifetimes'>,
): number {
  if (scopes.includes('offline_access')) return lifetimes.refreshMs
  return client.accessTokenLifetime === undefined ? lifetimes.accessTokenMs : client.accessTokenLifetime * 1000
}

export async function issueFirstRefreshToken(grant: Grant, env: GrantEnv): Promise<string | undefined> {
  if (!grant.scopes.includes('offline_access')) return undefined
  return env.stores.refreshTokens.issue(grant, env.lifetimes)
}
