/** One response of server-sent events: the messages of a subscription, written as fast as the client reads. */

import type { Clock, Principal, Refusal, RunningSubscription, UrgentSink } from 'gatehouse-protocol'
import type { Context } from '../context.ts'

export const EVENT_STREAM = 'text/event-stream'

/** What differs between the services that send events. */
export interface EventRules<Message extends object> {
  /** The label in metrics. */
  readonly route: string
  /** The lines of an event, without the empty line that ends it. Encoded once for all clients that are sent the same object. */
  readonly encode: (message: Message) => string
  readonly problem: (reason: Refusal, context: Context) => object
  readonly expired: () => Refusal
  readonly stopping: () => Refusal
  readonly tooSlow: () => Refusal
  /** The last event, in place of the problem document; empty: none. */
  readonly lastEvent?: (reason: Refusal) => string
}

export interface EventResponseEnv {
  readonly clock: Clock
  readonly onClosed: () => void
}

const HEADERS = {
  'cache-control': 'no-store',
  // Proxies that buffer responses would keep the events back.
  'x-accel-buffering': 'no',
}
/** Proxies and clients close a connection that is silent for long. */
const COMMENT_MS = 15_000
const COMMENT = ': \n\n'
/** A client that reads nothing for this long counts as disconnected. */
const STALLED_MS = 60_000

/** What waits for a client that may not miss a message; past it the response ends. */
const MAX_UNREAD_BYTES = 1024 * 1024

export class EventResponse<Message extends object> implements UrgentSink<Message> {
  readonly context: Context
  readonly #rules: EventRules<Message>
  readonly #env: EventResponseEnv
  #subscription: RunningSubscription | undefined
  #principal: Principal
  /** `ending`: the client has not read everything yet. */
  #state: 'opening' | 'open' | 'ending' | 'closed' = 'opening'
  #endReason: Refusal | undefined
  #writtenAt = 0
  #congestedSince: number | undefined
  #release: (() => void) | undefined

  constructor(context: Context, rules: EventRules<Message>, env: EventResponseEnv) {
    this.context = context
    this.#rules = rules
    this.#env = env
    this.#principal = context.principal
  }

  get principal(): Principal {
    return this.#principal
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  /**
   * Sends the head, and the id from which the client resumes if it gets no event. Throws if the subscription has ended before, so that the reply can have
   * an error status.
   */
  begin(subscription: RunningSubscription, startId?: string): void {
    const { context } = this
    const { response } = context
    this.#subscription = subscription
    if (this.#endReason !== undefined) throw this.#endReason
    if (response.destroyed) {
      this.#close()
      return
    }
    this.#state = 'open'
    // The time that it stays open says nothing about how fast requests are answered.
    context.route = this.#rules.route
    context.setHeaders(HEADERS)
    context.stream(EVENT_STREAM).flushHeaders()
    // Clients end it, not the server.
    context.incompleteStatus = 200
    response.on('close', () => this.#close())
    response.on('drain', () => this.#onDrain())
    // An id without data is no event, but a client keeps it.
    this.#write(startId === undefined ? COMMENT : `: \nid: ${startId}\n\n`)
    subscription.drained()
  }

  /** False from the millisecond in which the token expires. */
  get maySend(): boolean {
    return this.#state === 'open' && !this.context.response.writableNeedDrain && !this.#isExpired
  }

  get isOpen(): boolean {
    return this.#state === 'open' && !this.#isExpired
  }

  send(message: Message): void {
    if (this.#state === 'open') this.#write(this.#encoded(message))
  }

  sendOrClose(message: Message): void {
    if (this.context.response.writableLength > MAX_UNREAD_BYTES) this.end(this.#rules.tooSlow())
    else this.send(message)
  }

  /** The last event; its data is the problem document. */
  end(reason: Refusal): void {
    if (this.#state === 'opening') this.#endReason ??= reason
    else this.#finish(reason)
  }

  /** The server is stopping. The delays keep the clients from reconnecting all at once. */
  stop(): void {
    const retryMs = 1_000 + Math.floor(Math.random() * 4_000)
    this.#finish(this.#rules.stopping(), `retry: ${retryMs}\n`)
  }

  /** The rights of the caller may have changed. */
  setPrincipal(principal: Principal): void {
    if (this.#state !== 'open' || principal === this.#principal) return
    this.#principal = principal
    this.#subscription?.setPrincipal(principal)
  }

  tick(): void {
    const now = this.#env.clock()
    if (this.#state === 'open' && this.#isExpired) this.end(this.#rules.expired())
    else if (this.#congestedSince !== undefined) {
      if (now - this.#congestedSince >= STALLED_MS) this.context.response.destroy()
    } else if (now - this.#writtenAt >= COMMENT_MS) this.#write(COMMENT)
  }

  get #isExpired(): boolean {
    return this.#env.clock() >= this.#principal.expiresAt * 1000
  }

  /** Unread bytes still count, and the client gets the usual time to read them. */
  #finish(reason: Refusal, retry = ''): void {
    if (this.#state !== 'open') return
    const { response, log } = this.context
    this.#state = 'ending'
    this.#congestedSince = this.#env.clock()
    try {
      const last = this.#rules.lastEvent?.(reason)
      response.end(last ?? this.#endEvent(reason, retry))
    } catch (error) {
      // The reason cannot be sent, but the client must not wait for events that will never come.
      log.error({ err: error }, 'the end of an event stream could not be sent')
      response.destroy()
    }
    this.#subscription?.close()
  }

  #endEvent(reason: Refusal, retry: string): string {
    return `event: end\n${retry}data: ${JSON.stringify(this.#rules.problem(reason, this.context))}\n\n`
  }

  #encoded(message: Message): Buffer {
    const known = encodedMessages.get(message)
    if (known !== undefined) return known
    const event = Buffer.from(`${this.#rules.encode(message)}\n\n`)
    encodedMessages.set(message, event)
    return event
  }

  #write(text: string | Buffer): void {
    const { response } = this.context
    this.#writtenAt = this.#env.clock()
    if (response.write(text)) return
    this.#congestedSince ??= this.#writtenAt
    this.#release?.()
    this.#release = this.context.holdUnread(response.writableLength)
  }

  #onDrain(): void {
    this.#release?.()
    this.#release = undefined
    if (this.#state !== 'open') return
    this.#congestedSince = undefined
    this.#subscription?.drained()
  }

  #close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#release?.()
    this.#subscription?.close()
    this.#env.onClosed()
  }
}

/** Thousands of clients are sent the same message: it is encoded once. */
const encodedMessages = new WeakMap<object, Buffer>()

/** A line break in JSON is white space, and in an event stream it begins another line of the data. */
export function dataLines(text: string): string {
  return `data: ${/[\r\n]/.test(text) ? text.replaceAll(/\r\n?|\n/g, '\ndata: ') : text}`
}
