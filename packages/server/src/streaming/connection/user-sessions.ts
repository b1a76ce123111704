/** The connections and sessions of each user: how many are allowed, and which session a newer one displaces. */
import type { Principal } from 'gatehouse-protocol'
import { decrement, increment } from '../../lib/counts.ts'
import type { StreamSettings } from '../settings.ts'
import { refuse } from '../topics/controller.ts'

/** A connection that counts towards its user's sessions. */
export interface SessionConnection {
  /** Closes the connection because a newer session took its place. */
  displace(): void
}

interface User {
  /** Each connection with the session it belongs to. */
  readonly connections: Map<SessionConnection, string>
  /** The number of connections of each session, oldest session first. */
  readonly sessions: Map<string, number>
}

export class UserSessions {
  readonly #users = new Map<string, User>()
  readonly #settings: StreamSettings
  readonly #onDisplaced: () => void

  constructor(settings: StreamSettings, onDisplaced: () => void) {
    this.#settings = settings
    this.#onDisplaced = onDisplaced
  }

  isFull(subject: string): boolean {
    return (this.#users.get(subject)?.connections.size ?? 0) >= this.#settings.streamMaxConnectionsPerUser
  }

  /** Throws `Limited` when the user has too many connections; displaces the oldest session when there are too many. */
  admit(connection: SessionConnection, principal: Principal): void {
    const { subject } = principal
    const session = sessionKey(principal)
    const user = this.#users.get(subject) ?? { connections: new Map(), sessions: new Map() }
    const before = user.connections.get(connection)
    if (before === session) return
    if (before !== undefined) decrement(user.sessions, before)
    else if (this.isFull(subject)) throw refuse('Limited', 'connections per user')
    this.#users.set(subject, user)
    user.connections.set(connection, session)
    increment(user.sessions, session)
    if (user.sessions.size > this.#settings.streamMaxSessionsPerUser) this.#displaceOldest(user)
  }

  release(connection: SessionConnection, subject: string): void {
    const user = this.#users.get(subject)
    const session = user?.connections.get(connection)
    if (user === undefined || session === undefined) return
    user.connections.delete(connection)
    decrement(user.sessions, session)
    if (user.connections.size === 0) this.#users.delete(subject)
  }

  #displaceOldest({ connections, sessions }: User): void {
    const excess = sessions.size - this.#settings.streamMaxSessionsPerUser
    for (const oldest of [...sessions.keys()].slice(0, excess)) {
      this.#onDisplaced()
      for (const [connection, session] of [...connections]) if (session === oldest) connection.displace()
    }
  }
}

/** All connections that trace back to one sign-in share a session, however often its tokens are renewed. */
function sessionKey(principal: Principal): string {
  return principal.grantId ?? principal.sessionId ?? principal.tokenId
}
