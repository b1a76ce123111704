/** The messages of a feed that JetStream keeps. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from 'gatehouse-protocol'
import type {
  Appended,
  FeedReads,
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
import { Copies } from './copies.ts'
import { PURGED_HEADER } from './delivered.ts'
import { StreamFollower } from './follower.ts'
import { type KeyedRequest, type Keys, readError } from './keys.ts'
import { MOVED_BYTES } from './mover.ts'
import { checkTopics, type Published, type PublishOptions, StreamPublisher } from './publish.ts'
import { type ReadEnv, StreamReads } from './reads.ts'
import { type FeedStream, newEpoch, type OwnStreamOptions, openOwnStream } from './stream.ts'
import { Sweeper } from './sweep.ts'
import type { EngineTime } from './time.ts'
import { MOST_READ, StreamTopics } from './topics.ts'

export interface StoreEnv extends ReadEnv {
  readonly keys: Keys
  readonly isAtomic: boolean
  readonly onError: (error: unknown) => void
}

interface StreamEnv extends StoreEnv, OwnStreamOptions {
  readonly time: EngineTime
  /** Delayed readers were shown something, so long after it was old enough. */
  readonly onMoved: (lateMs: number) => void
}

/** What readers in real time see: the stream, or where readers have delays a copy of it. */
interface Visible {
  readonly stream: FeedStream
  readonly reads: StreamReads
  readonly topics: StreamTopics
  readonly bounds: Bounds
}

/** How long a request with a key is repeated while NATS is not reachable: its messages are stored once. */
const RETRY_MS = 8_000
const PAUSE_MS = 100

export class StreamStore implements FeedStore {
  readonly #env: StreamEnv
  readonly #stream: FeedStream
  readonly #publishing: StreamPublisher
  /** Of a stream that is no log. */
  #sweeper: Sweeper | undefined
  #feed: Feed
  #delays: readonly number[] = []
  #epoch: string
  #visible: Visible
  /** Of a stream that is a log. */
  #copies: Copies | undefined
  #opening: Promise<void> | undefined
  #follower: StreamFollower | undefined
  /** Removals whose topics are being looked up, and when the last of them is done. */
  #lookups = 0
  #looked: Promise<unknown> = Promise.resolve()
  #isClosed = false

  static async open(env: StreamEnv, stream: FeedStream, feed: Feed, delays: readonly number[]): Promise<StreamStore> {
    const { epoch } = await stream.head()
    const store = new StreamStore(env, stream, feed, epoch)
    try {
      await store.update(feed, delays)
    } catch (error) {
      store.close()
      throw error
    }
    return store
  }

