/** A feed in NATS, whose definition may change from one that is stored to one that is not, and back. */
import type {
  FeedReads,
  FeedStore,
  Follower,
  Following,
  NewMessage,
  PublishOnce,
  ReadOptions,
  TopicPage,
} from '../engine.ts'
import type { Feed, TopicChoice } from '../feed.ts'

/** What is open stays open where it can. */
type OpenStore<Store> = (
  feed: Feed,
  delays: readonly number[],
  current: { readonly feed: Feed; readonly store: Store },
) => Promise<Store>

export class NatsFeedStore<Store extends FeedStore> implements FeedStore {
  readonly #open: OpenStore<Store>
  #store: Store
  #feed: Feed
  #followed: { readonly follower: Follower; following: Following; hasBegun: boolean } | undefined

  constructor(feed: Feed, store: Store, open: OpenStore<Store>) {
    this.#feed = feed
    this.#store = store
    this.#open = open
  }

  get epoch(): string {
    return this.#store.epoch
  }

  /** Undefined for a feed of which NATS keeps nothing, and for subjects of another program. */
  delayed(delay: number): FeedReads | undefined {
    return this.#store.delayed(delay)
  }

  async update(feed: Feed, delays: readonly number[] = []): Promise<void> {
    const before = this.#store
    const next = await this.#open(feed, delays, { feed: this.#feed, store: before })
    this.#feed = feed
    if (next === before) return
    this.#store = next
    before.close()
    if (this.#followed === undefined) return
    this.#followed.following = next.follow(this.#followed.follower)
    if (this.#followed.hasBegun) await this.#followed.following.wantedMore()
  }

  append(messages: readonly NewMessage[], once?: PublishOnce, publisher?: string) {
    return this.#store.append(messages, once, publisher)
  }

  wasAppended(once: PublishOnce) {
    return this.#store.wasAppended(once)
  }

  readAfter(choice: TopicChoice, after: number, options: ReadOptions) {
    return this.#store.readAfter(choice, after, options)
  }

  readLast(choice: TopicChoice, count: number) {
    return this.#store.readLast(choice, count)
  }

  listTopics(page: TopicPage) {
    return this.#store.listTopics(page)
  }

  usage() {
    return this.#store.usage()
  }

  follow(follower: Follower): Following {
    const followed = { follower, following: this.#store.follow(follower), hasBegun: false }
    this.#followed = followed
    return {
      wantedMore: async () => {
        await followed.following.wantedMore()
        followed.hasBegun = true
      },
      stop: () => {
        followed.following.stop()
        if (this.#followed === followed) this.#followed = undefined
      },
    }
  }

  purge() {
    return this.#store.purge()
  }

  close(): void {
    this.#store.close()
  }
}
