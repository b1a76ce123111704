/** The messages of one feed in feeds.db. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from 'gatehouse-protocol'
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
import { type Feed, isStored, type TopicChoice } from '../feed.ts'
import { refuseAppend } from '../refusals.ts'
import type { AppendResult, FeedRules } from './jobs.ts'
import { type Head, oldestTime, type Reads } from './reads.ts'
import type { Writer } from './writer.ts'

export interface StoreEnv {
  readonly writer: Writer
  readonly reads: Reads
  readonly clock: Clock
  /** This process has committed. */
  readonly committed: () => void
  /** Passes messages of a feed that is not stored to the other workers. */
  readonly passOn: (generation: string, messages: readonly NewMessage[]) => void
}

const EVERYTHING: TopicChoice = { kind: 'prefix', prefix: '' }
const PAGE_MESSAGES = 256
/** At this time nothing had expired. */
const LONG_AGO = 0

export class SqliteFeedStore implements FeedStore {
  readonly #env: StoreEnv
  #feed: Feed
  #epoch: string
  #follower: Follower | undefined
  /** The follower has been given everything up to this number. */
  #through = 0

  constructor(feed: Feed, env: StoreEnv) {
    this.#feed = feed
    this.#env = env
    this.#epoch = this.#head().epoch
  }

  get epoch(): string {
    return this.#epoch
  }

  get rules(): FeedRules {
    return feedRules(this.#feed)
  }

  async update(feed: Feed): Promise<void> {
    await this.#env.writer.run({ kind: 'define', feed: feedRules(feed) })
    this.#feed = feed
    this.#env.committed()
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

  async readAfter(choice: TopicChoice, after: number, options: ReadOptions): Promise<Page> {
    const head = this.#head()
    const kind = this.#feed.history === undefined ? 'newest' : options.kind
    const page = this.#env.reads.page(head, this.#feed, choice, after, { ...options, kind }, this.#env.clock())
    if (page.hasGap || kind === 'newest' || !(await this.#isTrimmed(head, choice, after))) return page
    return { ...page, hasGap: true }
  }

  async readLast(choice: TopicChoice, count: number): Promise<readonly StoredMessage[]> {
    const { reads, clock } = this.#env
    const head = this.#head()
    if (choice.kind === 'topic') return reads.last(head, this.#feed, choice.topic, count, clock())
    const found: StoredMessage[] = []
    let from = { before: Number.MAX_SAFE_INTEGER, bytes: 0 }
    for (; from.before > 0 && found.length < count; await nextTurn()) {
      const page = reads.lastOfPrefix(head, this.#feed, choice.prefix, from, clock())
      found.push(...page.messages)
      from = page
    }
    return found.slice(0, count).reverse()
  }

  async listTopics({ prefix, after, limit }: TopicPage): Promise<readonly StoredTopic[]> {
    const head = this.#head()
    const oldest = oldestTime(this.#feed, 'newest', this.#env.clock())
    const found: StoredTopic[] = []
    for (let last = after; found.length < limit; await nextTurn()) {
      const { topics, hasMore } = this.#env.reads.topics(head, { prefix, after: last })
      for (const { topic, time, messages, removed } of topics)
        if (removed === 0 && time >= oldest)
          found.push({ topic, time, messages: Math.max(messages, Number(this.#feed.keep === 'latest')) })
      if (!hasMore) break
      last = topics.at(-1)?.topic
    }
    return found.slice(0, limit)
  }

  async usage(): Promise<Usage> {
    const { topics, bytes } = this.#head()
    return { topics, bytes }
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

  async #isTrimmed(head: Head, choice: TopicChoice, after: number): Promise<boolean> {
    const { reads } = this.#env
    if (choice.kind === 'topic') return reads.isTopicTrimmed(head, choice.topic, after)
    if (head.forgotten > after) return true
    for (let last: string | undefined; ; await nextTurn()) {
      const { topics, hasMore } = reads.topics(head, { prefix: choice.prefix, after: last })
      if (topics.some(({ trimmed }) => trimmed > after)) return true
      if (!hasMore) return false
      last = topics.at(-1)?.topic
    }
  }

  #head(): Head {
    const head = this.#env.reads.head(this.#feed.generation)
    if (head === undefined) throw refuseAppend('dropped', this.#feed)
    return head
  }
}

export function feedRules({ generation, keep, topics, bytes, stateTime, history }: Feed): FeedRules {
  return { generation, keep, topics, bytes, stateTime, history }
}
