/** What was taken back before its time, kept in memory so that a check costs no round trip: fed by the bus, read back at start. */
import type { Clock } from '../protocol/clock.ts'
import type { GateEvent } from '../protocol/gate-event.ts'
import { isRight } from '../protocol/scopes.ts'
import type { Events } from '../store/events.ts'
import type { Bus } from './bus.ts'

/** What a token says about where it comes from. */
export interface Descent {
  readonly tokenId: string
  readonly grantId: string | undefined
  readonly sessionId: string | undefined
  readonly subject: string
  readonly clientId: string
  /** Milliseconds since the epoch. */
  readonly issuedAtMs: number
}

/** What a token holds by what its client may ask for and by its user's roles. */
export interface Held {
  readonly scopes: ReadonlySet<string>
  readonly roles: readonly string[]
}

export interface Denylist {
  denies(token: Descent): boolean
  /** What a token is worth after its user's roles or its client's scopes changed: fewer scopes, other roles. */
  remaining<T extends Held>(token: Descent, held: T): T
  sessionEnded(sessionId: string): boolean
  /** Another one after every event: what was found out about a token holds until then. */
  readonly version: number
  /** For metrics. */
  readonly size: number
  close(): void
}

const KINDS = [
  'token-revoked',
  'grant-revoked',
  'session-ended',
  'subject-cut',
  'client-cut',
  'rights-changed',
  'client-scopes-changed',
] as const satisfies readonly GateEvent['kind'][]
const PRUNE_EVERY_MS = 60_000

interface Entry {
  readonly expiresAt: number
}
interface Cut extends Entry {
  readonly at: number
}
interface Allowed extends Cut {
  readonly scopes: ReadonlySet<string>
}
interface Rights extends Allowed {
  readonly roles: readonly string[]
}

export async function openDenylist(bus: Bus, events: Pick<Events, 'live'>, clock: Clock): Promise<Denylist> {
  const tokens = new Map<string, Entry>()
  const grants = new Map<string, Entry>()
  const sessions = new Map<string, Entry>()
  const subjects = new Map<string, Cut>()
  const clients = new Map<string, Cut>()
  const rights = new Map<string, Rights>()
  const allowed = new Map<string, Allowed>()
  let version = 0
  const all: readonly Map<string, Entry>[] = [tokens, grants, sessions, subjects, clients, rights, allowed]

  // First listen, then read back: what happens meanwhile is heard twice rather than never.
  const unsubscribe = bus.subscribe(take)
  for (const event of await events.live(KINDS)) take(event)
  const timer = setInterval(prune, PRUNE_EVERY_MS)
  timer.unref()

  return {
    denies({ tokenId, grantId, sessionId, subject, clientId, issuedAtMs }) {
      if (tokens.has(tokenId)) return true
      if (grantId !== undefined && grants.has(grantId)) return true
      if (sessionId !== undefined && sessions.has(sessionId)) return true
      if (issuedAtMs <= (subjects.get(subject)?.at ?? 0) || issuedAtMs <= (clients.get(clientId)?.at ?? 0)) return true
      return reaching(allowed, clientId, issuedAtMs)?.scopes.size === 0
    },
    remaining({ subject, clientId, issuedAtMs }, held) {
      const user = reaching(rights, subject, issuedAtMs)
      const client = reaching(allowed, clientId, issuedAtMs)
      if (user === undefined && client === undefined) return held
      const isLeft = (scope: string) =>
        (client === undefined || client.scopes.has(scope)) &&
        (user === undefined || !isRight(scope) || user.scopes.has(scope))
      if (user === undefined && [...held.scopes].every(isLeft)) return held
      return { ...held, scopes: new Set([...held.scopes].filter(isLeft)), roles: user?.roles ?? held.roles }
    },
    sessionEnded: (sessionId) => sessions.has(sessionId),
    get version() {
      return version
    },
    get size() {
      return all.reduce((sum, entries) => sum + entries.size, 0)
    },
    close() {
      unsubscribe()
      clearInterval(timer)
    },
  }

  function take(event: GateEvent): void {
    version++
    switch (event.kind) {
      case 'token-revoked':
        tokens.set(event.tokenId, { expiresAt: event.expiresAt })
        break
      case 'grant-revoked':
        grants.set(event.grantId, { expiresAt: event.expiresAt })
        break
      case 'session-ended':
        sessions.set(event.sessionId, { expiresAt: event.expiresAt })
        break
      case 'subject-cut':
        keepLater(subjects, event.subject, event)
        break
      case 'client-cut':
        keepLater(clients, event.clientId, event)
        break
      case 'rights-changed':
        keepLater(rights, event.subject, { ...event, scopes: new Set(event.scopes) })
        break
      case 'client-scopes-changed':
        keepLater(allowed, event.clientId, { ...event, scopes: new Set(event.scopes) })
        break
      case 'stream-kick':
      case 'keys-changed':
      case 'user-changed':
      case 'clients-changed':
      case 'catalogue-changed':
      case 'nodes-asked':
        break
    }
  }

  function prune(): void {
    const now = clock()
    for (const entries of all) {
      for (const [key, { expiresAt }] of entries) if (expiresAt <= now) entries.delete(key)
    }
  }
}

/** The entry that concerns a token of that time. */
function reaching<T extends Cut>(cuts: Map<string, T>, key: string, issuedAtMs: number): T | undefined {
  const cut = cuts.get(key)
  return cut !== undefined && issuedAtMs <= cut.at ? cut : undefined
}

/** Events of two nodes may arrive in either order. */
function keepLater<T extends Cut>(cuts: Map<string, T>, key: string, cut: T): void {
  if (cut.at >= (cuts.get(key)?.at ?? 0)) cuts.set(key, cut)
}
