/** What a connection is given: the side of its socket, who it is, and what all connections of a gateway share. */
import type { CloseName } from '../protocol/close-codes.ts'
import type { Message } from '../protocol/envelope.ts'
import type { Connection } from './connection.ts'
import type { Controllers } from './controllers/catalogue.ts'
import type { Broadcast, Hub } from './hub.ts'
import type { Profile } from './profile.ts'
import type { Sessions } from './sessions.ts'
import type { StandingEnv } from './standing.ts'

/** The socket's side of a connection. */
export interface Outlet {
  send(message: Message): void
  deliver(broadcast: Broadcast, slow: 'latest' | 'close'): void
  /** Stops or goes on reading what the client sends. */
  listen(listening: boolean): void
  close(name: CloseName, reason: string): void
}

/** What stays the same for the life of a connection. */
export interface Identity {
  readonly connectionId: string
  /** Of the client, as far as proxies are trusted. */
  readonly address: string
  readonly profile: Profile
}

/** What all connections of a gateway share. */
export interface ConnectionEnv extends StandingEnv {
  readonly controllers: Controllers
  readonly hub: Hub
  readonly sessions: Sessions<Connection>
  readonly onFault: (error: unknown, connectionId: string) => void
  /** May throw when the client was refused too often. */
  readonly onSignInRefused: (connection: Connection, provider: string) => void
}
