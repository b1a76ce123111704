/** What a connection may do: the states of its authority, how events change it, and how the client sees it. */

import {
  formatDateTime,
  formatTimeSpan,
  isPlatformScope,
  isRight,
  limitRights,
  type Principal,
  type RoleRights,
  rightsOf,
} from 'gatehouse-protocol'
import type { GateEvent } from '../../events/bus.ts'
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

/** The rights of user and client as of their latest change since the token was presented. */
export interface CurrentRights {
  readonly user?: RightsAt & { readonly roles: readonly string[] }
  readonly roles?: { readonly rights: RoleRights; readonly at: number }
  readonly client?: RightsAt
}

interface RightsAt {
  readonly scopes: ReadonlySet<string>
  readonly at: number
}

const UNCHANGED: CurrentRights = {}

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

/** What an event means for a token. */
export type EventEffect =
  | { readonly kind: 'none' }
  /** The access token is no longer valid; the client may present another. */
  | { readonly kind: 'revoked' }
  /** The session behind the token has ended. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'rights-changed'; readonly rights: CurrentRights }

const NO_EFFECT: EventEffect = { kind: 'none' }

export function effectOf(event: GateEvent, principal: Principal): EventEffect {
  const own = effectOnToken(event, principal)
  if (principal.ancestors === undefined || endsToken(own)) return own
  for (const ancestor of principal.ancestors) {
    const effect = effectOnToken(event, { ...principal, ...ancestor })
    if (endsToken(effect)) return effect
  }
  return own
}

function endsToken({ kind }: EventEffect): boolean {
  return kind === 'revoked' || kind === 'ended'
}

function effectOnToken(event: GateEvent, principal: Principal): EventEffect {
  switch (event.kind) {
    case 'token-revoked':
      return event.tokenId === principal.tokenId ? { kind: 'revoked' } : NO_EFFECT
    case 'grant-revoked':
      return event.grantId === principal.grantId ? { kind: 'ended' } : NO_EFFECT
    case 'session-ended':
      return event.sessionId === principal.sessionId ? { kind: 'ended' } : NO_EFFECT
    case 'subject-cut':
      return event.subject === principal.subject && wasIssuedBefore(principal, event.at) ? { kind: 'ended' } : NO_EFFECT
    case 'subjects-cut':
      return wasIssuedBefore(principal, event.at) && subjectsOf(event).has(principal.subject)
        ? { kind: 'ended' }
        : NO_EFFECT
    case 'client-cut':
      return event.clientId === principal.clientId && wasIssuedBefore(principal, event.at)
        ? { kind: 'ended' }
        : NO_EFFECT
    case 'rights-changed':
      return event.subject === principal.subject && wasIssuedBefore(principal, event.at)
        ? { kind: 'rights-changed', rights: { user: { ...event, scopes: new Set(event.scopes) } } }
        : NO_EFFECT
    case 'roles-changed':
      return principal.kind === 'user' && wasIssuedBefore(principal, event.at)
        ? { kind: 'rights-changed', rights: { roles: { at: event.at, rights: rightsOfEvent(event) } } }
        : NO_EFFECT
    case 'client-scopes-changed':
      if (event.clientId !== principal.clientId || !wasIssuedBefore(principal, event.at)) return NO_EFFECT
      return event.scopes.length === 0
        ? { kind: 'ended' }
        : { kind: 'rights-changed', rights: { client: { at: event.at, scopes: new Set(event.scopes) } } }
    case 'stream-kick':
      return event.subject === principal.subject ? { kind: 'ended' } : NO_EFFECT
    case 'keys-changed':
      return event.withdrawn !== undefined && event.withdrawn === principal.keyId ? { kind: 'revoked' } : NO_EFFECT
    case 'user-changed':
    case 'clients-changed':
    case 'catalogue-changed':
    case 'attributes-changed':
    case 'controllers-changed':
    case 'feeds-changed':
    case 'providers-changed':
    case 'apis-changed':
    case 'nodes-asked':
      return NO_EFFECT
    default:
      return ignoreUnknown(event)
  }
}

/** A kind from a node of a later version. */
function ignoreUnknown(_event: never): EventEffect {
  return NO_EFFECT
}

/** All connections of a node receive the same event: what is derived from it is computed once. */
const rightsOfEvent = oncePerEvent((event: Extract<GateEvent, { kind: 'roles-changed' }>) => rightsOf(event.roles))
const subjectsOf = oncePerEvent((event: Extract<GateEvent, { kind: 'subjects-cut' }>) => new Set(event.subjects))

function oncePerEvent<E extends GateEvent, T>(derive: (event: E) => T): (event: E) => T {
  const derived = new WeakMap<E, T>()
  return (event) => {
    const value = derived.get(event) ?? derive(event)
    derived.set(event, value)
    return value
  }
}

/** Whether none of these events invalidates the token. */
export function survives(principal: Principal, events: readonly GateEvent[]): boolean {
  return events.every((event) => !endsToken(effectOf(event, principal)))
}

function wasIssuedBefore(principal: Principal, at: number): boolean {
  return principal.issuedAt * 1000 <= at
}

/** Limits the authority to what user and client still have; scopes that the token lacks are never added. */
export function withRights(authority: ActiveAuthority, changed: CurrentRights): ActiveAuthority {
  const user = latest(authority.rights.user, changed.user)
  const roles = latest(authority.rights.roles, changed.roles)
  const client = latest(authority.rights.client, changed.client)
  const left = limitRights(user?.roles ?? authority.principal.roles, user, roles)
  const isAllowed = (scope: string) => (client?.scopes.has(scope) ?? true) && (!isRight(scope) || left.has(scope))
  const scopes = new Set([...authority.tokenScopes].filter(isAllowed))
  const principal = { ...authority.principal, scopes, roles: left.roles }
  return {
    ...authority,
    principal,
    rights: { ...(user && { user }), ...(roles && { roles }), ...(client && { client }) },
  }
}

/** Events from two nodes may arrive in either order. */
function latest<T extends { readonly at: number }>(known: T | undefined, changed: T | undefined): T | undefined {
  return known === undefined || (changed !== undefined && changed.at >= known.at) ? changed : known
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
