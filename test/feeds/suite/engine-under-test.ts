/** An engine of feeds under test, perhaps with a second node on the same storage; feeds, followers and reads for its tests. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type {
  FeedEngine,
  FeedReads,
  FeedStore,
  Follower,
  Following,
  NewMessage,
  Page,
  ReadOptions,
  StoredMessage,
} from '../../../packages/server/src/feeds/engine.ts'
import type { Feed, TopicChoice } from '../../../packages/server/src/feeds/feed.ts'
import { until } from '../../support/until.ts'

/** What an engine may be unable to do; its page in docs/ says so. */
export type Lack =
  /** After the history was made longer, other topics than those that were cut before seem to have a gap too. */
  'cuts of one topic'

export interface OpenedEngine {
  readonly engine: FeedEngine
  readonly lacks?: readonly Lack[]
  /** Another node on the same storage. */
  readonly second?: () => Promise<FeedEngine>
  /** Moves the clock of all nodes on. Without it tests wait. */
  readonly advance?: (milliseconds: number) => void | Promise<void>
  close(): Promise<void>
}

export const DEFAULTS: Omit<Feed, 'name' | 'generation'> = {
  description: '',
  class: 'Channel',
  read: 'identity',
  write: 'Platform/Admin',
  keep: 'all',
  history: undefined,
  stateTime: undefined,
  messageBytes: 1 << 20,
  topics: 100_000,
  bytes: 1 << 30,
  rate: 1_000_000,
  natsSubject: undefined,
}

const HOUR = 3_600_000
/** Long enough for every test but those of the bounds. */
export const HISTORY: Partial<Feed> = { keep: 'all', history: { messages: 100_000, time: HOUR } }
export const LATEST: Partial<Feed> = { keep: 'latest' }
export const NOT_STORED: Partial<Feed> = { keep: 'all', history: undefined }

export class Workbench {
  readonly engine: FeedEngine
  /** Undefined where the storage has one node only. */
  readonly other: FeedEngine | undefined
  readonly #opened: OpenedEngine
  #feeds = 0

  static async open(opened: OpenedEngine): Promise<Workbench> {
    return new Workbench(opened, await opened.second?.())
  }

  constructor(opened: OpenedEngine, other: FeedEngine | undefined) {
    this.#opened = opened
    this.engine = opened.engine
    this.other = other
  }

  lacks(lack: Lack): boolean {
    return this.#opened.lacks?.includes(lack) ?? false
  }

  /** A definition of its own. */
  define(differences: Partial<Feed> = {}): Feed {
    const name = `Feed${++this.#feeds}`
    return { ...DEFAULTS, name, generation: `${name}-1`, ...differences }
  }

  /** A new feed on the first node. */
  create(differences: Partial<Feed> = {}, delays: readonly number[] = []): Promise<FeedStore> {
    return this.engine.open(this.define(differences), delays)
  }

  /** A new feed, as each node has it. */
  async createOnBoth(differences: Partial<Feed> = {}): Promise<{ feed: Feed; here: FeedStore; there: FeedStore }> {
    const feed = this.define(differences)
    if (this.other === undefined) throw new Error('There is no second node')
    return { feed, here: await this.engine.open(feed), there: await this.other.open(feed) }
  }

