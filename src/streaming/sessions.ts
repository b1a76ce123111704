/** Which connections each user has, how many it may have, and who gives way. */
import type { Principal } from '../protocol/principal.ts'
import { refuse } from './controller.ts'
import type { StreamSettings } from './settings.ts'

export interface Member {
  /** Ends the connection because its session gave way to a newer one. */
  displace(): void
}

interface User<Connection> {
  /** With the session that each belongs to. */
  readonly connections: Map<Connection, string>
  /** In the order of sign-in, with the number of connections of each. */
  readonly sessions: Map<string, number>
}

export class Sessions<Connection extends Member> {
  readonly #users = new Map<string, User<Connection>>()
  readonly #settings: StreamSettings
  readonly #onDisplaced: () => void

  constructor(settings: StreamSettings, onDisplaced: () => void) {
    this.#settings = settings
    this.#onDisplaced = onDisplaced
  }

  isFull(subject: string): boolean {
    return (this.#users.get(subject)?.connections.size ?? 0) >= this.#settings.streamMaxConnectionsPerUser
  }

  /** Throws `Limited` when the user has too many connections; displaces the oldest when it has too many sessions. */
  admit(connection: Connection, principal: Principal): void {
    const { subject } = principal
    const session = sessionOf(principal)
    const user = this.#users.get(subject) ?? { connections: new Map(), sessions: new Map() }
    const before = user.connections.get(connection)
    if (before === session) return
    if (before !== undefined) leave(user.sessions, before)
    else if (this.isFull(subject)) throw refuse('Limited', 'connections per user')
    this.#users.set(subject, user)
    user.connections.set(connection, session)
    user.sessions.set(session, (user.sessions.get(session) ?? 0) + 1)
    if (user.sessions.size > this.#settings.streamMaxSessionsPerUser) this.#displaceOldest(user)
  }

  release(connection: Connection, subject: string): void {
    const user = this.#users.get(subject)
    const session = user?.connections.get(connection)
    if (user === undefined || session === undefined) return
    user.connections.delete(connection)
    leave(user.sessions, session)
    if (user.connections.size === 0) this.#users.delete(subject)
  }

  #displaceOldest({ connections, sessions }: User<Connection>): void {
    const excess = sessions.size - this.#settings.streamMaxSessionsPerUser
    for (const oldest of [...sessions.keys()].slice(0, excess)) {
      this.#onDisplaced()
      for (const [connection, session] of [...connections]) if (session === oldest) connection.displace()
    }
  }
}

function leave(sessions: Map<string, number>, session: string): void {
  const left = (sessions.get(session) ?? 1) - 1
  if (left === 0) sessions.delete(session)
  else sessions.set(session, left)
}

/** Connections that descend from one sign-in are one session, however often its tokens are renewed. */
function sessionOf(principal: Principal): string {
  return principal.grantId ?? principal.sessionId ?? principal.tokenId
}
