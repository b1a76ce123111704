/** The messages of a feed that JetStream keeps. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Refusal } from 'gatehouse-protocol'
import type {
  Appended,
  FeedStore,
  Follower,
  Following,
  NewMessage,
  Page,
  PublishOnce,
  ReadOptions,
  StoredMessage,
  StoredTopic,
  TopicPage,
  Usage,
} from '../engine.ts'
import type { Feed, TopicChoice } from '../feed.ts'
import { refuse, refuseAppend } from '../refusals.ts'
import { Bounds } from './bounds.ts'
import { NatsUnavailable } from './connection.ts'
import { PURGED_HEADER } from './delivered.ts'
import { StreamFollower } from './follower.ts'
import { type KeyedRequest, type Keys, readError } from './keys.ts'
import { checkTopics, type Published, type PublishOptions, StreamPublisher } from './publish.ts'
import { type ReadEnv, StreamReads } from './reads.ts'
import { type FeedStream, newEpoch, type OwnStreamOptions, openOwnStream } from './stream.ts'
import { Sweeper } from './sweep.ts'
import { StreamTopics } from './topics.ts'

export interface StoreEnv extends ReadEnv {
  readonly keys: Keys
  readonly isAtomic: boolean
  readonly onError: (error: unknown) => void
}

interface StreamEnv extends StoreEnv, OwnStreamOptions {}

/** How long a request with a key is repeated while NATS is not reachable: its messages are stored once. */
const RETRY_MS = 8_000
const PAUSE_MS = 100

export class StreamStore implements FeedStore {
  readonly #env: StreamEnv
  readonly #stream: FeedStream
  readonly #reads: StreamReads
  readonly #topics: StreamTopics
  readonly #bounds: Bounds
  readonly #publishing: StreamPublisher
  readonly #sweeper: Sweeper | undefined
  #feed: Feed
  #epoch: string
  #follower: StreamFollower | undefined
  /** Removals whose topics are being looked up, and when the last of them is done. */
  #lookups = 0
  #looked: Promise<unknown> = Promise.resolve()

  static async open(env: StreamEnv, stream: FeedStream, feed: Feed): Promise<StreamStore> {
    const { epoch } = await stream.head()
    return new StreamStore(env, stream, feed, epoch)
  }

