/** Revoked tokens, kept in memory so that a check costs no round trip: loaded at start, updated from the bus. */
import {
  type AncestorToken,
  type Clock,
  type GateEvent,
  isRight,
  limitRights,
  type RoleRights,
  rightsByRole,
} from 'gatehouse-protocol'
import type { Events } from '../store/cluster/events.ts'
import type { Bus } from './bus.ts'

/** Where a token comes from, according to its claims. */
export interface TokenOrigin {
  readonly tokenId: string
  readonly grantId: string | undefined
  readonly sessionId: string | undefined
  readonly subject: string
  readonly clientId: string
  /** Milliseconds since the epoch. */
  readonly issuedAtMs: number
  /** The tokens from which it came by token exchange. */
  readonly ancestors?: readonly AncestorToken[] | undefined
}

/** The scopes of a token, limited by its client and its user's roles, and those roles. */
export interface TokenRights {
  readonly scopes: ReadonlySet<string>
  readonly roles: readonly string[]
}

const KINDS = [
  'token-revoked',
  'grant-revoked',
  'session-ended',
  'subject-cut',
  'subjects-cut',
  'client-cut',
  'rights-changed',
  'roles-changed',
  'client-scopes-changed',
] as const satisfies readonly GateEvent['kind'][]
const PRUNE_EVERY_MS = 60_000

interface Entry {
  readonly expiresAt: number
}
interface Cutoff extends Entry {
  /** Concerns tokens issued up to this time. */
  readonly at: number
}
interface ScopeLimit extends Cutoff {
  readonly scopes: ReadonlySet<string>
}
interface RightsLimit extends ScopeLimit {
  readonly roles: readonly string[]
}
interface RoleLimit extends Cutoff {
  readonly rights: RoleRights
}

export async function openRevocationList(
  bus: Bus,
  events: Pick<Events, 'unexpired'>,
  clock: Clock,
): Promise<RevocationList> {
  const list = new RevocationList()
  // Subscribe first, then load: an event in between is applied twice rather than not at all.
  const unsubscribe = bus.subscribe((event) => list.add(event))
  for (const event of await events.unexpired(KINDS)) list.add(event)
  const timer = setInterval(() => list.prune(clock()), PRUNE_EVERY_MS)
  timer.unref()
  list.close = () => {
    unsubscribe()
    clearInterval(timer)
  }
  return list
}