  /** Lets time pass. */
  async pass(milliseconds: number): Promise<void> {
    if (this.#opened.advance === undefined) await sleep(milliseconds)
    else await this.#opened.advance(milliseconds)
  }

  async close(): Promise<void> {
    await this.other?.close()
    await this.engine.close()
    await this.#opened.close()
  }
}

export const ALL: TopicChoice = { kind: 'prefix', prefix: '' }

export function only(topic: string): TopicChoice {
  return { kind: 'topic', topic }
}

export function below(prefix: string): TopicChoice {
  return { kind: 'prefix', prefix }
}

/** `A=1` is a message of the topic A with the data 1; `A` removes the topic. */
export function createMessages(...texts: readonly string[]): NewMessage[] {
  return texts.map((text) => {
    const at = text.indexOf('=')
    return at === -1 ? { topic: text, data: undefined } : { topic: text.slice(0, at), data: text.slice(at + 1) }
  })
}

export function publish(store: FeedStore, ...texts: readonly string[]) {
  return store.append(createMessages(...texts))
}

/** The other way round. */
export function show(messages: readonly NewMessage[]): string[] {
  return messages.map(({ topic, data }) => (data === undefined ? topic : `${topic}=${data}`))
}

/** An engine may show the removal of a topic, or only that there is a gap. */
export function withoutRemovals(messages: readonly StoredMessage[]): StoredMessage[] {
  return messages.filter(({ data }) => data !== undefined)
}

export interface WholeRead {
  /** Without removals. */
  readonly messages: readonly StoredMessage[]
  readonly removals: readonly StoredMessage[]
  readonly through: number
  readonly hasGap: boolean
}

const MOST_PAGES = 10_000

/** Reads page by page to the end, and checks what holds for each page. */
export async function readAll(
  store: FeedReads,
  choice: TopicChoice,
  after = 0,
  { kind = 'history', limit = 1000 }: Partial<ReadOptions> = {},
): Promise<WholeRead> {
  const messages: StoredMessage[] = []
  let from = after
  let hasGap = false
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page: Page = await store.readAfter(choice, from, { kind, limit })
    checkPage(page, from, limit)
    messages.push(...page.messages)
    hasGap ||= page.hasGap
    from = page.through
    if (page.isLast)
      return {
        messages: withoutRemovals(messages),
        removals: messages.filter(({ data }) => data === undefined),
        through: from,
        hasGap,
      }
  }
  throw new Error(`There was no last page among ${MOST_PAGES}`)
}

function checkPage({ messages, through, isLast }: Page, after: number, limit: number): void {
  assert.ok(messages.length <= limit, 'a page is within its limit')
  assert.ok(through >= after, 'through is not lower than after')
  assert.ok(isLast || through > after, 'a page that is not the last makes progress')
  let last = after
  for (const { seq } of messages) {
    assert.ok(seq > last, `${seq} follows ${last}`)
    last = seq
  }
  assert.ok(last <= through, 'no message is after through')
}

/** What a follower was passed. */
export class Received implements Follower {
  readonly wanted = { topics: new Set<string>(), prefixes: new Set<string>() }
  readonly messages: StoredMessage[] = []
  /** What a subscriber has after the last purge. */
  sinceLastPurge: StoredMessage[] = []
  through = 0
  purges = 0
  /** What was wrong with the order. */
  readonly faults: string[] = []
  #last = 0
  #onPurge: () => void = () => {}

  /** Follows the topics of these choices. */
  static async of(store: FeedReads, ...choices: readonly TopicChoice[]): Promise<Received & { following: Following }> {
    const received = new Received()
    for (const choice of choices) received.want(choice)
    const following = store.follow(received)
    await following.wantedMore()
    return Object.assign(received, { following })
  }

  want(choice: TopicChoice): void {
    if (choice.kind === 'topic') this.wanted.topics.add(choice.topic)
    else this.wanted.prefixes.add(choice.prefix)
  }

  onPurge(act: () => void): void {
    this.#onPurge = act
  }

  deliver(messages: readonly StoredMessage[], through: number): void {
    for (const message of messages) {
      if (message.seq <= this.#last) this.faults.push(`${message.seq} after ${this.#last}`)
      if (message.seq > through) this.faults.push(`${message.seq} beyond ${through}`)
      this.#last = message.seq
      this.messages.push(message)
      this.sinceLastPurge.push(message)
    }
    if (through < this.through) this.faults.push(`through ${through} after ${this.through}`)
    this.through = through
  }

  purged(): void {
    this.purges++
    this.sinceLastPurge = []
    this.#onPurge()
  }

  get shown(): string[] {
    return show(this.messages)
  }

  async waitFor(count: number): Promise<void> {
    await until(
      `${count} messages are passed on, not ${this.messages.length}`,
      2000,
      () => this.messages.length >= count,
    )
  }

  async waitForSeq(seq: number): Promise<void> {
    await until(`everything up to ${seq} is passed on`, 5000, () => this.through >= seq)
  }
}

export function isRefusal(code: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof Error && 'code' in error, String(error))
    assert.equal(error.code, code)
    return true
  }
}
