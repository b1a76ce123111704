/** The messages of one feed in feeds.db. */
import type { Clock } from 'gatehouse-protocol'
import type {
  Appended,
  FeedReads,
  FeedStore,
  Follower,
  Following,
  NewMessage,
  OnMoved,
  Page,
  PublishOnce,
  ReadOptions,
  StoredMessage,
  StoredTopic,
  TopicPage,
  Usage,
} from '../engine.ts'
import { type Feed, isStored, type TopicChoice } from '../feed.ts'
import { refuseAppend } from '../refusals.ts'
import { DelayedMessages } from './delayed-messages.ts'
import type { AppendResult, FeedRules, SweptFeed } from './jobs.ts'
import type { Head, Reads } from './reads.ts'
import { StoredMessages } from './stored-messages.ts'
import type { Writer } from './writer.ts'

export interface StoreEnv {
  readonly writer: Writer
  readonly reads: Reads
  readonly clock: Clock
  /** This process has committed. */
  readonly committed: () => void
  /** Passes messages of a feed that is not stored to the other workers. */
  readonly passOn: (generation: string, messages: readonly NewMessage[]) => void
  readonly onMoved: OnMoved
}

const EVERYTHING: TopicChoice = { kind: 'prefix', prefix: '' }
const PAGE_MESSAGES = 256
/** At this time nothing had expired. */
const LONG_AGO = 0

export class SqliteFeedStore implements FeedStore {
  readonly #env: StoreEnv
  readonly #stored: StoredMessages
  /** By delay. */
  readonly #delayed = new Map<number, DelayedMessages>()
  #feed: Feed
  #delays: readonly number[]
  #epoch: string
  #follower: Follower | undefined
  /** The follower has been given everything up to this number. */
  #through = 0

  static async open(feed: Feed, delays: readonly number[], env: StoreEnv): Promise<SqliteFeedStore> {
    await define(env.writer, feed, delays)
    const store = new SqliteFeedStore(feed, delays, env)
    await store.moveDue()
    return store
  }

  private constructor(feed: Feed, delays: readonly number[], env: StoreEnv) {
    this.#feed = feed
    this.#delays = delays
    this.#env = env
    const { reads, clock } = env
    this.#stored = new StoredMessages({ reads, clock, rules: () => this.#feed, head: () => this.#head() })
    this.#epoch = this.#head().epoch
  }

  get epoch(): string {
    return this.#epoch
  }

