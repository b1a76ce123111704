/** What a connection may do: the states of its authority, and how the client sees it. */

import { formatDateTime, formatTimeSpan, isPlatformScope, type Principal } from 'gatehouse-protocol'
import { type CurrentRights, laterRights, limitPrincipal, UNCHANGED } from '../../events/token-effect.ts'
import type { Profile } from '../codec/profile.ts'
import type { AuthenticationResult, Need } from '../topics/controller.ts'

/**
 * Without an active authority the connection is closed at `closeAt` of the monotonic clock. Other times are milliseconds
 * since the epoch.
 */
export type Authority =
  | { readonly state: 'anonymous'; readonly closeAt: number }
  | ActiveAuthority
  /** The token expired. Subscriptions are paused until the same user presents a fresh token. */
  | { readonly state: 'expired'; readonly principal: Principal; readonly closeAt: number }
  /** The token was revoked. Subscriptions that need authority have ended. */
  | { readonly state: 'revoked'; readonly principal: Principal; readonly closeAt: number }

export interface ActiveAuthority {
  readonly state: 'active'
  /** The token's principal, with only the scopes that its user and client still have. */
  readonly principal: Principal
  /** The scopes of the token as presented. */
  readonly tokenScopes: ReadonlySet<string>
  readonly rights: CurrentRights
  readonly expiresAt: number
  /** Whether the client has been warned that the token is about to expire. */
  readonly warned: boolean
  /** A token that the client can pass to AuthToken later; kept only if the profile shows it repeatedly. */
  readonly restoreToken: string | undefined
}

/** A token that expires before `warnedUntil` needs no warning: the reply to the sign-in shows when it expires. */
export function activate(principal: Principal, restoreToken: string | undefined, warnedUntil: number): ActiveAuthority {
  const expiresAt = principal.expiresAt * 1000
  return {
    state: 'active',
    principal,
    tokenScopes: principal.scopes,
    rights: UNCHANGED,
    expiresAt,
    warned: expiresAt <= warnedUntil,
    restoreToken,
  }
}

/** Undefined from the millisecond of expiry, even if the sweep has not noticed it yet. */
export function activeAuthority(authority: Authority, now: number): ActiveAuthority | undefined {
  return authority.state === 'active' && now < authority.expiresAt ? authority : undefined
}

export function satisfies(authority: Authority, need: Need, now: number): boolean {
  if (need === 'nothing') return true
  const active = activeAuthority(authority, now)
  return active !== undefined && (need === 'identity' || active.principal.scopes.has(need))
}

/** Limits the authority to what user and client still have; scopes that the token lacks are never added. */
export function withRights(authority: ActiveAuthority, changed: CurrentRights): ActiveAuthority {
  const rights = laterRights(authority.rights, changed)
  return { ...authority, principal: limitPrincipal(authority.principal, authority.tokenScopes, rights), rights }
}

/** The authentication result of the contract, as the client's profile expects it; after a sign-in with its restore token. */
export function describeAuthority(
  authority: Authority,
  profile: Profile,
  vendor: string,
  now: number,
  newRestoreToken?: string,
): AuthenticationResult {
  const active = activeAuthority(authority, now)
  if (active === undefined) return { Result: profile.rejected }
  const { principal, restoreToken } = active
  return {
    Result: 'Success',
    AccessToken: newRestoreToken ?? restoreToken,
    DisplayName: principal.displayName,
    UserID: principal.username ?? principal.subject,
    ExpiryDate: formatDateTime(active.expiresAt),
    ExpiresIn: profile.showsExpiresIn ? formatTimeSpan(active.expiresAt - now, 1) : undefined,
    Scope: vendorScopes(principal.scopes, vendor),
  }
}

interface ShownScopes {
  readonly vendor: string
  readonly names: readonly string[]
}

const shownScopes = new WeakMap<ReadonlySet<string>, ShownScopes>()

/** Most tokens of a client share one set of scopes. */
function vendorScopes(scopes: ReadonlySet<string>, vendor: string): readonly string[] {
  let shown = shownScopes.get(scopes)
  if (shown?.vendor !== vendor) {
    const names = [...scopes].filter(isPlatformScope).map((scope) => `${vendor}.${scope.replaceAll('/', '.')}`)
    shown = { vendor, names }
    shownScopes.set(scopes, shown)
  }
  return shown.names
}
