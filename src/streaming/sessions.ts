/** Which connections each user has, how many it may have, and who gives way. */
import type { Principal } from '../protocol/principal.ts'
import { refuse } from './controller.ts'
import type { StreamSettings } from './settings.ts'

export interface Member {
  /** Ends the connection because its session gave way to a newer one. */
  displace(): void
}

export class Sessions<Connection extends Member> {
  /** Connections in the order in which they signed in, with the session that each belongs to. */
  readonly #users = new Map<string, Map<Connection, string>>()
  readonly #settings: StreamSettings
  readonly #onDisplaced: () => void

  constructor(settings: StreamSettings, onDisplaced: () => void) {
    this.#settings = settings
    this.#onDisplaced = onDisplaced
  }

  isFull(subject: string): boolean {
    return (this.#users.get(subject)?.size ?? 0) >= this.#settings.streamMaxConnectionsPerUser
  }

  /** Throws `Limited` when the user has too many connections; displaces the oldest when it has too many sessions. */
  admit(connection: Connection, principal: Principal): void {
    const connections = this.#users.get(principal.subject)
    if (connections === undefined) {
      this.#users.set(principal.subject, new Map([[connection, sessionOf(principal)]]))
      return
    }
    if (!connections.has(connection) && this.isFull(principal.subject)) throw refuse('Limited', 'connections per user')
    const session = sessionOf(principal)
    // Another sign-in is a newer session: the connection goes to the end of the line.
    if (connections.get(connection) !== session) connections.delete(connection)
    connections.set(connection, session)
    this.#displaceOldest(connections)
  }

  release(connection: Connection, subject: string): void {
    const connections = this.#users.get(subject)
    if (connections?.delete(connection) && connections.size === 0) this.#users.delete(subject)
  }

  of(subject: string): Iterable<Connection> {
    return this.#users.get(subject)?.keys() ?? []
  }

  #displaceOldest(connections: Map<Connection, string>): void {
    const sessions = new Set(connections.values())
    let excess = sessions.size - this.#settings.streamMaxSessionsPerUser
    for (const oldest of sessions) {
      if (excess-- <= 0) break
      this.#onDisplaced()
      for (const [connection, session] of [...connections]) if (session === oldest) connection.displace()
    }
  }
}

/** Connections that descend from one sign-in are one session, however often its tokens are renewed. */
function sessionOf(principal: Principal): string {
  return principal.grantId ?? principal.sessionId ?? principal.tokenId
}
