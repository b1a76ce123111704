/** The topics that a stream holds, and how much each of them. */
import type { Clock } from 'gatehouse-protocol'
import type { NewMessage, StoredTopic, TopicPage, Usage } from '../engine.ts'
import type { Feed } from '../feed.ts'
import type { Nats } from './connection.ts'
import type { Delivered } from './delivered.ts'
import { openConsumer, pullAll } from './pull.ts'
import { type FeedStream, type Head, retentionRules } from './stream.ts'

const EVERY_HEADER = { deliver_policy: 'all', headers_only: true } as const
/** Streams with more messages are not read to count their bytes. */
export const MOST_COUNTED = 20_000
/** The same for what is only shown, and for the bound of all feeds, which is checked often. */
export const MOST_READ = 2_000
/** Pages of one list are those of the list when its first page was read. */
const LIST_MS = 10_000

export class StreamTopics {
  readonly #nats: Nats
  readonly #stream: FeedStream
  readonly #clock: Clock
  #list: { readonly prefix: string; readonly time: number; readonly topics: readonly StoredTopic[] } | undefined

  constructor(nats: Nats, stream: FeedStream, clock: Clock) {
    this.#nats = nats
    this.#stream = stream
    this.#clock = clock
  }

  async list(feed: Feed, { prefix, after, limit }: TopicPage): Promise<readonly StoredTopic[]> {
    const now = this.#clock()
    const kept = this.#list
    const isFresh = kept !== undefined && kept.prefix === prefix && now - kept.time < LIST_MS
    const topics = after !== undefined && isFresh ? kept.topics : await this.#all(feed, prefix)
    this.#list = { prefix, time: isFresh && after !== undefined ? kept.time : now, topics }
    const start = after === undefined ? 0 : topics.findIndex(({ topic }) => compare(topic, after) > 0)
    return start < 0 ? [] : topics.slice(start, start + limit)
  }

  async has(topic: string): Promise<boolean> {
    const newest = await this.#stream.newest(this.#stream.subjects.ofTopic(topic))
    return newest !== undefined && !newest.isRemoval
  }

  /** The newest message of each topic, without its data; the oldest first. Also removals. */
  async *newest(filter = this.#stream.subjects.all): AsyncGenerator<Delivered[]> {
    const newest = await this.#stream.newest(filter)
    if (newest === undefined) return
    const config = { filter, deliver_policy: 'last_per_subject', headers_only: true } as const
    const consumer = await openConsumer(this.#nats, this.#stream.name, config)
    yield* pullAll(this.#nats, this.#stream.name, consumer, { end: newest.seq })
  }

  async usage(feed: Feed): Promise<Usage> {
    const head = await this.#stream.head()
    const holdings = head.messages > MOST_READ ? undefined : await this.holdings(feed, head)
    return holdings?.usage ?? this.estimate(head)
  }

  estimate({ subjects, bytes, messages }: Head): Usage {
    const overhead = this.#stream.recordBytes + this.#stream.subjects.prefix.length
    return { topics: subjects, bytes: Math.max(0, bytes - messages * overhead) }
  }

  /** Exactly what is held; undefined where it is too much to be counted. */
  async holdings(feed: Feed, { messages }: Pick<Head, 'messages'>): Promise<Holdings | undefined> {
    if (messages > MOST_COUNTED) return undefined
    const holdings = new Holdings(feed, this.#clock())
    const filter = this.#stream.subjects.all
    const newest = await this.#stream.newest(filter)
    if (newest === undefined) return holdings
    const config = { filter, ...EVERY_HEADER }
    const consumer = await openConsumer(this.#nats, this.#stream.name, config)
    for await (const page of pullAll(this.#nats, this.#stream.name, consumer, { end: newest.seq }))
      for (const { subject, bytes, time, isRemoval } of page) {
        const topic = this.#stream.subjects.readTopic(subject)
        if (topic !== undefined) holdings.add(topic, isRemoval ? undefined : bytes, time)
      }
    return holdings
  }

  /** The bytes of all messages, also of those that no reader sees; estimated where there are more than `most`. */
  async countBytes(most: number): Promise<number> {
    const head = await this.#stream.head()
    if (head.messages > most) return this.estimate(head).bytes
    const filter = this.#stream.subjects.all
    const newest = await this.#stream.newest(filter)
    if (newest === undefined) return 0
    const consumer = await openConsumer(this.#nats, this.#stream.name, { filter, ...EVERY_HEADER })
    let sum = 0
    for await (const page of pullAll(this.#nats, this.#stream.name, consumer, { end: newest.seq }))
      sum += page.reduce((bytes, one) => bytes + one.bytes, 0)
    return sum
  }

  async #all(feed: Feed, prefix: string): Promise<readonly StoredTopic[]> {
    const { topicTime, perTopic } = retentionRules(feed)
    const oldest = topicTime === undefined ? 0 : this.#clock() - topicTime
    const filter = this.#stream.subjects.writeFilter({ kind: 'prefix', prefix })
    const counts = await this.#stream.counts(filter)
    const topics: StoredTopic[] = []
    for await (const page of this.newest(filter))
      for (const { subject, time, isRemoval } of page) {
        const topic = this.#stream.subjects.readTopic(subject)
        if (topic === undefined || !topic.startsWith(prefix) || isRemoval || time < oldest) continue
        topics.push({ topic, time, messages: Math.min(counts.get(subject) ?? 1, perTopic) })
      }
    return topics.sort((one, other) => compare(one.topic, other.topic))
  }
}

/** How much each topic holds. What would be published can be tried. */
export class Holdings {
  readonly #topics: Map<string, { sizes: number[]; time: number }>
  readonly #feed: Feed
  readonly #now: number

  constructor(feed: Feed, now: number, topics: Map<string, { sizes: number[]; time: number }> = new Map()) {
    this.#feed = feed
    this.#now = now
    this.#topics = topics
  }

  /** Undefined bytes: the topic is removed. */
  add(topic: string, bytes: number | undefined, time: number): void {
    const { perTopic } = retentionRules(this.#feed)
    if (bytes === undefined) {
      this.#topics.delete(topic)
      return
    }
    const held = this.#topics.get(topic) ?? { sizes: [], time }
    held.time = time
    held.sizes.push(bytes)
    if (held.sizes.length > (Number.isFinite(perTopic) ? perTopic : 1)) held.sizes.shift()
    this.#topics.set(topic, held)
  }

  with(messages: readonly NewMessage[]): Holdings {
    const copy = new Map([...this.#topics].map(([topic, { sizes, time }]) => [topic, { sizes: [...sizes], time }]))
    const next = new Holdings(this.#feed, this.#now, copy)
    for (const { topic, data } of messages)
      next.add(topic, data === undefined ? undefined : Buffer.byteLength(data), this.#now)
    return next
  }

  get usage(): Usage {
    const { topicTime } = retentionRules(this.#feed)
    const oldest = topicTime === undefined ? 0 : this.#now - topicTime
    let [topics, bytes] = [0, 0]
    for (const { sizes, time } of this.#topics.values()) {
      if (time < oldest) continue
      topics++
      bytes += sizes.reduce((sum, size) => sum + size, 0)
    }
    return { topics, bytes }
  }
}

/** By code points, like the other engines. */
function compare(one: string, other: string): number {
  if (!SURROGATE.test(one) && !SURROGATE.test(other)) return one < other ? -1 : Number(one > other)
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

const SURROGATE = /[\ud800-\udfff]/
