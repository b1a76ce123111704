/** A feed as a caller may read it: all of it, or what licences leave of its topics. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Page, ReadOptions, StoredMessage, StoredTopic, TopicPage } from './engine.ts'
import type { Feed, TopicChoice } from './feed.ts'
import type { FeedUse } from './licences.ts'
import type { LiveFeed } from './live-feed.ts'

/** How many messages of a pattern are looked at for those that the caller may see. */
const MOST_LOOKED_AT = 16_000

export class FeedView {
  readonly #source: LiveFeed
  readonly #use: FeedUse | undefined

  /** Without a use all of the source is shown. */
  constructor(source: LiveFeed, use: FeedUse | undefined) {
    this.#source = source
    this.#use = use
  }

  get definition(): Feed {
    return this.#source.definition
  }

  get epoch(): string {
    return this.#source.store.epoch
  }

  /** Of a message that was read for this topic or pattern. */
  writePosition(key: string, { seq }: StoredMessage): string {
    return this.#source.findOrAddPositions(key).write(this.epoch, seq)
  }

  async readLast(choice: TopicChoice, count: number): Promise<readonly StoredMessage[]> {
    for (let wanted = count; ; wanted *= 4) {
      const found = await this.#source.store.readLast(choice, wanted)
      const shown = found.filter(({ topic }) => this.#shows(topic))
      if (shown.length >= count || found.length < wanted || wanted >= MOST_LOOKED_AT) return shown.slice(-count)
      await nextTurn()
    }
  }

  async readAfter(choice: TopicChoice, after: number, options: ReadOptions): Promise<Page> {
    const page = await this.#source.store.readAfter(choice, after, options)
    return { ...page, messages: page.messages.filter(({ topic }) => this.#shows(topic)) }
  }

  async listTopics({ prefix, after, limit }: TopicPage): Promise<readonly StoredTopic[]> {
    const shown: StoredTopic[] = []
    for (let last = after; ; await nextTurn()) {
      const topics = await this.#source.store.listTopics({ prefix, after: last, limit })
      shown.push(...topics.filter(({ topic }) => this.#shows(topic)))
      if (shown.length >= limit || topics.length < limit) return shown.slice(0, limit)
      last = topics.at(-1)?.topic
    }
  }

  close(): void {
    this.#use?.close()
  }

  #shows(topic: string): boolean {
    return this.#use === undefined || this.#use.isUniform || this.#use.delayFor(topic) !== undefined
  }
}
