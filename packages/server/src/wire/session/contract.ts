/** What a session is for the listener, and what it uses of the connection and of the server. */
import type { Principal } from 'gatehouse-protocol'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import type { BulkEnv, RunEnv } from '../../query/index.ts'
import type { StatementTrace } from '../../telemetry/trace.ts'
import type { Catalogue } from '../catalogue/contract.ts'
import type { ConnectionMemory } from '../protocol/connection-memory.ts'
import type { FrontendMessage } from '../protocol/messages.ts'

export interface Session {
  /** ParameterStatus messages and ReadyForQuery after sign-in; AuthenticationOk and BackendKeyData have been written. */
  begin(): void
  /**
   * One message at a time; the listener reads no further message until the promise settles (what has arrived waits in the socket). A
   * message that is handled at once returns nothing.
   */
  handle(message: FrontendMessage): Later
  /** CancelRequest: stops the statement that runs, if any. */
  cancel(): void
  /** The connection ends: stops what runs, drops what is in memory. Called once; nothing may be written afterwards. */
  end(): void
  /** Whether it waits for a message, outside a transaction block: such a connection may be ended when the node stops. */
  readonly isIdle: boolean
}

/** Undefined for what is done at once, without a promise. */
export type Later = Promise<void> | undefined

export type OpenSession = (caller: SessionCaller, output: SessionOutput) => Session

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
  /** Sends what is not sent yet: for the message Flush, and before a long wait. */
  flush(): void
  /** Ends the connection, after what has been written. For FATAL errors, which the session writes itself, and for Terminate. */
  close(): void
}

/** Where replies go; rows in a stream wait until the client has read earlier ones. */
export type RowOutput = Pick<SessionOutput, 'write' | 'drained' | 'hasSentAll'>
export type ClientOutput = RowOutput & Pick<SessionOutput, 'watchStall'>

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
  /** Counts what the session has in memory between messages. */
  readonly memory: ConnectionMemory
}

export interface SessionEnv extends BulkEnv, RunEnv {
  /** Read at each use: a reload can change them. */
  readonly limits: SessionLimits
  readonly rateLimits?: Pick<RateLimits, 'countCaller'> | undefined
  /** Undefined where traces are not collected. */
  readonly trace?: StatementTrace | undefined
  /** Statements on pg_catalog and information_schema. */
  readonly systemCatalogue: Catalogue
  /** The setting wire_writes. */
  readonly allowsWrites: () => boolean
  /** Of this server. */
  readonly version: string
  readonly onError: (error: unknown, requestId: string) => void
}

export interface SessionLimits {
  readonly resultBytes: number
  readonly stallMs: number
}
