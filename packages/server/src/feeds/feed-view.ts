/** A feed as a caller may read it: all of it, or what licences leave of its topics, as old as it must be. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from 'gatehouse-protocol'
import type { FeedReads, Page, ReadOptions, StoredMessage, StoredTopic, TopicPage } from './engine.ts'
import type { Feed, TopicChoice } from './feed.ts'
import { EVERYTHING, type FeedLabel, type FeedUse } from './licences.ts'
import type { LiveFeed } from './live-feed.ts'
import { readSeq, writeSeqs } from './position.ts'
import { readLast } from './read-last.ts'

/** `through` is a place in what the caller may see. */
export interface ViewPage extends Omit<Page, 'through'> {
  readonly through: string
}

/** Before all messages. */
export const BEGINNING = '0'

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

  /** After the messages of a topic: a place to read after. */
  writePlace(topic: string, messages: readonly StoredMessage[]): string {
    return writeSeqs([[this.delayFor(topic), messages.at(-1)?.seq ?? 0]])
  }

  /** The oldest first. */
  async readLast(choice: TopicChoice, count: number): Promise<readonly StoredMessage[]> {
    const found = await this.#readAll((reads, isShown) => readLast(reads, choice, count, isShown))
    return inOrder(found).slice(-count)
  }

  /** What follows the place, which is where each of the delays is. */
  async readAfter(choice: TopicChoice, after: string, options: ReadOptions): Promise<ViewPage> {
    const pages = await Promise.all(
      this.#sources.map(async (source) => {
        const { reads, delay } = source
        const page = await source.whenKnown(reads.readAfter(choice, readSeq(after, delay), options))
        return { ...page, delay, messages: page.messages.filter(({ topic }) => this.#isShown(topic, delay)) }
      }),
    )
    return {
      messages: inOrder(pages.flatMap(({ messages }) => messages)),
      through: writeSeqs(
        pages.map(({ delay, through, messages }) => [delay, Math.max(through, messages.at(-1)?.seq ?? 0)]),
      ),
      isLast: pages.every(({ isLast }) => isLast),
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

  #isShown(topic: string, delay: number): boolean {
    return this.#access.delayFor(topic) === delay
  }

  /** From each source what the caller may see of it now: a licence may end while it is read. */
  async #readAll<Item extends { readonly topic: string }>(
    read: (reads: FeedReads, isShown: (topic: string) => boolean) => Promise<readonly Item[]>,
  ): Promise<Item[]> {
    const found = await Promise.all(
      this.#sources.map(async (source) => {
        const isShown = (topic: string): boolean => this.#isShown(topic, source.delay)
        const items = await source.whenKnown(read(source.reads, isShown))
        return items.filter(({ topic }) => isShown(topic))
      }),
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
