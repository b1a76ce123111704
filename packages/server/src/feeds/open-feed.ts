/** A declared feed on this node: what is published to it, and its subscribers in real time and with each delay. */
import type { FeedStore, NewMessage, PublishOnce } from './engine.ts'
import type { Feed } from './feed.ts'
import { LiveFeed, type LiveFeedEnv } from './live-feed.ts'

export class OpenFeed {
  readonly store: FeedStore
  readonly realtime: LiveFeed
  readonly #env: LiveFeedEnv
  /** By delay: opened for the first subscriber. */
  readonly #delayed = new Map<number, LiveFeed>()
  #definition: Feed
  /** Those that products need, in milliseconds. */
  #delays: readonly number[]

  constructor(definition: Feed, delays: readonly number[], store: FeedStore, env: LiveFeedEnv) {
    this.#definition = definition
    this.#delays = delays
    this.store = store
    this.#env = env
    this.realtime = new LiveFeed(definition, store, env)
  }

  get definition(): Feed {
    return this.#definition
  }

  get delays(): readonly number[] {
    return this.#delays
  }

  get subscriptions(): number {
    return this.#all().reduce((sum, { subscriptions }) => sum + subscriptions, 0)
  }

  /** As subscribers see it who have this delay, in milliseconds; 0: real-time. Undefined if that is not kept. */
  find(delay: number): LiveFeed | undefined {
    if (delay === 0) return this.realtime
    const reads = this.store.delayed(delay)
    const known = this.#delayed.get(delay)
    if (known !== undefined && known.reads === reads) return known
    known?.close()
    this.#delayed.delete(delay)
    if (reads === undefined) return undefined
    const opened = new LiveFeed(this.#definition, reads, this.#env, delay)
    this.#delayed.set(delay, opened)
    return opened
  }

  /** A product covers it, which none has covered before. */
  cover(): void {
    for (const subscriber of this.realtime.owners) subscriber.cover()
  }

  /** Subscribers who may not read it any more lose their subscriptions. */
  async update(definition: Feed, delays: readonly number[]): Promise<void> {
    await this.store.update(definition, delays)
    this.#definition = definition
    this.#delays = delays
    for (const live of this.#all()) live.update(definition)
  }

  /** The number of the last message; its position. */
  async append(
    messages: readonly NewMessage[],
    once: PublishOnce | undefined,
    publisher: string,
  ): Promise<string | undefined> {
    const { realtime, store } = this
    const { seq } = await store.append(messages, once, publisher)
    await realtime.keepingUp
    if (this.#definition.history === undefined) return undefined
    const [first] = messages
    const isOneTopic = messages.every(({ topic }) => topic === first?.topic)
    const key = isOneTopic && first !== undefined ? first.topic : '*'
    return realtime.findOrAddPositions(key).write(store.epoch, seq)
  }

  close(): void {
    for (const live of this.#all()) live.close()
    this.store.close()
  }

  #all(): readonly LiveFeed[] {
    return [this.realtime, ...this.#delayed.values()]
  }
}
