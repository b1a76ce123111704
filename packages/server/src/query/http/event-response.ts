/** One response of server-sent events: the messages of a live statement, written as fast as the client reads. */

import type { Clock, Principal, Refusal, RunningSubscription, SubscriberSink } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { refuse } from '../errors.ts'
import type { LiveMessage } from '../live/contract.ts'
import { problemFor } from './problem.ts'
import { EVENT_STREAM } from './request.ts'

export interface EventResponseEnv {
  readonly clock: Clock
  readonly onClosed: () => void
}

const HEADERS = {
  'cache-control': 'no-store',
  // Proxies that buffer responses would keep the events back.
  'x-accel-buffering': 'no',
}
/** The label in metrics. */
const ROUTE = '/query as events'
/** Proxies and clients close a connection that is silent for long. */
const COMMENT_MS = 15_000
const COMMENT = ': \n\n'
/** A client that reads nothing for this long counts as disconnected. */
const STALLED_MS = 60_000

export class EventResponse implements SubscriberSink<LiveMessage> {
  readonly context: Context
  readonly #env: EventResponseEnv
  #subscription: RunningSubscription | undefined
  #principal: Principal
  /** `ending`: the client has not read everything yet. */
  #state: 'opening' | 'open' | 'ending' | 'closed' = 'opening'
  #endReason: Refusal | undefined
  #writtenAt = 0
  #congestedSince: number | undefined
  #release: (() => void) | undefined

  constructor(context: Context, env: EventResponseEnv) {
    this.context = context
    this.#env = env
    this.#principal = context.principal
  }

  get principal(): Principal {
    return this.#principal
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  /** Sends the head. Throws if the statement has ended before, so that the reply can have an error status. */
  begin(subscription: RunningSubscription): void {
    const { context } = this
    const { response } = context
    this.#subscription = subscription
    if (this.#endReason !== undefined) throw this.#endReason
    if (response.destroyed) {
      this.#close()
      return
    }
    this.#state = 'open'
    // The time that it stays open says nothing about how fast queries are answered.
    context.route = ROUTE
    context.setHeaders(HEADERS)
    context.stream(EVENT_STREAM).flushHeaders()
    // Clients end it, not the server.
    context.incompleteStatus = 200
    response.on('close', () => this.#close())
    response.on('drain', () => this.#onDrain())
    this.#write(COMMENT)
    subscription.drained()
  }

  /** False from the millisecond in which the token expires. */
  get maySend(): boolean {
    return this.#state === 'open' && !this.context.response.writableNeedDrain && !this.#isExpired
  }

  send(message: LiveMessage): void {
    if (this.#state === 'open') this.#write(encoded(message))
  }

  /** The last event; its data is the problem document. */
  end(reason: Refusal): void {
    if (this.#state === 'opening') this.#endReason ??= reason
    else this.#finish(reason)
  }

  /** The server is stopping. The delays keep the clients from reconnecting all at once. */
  stop(): void {
    const retryMs = 1_000 + Math.floor(Math.random() * 4_000)
    this.#finish(refuse('Limit.Overload', 'The service is shutting down'), `retry: ${retryMs}\n`)
  }

  /** The rights of the caller may have changed. */
  setPrincipal(principal: Principal): void {
    if (this.#state !== 'open' || principal === this.#principal) return
    this.#principal = principal
    this.#subscription?.setPrincipal(principal)
  }

  tick(): void {
    const now = this.#env.clock()
    if (this.#state === 'open' && this.#isExpired) this.end(refuse('Auth.InvalidToken', 'The access token has expired'))
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
      const problem = JSON.stringify(problemFor(reason, this.context))
      response.end(`event: end\n${retry}data: ${problem}\n\n`)
    } catch (error) {
      // The reason cannot be sent, but the client must not wait for events that will never come.
      log.error({ err: error }, 'the end of a live statement could not be sent')
      response.destroy()
    }
    this.#subscription?.close()
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
const encodedMessages = new WeakMap<LiveMessage, Buffer>()

function encoded(message: LiveMessage): Buffer {
  let event = encodedMessages.get(message)
  if (event === undefined) {
    event = Buffer.from(`event: ${message.kind.toLowerCase()}\n${idOf(message)}data: ${inLines(message.text)}\n\n`)
    encodedMessages.set(message, event)
  }
  return event
}

/** A Reset clears the id: a client that then reconnects must not resume from a state that it no longer holds. */
function idOf({ kind, position }: LiveMessage): string {
  if (kind === 'Reset') return 'id\n'
  return position === undefined ? '' : `id: ${position}\n`
}

/** A line break in JSON is white space, and in an event stream it begins another line of the data. */
function inLines(text: string): string {
  return /[\r\n]/.test(text) ? text.replaceAll(/\r\n?|\n/g, '\ndata: ') : text
}
