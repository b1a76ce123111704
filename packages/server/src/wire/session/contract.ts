/** What the listener gives a session after sign-in, and what it calls. */
import type { Principal } from 'gatehouse-protocol'
import type { ConnectionMemory } from '../protocol/kept-memory.ts'
import type { FrontendMessage } from '../protocol/messages.ts'

export interface SessionOutput {
  /**
   * Bytes for the client, or Latin-1 text. What is written while messages are handled goes out in one write when none is left, or
   * once it is long. False: the socket is full; wait for drained() before further rows.
   */
  write(bytes: Uint8Array | string): boolean
  /** Also settles when the connection ends; end() of the session has been called by then. */
  drained(): Promise<void>
  /** Whether the socket has taken all that was written, so that the memory of it can be freed. */
  hasSentAll(): boolean
  /** Calls `act` whenever the client has taken no bytes for this long, until the returned function is called. */
  watchStall(milliseconds: number, act: () => void): () => void
  /** Sends what is held back: for the message Flush, and before a long wait. */
  flush(): void
  /** Ends the connection, after what has been written. For FATAL errors, which the session writes itself, and for Terminate. */
  close(): void
}

export interface SessionCaller {
  /** The current one: a change of roles during the connection can narrow it. */
  readonly principal: Principal
  /** The name that the client gave. */
  readonly user: string
  readonly address: string
  readonly database: string
  /** The parameters of the start-up packet, such as application_name; without user, database and _pq_. options. */
  readonly startup: ReadonlyMap<string, string>
  /** The backend process id of BackendKeyData, as pg_backend_pid() tells it. */
  readonly processId: number
  /** Stops the statement of another connection of the same subject; false if there is no such connection. */
  readonly cancelBackend: (processId: number) => Promise<boolean>
  /** Counts what the session keeps between messages. */
  readonly memory: ConnectionMemory
}

export interface Session {
  /** ParameterStatus messages and ReadyForQuery after sign-in; AuthenticationOk and BackendKeyData have been written. */
  begin(): void
  /**
   * One message at a time; the listener reads no further message until the promise settles (what has arrived waits in the socket). A
   * message that is handled at once returns nothing.
   */
  handle(message: FrontendMessage): void | Promise<void>
  /** CancelRequest: stops the statement that runs, if any. */
  cancel(): void
  /** The connection ends: stops what runs, drops what is kept. Called once; nothing may be written afterwards. */
  end(): void
  /** Whether it waits for a message, outside a block: such a connection may be ended when the node stops. */
  readonly isIdle: boolean
}

export type OpenSession = (caller: SessionCaller, output: SessionOutput) => Session
