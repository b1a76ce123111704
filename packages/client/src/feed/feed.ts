/** Feeds: publish messages, subscribe to them, read what is kept. */
import { asObject, GatehouseError } from '../errors.ts'
import { withSearch } from '../http.ts'
import type { CallOptions, WriteOptions } from '../query.ts'
import { random } from '../random.ts'
import { channelKey } from '../stream/channel.ts'
import type { Stream } from '../stream/stream.ts'
import { writeExact } from '../values.ts'
import type { KeptMessage } from './message.ts'
import { FeedSource } from './source.ts'
import { type FeedOptions, FeedSubscription } from './subscription.ts'

/** A message to publish. */
export interface NewMessage<T = unknown> {
  readonly topic: string
  /** Anything that JSON can hold; a bigint becomes a number with all its digits. */
  readonly data: T
}

/** The reply to a publication. */
export interface Published {
  /** That of the last message; undefined if the feed has no history. */
  readonly position: string | undefined
}

/** Options of `publishAll`. */
export interface PublishAllOptions extends WriteOptions {
  /** Called after each request. */
  readonly onProgress?: ((progress: PublishProgress) => void) | undefined
}

/** How much `publishAll` has published. */
export interface PublishProgress {
  readonly messages: number
  readonly requests: number
}

/** A topic that holds messages. */
export interface FeedTopic {
  readonly topic: string
  /** When its newest message was published. */
  readonly time: string
  /** How many messages are kept. */
  readonly messages: number
}

/** Options of `topics`. */
export interface TopicOptions extends CallOptions {
  /** Only topics that begin with it. */
  readonly prefix?: string | undefined
}

/** Of one request: 10,000 messages and 8 MiB, to which 2.7 million characters never amount in UTF-8. */
const [MOST_MESSAGES, MOST_CHARACTERS] = [10_000, 2_700_000]

/**
 * A feed by name.
 *
 * @example
 * ```ts
 * const prices = gate.feed<Price>('Prices')
 * await prices.publish('ACME', { last: '101.25' })
 * await prices.publishAll([{ topic: 'ACME', data: { last: '101.30' } }, { topic: 'BOLT', data: { last: '7.10' } }])
 * for await (const { topic, data } of prices.subscribe('*', { maxRate: 5 })) show(topic, data)
 * ```
 */
export class Feed<T = unknown> {
  readonly name: string
  readonly #stream: Stream
  readonly #sources: Map<string, FeedSource>
  readonly #path: string

  /** `sources` are the subscriptions of the stream, by topic. */
  constructor(stream: Stream, sources: Map<string, FeedSource>, name: string) {
    this.name = name
    this.#stream = stream
    this.#sources = sources
    this.#path = `/feeds/${encodeURIComponent(name)}`
  }