export class RevocationList {
  readonly #tokens = new Map<string, Entry>()
  readonly #grants = new Map<string, Entry>()
  readonly #sessions = new Map<string, Entry>()
  readonly #subjects = new Map<string, Cutoff>()
  readonly #clients = new Map<string, Cutoff>()
  readonly #userRights = new Map<string, RightsLimit>()
  readonly #clientScopes = new Map<string, ScopeLimit>()
  /** At most one entry: an event lists all roles. */
  readonly #roleRights = new Map<'roles', RoleLimit>()
  readonly #all: readonly Map<string, Entry>[] = [
    this.#tokens,
    this.#grants,
    this.#sessions,
    this.#subjects,
    this.#clients,
    this.#userRights,
    this.#roleRights,
    this.#clientScopes,
  ]
  #version = 0
  close = (): void => {}

  /** Changes with every event; results of the checks may be cached until then. */
  get version(): number {
    return this.#version
  }

  /** For metrics. */
  get size(): number {
    return this.#all.reduce((sum, entries) => sum + entries.size, 0)
  }

  isRevoked(origin: TokenOrigin): boolean {
    if (this.#isTokenRevoked(origin)) return true
    const { ancestors } = origin
    return ancestors?.some((token) => this.#isTokenRevoked({ ...origin, ...token, issuedAtMs: millis(token) })) ?? false
  }

  #isTokenRevoked({ tokenId, grantId, sessionId, subject, clientId, issuedAtMs }: TokenOrigin): boolean {
    if (this.#tokens.has(tokenId)) return true
    if (grantId !== undefined && this.#grants.has(grantId)) return true
    if (sessionId !== undefined && this.#sessions.has(sessionId)) return true
    if (issuedAtMs <= (this.#subjects.get(subject)?.at ?? 0)) return true
    if (issuedAtMs <= (this.#clients.get(clientId)?.at ?? 0)) return true
    return limitFor(this.#clientScopes, clientId, issuedAtMs)?.scopes.size === 0
  }

  /** The rights left after the user's roles or the client's scopes changed; `rights` itself if nothing changed. */
  narrow<T extends TokenRights>({ subject, clientId, issuedAtMs }: TokenOrigin, rights: T): T {
    const user = limitFor(this.#userRights, subject, issuedAtMs)
    const role = subject === clientId ? undefined : limitFor(this.#roleRights, 'roles', issuedAtMs)
    const client = limitFor(this.#clientScopes, clientId, issuedAtMs)
    if (user === undefined && role === undefined && client === undefined) return rights
    const left = limitRights(user?.roles ?? rights.roles, user, role)
    const isLeft = (scope: string) =>
      (client === undefined || client.scopes.has(scope)) && (!isRight(scope) || left.has(scope))
    if (left.roles.length === rights.roles.length && user === undefined && [...rights.scopes].every(isLeft))
      return rights
    return { ...rights, scopes: new Set([...rights.scopes].filter(isLeft)), roles: left.roles }
  }

  sessionEnded(sessionId: string): boolean {
    return this.#sessions.has(sessionId)
  }

  add(event: GateEvent): void {
    this.#version++
    switch (event.kind) {
      case 'token-revoked':
        this.#tokens.set(event.tokenId, { expiresAt: event.expiresAt })
        break
      case 'grant-revoked':
        this.#grants.set(event.grantId, { expiresAt: event.expiresAt })
        break
      case 'session-ended':
        this.#sessions.set(event.sessionId, { expiresAt: event.expiresAt })
        break
      case 'subject-cut':
        keepLater(this.#subjects, event.subject, event)
        break
      case 'subjects-cut':
        for (const subject of event.subjects)
          keepLater(this.#subjects, subject, { at: event.at, expiresAt: event.expiresAt })
        break
      case 'client-cut':
        keepLater(this.#clients, event.clientId, event)
        break
      case 'rights-changed':
        keepLater(this.#userRights, event.subject, { ...event, scopes: new Set(event.scopes) })
        break
      case 'roles-changed':
        keepLater(this.#roleRights, 'roles', { ...event, rights: rightsByRole(event.roles) })
        break
      case 'client-scopes-changed':
        keepLater(this.#clientScopes, event.clientId, { ...event, scopes: new Set(event.scopes) })
        break
      case 'stream-kick':
      case 'wire-kick':
      case 'keys-changed':
      case 'user-changed':
      case 'clients-changed':
      case 'catalogue-changed':
      case 'attributes-changed':
      case 'feeds-changed':
      case 'providers-changed':
      case 'apis-changed':
      case 'agents-changed':
      case 'nodes-asked':
        break
    }
  }

  prune(now: number): void {
    for (const entries of this.#all) {
      for (const [key, { expiresAt }] of entries) if (expiresAt <= now) entries.delete(key)
    }
  }
}

function millis({ issuedAt }: AncestorToken): number {
  return Math.round(issuedAt * 1000)
}

/** The limit for a token issued at this time, if it concerns it. */
function limitFor<K, T extends Cutoff>(limits: Map<K, T>, key: K, issuedAtMs: number): T | undefined {
  const limit = limits.get(key)
  return limit !== undefined && issuedAtMs <= limit.at ? limit : undefined
}

/** Events of two nodes may arrive in either order: the later one counts. */
function keepLater<K, T extends Cutoff>(limits: Map<K, T>, key: K, limit: T): void {
  if (limit.at >= (limits.get(key)?.at ?? 0)) limits.set(key, limit)
}
