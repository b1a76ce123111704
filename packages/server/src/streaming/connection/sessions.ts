/** The connections and sessions of each user: how many are allowed, and which session a newer one displaces. */
import type { Principal } from 'gatehouse-protocol'
import type { StreamSettings } from '../settings.ts'
import { refuse } from '../topics/controller.ts'

/** A connection that counts towards its user's sessions. */
export interface SessionMember {
  /** Closes the connection because a newer session took its place. */
  displace(): void
}

interface User {
  /** Each connection with the session it belongs to. */
  readonly members: Map<SessionMember, string>
  /** The number of connections of each session, oldest session first. */
  readonly sessions: Map<string, number>
}

export class Sessions {
  readonly #users = new Map<string, User>()
  readonly #settings: StreamSettings
  readonly #onDisplaced: () => void

  constructor(settings: StreamSettings, onDisplaced: () => void) {
    this.#settings = settings
    this.#onDisplaced = onDisplaced
  }

  isFull(subject: string): boolean {
    return (this.#users.get(subject)?.members.size ?? 0) >= this.#settings.streamMaxConnectionsPerUser
  }

  /** Throws `Limited` when the user has too many connections; displaces the oldest session when there are too many. */
  admit(member: SessionMember, principal: Principal): void {
    const { subject } = principal
    const session = sessionOf(principal)
    const user = this.#users.get(subject) ?? { members: new Map(), sessions: new Map() }
    const before = user.members.get(member)
    if (before === session) return
    if (before !== undefined) leave(user.sessions, before)
    else if (this.isFull(subject)) throw refuse('Limited', 'connections per user')
    this.#users.set(subject, user)
    user.members.set(member, session)
    user.sessions.set(session, (user.sessions.get(session) ?? 0) + 1)
    if (user.sessions.size > this.#settings.streamMaxSessionsPerUser) this.#displaceOldest(user)
  }

  release(member: SessionMember, subject: string): void {
    const user = this.#users.get(subject)
    const session = user?.members.get(member)
    if (user === undefined || session === undefined) return
    user.members.delete(member)
    leave(user.sessions, session)
    if (user.members.size === 0) this.#users.delete(subject)
  }

  #displaceOldest({ members, sessions }: User): void {
    const excess = sessions.size - this.#settings.streamMaxSessionsPerUser
    for (const oldest of [...sessions.keys()].slice(0, excess)) {
      this.#onDisplaced()
      for (const [member, session] of [...members]) if (session === oldest) member.displace()
    }
  }
}

function leave(sessions: Map<string, number>, session: string): void {
  const left = (sessions.get(session) ?? 1) - 1
  if (left === 0) sessions.delete(session)
  else sessions.set(session, left)
}

/** All connections that trace back to one sign-in share a session, however often its tokens are renewed. */
function sessionOf(principal: Principal): string {
  return principal.grantId ?? principal.sessionId ?? principal.tokenId
}
