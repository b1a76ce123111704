/** A feed in NATS, whose definition may change from one that is stored to one that is not, and back. */
import type { FeedStore, Follower, Following, NewMessage, PublishOnce, ReadOptions, TopicPage } from '../engine.ts'
import type { Feed, TopicChoice } from '../feed.ts'

export class NatsFeedStore<Store extends FeedStore> implements FeedStore {
  readonly #open: (feed: Feed, current: { feed: Feed; store: Store }) => Promise<Store>
  #store: Store
  #feed: Feed
  #followed: { readonly follower: Follower; following: Following; hasBegun: boolean } | undefined

  constructor(feed: Feed, store: Store, open: (feed: Feed, current: { feed: Feed; store: Store }) => Promise<Store>) {
    this.#feed = feed
    this.#store = store
    this.#open = open
  }

  get epoch(): string {
    return this.#store.epoch
  }

  /** NATS keeps no earlier states. */
  delayed(): undefined {}

  async update(feed: Feed): Promise<void> {
    const before = this.#store
    const next = await this.#open(feed, { feed: this.#feed, store: before })
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