  get rules(): FeedRules {
    return feedRules(this.#feed)
  }

  get swept(): SweptFeed {
    return { rules: this.rules, delays: isStored(this.#feed) ? this.#delays : [] }
  }

  async update(feed: Feed, delays: readonly number[] = []): Promise<void> {
    const { writer, committed } = this.#env
    await define(writer, feed, delays)
    this.#feed = feed
    this.#delays = delays
    await this.moveDue()
    committed()
  }

  get isDelayed(): boolean {
    return this.#delays.length > 0
  }

  /** Shows delayed readers what is old enough for them. */
  async moveDue(): Promise<void> {
    const { writer, reads, clock, committed, onMoved } = this.#env
    while (reads.isDue(this.#feed.generation, clock())) {
      const moved = await writer.run({ kind: 'move', generation: this.#feed.generation })
      if (moved.kind !== 'moved' || moved.messages === 0) return
      for (const delayed of this.#delayed.values()) delayed.readNew()
      committed()
      onMoved({ feed: this.#feed.name, lateMs: moved.lateMs })
    }
  }

  async append(messages: readonly NewMessage[], once?: PublishOnce, publisher = ''): Promise<Appended> {
    if (!isStored(this.#feed) && once === undefined) return this.#passOn(messages)
    const topics = messages.map(({ topic }) => topic)
    const data = messages.map(({ data }) => data)
    const batch = isStored(this.#feed) ? { topics, data, once } : { topics: [], data: [], once }
    const result = await this.#env.writer.run({ kind: 'append', feed: this.rules, batch, publisher })
    if (result.kind === 'refused') throw refuseAppend(result.fault, this.#feed)
    if (result.kind !== 'appended') throw new Error(`Unexpected result of an append: ${result.kind}`)
    const { seq, time, isRepeated } = result
    if (!isStored(this.#feed)) return isRepeated ? { seq: 0, time, isRepeated } : this.#passOn(messages)
    if (!isRepeated) {
      this.#committed(result, messages)
      this.#env.committed()
    }
    return { seq, time, isRepeated }
  }

  async wasAppended({ owner, key, fingerprint }: PublishOnce): Promise<boolean> {
    const known = this.#env.reads.fingerprint(this.#feed.generation, owner, key)
    if (known !== undefined && known !== fingerprint) throw refuseAppend('key', this.#feed)
    return known !== undefined
  }

  readAfter(choice: TopicChoice, after: number, options: ReadOptions): Promise<Page> {
    return this.#stored.readAfter(choice, after, options)
  }

  readLast(choice: TopicChoice, count: number): Promise<readonly StoredMessage[]> {
    return this.#stored.readLast(choice, count)
  }

  listTopics(page: TopicPage): Promise<readonly StoredTopic[]> {
    return this.#stored.listTopics(page)
  }

  delayed(delay: number): FeedReads | undefined {
    const { reads, clock } = this.#env
    if (reads.delayed(this.#feed.generation, delay) === undefined) return undefined
    const known = this.#delayed.get(delay)
    if (known !== undefined) return known
    const opened = new DelayedMessages({ reads, clock, feed: () => this.#feed, delay })
    this.#delayed.set(delay, opened)
    return opened
  }

  async usage(): Promise<Usage> {
    return this.#env.reads.usage(this.#feed.generation) ?? { topics: 0, bytes: 0 }
  }

  follow(follower: Follower): Following {
    this.#follower = follower
    this.#through = this.#head().last
    return {
      // All messages are passed on, wanted or not.
      wantedMore: async () => this.readNew(),
      stop: () => {
        this.#follower = undefined
      },
    }
  }

  async purge(): Promise<void> {
    await this.#env.writer.run({ kind: 'purge', generation: this.#feed.generation })
    this.readNew()
    this.#env.committed()
  }

  close(): void {
    this.#follower = undefined
    for (const delayed of this.#delayed.values()) delayed.close()
    this.#delayed.clear()
  }

  /** Messages of a feed that is not stored, from another worker. */
  receive(messages: readonly NewMessage[]): void {
    const time = this.#env.clock()
    this.#follower?.deliver(
      messages.map((message) => ({ ...message, seq: 0, time })),
      0,
    )
  }

  /** What others have committed. */
  readNew(): void {
    const { reads } = this.#env
    const head = reads.head(this.#feed.generation)
    // Another worker has dropped it, and this one will learn of it.
    if (head === undefined) return
    if (head.epoch !== this.#epoch) {
      this.#epoch = head.epoch
      // What was there before the purge cannot be read any more: what follows came after it, and is passed on.
      this.#follower?.purged()
    }
    const kind = this.#feed.history === undefined ? 'newest' : 'history'
    while (this.#follower !== undefined && this.#through < head.last) {
      const page = reads.page(head, this.#feed, EVERYTHING, this.#through, { kind, limit: PAGE_MESSAGES }, LONG_AGO)
      this.#deliver(page.messages, page.through)
    }
    for (const delayed of this.#delayed.values()) delayed.readNew()
  }

  /** The numbers of these messages follow `before` without a gap. */
  #committed({ epoch, before, seq, time }: AppendResult, messages: readonly NewMessage[]): void {
    if (this.#follower === undefined || seq <= this.#through) return
    // Others have committed in between, or have purged the feed, or a page that has been read contains some of these.
    if (before !== this.#through || epoch !== this.#epoch) {
      this.readNew()
      return
    }
    this.#deliver(
      messages.map(({ topic, data }, index) => ({ topic, data, time, seq: before + index + 1 })),
      seq,
    )
  }

  #deliver(messages: readonly StoredMessage[], through: number): void {
    this.#through = through
    this.#follower?.deliver(messages, through)
  }

  #passOn(messages: readonly NewMessage[]): Appended {
    this.receive(messages)
    this.#env.passOn(this.#feed.generation, messages)
    return { seq: 0, time: this.#env.clock(), isRepeated: false }
  }

  #head(): Head {
    const head = this.#env.reads.head(this.#feed.generation)
    if (head === undefined) throw refuseAppend('dropped', this.#feed)
    return head
  }
}

/** Of a feed that is not stored, nothing can be read later. */
async function define(writer: Writer, feed: Feed, delays: readonly number[]): Promise<void> {
  await writer.run({ kind: 'define', feed: feedRules(feed), delays: isStored(feed) ? delays : [] })
}

function feedRules({ generation, keep, topics, bytes, stateTime, history }: Feed): FeedRules {
  return { generation, keep, topics, bytes, stateTime, history }
}
