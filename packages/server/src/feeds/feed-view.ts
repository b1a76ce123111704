/** A feed as a caller may read it: all of it, or what licences leave of its topics, as old as it must be. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from 'gatehouse-protocol'
import type { FeedReads, Page, ReadOptions, StoredMessage, StoredTopic, TopicPage } from './engine.ts'
import type { Feed, TopicChoice } from './feed.ts'
import { EVERYTHING, type FeedLabel, type FeedUse } from './licences.ts'
import type { LiveFeed } from './live-feed.ts'
import { readLast } from './read-last.ts'

export class FeedView {
  /** With each delay that the caller has, the shortest first. */
  readonly #sources: readonly LiveFeed[]
  readonly #use: FeedUse | undefined
  readonly #clock: Clock

  /** Without a use all of the source is shown. */
  constructor(sources: readonly LiveFeed[], use: FeedUse | undefined, clock: Clock) {
    this.#sources = sources
    this.#use = use
    this.#clock = clock
  }

  get definition(): Feed {
    return this.#first.definition
  }

  get epoch(): string {
    return this.#first.reads.epoch
  }

  /** What is delayed, or left out. */
  get labels(): readonly FeedLabel[] {
    return this.#use?.access.labels ?? []
  }

  /** Milliseconds: what is younger with this delay is not shown. */
  horizon(delay: number): number {
    return this.#clock() - delay
  }

  /** In milliseconds; 0: real-time. */
  delayFor(topic: string): number {
    return this.#access.delayFor(topic) ?? 0
  }

  /** Of a message that was read for this topic or pattern. */
  writePosition(key: string, { seq }: StoredMessage): string {
    return this.#first.findOrAddPositions(key).write(this.epoch, seq)
  }

  /** The oldest first. */
  async readLast(choice: TopicChoice, count: number): Promise<readonly StoredMessage[]> {
    const found = await this.#readAll((reads, isShown) => readLast(reads, choice, count, isShown))
    return inOrder(found).slice(-count)
  }

  async readAfter(choice: TopicChoice, after: number, options: ReadOptions): Promise<Page> {
    const pages = await this.#readAll(async (reads, isShown) => {
      const page = await reads.readAfter(choice, after, options)
      return [{ ...page, messages: page.messages.filter(({ topic }) => isShown(topic)) }]
    })
    const [page] = pages
    if (page !== undefined && pages.length === 1) return page
    const unread = pages.filter(({ isLast }) => !isLast)
    const through =
      unread.length === 0
        ? Math.max(after, ...pages.map((each) => each.through))
        : Math.min(...unread.map((each) => each.through))
    return {
      messages: inOrder(pages.flatMap(({ messages }) => messages)).filter(({ seq }) => seq <= through),
      through,
      isLast: unread.length === 0,
      hasGap: pages.some(({ hasGap }) => hasGap),
    }
  }

  async listTopics({ prefix, after, limit }: TopicPage): Promise<readonly StoredTopic[]> {
    const found = await this.#readAll((reads, isShown) => listShown(reads, { prefix, after, limit }, isShown))
    return found.sort((one, other) => compareCodePoints(one.topic, other.topic)).slice(0, limit)
  }

  close(): void {
    this.#use?.close()
  }

  get #first(): LiveFeed {
    const [first] = this.#sources
    if (first === undefined) throw new Error('A view has a source')
    return first
  }

  get #access() {
    return this.#use?.access ?? EVERYTHING
  }

  /** From each source what the caller may see of it now: a licence may end while it is read. */
  async #readAll<Item>(
    read: (reads: FeedReads, isShown: (topic: string) => boolean) => Promise<readonly Item[]>,
  ): Promise<Item[]> {
    const found = await Promise.all(
      this.#sources.map(({ reads, delay }) => read(reads, (topic) => this.#access.delayFor(topic) === delay)),
    )
    return found.flat()
  }
}

async function listShown(
  reads: FeedReads,
  { prefix, after, limit }: TopicPage,
  isShown: (topic: string) => boolean,
): Promise<readonly StoredTopic[]> {
  const shown: StoredTopic[] = []
  for (let last = after; ; await nextTurn()) {
    const topics = await reads.listTopics({ prefix, after: last, limit })
    shown.push(...topics.filter(({ topic }) => isShown(topic)))
    if (shown.length >= limit || topics.length < limit) return shown.slice(0, limit)
    last = topics.at(-1)?.topic
  }
}

function inOrder(messages: readonly StoredMessage[]): readonly StoredMessage[] {
  return messages.toSorted((one, other) => one.seq - other.seq)
}

/** The order in which engines list topics. */
function compareCodePoints(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}