  private constructor(env: StreamEnv, stream: FeedStream, feed: Feed, epoch: string) {
    this.#env = env
    this.#stream = stream
    this.#feed = feed
    this.#epoch = epoch
    this.#reads = new StreamReads(env, stream)
    this.#topics = new StreamTopics(env.nats, stream, env.clock)
    this.#publishing = new StreamPublisher(env.nats, stream, env.isAtomic)
    this.#bounds = new Bounds(stream, this.#topics, env.clock)
    if (stream.isOurs)
      stream.restore = async () => {
        await openOwnStream(env.nats, this.#feed, env)
      }
    this.#sweeper = stream.isOurs ? new Sweeper(env, stream, this.#topics) : undefined
    this.#sweeper?.start(feed)
  }

  get epoch(): string {
    return this.#epoch
  }

  /** NATS keeps no earlier states. */
  delayed(): undefined {}

  /** The stream has been changed. */
  async update(feed: Feed): Promise<void> {
    this.#feed = feed
    this.#bounds.forget()
    this.#sweeper?.start(feed)
  }

  async append(messages: readonly NewMessage[], once?: PublishOnce, publisher = ''): Promise<Appended> {
    if (!this.#stream.isOurs && messages.some(({ data }) => data === undefined)) throw refuseForeign()
    checkTopics(messages, this.#stream.subjects)
    const time = this.#env.clock()
    if (once === undefined) return { ...(await this.#append(messages, { time, id: undefined, publisher })), time }
    const begun = await this.#env.keys.begin(this.#feed.generation, once, time)
    if (begun.kind === 'used') throw refuseAppend('key', this.#feed)
    if (begun.kind === 'done') return { seq: begun.seq, time: begun.time, isRepeated: true }
    return this.#appendOnce(messages, begun.request, publisher)
  }

  async #appendOnce(messages: readonly NewMessage[], request: KeyedRequest, publisher: string): Promise<Appended> {
    const { time, id, isTakenOver } = request
    let isRepetition = isTakenOver
    for (const deadline = Date.now() + RETRY_MS; ; await sleep(PAUSE_MS)) {
      try {
        const { seq, isRepeated } = await this.#append(messages, { time, id, publisher, isRepetition })
        await this.#env.keys.finish(request, seq)
        return { seq, time, isRepeated: isRepeated && isTakenOver }
      } catch (error) {
        const isOutage = error instanceof NatsUnavailable
        if (!isOutage && !isTakenOver) await this.#env.keys.cancel(request).catch(this.#env.onError)
        if (!isOutage || Date.now() > deadline) throw error
        isRepetition = true
      }
    }
  }

  async #append(all: readonly NewMessage[], options: PublishOptions) {
    const messages = options.id === undefined ? await this.#withoutVainRemovals(all) : all
    if (messages.length === 0) return { seq: (await this.#stream.head()).last, isRepeated: false }
    const { nats } = this.#env
    const publish = (): Promise<Published> => this.#publishing.publish(this.#feed, messages, options)
    const published = await (this.#stream.isOurs
      ? this.#bounds.publish(this.#feed, messages, publish)
      : publish()
    ).catch(async (error: unknown) => {
      // The stream may have been deleted: then it is created again.
      if (error instanceof NatsUnavailable && nats.isConnected) await this.#stream.head()
      throw error
    })
    for (const [index, { topic, data }] of messages.entries()) {
      if (data !== undefined) continue
      this.#sweeper?.removed()
      await this.#stream.purgeBefore(published.seqs[index] ?? 0, this.#stream.subjects.ofTopic(topic))
    }
    return { seq: published.seqs.at(-1) ?? 0, isRepeated: published.isRepeated }
  }

  /** Topics that hold nothing are not removed. What comes after a removal waits until it is known whether it is one. */
  async #withoutVainRemovals(messages: readonly NewMessage[]): Promise<readonly NewMessage[]> {
    if (messages.every(({ data }) => data !== undefined)) {
      if (this.#lookups > 0) await this.#looked
      return messages
    }
    this.#lookups++
    const kept = this.#looked.then(() => this.#findRemovals(messages)).finally(() => this.#lookups--)
    this.#looked = kept.catch(() => {})
    return kept
  }

  async #findRemovals(messages: readonly NewMessage[]): Promise<readonly NewMessage[]> {
    const holds = new Map<string, boolean>()
    const kept: NewMessage[] = []
    for (const message of messages) {
      const { topic, data } = message
      if (data === undefined && !(holds.get(topic) ?? (await this.#topics.has(topic)))) continue
      holds.set(topic, data !== undefined)
      kept.push(message)
    }
    return kept
  }

  async wasAppended(once: PublishOnce): Promise<boolean> {
    const known = await this.#env.keys.fingerprint(this.#feed.generation, once)
    if (known !== undefined && known !== once.fingerprint) throw refuseAppend('key', this.#feed)
    return known !== undefined
  }

  readAfter(choice: TopicChoice, after: number, options: ReadOptions): Promise<Page> {
    return this.#reads.page(this.#feed, choice, after, options)
  }

  readLast(choice: TopicChoice, count: number): Promise<readonly StoredMessage[]> {
    return this.#reads.last(this.#feed, choice, count)
  }

  listTopics(page: TopicPage): Promise<readonly StoredTopic[]> {
    return this.#topics.list(this.#feed, page)
  }

  usage(): Promise<Usage> {
    return this.#topics.usage(this.#feed)
  }

  follow(follower: Follower): Following {
    const { nats, skipped, onError } = this.#env
    this.#follower?.stop()
    this.#follower = new StreamFollower(
      {
        ...{ nats, skipped, onError, stream: this.#stream },
        definition: () => this.#feed,
        learnEpoch: (epoch) => {
          this.#epoch = epoch
          this.#bounds.forget()
        },
        beginEpoch: () => this.#beginEpoch(),
      },
      follower,
      this.#epoch,
    )
    return this.#follower
  }

  /** The message that tells of it separates what is forgotten from what was published meanwhile. */
  async purge(): Promise<void> {
    if (!this.#stream.isOurs) throw refuseForeign()
    const { nats } = this.#env
    const epoch = newEpoch()
    const ack: unknown = (
      await nats.request(this.#stream.subjects.prefix, '', nats.headers({ [PURGED_HEADER]: epoch }))
    ).json()
    const error = readError(ack)
    if (error !== undefined || typeof ack !== 'object' || ack === null || !('seq' in ack))
      throw new Error(`JetStream does not store a purge: ${error?.description ?? 'an unknown reply'}`)
    const seq = Number(ack.seq)
    await this.#stream.setMark({ epoch, cut: seq })
    await this.#stream.purgeBefore(seq)
    this.#epoch = epoch
    this.#bounds.forget()
  }

  close(): void {
    this.#follower?.stop()
    this.#sweeper?.stop()
  }

  async #beginEpoch(): Promise<string> {
    const epoch = newEpoch()
    if (this.#stream.isOurs) await this.#stream.setMark({ epoch })
    return epoch
  }
}

function refuseForeign(): Refusal {
  return refuse('feed.bad_message', 'The messages belong to another program, which alone can remove them')
}
