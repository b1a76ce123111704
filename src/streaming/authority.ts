/** What a connection may do: the states of its authority, what events do to it, and how it is shown to the client. */
import type { GateEvent } from '../events/bus.ts'
import type { Principal } from '../protocol/principal.ts'
import { isPlatformScope, isRight } from '../protocol/scopes.ts'
import { formatDateTime, formatTimeSpan } from '../protocol/wire-time.ts'
import type { AuthenticationResult, Need } from './controller.ts'
import type { Profile } from './profile.ts'

/** Times are milliseconds since the epoch; at `until` a connection without authority is closed. */
export type Authority =
  /** Never authenticated. */
  | { readonly state: 'none'; readonly until: number }
  | Held
  /** Expired: its subscriptions wait for the same user to come back with a fresh token. */
  | { readonly state: 'lapsed'; readonly principal: Principal; readonly until: number }
  /** The token was taken back: nothing is kept but the connection. */
  | { readonly state: 'revoked'; readonly principal: Principal; readonly until: number }

export interface Held {
  readonly state: 'held'
  /** What the token says, with the scopes that the user still has a right to and the client may still ask for. */
  readonly principal: Principal
  /** The scopes that it was presented with. */
  readonly presented: ReadonlySet<string>
  readonly limits: Limits
  readonly expiresAt: number
  /** Whether the client has been told that the end is near. */
  readonly warned: boolean
  /** What the client may give to AuthToken later; kept only where its profile shows it again. */
  readonly restoreToken: string | undefined
}

/** What user and client were left with since the token was presented; each changes without the other. */
export interface Limits {
  readonly user?: Limit & { readonly roles: readonly string[] }
  readonly client?: Limit
}

interface Limit {
  readonly scopes: readonly string[]
  readonly at: number
}

const NO_LIMITS: Limits = {}

export function hold(principal: Principal, restoreToken: string | undefined): Held {
  const expiresAt = principal.expiresAt * 1000
  return {
    state: 'held',
    principal,
    presented: principal.scopes,
    limits: NO_LIMITS,
    expiresAt,
    warned: false,
    restoreToken,
  }
}

/** Exact to the millisecond, however late the sweep notices. */
export function inForce(authority: Authority, now: number): Held | undefined {
  return authority.state === 'held' && now < authority.expiresAt ? authority : undefined
}

export function satisfies(authority: Authority, need: Need, now: number): boolean {
  if (need === 'nothing') return true
  const held = inForce(authority, now)
  return held !== undefined && (need === 'identity' || held.principal.scopes.has(need))
}

export type Effect =
  | { readonly kind: 'none' }
  /** The access token counts no more; another may be presented. */
  | { readonly kind: 'revoked' }
  /** The session behind the connection is over. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'rights'; readonly limits: Limits }

const NO_EFFECT: Effect = { kind: 'none' }

/** What an event means for whoever holds this principal. */
export function effectOf(event: GateEvent, principal: Principal): Effect {
  switch (event.kind) {
    case 'token-revoked':
      return event.tokenId === principal.tokenId ? { kind: 'revoked' } : NO_EFFECT
    case 'grant-revoked':
      return event.grantId === principal.grantId ? { kind: 'ended' } : NO_EFFECT
    case 'session-ended':
      return event.sessionId === principal.sessionId ? { kind: 'ended' } : NO_EFFECT
    case 'subject-cut':
      return event.subject === principal.subject && wasIssuedBefore(principal, event.at) ? { kind: 'ended' } : NO_EFFECT
    case 'client-cut':
      return event.clientId === principal.clientId && wasIssuedBefore(principal, event.at)
        ? { kind: 'ended' }
        : NO_EFFECT
    case 'rights-changed':
      return event.subject === principal.subject && wasIssuedBefore(principal, event.at)
        ? { kind: 'rights', limits: { user: event } }
        : NO_EFFECT
    case 'client-scopes-changed':
      if (event.clientId !== principal.clientId || !wasIssuedBefore(principal, event.at)) return NO_EFFECT
      return event.scopes.length === 0 ? { kind: 'ended' } : { kind: 'rights', limits: { client: event } }
    case 'stream-kick':
      return event.subject === principal.subject ? { kind: 'ended' } : NO_EFFECT
    case 'keys-changed':
      return event.withdrawn !== undefined && event.withdrawn === principal.keyId ? { kind: 'revoked' } : NO_EFFECT
    case 'user-changed':
    case 'clients-changed':
    case 'catalogue-changed':
    case 'nodes-asked':
      return NO_EFFECT
  }
}

/** Whether a token that was good before these events is still good after them. */
export function outlives(principal: Principal, events: readonly GateEvent[]): boolean {
  return events.every((event) => ['none', 'rights'].includes(effectOf(event, principal).kind))
}

function wasIssuedBefore(principal: Principal, at: number): boolean {
  return principal.issuedAt * 1000 <= at
}

export function narrowed(held: Held, news: Limits): Held {
  const user = later(held.limits.user, news.user)
  const client = later(held.limits.client, news.client)
  const isLeft = (scope: string) =>
    (client?.scopes.includes(scope) ?? true) && (!isRight(scope) || (user?.scopes.includes(scope) ?? true))
  const scopes = new Set([...held.presented].filter(isLeft))
  const principal = { ...held.principal, scopes, roles: user?.roles ?? held.principal.roles }
  return { ...held, principal, limits: { ...(user && { user }), ...(client && { client }) } }
}

/** Events of two nodes may arrive in either order. */
function later<T extends Limit>(known: T | undefined, news: T | undefined): T | undefined {
  return known === undefined || (news !== undefined && news.at >= known.at) ? news : known
}

/** The authentication result of the contract, in the words of the client's profile. */
export function describe(authority: Authority, profile: Profile, vendor: string, now: number): AuthenticationResult {
  const held = inForce(authority, now)
  if (held === undefined) return { Result: profile.rejected }
  const { principal, restoreToken } = held
  return {
    Result: 'Success',
    ...(restoreToken === undefined ? {} : { AccessToken: restoreToken }),
    ...(principal.displayName === undefined ? {} : { DisplayName: principal.displayName }),
    UserID: principal.username ?? principal.subject,
    ExpiryDate: formatDateTime(held.expiresAt),
    ...(profile.showsExpiresIn ? { ExpiresIn: formatTimeSpan(held.expiresAt - now, 1) } : {}),
    Scope: shownScopes(principal.scopes, vendor),
  }
}

const shown = new WeakMap<ReadonlySet<string>, { readonly vendor: string; readonly names: readonly string[] }>()

/** Sets never change and are shared by the tokens of a client, so each is put into the client's words once. */
function shownScopes(scopes: ReadonlySet<string>, vendor: string): readonly string[] {
  const known = shown.get(scopes)
  if (known?.vendor === vendor) return known.names
  const names = [...scopes].filter(isPlatformScope).map((scope) => `${vendor}.${scope.replaceAll('/', '.')}`)
  shown.set(scopes, { vendor, names })
  return names
}