  private constructor(env: StreamEnv, stream: FeedStream, feed: Feed, epoch: string) {
    this.#env = env
    this.#stream = stream
    this.#feed = feed
    this.#epoch = epoch
    this.#publishing = new StreamPublisher(env.nats, stream, env.isAtomic)
    this.#visible = this.#openVisible()
    if (!stream.isOurs) return
    stream.restore = async () => {
      await openOwnStream(env.nats, this.#feed, env, this.#copies !== undefined || this.#delays.length > 0)
    }
    stream.onLog = () => {
      if (this.#copies === undefined && this.#opening === undefined && !this.#isClosed)
        void this.#openCopies().catch(env.onError)
    }
    this.#sweeper = new Sweeper(env, { stream, topics: this.#visible.topics, log: stream })
  }

  get epoch(): string {
    return this.#epoch
  }

  delayed(delay: number): FeedReads | undefined {
    return this.#copies?.delayed(delay)
  }

  /** The stream has been changed. */
  async update(feed: Feed, delays: readonly number[] = []): Promise<void> {
    this.#feed = feed
    this.#delays = delays
    this.#visible.bounds.forget()
    if (this.#copies === undefined && this.#stream.isOurs && (await this.#stream.head()).isLog) await this.#openCopies()
    if (this.#copies === undefined) {
      this.#sweeper?.start(feed)
      return
    }
    await this.#copies.update(delays)
    this.#visible = this.#openVisible()
  }

  /** From now on readers see copies of the stream, which is a log. */
  #openCopies(): Promise<void> {
    this.#opening ??= this.#createCopies().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #createCopies(): Promise<void> {
    const { nats, keys, replicas, clock, time, skipped, onError, onMoved } = this.#env
    const copies = await Copies.open(
      {
        ...{ nats, keys, replicas, clock, time, skipped, onError, onMoved },
        log: this.#stream,
        feed: () => this.#feed,
        makeLog: () => openOwnStream(nats, this.#feed, this.#env, true),
        onRenewed: () => this.#renewed(),
      },
      this.#delays,
    )
    if (this.#isClosed) return copies.close()
    this.#copies = copies
    this.#sweeper?.stop()
    this.#sweeper = undefined
    this.#renewed()
  }

  /** The copies are others. */
  #renewed(): void {
    if (this.#copies === undefined) return
    this.#epoch = this.#copies.current.epoch
    this.#visible = this.#openVisible()
  }

  #openVisible(): Visible {
    const { nats, clock } = this.#env
    const copies = this.#copies
    if (copies !== undefined) {
      const { stream, reads, topics } = copies.current
      const held = this.#delays.length > 0 ? copies : undefined
      const bounds = new Bounds({ stream, topics, clock, readAtMost: () => copies.readAtMost(), held })
      return { stream, reads, topics, bounds }
    }
    const stream = this.#stream
    const topics = new StreamTopics(nats, stream, clock)
    const readAtMost = async () => {
      const { subjects, bytes } = await stream.head()
      return { topics: subjects, bytes }
    }
    const bounds = new Bounds({ stream, topics, clock, readAtMost, held: undefined })
    return { stream, reads: new StreamReads(this.#env, stream), topics, bounds }
  }

  async append(messages: readonly NewMessage[], once?: PublishOnce, publisher = ''): Promise<Appended> {
    if (!this.#stream.isOurs && messages.some(({ data }) => data === undefined)) throw refuseForeign()
    checkTopics(messages, this.#stream.subjects)
    if (this.#copies !== undefined) this.#checkLengths(messages)
    const time = this.#env.clock()
    if (once === undefined) return { ...(await this.#append(messages, { time, id: undefined, publisher })), time }
    const begun = await this.#env.keys.begin(this.#feed.generation, once, time)
    if (begun.kind === 'used') throw refuseAppend('key', this.#feed)
    if (begun.kind === 'done') return { seq: begun.seq, time: begun.time, isRepeated: true }
    return this.#appendOnce(messages, begun.request, publisher)
  }

  /** What cannot be moved to a copy. */
  #checkLengths(messages: readonly NewMessage[]): void {
    const most = (this.#env.nats.connection.info?.max_payload ?? Number.POSITIVE_INFINITY) - MOVED_BYTES
    if (messages.some(({ data = '' }) => Buffer.byteLength(data) > most))
      throw refuse(
        'feed.message_too_large',
        `A message of a feed with a delay must be ${MOVED_BYTES} bytes shorter than the max_payload of NATS`,
      )
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

  async #append(all: readonly NewMessage[], given: PublishOptions) {
    const messages = given.id === undefined ? await this.#withoutVainRemovals(all) : all
    if (messages.length === 0) return { seq: (await this.#stream.head()).last, isRepeated: false }
    const { nats } = this.#env
    const options = { ...given, keepsAll: this.#copies !== undefined }
    let hasBegun = false
    const publish = (): Promise<Published> => {
      hasBegun = true
      return this.#publishing.publish(this.#feed, messages, options)
    }
    const published = await (this.#stream.isOurs
      ? this.#read(
          ({ bounds }) => bounds.publish(this.#feed, messages, publish),
          () => !hasBegun,
        )
      : publish()
    ).catch(async (error: unknown) => {
      // The stream may have been deleted: then it is created again.
      if (error instanceof NatsUnavailable && nats.isConnected) await this.#stream.head()
      throw error
    })
    await this.#purgeRemoved(messages, published)
    return { seq: published.seqs.at(-1) ?? 0, isRepeated: published.isRepeated }
  }

  /** Nothing before the removal of a topic counts. From a log nothing is removed. */
  async #purgeRemoved(messages: readonly NewMessage[], { seqs }: Published): Promise<void> {
    const removals = [...messages.entries()].filter(([, { data }]) => data === undefined)
    if (removals.length === 0 || this.#copies !== undefined || (await this.#stream.head()).isLog) return
    for (const [index, { topic }] of removals) {
      this.#sweeper?.removed()
      await this.#stream.purgeBefore(seqs[index] ?? 0, this.#stream.subjects.ofTopic(topic))
    }
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
      if (data === undefined && !(holds.get(topic) ?? (await this.#holds(topic)))) continue
      holds.set(topic, data !== undefined)
      kept.push(message)
    }
    return kept
  }

  /** A log has the newest message of a topic, or it is so old that the copies have it. */
  async #holds(topic: string): Promise<boolean> {
    const newest = await this.#stream.newest(this.#stream.subjects.ofTopic(topic))
    if (newest !== undefined) return !newest.isRemoval
    return this.#copies !== undefined && this.#read(({ topics }) => topics.has(topic))
  }

  async wasAppended(once: PublishOnce): Promise<boolean> {
    const known = await this.#env.keys.fingerprint(this.#feed.generation, once)
    if (known !== undefined && known !== once.fingerprint) throw refuseAppend('key', this.#feed)
    return known !== undefined
  }

  readAfter(choice: TopicChoice, after: number, options: ReadOptions): Promise<Page> {
    return this.#read(({ reads }) => reads.page(this.#feed, choice, after, options))
  }

  readLast(choice: TopicChoice, count: number): Promise<readonly StoredMessage[]> {
    return this.#read(({ reads }) => reads.last(this.#feed, choice, count))
  }

  listTopics(page: TopicPage): Promise<readonly StoredTopic[]> {
    return this.#read(async ({ stream, topics }) => {
      // What has been published is in the copy then.
      if (this.#copies !== undefined) await stream.head()
      return topics.list(this.#feed, page)
    })
  }

  usage(): Promise<Usage> {
    return this.#read(async (visible) => {
      const { topics, bytes } = await visible.topics.usage(this.#feed)
      const held = await this.#copies?.countHeld(MOST_READ)
      return { topics, bytes: bytes + (held ?? 0) }
    })
  }

  /** After a purge by another node, the copies are not there any more: it is repeated with those of the new epoch. */
  async #read<T>(act: (visible: Visible) => Promise<T>, mayRepeat = () => true): Promise<T> {
    const visible = this.#visible
    try {
      return await act(visible)
    } catch (error) {
      if (this.#copies === undefined || error instanceof Refusal || !mayRepeat()) throw error
      await this.#copies.renew()
      if (this.#visible.stream === visible.stream) throw error
      return act(this.#visible)
    }
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
          this.#visible.bounds.forget()
        },
        missed: (after) => this.#copies?.readMissed(after),
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
    await this.#forget(epoch, seq)
    this.#epoch = epoch
    await this.#copies?.renew()
    this.#visible.bounds.forget()
  }

  /** What comes before the number. From a log first: nothing of it may be in the copies of the new epoch. */
  async #forget(epoch: string, seq: number): Promise<void> {
    const { isLog } = await this.#stream.head()
    if (isLog) await this.#stream.purgeBefore(seq)
    await this.#stream.setMark({ epoch, cut: seq })
    if (!isLog) await this.#stream.purgeBefore(seq)
  }

  close(): void {
    this.#isClosed = true
    this.#follower?.stop()
    this.#sweeper?.stop()
    this.#copies?.close()
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
