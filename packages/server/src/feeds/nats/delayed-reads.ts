/** A feed as readers with a delay see it: what is in their copy; and from the log, which has every message, what has been moved there. */
import type {
  FeedReads,
  Follower,
  Following,
  Page,
  ReadOptions,
  StoredMessage,
  StoredTopic,
  TopicPage,
} from '../engine.ts'
import type { Feed, TopicChoice } from '../feed.ts'
import type { Nats } from './connection.ts'
import type { CopyStream } from './copy-stream.ts'
import { readMessage } from './delivered.ts'
import { pullPage } from './pull.ts'
import type { StreamReads } from './reads.ts'
import type { FeedStream } from './stream.ts'
import type { StreamTopics } from './topics.ts'

export interface DelayedReadsEnv {
  readonly nats: Nats
  readonly log: FeedStream
  readonly feed: () => Feed
}

/** A copy of one epoch. */
export interface ReadableCopy {
  readonly epoch: string
  readonly stream: CopyStream
  readonly reads: StreamReads
  readonly topics: StreamTopics
}

interface Followed {
  readonly follower: Follower
  /** Everything up to this number has been passed on; undefined before it has begun. */
  through: number | undefined
}

const EVERYTHING: TopicChoice = { kind: 'prefix', prefix: '' }
const PAGE_MESSAGES = 256

export class DelayedReads implements FeedReads {
  readonly #env: DelayedReadsEnv
  #copy: ReadableCopy
  #followed: Followed | undefined

  constructor(env: DelayedReadsEnv, copy: ReadableCopy) {
    this.#env = env
    this.#copy = copy
  }

  get epoch(): string {
    return this.#copy.epoch
  }

  readAfter(choice: TopicChoice, after: number, options: ReadOptions): Promise<Page> {
    return this.#copy.reads.page(this.#env.feed(), choice, after, options)
  }

  readLast(choice: TopicChoice, count: number): Promise<readonly StoredMessage[]> {
    return this.#copy.reads.last(this.#env.feed(), choice, count)
  }

  listTopics(page: TopicPage): Promise<readonly StoredTopic[]> {
    return this.#copy.topics.list(this.#env.feed(), page)
  }

  follow(follower: Follower): Following {
    const followed: Followed = { follower, through: undefined }
    this.#followed = followed
    return {
      // All messages are passed on, wanted or not.
      wantedMore: async () => {
        if (followed.through !== undefined) return
        const last = await this.#readLast()
        followed.through ??= last
      },
      stop: () => {
        if (this.#followed === followed) this.#followed = undefined
      },
    }
  }

  /** The feed was purged: what follows is in another copy. */
  use(copy: ReadableCopy): void {
    this.#copy = copy
    const followed = this.#followed
    if (followed?.through === undefined) return
    followed.through = 0
    followed.follower.purged()
  }

  /** Passes on what has been moved, by this node or another. Calls do not overlap. */
  async readNew(): Promise<void> {
    const followed = this.#followed
    if (followed?.through === undefined) return
    const copy = this.#copy
    for (const last = await this.#readLast(); followed.through < last; ) {
      const { messages, through } = await this.#readNext(followed.through, last)
      if (this.#followed !== followed || this.#copy !== copy) return
      followed.through = through
      followed.follower.deliver(messages, through)
    }
  }

  close(): void {
    this.#followed = undefined
  }

  /** The number of the last message that they may see. */
  async #readLast(): Promise<number> {
    return (await this.#copy.stream.readOwn()).last
  }

  /** Of what the log has no more, what the copy keeps. */
  async #readNext(after: number, last: number): Promise<Pick<Page, 'messages' | 'through'>> {
    const { nats, log, feed } = this.#env
    if (after + 1 < (await log.head()).places.first) return this.#readKept(after)
    const { subjects } = log
    const page = await pullPage(nats, log.name, { filter: subjects.all, place: after + 1, end: last })
    const found = page.filter(({ seq }) => seq > after && seq <= last)
    // What is no message is counted where it is published.
    const messages = found.flatMap((one) => readMessage(one, subjects, feed().messageBytes, () => {}) ?? [])
    return { messages, through: found.at(-1)?.seq ?? last }
  }

  async #readKept(after: number): Promise<Pick<Page, 'messages' | 'through'>> {
    const feed = this.#env.feed()
    const kind = feed.history === undefined ? 'newest' : 'history'
    return this.#copy.reads.page(feed, EVERYTHING, after, { kind, limit: PAGE_MESSAGES })
  }
}
