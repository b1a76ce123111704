/** One signed-in connection: reads messages for its session, and ends with its token, by an event, by a kick, or when it is idle. */
import type { Socket } from 'node:net'
import type { GateEvent, Principal } from 'gatehouse-protocol'
import { type CurrentRights, findEffect, laterRights, limitPrincipal, UNCHANGED } from '../events/token-effect.ts'
import { type MessageTurns, SLICE_MS } from './message-turns.ts'
import { Output } from './output.ts'
import { type ConnectionMemory, NoMemoryLeft } from './protocol/connection-memory.ts'
import { ProtocolViolation } from './protocol/messages.ts'
import type { MessageReader } from './protocol/reader.ts'
import { errorResponse } from './protocol/replies.ts'
import type { OpenSession, Session, SessionCaller } from './session/contract.ts'
import { mayUsePlatform } from './sign-in/sign-in.ts'

export interface ConnectionParts {
  readonly id: string
  readonly socket: Socket
  /** With what has arrived already. */
  readonly reader: MessageReader
  readonly caller: Omit<SessionCaller, 'principal'>
  readonly principal: Principal
  readonly openedAt: number
}

export interface ConnectionEnv {
  readonly openSession: OpenSession
  readonly monotonic: () => number
  readonly turns: MessageTurns
  /** The current name of a user. */
  readonly findUsername: (subject: string) => Promise<string | undefined>
  /** Called once. */
  onClosed(connection: WireConnection, reason: CloseReason): void
  onError(error: unknown): void
}

export type CloseReason = 'client' | 'protocol' | 'error' | keyof typeof ENDINGS

/** Why the server ends a connection: FATAL 57P01, after which pools reconnect. */
const ENDINGS = {
  expired: 'The access token has expired: sign in again',
  revoked: 'The sign-in was revoked: sign in again',
  kicked: 'The connection was ended by an operator',
  idle: 'The connection was idle for too long',
  stopping: 'The server is stopping: connect again',
} as const
export type Ending = keyof typeof ENDINGS

/** What a client may send ahead while a statement runs; more waits in the socket. */
const READ_AHEAD_BYTES = 64 * 1024
/** Shorter messages in few bytes, such as reads by key, are not counted in the turn: that would take as long as they do. */
const NOTED_MS = 0.2
const FLOOD_BYTES = 16 * 1024
/** A connection counts as costly for this multiple of the time that its messages took. */
const COSTLY_TIMES = 5
/** How long a client has to take the last message. */
const LAST_MESSAGE_MS = 500

export class WireConnection implements SessionCaller {
  readonly id: string
  readonly openedAt: number
  readonly user: string
  readonly address: string
  readonly database: string
  readonly startup: ReadonlyMap<string, string>
  readonly processId: number
  readonly cancelBackend: SessionCaller['cancelBackend']
  readonly memory: ConnectionMemory
  readonly #env: ConnectionEnv
  readonly #socket: Socket
  readonly #reader: MessageReader
  readonly #output: Output
  readonly #session: Session
  readonly #tokenScopes: ReadonlySet<string>
  #rights: CurrentRights = UNCHANGED
  #principal: Principal
  /** A message is being handled, or waits for its turn. */
  #isBusy = false
  /** Its messages took longer than a slice of time, and the next ones wait for those of others. */
  #costlyUntil = 0
  /** Its last bytes were many: its socket is probably read again in the same turn of the event loop. */
  #isFlooding = false
  #lastMessageAt: number
  #aheadBytes = 0
  #isClosed = false

  constructor({ id, socket, reader, caller, principal, openedAt }: ConnectionParts, env: ConnectionEnv) {
    this.id = id
    this.openedAt = openedAt
    this.user = caller.user
    this.address = caller.address
    this.database = caller.database
    this.startup = caller.startup
    this.processId = caller.processId
    this.cancelBackend = caller.cancelBackend
    this.memory = caller.memory
    reader.countIn(caller.memory)
    this.#env = env
    this.#socket = socket
    this.#reader = reader
    this.#principal = principal
    this.#tokenScopes = principal.scopes
    this.#lastMessageAt = env.monotonic()
    this.#output = new Output(socket)
    const { write, drained, hasSentAll, watchStall, flush } = this.#output
    const close = (): void => this.#close('client')
    this.#session = env.openSession(this, { write, drained, hasSentAll, watchStall, flush, close })
  }

  /** Begins the session; `first` goes before it. */
  begin(first: Uint8Array): void {
    this.#socket.on('data', this.#onData)
    this.#socket.on('close', this.#onSocketClosed)
    this.#output.cork()
    this.#output.write(first)
    this.#session.begin()
    this.#output.uncork()
    this.#handleMessages()
    this.#socket.resume()
  }

  get principal(): Principal {
    return this.#principal
  }

  get expiresAt(): number {
    return this.#principal.expiresAt * 1000
  }

  /** Whether it waits for a statement. */
  get isIdle(): boolean {
    return !this.#isBusy && this.#session.isIdle
  }

