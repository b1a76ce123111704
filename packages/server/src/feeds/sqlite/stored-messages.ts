/** What is kept of a feed in feeds.db, read page by page: of a declared one, or of what delayed readers see of it. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from 'gatehouse-protocol'
import type { Page, ReadOptions, StoredMessage, StoredTopic, TopicPage } from '../engine.ts'
import type { TopicChoice } from '../feed.ts'
import { type Head, oldestTime, type Reads, type Rules } from './reads.ts'

export interface StoredMessagesEnv {
  readonly reads: Reads
  /** By which messages expire. */
  readonly clock: Clock
  rules(): Rules
  /** Throws if the feed is not in the file. */
  head(): Head
}

export class StoredMessages {
  readonly #env: StoredMessagesEnv

  constructor(env: StoredMessagesEnv) {
    this.#env = env
  }

  async readAfter(choice: TopicChoice, after: number, options: ReadOptions): Promise<Page> {
    const { reads, clock } = this.#env
    const [head, rules] = [this.#env.head(), this.#env.rules()]
    const kind = rules.history === undefined ? 'newest' : options.kind
    const page = reads.page(head, rules, choice, after, { ...options, kind }, clock())
    if (page.hasGap || kind === 'newest' || !(await this.#isTrimmed(head, choice, after))) return page
    return { ...page, hasGap: true }
  }

  async readLast(choice: TopicChoice, count: number): Promise<readonly StoredMessage[]> {
    const { reads, clock } = this.#env
    const [head, rules] = [this.#env.head(), this.#env.rules()]
    if (choice.kind === 'topic') return reads.last(head, rules, choice.topic, count, clock())
    const found: StoredMessage[] = []
    let from = { before: Number.MAX_SAFE_INTEGER, bytes: 0 }
    for (; from.before > 0 && found.length < count; await nextTurn()) {
      const page = reads.lastOfPrefix(head, rules, choice.prefix, from, clock())
      found.push(...page.messages)
      from = page
    }
    return found.slice(0, count).reverse()
  }

  async listTopics({ prefix, after, limit }: TopicPage): Promise<readonly StoredTopic[]> {
    const { reads, clock } = this.#env
    const [head, rules] = [this.#env.head(), this.#env.rules()]
    const oldest = oldestTime(rules, 'newest', clock())
    const found: StoredTopic[] = []
    for (let last = after; found.length < limit; await nextTurn()) {
      const { topics, hasMore } = reads.topics(head, { prefix, after: last })
      for (const { topic, time, messages, removed } of topics)
        if (removed === 0 && time >= oldest)
          found.push({ topic, time, messages: Math.max(messages, Number(rules.keep === 'latest')) })
      if (!hasMore) break
      last = topics.at(-1)?.topic
    }
    return found.slice(0, limit)
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
}
