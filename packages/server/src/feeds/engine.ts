/** What stores the messages of feeds and passes them on between nodes: SQLite, PostgreSQL or NATS. */
import type { DroppedFeed, Feed, TopicChoice } from './feed.ts'

/** Loaded, and opened, for the first declared feed. */
export interface FeedEngine {
  readonly name: 'sqlite' | 'postgres' | 'nats'
  /**
   * Finds what is stored of the generation of a feed, or creates it. What does not fit the definition any more is removed. `delays`, in
   * milliseconds: for each of them, readers can see the feed that much later.
   */
  open(feed: Feed, delays?: readonly number[]): Promise<FeedStore>
  /** Forgets what is stored of one generation, which is no longer declared; never that of another with the same name. */
  drop(feed: DroppedFeed): Promise<void>
  /** The generations of which something is stored, and which belong to this installation only. */
  listStored(): Promise<readonly string[]>
  /** Rejects when nothing can be published. */
  check(): Promise<void>
  close(): Promise<void>
}

/**
 * Messages of one feed, as they can be read. They are numbered: `seq` grows by any amount from each message to the next, in the order in
 * which they become visible, so that no reader that has seen one can later find an earlier one.
 *
 * What delayed readers see is one too, with the numbers, times and epoch of the feed: messages become visible when they are old enough.
 * Nothing that it says depends on a younger one.
 */
export interface FeedReads {
  /** Random text of at most 16 letters and digits; a new one after a purge or when messages may have been lost (a restored backup). */
  readonly epoch: string
  /**
   * Messages with a higher `seq` than `after`, in order, of a feed that is stored. `kind` newest: only the newest message of each topic
   * (its state), topics in the order of these; otherwise the history.
   */
  readAfter(choice: TopicChoice, after: number, options: ReadOptions): Promise<Page>
  /** The newest messages of the choice, at most `count`; the oldest first. Without history only the state. */
  readLast(choice: TopicChoice, count: number): Promise<readonly StoredMessage[]>
  /** The topics that hold a state or history, by name. */
  listTopics(page: TopicPage): Promise<readonly StoredTopic[]>
  /** Passes on what is appended from now on, by this node and by all others. There is at most one follower. */
  follow(follower: Follower): Following
  close(): void
}

/** The messages of one feed, all of them. */
export interface FeedStore extends FeedReads {
  /** The definition has changed: what no longer fits is removed. */
  update(feed: Feed, delays?: readonly number[]): Promise<void>
  /** The feed as it was this much earlier; undefined if that is not kept. */
  delayed(delay: number): FeedReads | undefined
  /**
   * All or none of the messages. Resolves when they are durable, if the feed is stored. Throws a Refusal for too many topics
   * (`feed.topics`), too many bytes (`feed.full`) or a key that was used for another request (`feed.key_used`).
   * While many wait, publishers take turns.
   */
  append(messages: readonly NewMessage[], once?: PublishOnce, publisher?: string): Promise<Appended>
  /** Whether a request with this key was appended before. Throws a Refusal for a key that was used for another request. */
  wasAppended(once: PublishOnce): Promise<boolean>
  usage(): Promise<Usage>
  /** Forgets all messages: a new epoch, and `purged` of every follower. */
  purge(): Promise<void>
}

/** Messages were made visible to the readers with a delay. */
export type OnMoved = (moved: { readonly feed: string; readonly lateMs: number }) => void

export interface NewMessage {
  readonly topic: string
  /** JSON text; undefined removes the topic: its state and history are forgotten. */
  readonly data: string | undefined
}

export interface StoredMessage extends NewMessage {
  readonly seq: number
  /** When it was published, in milliseconds. */
  readonly time: number
}

/** An idempotency key: within 24 hours a request with the same key is appended once and gets the same result, on every node. */
export interface PublishOnce {
  /** The publisher, for whom keys are unique. */
  readonly owner: string
  readonly key: string
  /** A digest of the request: another request with the key is refused. */
  readonly fingerprint: string
}

export interface Appended {
  /** That of the last message; 0 for a feed that is not stored. */
  readonly seq: number
  readonly time: number
  /** An earlier request with the same key was appended; this one was not. */
  readonly isRepeated: boolean
}

export interface ReadOptions {
  readonly kind: 'newest' | 'history'
  /** The maximum number of messages; there can be fewer although more follow. */
  readonly limit: number
}

export interface Page {
  readonly messages: readonly StoredMessage[]
  /** The page is complete up to this number; the next page follows it. Not lower than `after`. */
  readonly through: number
  /** Nothing was visible after `through` when the page was read. */
  readonly isLast: boolean
  /** Messages after `after` have been removed from the history, by its bounds, by a removal or a purge; or `after` is beyond the newest. */
  readonly hasGap: boolean
}

export interface TopicPage {
  readonly prefix: string
  /** Topics after this one. */
  readonly after: string | undefined
  readonly limit: number
}

export interface StoredTopic {
  readonly topic: string
  /** Of its newest message. */
  readonly time: number
  /** How many are kept. */
  readonly messages: number
}

export interface Usage {
  readonly topics: number
  readonly bytes: number
}

/** The subscriptions of one feed on this node, as an engine sees them. */
export interface Follower {
  /** The topics and prefixes that subscribers want now. An engine may pass on others too. */
  readonly wanted: Wanted
  /**
   * Messages in order. Everything wanted up to `through` has been passed on; it only grows. With `latest`, only the newest message of a
   * topic may be passed on instead of each.
   */
  deliver(messages: readonly StoredMessage[], through: number): void
  /** Everything was forgotten, by this node or another. */
  purged(): void
}

export interface Wanted {
  readonly topics: ReadonlySet<string>
  readonly prefixes: ReadonlySet<string>
}

export interface Following {
  /**
   * Call it after something was added to `wanted`. When it resolves, every message that is appended later is passed on, if wanted now; a
   * read that begins then, and what is passed on after it, have no gap between them.
   */
  wantedMore(): Promise<void>
  stop(): void
}
