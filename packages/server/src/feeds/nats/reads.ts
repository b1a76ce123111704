/** Reads of the messages that a stream keeps: state, history, and whether something is missing from it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from 'gatehouse-protocol'
import type { Page, ReadOptions, StoredMessage } from '../engine.ts'
import { chooses, type Feed, type TopicChoice } from '../feed.ts'
import { type Nats, NatsUnavailable } from './connection.ts'
import { type Delivered, readMessage, type Skipped } from './delivered.ts'
import { type Consumer, closeConsumer, openConsumer, type PullOptions, pull, pullAll } from './pull.ts'
import { type FeedStream, type Head, retentionRules } from './stream.ts'

/** Consumers between two pages. JetStream removes them a little later. */
const MOST_OPEN = 200
const OPEN_MS = 8_000
/** A replica of the stream may be behind for a moment. */
const MOST_TRIES = 40
const TRY_MS = 25
const AT_ONCE = 100

interface OpenRead {
  readonly consumer: Consumer
  readonly time: number
}

export interface ReadEnv {
  readonly nats: Nats
  readonly clock: Clock
  readonly skipped: Skipped
}

export class StreamReads {
  readonly #env: ReadEnv
  readonly #stream: FeedStream
  /** By kind, filter and the number that the next page follows. */
  readonly #open = new Map<string, OpenRead>()

  constructor(env: ReadEnv, stream: FeedStream) {
    this.#env = env
    this.#stream = stream
  }

