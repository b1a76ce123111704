/** Subscriptions to a topic: one on the server for all who ask for the same, messages for `for await`. */
import { safely } from '../emitter.ts'
import { Queue } from '../iterate.ts'
import type { CallOptions } from '../query.ts'
import { deferred } from '../wait.ts'
import { type Channel, type Channels, channelKey } from './channel.ts'

/** Options of a subscription. */
export interface SubscribeOptions extends CallOptions {
  /**
   * What happens when messages arrive faster than they are read: `error` (up to 1,000 wait, then the loop throws
   * `client.slow`) or `latest` (only the newest waits).
   */
  readonly slow?: 'error' | 'latest' | undefined
  /** The `Data` of the Sub, where the topic takes any. */
  readonly data?: unknown
}

/** Those of one topic share one subscription on the server. */
export interface Shared {
  readonly channel: Channel
  readonly members: Set<Subscription<unknown>>
  isOpen: boolean
  last?: { readonly data: unknown }
}

/**
 * Messages of one topic, for `for await`. It survives reconnects; messages published in between are not sent later, which
 * `onResume` reports.
 *
 * @example
 * ```ts
 * const news = gate.stream.subscribe<Headline>('News', 'Headlines')
 * news.onResume = () => reload()
 * for await (const headline of news) add(headline)
 * ```
 */
export class Subscription<T = unknown> implements AsyncIterable<T> {
  readonly controller: string
  readonly topic: string
  /** Called after a reconnect. `recovered` is false: messages in between were missed, unless the topic sends its state. */
  onResume: ((event: { readonly recovered: boolean }) => void) | undefined
  readonly #leave: () => void
  readonly #queue: Queue<T>
  readonly #signal: AbortSignal | undefined
  readonly #opened = deferred<void>()

  /** `all` are those of the stream, by topic. */
  constructor(
    stream: Channels,
    all: Map<string, Shared>,
    controller: string,
    topic: string,
    { slow = 'error', data, signal }: SubscribeOptions,
  ) {
    this.controller = controller
    this.topic = topic
    this.#leave = () => leave(stream, all, this as Subscription<unknown>)
    this.#signal = signal
    this.#queue = new Queue<T>({
      onLeave: () => this.close(),
      ...(slow === 'latest' ? { merge: (_, value: T) => value } : {}),
    })
    if (signal?.aborted) {
      this.fail(signal.reason)
      return
    }
    signal?.addEventListener('abort', this.#abort, { once: true })
    join(stream, all, this as Subscription<unknown>, data)
  }

  /** Resolves when the server has confirmed; rejects when it has refused. */
  ready(): Promise<void> {
    return this.#opened.promise
  }

  /** Ends the subscription, and the loop over it. */
  close(): void {
    this.#signal?.removeEventListener('abort', this.#abort)
    this.#leave()
    this.#queue.end()
  }

  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    return this.#queue
  }

  readonly #abort = (): void => {
    this.#leave()
    this.fail(this.#signal?.reason)
  }

  /** @internal */
  open(): void {
    this.#opened.resolve()
  }

  /** @internal */
  take(data: unknown): void {
    this.#queue.push(data as T)
  }

  /** @internal */
  fail(error: unknown): void {
    this.#opened.reject(error)
    this.#queue.end(error)
  }
}

function join(stream: Channels, all: Map<string, Shared>, member: Subscription<unknown>, data: unknown): void {
  const { controller, topic } = member
  const key = channelKey(member)
  const found = all.get(key)
  if (found !== undefined) {
    found.members.add(member)
    if (found.isOpen) member.open()
    // The server sends the state of a topic only to the first.
    if (found.last !== undefined) member.take(found.last.data)
    return
  }
  const members = new Set([member])
  const opened: Shared = {
    members,
    isOpen: false,
    channel: {
      controller,
      topic,
      data: () => data,
      onConfirmed() {
        if (opened.isOpen) for (const each of members) safely(() => each.onResume?.({ recovered: false }))
        opened.isOpen = true
        for (const each of members) each.open()
      },
      onData(message) {
        opened.last = { data: message }
        for (const each of members) each.take(message)
      },
      onEnd(error) {
        all.delete(key)
        for (const each of members) each.fail(error)
      },
    },
  }
  all.set(key, opened)
  stream.attach(opened.channel)
}

function leave(stream: Channels, all: Map<string, Shared>, member: Subscription<unknown>): void {
  const key = channelKey(member)
  const found = all.get(key)
  if (found === undefined || !found.members.delete(member) || found.members.size > 0) return
  all.delete(key)
  stream.detach(found.channel)
}
