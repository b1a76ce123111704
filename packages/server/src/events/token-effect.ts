/** What events mean for a token that is in use: whether it ends, and which rights are left. */
import { type GateEvent, isRight, limitRights, type Principal, type RoleRights, rightsByRole } from 'gatehouse-protocol'

/** What an event means for a token. */
export type EventEffect =
  | { readonly kind: 'none' }
  /** The access token is no longer valid; the client may present another. */
  | { readonly kind: 'revoked' }
  /** The session behind the token has ended. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'rights-changed'; readonly rights: CurrentRights }

const NO_EFFECT: EventEffect = { kind: 'none' }

export function findEffect(event: GateEvent, principal: Principal): EventEffect {
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
      return wasIssuedBefore(principal, event.at) && collectSubjects(event).has(principal.subject)
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
    case 'wire-kick':
    case 'user-changed':
    case 'clients-changed':
    case 'catalogue-changed':
    case 'attributes-changed':
    case 'alerts-changed':
    case 'channels-changed':
    case 'controllers-changed':
    case 'feeds-changed':
    case 'providers-changed':
    case 'licences-changed':
    case 'apis-changed':
    case 'agents-changed':
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
const rightsOfEvent = oncePerEvent((event: Extract<GateEvent, { kind: 'roles-changed' }>) => rightsByRole(event.roles))
const collectSubjects = oncePerEvent((event: Extract<GateEvent, { kind: 'subjects-cut' }>) => new Set(event.subjects))

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
  return events.every((event) => !endsToken(findEffect(event, principal)))
}

function wasIssuedBefore(principal: Principal, at: number): boolean {
  return principal.issuedAt * 1000 <= at
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

export const UNCHANGED: CurrentRights = {}

/** What is known after a change. Events from two nodes may arrive in either order. */
export function laterRights(known: CurrentRights, changed: CurrentRights): CurrentRights {
  const user = latest(known.user, changed.user)
  const roles = latest(known.roles, changed.roles)
  const client = latest(known.client, changed.client)
  return { ...(user && { user }), ...(roles && { roles }), ...(client && { client }) }
}

/** With what user and client still have; scopes that the token lacks are never added. */
export function limitPrincipal(
  principal: Principal,
  tokenScopes: ReadonlySet<string>,
  { user, roles, client }: CurrentRights,
): Principal {
  const left = limitRights(user?.roles ?? principal.roles, user, roles)
  const isAllowed = (scope: string) => (client?.scopes.has(scope) ?? true) && (!isRight(scope) || left.has(scope))
  const scopes = new Set([...tokenScopes].filter(isAllowed))
  return { ...principal, scopes, roles: left.roles }
}

function latest<T extends { readonly at: number }>(known: T | undefined, changed: T | undefined): T | undefined {
  return known === undefined || (changed !== undefined && changed.at >= known.at) ? changed : known
}