  cancel(): void {
    if (!this.#isClosed) this.#session.cancel()
  }

  /** Ends it with the reason, also amid rows: what the session has written are whole messages. */
  terminate(ending: Ending): void {
    if (this.#isClosed) return
    this.#close(
      ending,
      errorResponse({ severity: 'FATAL', sqlstate: '57P01', message: ENDINGS[ending], hint: HINTS[ending] }),
    )
  }

  onEvent(event: GateEvent): void {
    if (event.kind === 'stream-kick') return
    if (event.kind === 'wire-kick') {
      if (event.connectionId === this.id || event.subject === this.#principal.subject) this.terminate('kicked')
      return
    }
    if (event.kind === 'user-changed' && event.renamed === true && event.subject === this.#principal.subject)
      void this.#readName()
    const effect = findEffect(event, this.#principal)
    switch (effect.kind) {
      case 'none':
        break
      case 'revoked':
      case 'ended':
        this.terminate('revoked')
        break
      case 'rights-changed':
        this.#rights = laterRights(this.#rights, effect.rights)
        this.#principal = limitPrincipal(this.#principal, this.#tokenScopes, this.#rights)
        if (!mayUsePlatform(this.#principal)) this.terminate('revoked')
        break
    }
  }

  /** Called several times a second. */
  tick(now: number, monotonic: number, idleMs: number): void {
    if (now >= this.expiresAt) this.terminate('expired')
    else if (!this.#isBusy && monotonic - this.#lastMessageAt >= idleMs) this.terminate('idle')
  }

  readonly #onData = (chunk: Buffer): void => {
    try {
      this.#reader.add(chunk)
    } catch (error) {
      this.#fail(error)
      return
    }
    this.#isFlooding = chunk.length >= FLOOD_BYTES
    if (!this.#isBusy) {
      this.#isBusy = true
      this.#continue()
      return
    }
    this.#aheadBytes += chunk.length
    if (this.#aheadBytes >= READ_AHEAD_BYTES) this.#socket.pause()
  }

  /** Handles what has arrived, one message after the other. By-key reads are answered without a promise. */
  #handleMessages(): void {
    const output = this.#output
    const { monotonic, turns } = this.#env
    this.#isBusy = true
    output.cork()
    const began = monotonic()
    let last = began
    try {
      while (!this.#isClosed) {
        const message = this.#reader.next()
        if (message === undefined) break
        const handled = this.#session.handle(message)
        const now = monotonic()
        const spent = now - began
        const isNoted = this.#isFlooding || now - last > NOTED_MS
        const isLong = (isNoted && turns.isFull(now - last)) || spent > SLICE_MS
        last = now
        if (isLong) {
          turns.spend(spent)
          this.#costlyUntil = began + COSTLY_TIMES * Math.max(spent, SLICE_MS)
        }
        if (handled !== undefined) {
          output.uncork()
          handled.then(this.#continue, this.#onHandlerError)
          return
        }
        if (output.isFull) {
          output.uncork()
          output.drained().then(this.#continue, this.#onHandlerError)
          return
        }
        if (isLong) {
          output.uncork()
          turns.later(this.#handleLater)
          return
        }
      }
      this.#lastMessageAt = began
    } catch (error) {
      this.#fail(error)
      return
    }
    output.uncork()
    this.#isBusy = false
    this.#aheadBytes = 0
    if (this.#socket.isPaused()) this.#socket.resume()
  }

  /** Only connections whose messages have just taken long wait for a turn. */
  readonly #continue = (): void => {
    if (this.#env.monotonic() < this.#costlyUntil) this.#env.turns.later(this.#handleLater)
    else this.#handleLater()
  }

  readonly #handleLater = (): void => {
    if (!this.#isClosed) this.#handleMessages()
  }

  readonly #onHandlerError = (error: unknown): void => this.#fail(error)

  #fail(error: unknown): void {
    if (this.#isClosed) return
    if (error instanceof ProtocolViolation) {
      this.#close('protocol', errorResponse({ severity: 'FATAL', sqlstate: '08P01', message: error.message }))
      return
    }
    if (error instanceof NoMemoryLeft) {
      this.#close('error', errorResponse({ severity: 'FATAL', sqlstate: '53000', message: error.message }))
      return
    }
    this.#env.onError(error)
    this.#close('error', errorResponse({ severity: 'FATAL', sqlstate: 'XX000', message: 'Internal error' }))
  }

  #close(reason: CloseReason, last?: Uint8Array): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#socket.off('data', this.#onData)
    this.#session.end()
    this.memory.end()
    this.#output.end(last)
    // A client that does not read its last message is not waited for.
    const cut = setTimeout(() => this.#socket.destroy(), LAST_MESSAGE_MS)
    this.#socket.once('close', () => clearTimeout(cut))
    // What still arrives is dropped: with unread bytes the kernel would reset the connection, and the last message with it.
    this.#socket.resume()
    this.#env.onClosed(this, reason)
  }

  readonly #onSocketClosed = (): void => this.#close('client')

  async #readName(): Promise<void> {
    try {
      const username = await this.#env.findUsername(this.#principal.subject)
      if (username !== undefined) this.#principal = { ...this.#principal, username }
    } catch (error) {
      this.#env.onError(error)
    }
  }
}

const HINTS: { readonly [E in Ending]?: string } = {
  expired: 'gatehouse token prints an access token of the stored login',
}
