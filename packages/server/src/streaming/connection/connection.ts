/** One peer without its socket: messages, events and time go in; messages and a close go out through the transport. */

import type { CloseName, Moment } from 'gatehouse-protocol'
import type { GateEvent } from '../../events/bus.ts'
import type { Decoded } from '../codec/codec.ts'
import { type AuthEffect, ConnectionAuth } from './authentication.ts'
import { ConnectionCaller } from './caller.ts'
import { CONTROL_FRAME_UNITS, FRAGMENT_UNITS, MessageRate } from './message-rate.ts'
import { Operation, type OperationHost } from './operation.ts'
import { type InvalidRequest, readRequest, type StreamRequest, UNREADABLE } from './request.ts'
import { RequestQueue, type RequestQueueOwner } from './request-queue.ts'
import { Subscriptions } from './subscriptions.ts'
import type { ConnectionEnv, ConnectionIdentity, Transport } from './types.ts'
import type { SessionConnection } from './user-sessions.ts'

/** The memory of a waiting request besides its own bytes. */
const REQUEST_BYTES = 256
/** How much more the bytes of a message count before the connection is authenticated, when only tokens are sent. */
const ANONYMOUS_FACTOR = 4

/** After a failure of the database. */
const RENAME_RETRY_MS = 1_000

export class Connection implements OperationHost, RequestQueueOwner, SessionConnection {
  readonly env: ConnectionEnv
  readonly transport: Transport
  readonly auth: ConnectionAuth
  readonly caller: ConnectionCaller
  readonly subscriptions: Subscriptions
  readonly #queue: RequestQueue
  readonly #rate: MessageRate
  #unreadable = 0
  /** The memory of the requests received since the queue was last idle. */
  #pendingBytes = 0
  #requestsPaused = false
  #awaitsSignIn = false
  #reading = true
  #phase: 'open' | 'finishing' | 'closed' = 'open'

  constructor(identity: ConnectionIdentity, transport: Transport, env: ConnectionEnv) {
    this.env = env
    this.transport = transport
    this.auth = new ConnectionAuth(identity, this, env)
    this.caller = new ConnectionCaller(identity, this.auth)
    this.subscriptions = new Subscriptions(this.caller, transport, env)
    this.#rate = new MessageRate(env.settings, env.monotonic())
    this.#queue = new RequestQueue(this)
  }

  /** The memory of the unanswered requests. */
  get pendingBytes(): number {
    return this.#pendingBytes
  }

  /** Before its first sign-in a client has no use for long messages, and may be anyone. */
  get maxMessageBytes(): number {
    const { streamMaxMessageBytes: most, streamMaxAnonymousMessageBytes: anonymous } = this.env.settings
    return this.auth.hasSignedIn ? most : Math.min(most, anonymous)
  }

  /** A message that is too long before the first sign-in waits for the requests before it: one of them may be a sign-in. */
  waitsForSignIn(): boolean {
    this.#awaitsSignIn = this.#phase === 'open' && !this.auth.hasSignedIn && !this.#queue.isIdle
    this.#updateReading()
    return this.#awaitsSignIn
  }