  async page(feed: Feed, choice: TopicChoice, after: number, options: ReadOptions): Promise<Page> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const head = await this.#stream.head()
      if (after > head.last) return { messages: [], through: after, isLast: true, hasGap: true }
      const page = await this.#readPage(feed, choice, after, options, head)
      if (page !== undefined) return page
      await sleep(TRY_MS)
    }
    throw new NatsUnavailable('JetStream does not deliver messages that it has')
  }

  async last(feed: Feed, choice: TopicChoice, count: number): Promise<readonly StoredMessage[]> {
    if (count === 0) return []
    const { first, last } = (await this.#stream.head()).places
    const newest = await this.#stream.newest(this.#stream.subjects.writeFilter(choice))
    if (newest === undefined) return []
    const end = newest.seq
    for (let wanted = count + 1; ; wanted *= 4) {
      const start = await this.#findStart(choice, wanted, first, last)
      const found: Delivered[] = []
      const consumer = await this.#consumer(choice, { deliver_policy: 'by_start_sequence', opt_start_seq: start })
      for await (const page of pullAll(this.#env.nats, this.#stream.name, consumer, { end })) found.push(...page)
      const { messages } = await this.#visible(feed, choice, found)
      const kept = messages.filter(({ data }) => data !== undefined)
      if (kept.length >= count || start <= first) return kept.slice(-count)
    }
  }

  /** Undefined where the consumer has nothing to deliver although there is something: it was removed, or is not replicated yet. */
  async #readPage(feed: Feed, choice: TopicChoice, after: number, { kind, limit }: ReadOptions, head: Head) {
    const newest = await this.#stream.newest(this.#stream.subjects.writeFilter(choice))
    const end = { through: Math.max(after, head.last), isLast: true }
    const hasGap = await this.#isCut(choice, after, head)
    if (newest === undefined || newest.seq <= after) return { ...end, messages: [], hasGap }
    if (kind === 'newest' && choice.kind === 'topic') {
      const messages = this.#states(feed, choice, after, [newest])
      return { ...end, through: Math.max(end.through, newest.seq), messages, hasGap }
    }
    const isByTopic = kind === 'newest' && (feed.history !== undefined || !this.#stream.isOurs)
    const { found, consumer } = await this.#read(choice, after, { count: limit, end: newest.seq }, isByTopic)
    const last = found.at(-1)
    if (last === undefined) return undefined
    const isLast = last.seq >= newest.seq
    const through = isLast ? Math.max(last.seq, head.last) : last.seq
    if (isLast) closeConsumer(this.#env.nats, this.#stream.name, consumer)
    else this.#keep(`${isByTopic} ${this.#stream.subjects.writeFilter(choice)} ${through}`, consumer)
    if (kind === 'newest') return { through, isLast, messages: this.#states(feed, choice, after, found), hasGap }
    const { messages, isCut } = await this.#visible(feed, choice, found)
    return { through, isLast, messages, hasGap: hasGap || isCut }
  }

  /** The next messages after a number; `isByTopic`: the newest of each topic. */
  async #read(choice: TopicChoice, after: number, options: PullOptions, isByTopic: boolean) {
    const { nats } = this.#env
    const key = `${isByTopic} ${this.#stream.subjects.writeFilter(choice)} ${after}`
    const kept = this.#open.get(key)
    this.#open.delete(key)
    if (kept !== undefined && this.#env.clock() - kept.time < OPEN_MS) {
      const found = await pull(nats, this.#stream.name, kept.consumer, options).catch(() => [])
      if (found.length > 0) return { found, consumer: kept.consumer }
    }
    const consumer = await this.#consumer(
      choice,
      isByTopic
        ? { deliver_policy: 'last_per_subject' }
        : { deliver_policy: 'by_start_sequence', opt_start_seq: await this.#stream.placeAfter(after) },
    )
    for (;;) {
      const all = await pull(nats, this.#stream.name, consumer, options)
      const found = all.filter(({ seq }) => seq > after)
      const last = all.at(-1)
      if (found.length > 0 || last === undefined || last.seq >= options.end) return { found, consumer }
    }
  }

  #keep(key: string, consumer: Consumer): void {
    this.#open.set(key, { consumer, time: this.#env.clock() })
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= MOST_OPEN) break
      this.#open.delete(oldest)
    }
  }

  /** States of topics. A subscriber that has seen a topic is notified of its removal. */
  #states(feed: Feed, choice: TopicChoice, after: number, found: readonly Delivered[]): StoredMessage[] {
    const { topicTime } = retentionRules(feed)
    const oldest = topicTime === undefined ? 0 : this.#env.clock() - topicTime
    return found
      .filter(({ time, isRemoval }) => (isRemoval ? after > 0 : time >= oldest))
      .flatMap((one) => this.#message(feed, one) ?? [])
      .filter(({ topic }) => chooses(choice, topic))
  }

  /** The history within its bounds. `isCut`: some of these messages are beyond the bounds, or were removed. */
  async #visible(feed: Feed, choice: TopicChoice, found: readonly Delivered[]) {
    const { perTopic, historyTime } = retentionRules(feed)
    const oldest = historyTime === undefined ? 0 : this.#env.clock() - historyTime
    const beyond = await this.#beyondBounds(found, perTopic)
    let messages: StoredMessage[] = []
    let isCut = false
    for (const one of found) {
      const message = this.#message(feed, one)
      if (message === undefined || !chooses(choice, message.topic)) continue
      if (one.isRemoval) {
        isCut = true
        if (messages.some(({ topic }) => topic === message.topic))
          messages = messages.filter(({ topic }) => topic !== message.topic)
      }
      if (beyond.has(one.seq) || one.time < oldest) isCut = true
      else messages.push(message)
    }
    return { messages, isCut }
  }

  /** Of each topic with more messages than its history has, the first. */
  async #beyondBounds(found: readonly Delivered[], perTopic: number): Promise<ReadonlySet<number>> {
    const beyond = new Set<number>()
    if (!Number.isFinite(perTopic)) return beyond
    const subjects = [...new Set(found.map(({ subject }) => subject))]
    for (let at = 0; at < subjects.length; at += AT_ONCE) {
      const firsts = subjects.slice(at, at + AT_ONCE).map(async (subject) => {
        if ((await this.#stream.count(subject)) <= perTopic) return
        const first = await this.#stream.first(subject)
        if (first !== undefined) beyond.add(first.seq)
      })
      await Promise.all(firsts)
    }
    return beyond
  }

  /** Whether messages after a number may have been removed without a trace. Those of a topic are removed from the oldest on. */
  async #isCut(choice: TopicChoice, after: number, { cut }: Head): Promise<boolean> {
    if (after >= cut) return false
    if (choice.kind === 'prefix') return true
    const first = await this.#stream.first(this.#stream.subjects.ofTopic(choice.topic))
    return first === undefined || first.seq > after
  }

  /** A sequence number from which on there are at least `wanted` messages of the choice, but not many more; or the first of all. */
  async #findStart(choice: TopicChoice, wanted: number, first: number, last: number): Promise<number> {
    let few = last + 1
    for (let span = wanted; ; span *= 8) {
      const start = Math.max(first, last + 1 - span)
      const pending = await this.#pendingFrom(choice, start)
      if (pending < wanted && start > first) {
        few = start
        continue
      }
      let enough = start
      for (let found = pending; found > wanted * 4 && few - enough > 1; ) {
        const middle = Math.floor((few + enough) / 2)
        const between = await this.#pendingFrom(choice, middle)
        if (between < wanted) few = middle
        else [enough, found] = [middle, between]
      }
      return enough
    }
  }

  async #pendingFrom(choice: TopicChoice, start: number): Promise<number> {
    const consumer = await this.#consumer(choice, { deliver_policy: 'by_start_sequence', opt_start_seq: start })
    closeConsumer(this.#env.nats, this.#stream.name, consumer)
    return consumer.pending
  }

  #consumer(choice: TopicChoice, config: Omit<Parameters<typeof openConsumer>[2], 'filter'>): Promise<Consumer> {
    return openConsumer(this.#env.nats, this.#stream.name, {
      ...config,
      filter: this.#stream.subjects.writeFilter(choice),
    })
  }

  #message(feed: Feed, one: Delivered): StoredMessage | undefined {
    return readMessage(one, this.#stream.subjects, feed.messageBytes, this.#env.skipped)
  }
}
