/** A feed in feeds.db as it was a while ago, for readers with a delay: one reader for all of them on a node. */
import type { Clock } from 'gatehouse-protocol'
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
import { refuseAppend } from '../refusals.ts'
import type { DelayedHead, Head, Reads } from './reads.ts'
import { StoredMessages } from './stored-messages.ts'

export interface DelayedMessagesEnv {
  readonly reads: Reads
  readonly clock: Clock
  readonly feed: () => Feed
  /** Milliseconds. */
  readonly delay: number
}

const EVERYTHING: TopicChoice = { kind: 'prefix', prefix: '' }
const PAGE_MESSAGES = 256
/** At this time nothing had expired. */
const LONG_AGO = 0

export class DelayedMessages implements FeedReads {
  readonly #env: DelayedMessagesEnv
  readonly #stored: StoredMessages
  #epoch: string
  #follower: Follower | undefined
  /** The follower has been given everything up to this number. */
  #through = 0

  constructor(env: DelayedMessagesEnv) {
    this.#env = env
    const { reads, clock, feed, delay } = env
    this.#stored = new StoredMessages({ reads, clock: () => clock() - delay, rules: feed, head: () => this.#head() })
    this.#epoch = this.#head().epoch
  }

  get epoch(): string {
    return this.#epoch
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

  close(): void {
    this.#follower = undefined
  }

  /** What has become visible. */
  readNew(): void {
    const delayed = this.#delayed()
    const head = delayed && this.#env.reads.head(delayed.name)
    // No node needs it any more.
    if (delayed === undefined || head === undefined) return
    if (head.epoch !== this.#epoch) {
      this.#epoch = head.epoch
      this.#follower?.purged()
    }
    while (this.#follower !== undefined && this.#through < head.last) {
      const { messages, through } = this.#readNext(delayed, head)
      this.#through = through
      this.#follower.deliver(messages, through)
    }
  }

  /** Every message; of those that are held no longer, what the feed keeps. */
  #readNext({ source, trimmed }: DelayedHead, head: Head): Pick<Page, 'messages' | 'through'> {
    const { reads, feed } = this.#env
    if (trimmed > this.#through) {
      const kind = feed().history === undefined ? 'newest' : 'history'
      return reads.page(head, feed(), EVERYTHING, this.#through, { kind, limit: PAGE_MESSAGES }, LONG_AGO)
    }
    const messages = reads.held(source, this.#through, head.last, PAGE_MESSAGES)
    const isLast = messages.length < PAGE_MESSAGES
    return { messages, through: isLast ? head.last : (messages.at(-1)?.seq ?? head.last) }
  }

  #delayed(): DelayedHead | undefined {
    const { reads, feed, delay } = this.#env
    return reads.delayed(feed().generation, delay)
  }

  #head(): Head {
    const delayed = this.#delayed()
    const head = delayed && this.#env.reads.head(delayed.name)
    if (head === undefined) throw refuseAppend('dropped', this.#env.feed())
    return head
  }
}