  /** Takes a decoded message, undefined if it was unreadable, its size in bytes and the time of the monotonic clock. */
  receive(decoded: Decoded | undefined, bytes: number, now: number): void {
    if (this.#phase !== 'open') return
    const { settings, counters } = this.env
    // Does not read the clock: an expired token counts until the next sweep.
    const cost = this.auth.authority.state === 'active' ? bytes : bytes * ANONYMOUS_FACTOR
    const isAllowed = this.#rate.take(now, cost)
    counters.messagesIn++
    this.#pendingBytes += bytes + REQUEST_BYTES
    this.#unreadable = decoded === undefined ? this.#unreadable + 1 : 0
    if (this.#unreadable >= settings.streamMaxUnreadable) {
      this.#close('invalidData', 'too many unreadable messages')
      return
    }
    const request = decoded === undefined ? UNREADABLE : readRequest(decoded)
    // An Error from the client is not answered, but counts towards its rate.
    if (request !== undefined) this.#enqueue(request, isAllowed)
    this.#updateReading()
  }

  /** Takes a frame that completes no message. */
  countFrame(kind: 'ping' | 'pong' | 'fragment'): void {
    if (this.#phase === 'closed') return
    this.#rate.charge(kind === 'fragment' ? FRAGMENT_UNITS : CONTROL_FRAME_UNITS, this.env.monotonic())
    if (this.#rate.isPaused) this.#updateReading()
  }

  #enqueue(request: StreamRequest | InvalidRequest, isAllowed: boolean): void {
    if (!isAllowed) {
      const { controller, topic, id } = request
      const context = 'messages per second'
      this.#queue.add(new Operation({ kind: 'invalid', controller, topic, id, code: 'Limited', context }, this))
    } else if (request.kind === 'request' && request.action === 'Cancel') this.#queue.cancel(request.id)
    else this.#queue.add(new Operation(request, this))
  }

  onTurn(): void {
    this.#updateReading()
  }

  /** A fault of the server ends only this connection. */
  onFault(error: unknown): void {
    this.env.onFault(error, this.caller.connectionId)
    this.#close('internalError', 'the server failed')
  }

  onOperationEnd(operation: Operation): void {
    this.#queue.finish(operation)
    this.#updateReading()
  }

  /** Takes an event of the bus, whether or not it concerns this connection. */
  onEvent(event: GateEvent): void {
    if (this.#phase !== 'closed') this.#apply(this.auth.onEvent(event))
  }

  /** Whether `tick` has something to do. */
  isDue(now: Moment): boolean {
    const { auth, subscriptions } = this
    const deadline = Math.min(this.#queue.deadline, this.#rate.resumesAt, subscriptions.nextDeadline())
    return deadline <= now.monotonic || auth.isDue(now)
  }

  tick(now: Moment): void {
    if (this.#phase === 'closed') return
    if (this.#queue.deadline <= now.monotonic) this.#queue.timeOut()
    if (this.#rate.resumesAt <= now.monotonic) {
      this.#rate.resume()
      this.#updateReading()
    }
    this.subscriptions.tick(now.monotonic)
    this.#apply(this.auth.tick(now))
  }

  #apply(effect: AuthEffect): void {
    switch (effect.kind) {
      case 'none':
        break
      case 'changed':
        this.subscriptions.onAuthorityChanged()
        break
      case 'claims-changed':
        this.subscriptions.onClaimsChanged()
        break
      case 'renamed':
        this.#readUsername()
        break
      case 'close':
        if (effect.code === 'sessionEnded') this.#endSession(effect.reason)
        else this.#close(effect.code, effect.reason)
        break
    }
  }

  #readUsername(): void {
    this.auth
      .readUsername()
      .then((effect) => this.#apply(effect))
      .catch((error) => {
        this.env.onFault(error, this.caller.connectionId)
        if (this.#phase !== 'closed') setTimeout(() => this.#readUsername(), RENAME_RETRY_MS).unref()
      })
  }

  displace(): void {
    this.#endSession('displaced by a newer session')
  }

  /** Answers the requests in progress, then closes because the server is stopping. */
  finish(): void {
    if (this.#phase !== 'open') return
    this.#phase = 'finishing'
    this.#updateReading()
  }

  /** While the client does not take its replies, no request is read or started. */
  setRequestsPaused(paused: boolean): void {
    this.#requestsPaused = paused
    this.#queue.setPaused(paused)
    this.#updateReading()
  }

  /** The socket is closed or closing. */
  onClosed(): void {
    if (this.#phase === 'closed') return
    this.#phase = 'closed'
    this.#pendingBytes = 0
    this.#queue.end('closed')
    this.subscriptions.clear()
    this.auth.release()
  }

  /** Pauses or resumes reading according to the load; closes a finishing connection once it is idle. */
  #updateReading(): void {
    if (this.#queue.isIdle) {
      if (this.#phase === 'finishing') this.#close('restart', 'the server is stopping')
      this.#pendingBytes = 0
    }
    this.#awaitsSignIn &&= !this.#queue.isIdle && !this.auth.hasSignedIn
    const hasRoom = this.#pendingBytes < this.env.settings.streamReceiveQueueBytes
    const reading = !this.#requestsPaused && !this.#awaitsSignIn && !this.#rate.isPaused && hasRoom
    if (reading !== this.#reading) this.transport.setReading(reading)
    this.#reading = reading
  }

  #endSession(reason: string): void {
    if (this.#phase === 'closed') return
    this.#queue.end('ended')
    this.#close('sessionEnded', reason)
  }

  #close(name: CloseName, reason: string): void {
    if (this.#phase === 'closed') return
    this.onClosed()
    this.transport.close(name, reason)
  }
}
