/** The bounds of a feed: how many topics and bytes it may hold. JetStream has none of topics, so the nodes count. */
import type { Clock } from 'gatehouse-protocol'
import type { NewMessage, Usage } from '../engine.ts'
import type { Feed } from '../feed.ts'
import { refuseAppend } from '../refusals.ts'
import type { FeedStream } from './stream.ts'
import { type Holdings, MOST_COUNTED, type StreamTopics } from './topics.ts'

/** What other nodes have published is counted after this time. */
const FRESH_MS = 1_000
const MOST_KNOWN = 100_000

export interface BoundsEnv {
  readonly stream: FeedStream
  readonly topics: StreamTopics
  readonly clock: Clock
  /** At least what is held, read without counting. */
  readonly readAtMost: () => Promise<Usage>
  /** What is kept for readers with a delay, besides; undefined where there are none. */
  readonly held: Held | undefined
}

export interface Held {
  /** Bytes, estimated where there are more messages than `most`. */
  countHeld(most: number): Promise<number>
}

export class Bounds {
  readonly #env: BoundsEnv
  /** At least what is held. */
  #atMost: { topics: number; bytes: number; readonly time: number } | undefined
  #exact: { holdings: Holdings; held: number; readonly time: number } | undefined
  /** Topics that this node has published to. */
  readonly #known = new Set<string>()
  #reading: Promise<void> | undefined
  #turn: Promise<unknown> = Promise.resolve()
  /** How many requests publish in turn, or wait for it. */
  #inTurns = 0

  constructor(env: BoundsEnv) {
    this.#env = env
  }

  /** Publishes if there is room, in the order of the calls. Near the bounds requests wait for one another. */
  async publish<T>(feed: Feed, messages: readonly NewMessage[], act: () => Promise<T>): Promise<T> {
    if (!(await this.#fitsCertainly(feed, messages)) || this.#inTurns > 0)
      return this.#inTurn(() => this.#publishExactly(feed, messages, act))
    this.#exact = undefined
    return act()
  }

  forget(): void {
    this.#atMost = undefined
    this.#exact = undefined
    this.#known.clear()
  }

  async #fitsCertainly(feed: Feed, messages: readonly NewMessage[]): Promise<boolean> {
    const atMost = await this.#readAtMost()
    let bytes = 0
    const added = new Set<string>()
    for (const { topic, data } of messages) {
      if (data === undefined) continue
      bytes += this.#toKeep(data)
      if (!this.#known.has(topic)) added.add(topic)
    }
    if (added.size > 0 && atMost.topics + added.size > feed.topics) return false
    if (atMost.bytes + bytes > feed.bytes) return false
    atMost.topics += added.size
    atMost.bytes += bytes
    this.#learn(added, messages)
    return true
  }

  /** In the state or history, and for readers with a delay. */
  #toKeep(data: string): number {
    return Buffer.byteLength(data) * (this.#env.held === undefined ? 1 : 2)
  }

  /** Read once for all that wait for it: a request whose own reading took longer would be overtaken. */
  async #readAtMost(): Promise<{ topics: number; bytes: number }> {
    const { clock } = this.#env
    if (this.#atMost !== undefined && clock() - this.#atMost.time <= FRESH_MS) return this.#atMost
    this.#reading ??= this.#env
      .readAtMost()
      .then((counted) => {
        this.#atMost = { ...counted, time: clock() }
      })
      .finally(() => {
        this.#reading = undefined
      })
    await this.#reading
    return this.#atMost ?? this.#readAtMost()
  }

  async #publishExactly<T>(feed: Feed, messages: readonly NewMessage[], act: () => Promise<T>): Promise<T> {
    const { stream, topics, clock, held } = this.#env
    if (this.#exact === undefined || clock() - this.#exact.time > FRESH_MS) {
      const head = await stream.head()
      const holdings = await topics.holdings(feed, head)
      if (holdings === undefined) return this.#publishByEstimate(feed, messages, act)
      this.#exact = { holdings, held: (await held?.countHeld(MOST_COUNTED)) ?? 0, time: clock() }
    }
    const exact = this.#exact
    const next = exact.holdings.with(messages)
    const nextHeld = exact.held + this.#bytesToHold(messages)
    refuseBeyond(feed, addHeld(exact.holdings.usage, exact.held), addHeld(next.usage, nextHeld))
    const result = await act()
    exact.holdings = next
    exact.held = nextHeld
    this.#learn(new Set(messages.map(({ topic }) => topic)), messages)
    return result
  }

  async #publishByEstimate<T>(feed: Feed, messages: readonly NewMessage[], act: () => Promise<T>): Promise<T> {
    const { stream, topics, held } = this.#env
    const estimated = topics.estimate(await stream.head())
    const before = addHeld(estimated, (await held?.countHeld(0)) ?? 0)
    const added = new Set(messages.filter(({ data }) => data !== undefined).map(({ topic }) => topic))
    for (const topic of added) if (this.#known.has(topic) || (await topics.has(topic))) added.delete(topic)
    const bytes = messages.reduce((sum, { data = '' }) => sum + this.#toKeep(data), before.bytes)
    refuseBeyond(feed, before, { topics: before.topics + added.size, bytes })
    const result = await act()
    this.#learn(new Set(messages.map(({ topic }) => topic)), messages)
    return result
  }

  #bytesToHold(messages: readonly NewMessage[]): number {
    return this.#env.held === undefined ? 0 : messages.reduce((sum, { data = '' }) => sum + Buffer.byteLength(data), 0)
  }

  #learn(topics: ReadonlySet<string>, messages: readonly NewMessage[]): void {
    if (this.#known.size > MOST_KNOWN) this.#known.clear()
    for (const topic of topics) this.#known.add(topic)
    for (const { topic, data } of messages) if (data === undefined) this.#known.delete(topic)
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    this.#inTurns++
    const result = this.#turn.then(act).finally(() => this.#inTurns--)
    this.#turn = result.catch(() => {})
    return result
  }
}

function addHeld({ topics, bytes }: Usage, held: number): Usage {
  return { topics, bytes: bytes + held }
}

/** A request that frees more than it adds is never refused. */
function refuseBeyond(feed: Feed, before: Usage, after: Usage): void {
  if (after.topics > feed.topics && after.topics > before.topics) throw refuseAppend('topics', feed)
  if (after.bytes > feed.bytes && after.bytes > before.bytes) throw refuseAppend('bytes', feed)
}
