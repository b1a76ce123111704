/** A subscription of a feed for the application: messages for `for await`, and a store with the newest value. */
import { Emitter } from '../emitter.ts'
import { closedError } from '../errors.ts'
import { Queue } from '../iterate.ts'
import type { LicenceLabel } from '../licence-labels.ts'
import type { CallOptions } from '../query.ts'
import { deferred } from '../wait.ts'
import type { FeedMessage } from './message.ts'
import type { FeedSource, FeedStart, Member } from './source.ts'

/** Options of a subscription of a feed. */
export interface FeedOptions extends FeedStart, CallOptions {}

/** What listeners of a subscription are called for. */
export type FeedEvent = 'recovered' | 'gap' | 'licence'

/** How many messages may wait for a reader. */
const MOST_WAITING = 5_000

/**
 * Messages of a topic, or of all topics that a pattern such as `NYSE/*` chooses. It survives reconnects: where the feed has a history,
 * what was published meanwhile is sent, each message once. Of a feed that keeps the latest message, a slow loop gets the newest of each
 * topic; of one that keeps all, the server waits with the next messages, or without history the loop throws `client.slow`.
 *
 * @example
 * ```ts
 * const orders = gate.feed<Order>('Orders').subscribe('desk-7')
 * orders.on('gap', () => reload())
 * for await (const { topic, data, removed } of orders) if (!removed) show(topic, data)
 *
 * // or with React:
 * const price = useSyncExternalStore(acme.subscribe, () => acme.value)
 * ```
 */
export class FeedSubscription<T = unknown> implements AsyncIterable<FeedMessage<T>> {
  /** What ended it, if anything has. */
  error: unknown
  readonly #source: FeedSource
  readonly #signal: AbortSignal | undefined
  readonly #listeners = new Emitter<void>()
  readonly #events = new Emitter<FeedEvent>()
  readonly #queues = new Set<Queue<FeedMessage<T>>>()
  readonly #opened = deferred<this>()
  /** For the first loop: it may begin after the first messages. */
  #first: Queue<FeedMessage<T>> | undefined = this.#queue()
  #values: ReadonlyMap<string, T> | undefined
  readonly #member: Member = {
    onOpen: () => this.#opened.resolve(this),
    onMessage: (message) => {
      this.#values = undefined
      for (const queue of this.#queues) queue.push(message as FeedMessage<T>)
      this.#listeners.emit()
    },
    onResumed: (recovered) => this.#events.emit(recovered ? 'recovered' : 'gap'),
    onLicences: () => this.#events.emit('licence'),
    onEnd: (error) => this.#end(error),
  }

  constructor(source: FeedSource, signal: AbortSignal | undefined) {
    const { members } = source
    this.#source = source
    this.#signal = signal
    if (signal?.aborted) {
      this.#abort()
      return
    }
    signal?.addEventListener('abort', this.#abort, { once: true })
    members.add(this.#member)
    if (members.size === 1) source.open()
    else if (source.isOpen) this.#opened.resolve(this)
  }

  /** The newest data: of the topic, or with a pattern of any; undefined before the first message, and of a removed topic. */
  get value(): T | undefined {
    return this.#source.last?.data as T | undefined
  }

  /** The newest data by topic. A new map after each message, the same until then. */
  get values(): ReadonlyMap<string, T> {
    this.#values ??= new Map([...this.#source.newest].map(([topic, { data }]) => [topic, data as T]))
    return this.#values
  }

  /** Where a later subscription can resume; undefined if the feed has no history. */
  get position(): string | undefined {
    return this.#source.position
  }

  /** Resolves when the server has confirmed; rejects when it has refused. */
  ready(): Promise<this> {
    return this.#opened.promise
  }

  /** Calls the listener after each message, and at the end. Returns a function that removes the listener. */
  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.on(listener)

  /** Seconds after which the licence shows messages; undefined: they are real-time. Those of a pattern may differ, see `licences`. */
  get delay(): number | undefined {
    return this.#source.delay
  }

  /** Of a pattern: which topics are delayed, or left out. */
  get licences(): readonly LicenceLabel[] {
    return this.#source.licences
  }

  /**
   * Calls the listener after each reconnect: `recovered` if all that was missed follows, `gap` if messages are missing; and with `licence`
   * when `delay` or `licences` have changed. Returns a function that removes the listener.
   */
  on(event: FeedEvent, listener: () => void): () => void {
    return this.#events.on((happened) => {
      if (happened === event) listener()
    })
  }

  /** Ends it here and on the server. `value` and `values` stay as they are. */
  close(): void {
    this.#leave()
    for (const queue of this.#queues) queue.end()
    this.#opened.reject(closedError('subscription'))
  }

  /** Messages from now on; of a feed that keeps the latest, first the newest. Leaving the loop does not end the subscription. */
  [Symbol.asyncIterator](): AsyncIterator<FeedMessage<T>, undefined> {
    const { keep, newest } = this.#source
    const first = this.#first
    const queue = first ?? this.#queue()
    this.#first = undefined
    if (first === undefined && keep === 'latest')
      for (const message of newest.values()) queue.push(message as FeedMessage<T>)
    if (this.error !== undefined) queue.end(this.error)
    return queue
  }

  #queue(): Queue<FeedMessage<T>> {
    const leave = (): void => {
      this.#queues.delete(queue)
      this.#source.proceed(queue)
    }
    const queue = new Queue<FeedMessage<T>>({
      limit: MOST_WAITING,
      onLeave: leave,
      onEmpty: () => this.#source.proceed(queue),
      onFull: (waiting) => {
        if (queue === this.#first) {
          // There is no loop.
          this.#first = undefined
          leave()
          return []
        }
        if (this.#source.keep === 'latest') return newestPerTopic(waiting)
        if (this.#source.position === undefined) return undefined
        this.#source.pause(queue)
        return waiting
      },
    })
    this.#queues.add(queue)
    return queue
  }

  readonly #abort = (): void => this.#end(this.#signal?.reason)

  #end(error: unknown): void {
    this.error = error
    this.#leave()
    this.#opened.reject(error)
    for (const queue of this.#queues) queue.end(error)
    this.#listeners.emit()
  }

  #leave(): void {
    const { members } = this.#source
    this.#signal?.removeEventListener('abort', this.#abort)
    if (members.delete(this.#member) && members.size === 0) this.#source.close()
    // Others may go on.
    for (const queue of this.#queues) this.#source.proceed(queue)
  }
}

/** The newest message of each topic, in their order. */
function newestPerTopic<M extends FeedMessage>(messages: readonly M[]): M[] {
  const seen = new Set<string>()
  return [...messages]
    .reverse()
    .filter(({ topic }) => !seen.has(topic) && seen.add(topic))
    .reverse()
}