  /** Messages of a topic, or of the topics of a pattern: `*`, or a prefix such as `NYSE/*`. */
  subscribe(topic: string, { maxRate, last, resume, signal }: FeedOptions = {}): FeedSubscription<T> {
    const sources = this.#sources
    const key = channelKey({ controller: this.name, topic })
    const known = sources.get(key)
    const isSame = (last ?? resume) === undefined && known?.start.maxRate === maxRate
    if (known !== undefined && isSame) return new FeedSubscription<T>(known, signal)
    const source = new FeedSource(this.#stream, this.name, topic, { maxRate, last, resume }, () => {
      if (sources.get(key) === source) sources.delete(key)
    })
    if (known === undefined) sources.set(key, source)
    return new FeedSubscription<T>(source, signal)
  }

  /** Publishes one message. A retry after a lost reply does not publish it twice. */
  async publish(topic: string, data: T, options: WriteOptions = {}): Promise<Published> {
    return this.#publish([formatLine({ topic, data })], options)
  }

  /**
   * Publishes any number of messages in their order, in requests of at most 10,000 messages and 8 MiB, each of which is published or not
   * as a whole. Repeated with the same messages and the same key it continues where it ended.
   */
  async publishAll(
    messages: Iterable<NewMessage<T>> | AsyncIterable<NewMessage<T>>,
    { idempotencyKey = random(), onProgress, signal }: PublishAllOptions = {},
  ): Promise<PublishProgress> {
    let progress = { messages: 0, requests: 0 }
    let lines: string[] = []
    let characters = 0
    const flush = async (): Promise<void> => {
      await this.#publish(lines, { idempotencyKey: `${idempotencyKey}:${progress.requests}`, signal })
      progress = { messages: progress.messages + lines.length, requests: progress.requests + 1 }
      lines = []
      characters = 0
      onProgress?.(progress)
    }
    for await (const message of messages) {
      const line = formatLine(message)
      characters += line.length + 1
      if (lines.length >= MOST_MESSAGES || (characters > MOST_CHARACTERS && lines.length > 0)) {
        await flush()
        characters = line.length + 1
      }
      lines.push(line)
    }
    if (lines.length > 0) await flush()
    return progress
  }

  /** The topics that hold messages, by name. */
  async *topics({ prefix, signal }: TopicOptions = {}): AsyncGenerator<FeedTopic, void, undefined> {
    let after: string | undefined
    do {
      const page = await this.#read(withSearch(this.#path, { prefix, after, limit: 1000 }), signal)
      for (const { Topic, Time, Messages } of page.items as Page['items'])
        yield { topic: Topic, time: Time, messages: Messages }
      after = page.next as string | undefined
    } while (after !== undefined)
  }

  /** The newest messages of a topic or pattern, at most `count` (up to 1,000), the newest last. The feed needs a history. */
  async last(topic: string, count: number, { signal }: CallOptions = {}): Promise<KeptMessage<T>[]> {
    const { Messages } = await this.#read(withSearch(this.#of(topic), { last: count }), signal)
    return (Messages as Kept[]).map((kept) => readKeptMessage<T>(kept))
  }

  /** The newest message of a topic; undefined if it holds none. */
  async latest(topic: string, { signal }: CallOptions = {}): Promise<KeptMessage<T> | undefined> {
    try {
      return readKeptMessage<T>((await this.#read(this.#of(topic), signal)) as unknown as Kept)
    } catch (error) {
      if (error instanceof GatehouseError && error.code === 'feed.no_topic') return undefined
      throw error
    }
  }

  /** Forgets the messages of a topic, and tells its subscribers. */
  async remove(topic: string, { idempotencyKey = random(), signal }: WriteOptions = {}): Promise<void> {
    const headers = { 'idempotency-key': idempotencyKey }
    await this.#stream.http.request(this.#of(topic), { method: 'DELETE', headers, signal })
  }

  /** Not by the path of a topic: `.` and `..` would be no topics there. */
  async #publish(lines: readonly string[], { idempotencyKey = random(), signal }: WriteOptions): Promise<Published> {
    const reply = await this.#stream.http.json(this.#path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson', 'idempotency-key': idempotencyKey },
      body: lines.join('\n'),
      idempotent: true,
      signal,
    })
    return { position: asObject(reply).Position as string | undefined }
  }

  async #read(path: string, signal: AbortSignal | undefined): Promise<Readonly<Record<string, unknown>>> {
    return asObject(await this.#stream.http.json(path, { signal }))
  }

  #of(topic: string): string {
    return `${this.#path}/${encodeURIComponent(topic)}`
  }
}

/** `gate.feed`: a feed by name. */
export type FeedByName = <T = unknown>(name: string) => Feed<T>

/**
 * Feeds without the rest of `Gatehouse`.
 *
 * @example
 * ```ts
 * const feed = createFeeds(new Stream(new Http(url, { auth })))
 * await feed('Prices').publish('ACME', { last: '101.25' })
 * ```
 */
export function createFeeds(stream: Stream): FeedByName {
  const sources = new Map<string, FeedSource>()
  return (name) => new Feed(stream, sources, name)
}

interface Page {
  readonly items: readonly { readonly Topic: string; readonly Time: string; readonly Messages: number }[]
}

interface Kept {
  readonly Topic: string
  readonly Time: string
  readonly Position?: string
  readonly Data: unknown
  readonly Delay?: number
}

function readKeptMessage<T>({ Topic, Time, Position, Data, Delay }: Kept): KeptMessage<T> {
  return { topic: Topic, data: Data as T, position: Position, time: Time, delay: Delay }
}

function formatLine({ topic, data }: NewMessage): string {
  return writeExact({ Topic: topic, Data: data })
}
