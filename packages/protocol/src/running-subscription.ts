/** The two ends of a subscription that its producer, a topic or a live query, runs for one subscriber. */
import type { Principal } from './principal.ts'
import type { Refusal } from './refusal.ts'

/** The transport as the producer sees it. */
export interface SubscriberSink<Data> {
  /** Subscribers that are sent the same object share its encoded form. */
  send(data: Data): void
  /**
   * Whether `send` may be called now: the subscription is confirmed, the token has not expired and the client reads fast enough.
   * Ask before each message: `send` does not check the token. `drained` is called when it turns true again.
   */
  readonly maySend: boolean
  /**
   * The subscription has ended with this error, and nothing follows. Called at most once, and not after `close`. A transport that
   * cannot send it closes the connection.
   */
  end(reason: Refusal): void
}

/** The sink of a producer for whom every message may count. */
export interface UrgentSink<Data> extends SubscriberSink<Data> {
  /** Whether the subscription is confirmed and the token has not expired, however slowly the client reads. */
  readonly isOpen: boolean
  /** Sends, or closes the connection of a client that reads too slowly: it can come back and resume. */
  sendOrClose(data: Data): void
}

/** The producer as the transport sees it. */
export interface RunningSubscription {
  /** The `Data` of the confirmation, where the producer has something to say. */
  readonly confirmation?: object | undefined
  /** The sink may send again. */
  drained(): void
  /** The caller has other rights, or a new token with the same rights. */
  setPrincipal(principal: Principal): void
  /** Nothing is sent until `resume`: the token has expired, but the caller may renew it. */
  pause(): void
  resume(principal: Principal): void
  /** The subscription has ended: the client ended it or has left, or the caller lost the authority. */
  close(): void
}
