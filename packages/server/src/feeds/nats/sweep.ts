/** Removes topics that have expired, so that followers are notified, and messages that are too old. Each node of a feed does; each topic is removed once. */
import type { Clock } from 'gatehouse-protocol'
import type { Feed } from '../feed.ts'
import type { Nats } from './connection.ts'
import { type Delivered, REMOVED_HEADER, TIME_HEADER } from './delivered.ts'
import { readError } from './keys.ts'
import { type FeedStream, retentionRules } from './stream.ts'
import type { EngineTime } from './time.ts'
import type { StreamTopics } from './topics.ts'

/** How long a removal is kept for readers that come back. After it they see a gap instead. */
const REMOVED_MS = 10 * 60_000
/** The clocks of NATS and of the nodes may differ. */
const CLOCKS_MS = 5_000
const [SHORTEST_MS, LONGEST_MS] = [250, 60_000]
const AT_ONCE = 100
const WRONG_LAST_SEQUENCE = 10_071

export interface SweepEnv {
  readonly nats: Nats
  /** In a copy for readers with a delay everything expires as much later. */
  readonly clock: Clock
  readonly time: EngineTime
  readonly onError: (error: unknown) => void
}

export interface SweptStream {
  readonly stream: FeedStream
  readonly topics: StreamTopics
  /** Where the removal of an expired topic is published: the stream itself, if it is no copy; undefined where it is not. */
  readonly log: FeedStream | undefined
}

export class Sweeper {
  readonly #env: SweepEnv
  readonly #swept: SweptStream
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  /** Until when there may be removals to forget. Those of a node that has stopped are found by the next that starts. */
  #removalsUntil: number

  constructor(env: SweepEnv, swept: SweptStream) {
    this.#env = env
    this.#swept = swept
    // Removals are moved to a copy by any node.
    this.#removalsUntil = this.#isCopy ? Number.POSITIVE_INFINITY : env.clock() + 2 * REMOVED_MS
  }

  get #isCopy(): boolean {
    return this.#swept.stream !== this.#swept.log
  }

  /** This node has removed a topic. */
  removed(): void {
    this.#removalsUntil = Math.max(this.#removalsUntil, this.#env.clock() + 2 * REMOVED_MS)
  }

  /** Again for each definition. */
  start(feed: Feed): void {
    clearTimeout(this.#timer)
    if (this.#isStopped) return
    const { topicTime = REMOVED_MS } = retentionRules(feed)
    const interval = Math.min(Math.max(Math.min(topicTime, REMOVED_MS) / 4, SHORTEST_MS), LONGEST_MS)
    // Nodes that start together do not all sweep at the same time.
    this.#timer = setTimeout(() => void this.#run(feed), interval * (0.8 + 0.4 * Math.random()))
    this.#timer.unref()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  async #run(feed: Feed): Promise<void> {
    const timer = this.#timer
    const { nats, onError } = this.#env
    try {
      if (nats.isConnected) await this.sweep(feed)
    } catch (error) {
      if (!this.#isStopped) onError(error)
    }
    if (timer === this.#timer) this.start(feed)
  }

  async sweep(feed: Feed): Promise<void> {
    const { stream, topics, log } = this.#swept
    // Another node has made it a log, in which everything is kept.
    if (!this.#isCopy && (await stream.head()).isLog) return
    const now = this.#env.clock()
    const { topicTime } = retentionRules(feed)
    const expired = topicTime === undefined ? 0 : now - topicTime
    const forgotten = now < this.#removalsUntil ? now - REMOVED_MS : 0
    const expiresBefore = log === undefined ? 0 : expired
    // Topics come in the order of their newest messages: where nothing is old enough, nothing is read.
    const end = Math.max(forgotten, expiresBefore)
    if (end === 0 && topicTime === undefined) return
    for await (const page of topics.newest()) {
      const old = page.filter(({ isRemoval, time }) => time < (isRemoval ? forgotten : expiresBefore))
      for (let at = 0; at < old.length; at += AT_ONCE)
        await Promise.all(
          old.slice(at, at + AT_ONCE).map((one) => (one.isRemoval ? undefined : this.#expire(one, now))),
        )
      await this.#forget(old.filter(({ isRemoval }) => isRemoval))
      const last = page.at(-1)
      if (this.#isStopped || (last !== undefined && last.time >= end)) break
    }
    if (feed.keep === 'all' && topicTime !== undefined) await this.#cutBefore(expired - CLOCKS_MS)
  }

  /** The expected number lets only one node do it, and none where the topic has a new message. */
  async #expire(newest: Delivered, now: number): Promise<void> {
    const { nats } = this.#env
    const { stream, log } = this.#swept
    const topic = stream.subjects.readTopic(newest.subject)
    if (topic === undefined || log === undefined) return
    const subject = log.subjects.ofTopic(topic)
    const expected = await this.#findExpected(newest, subject)
    if (expected === undefined) return
    const headers = nats.headers({
      ...{ [TIME_HEADER]: String(now), [REMOVED_HEADER]: '1' },
      'Nats-Expected-Last-Subject-Sequence': String(expected),
    })
    const ack: unknown = (await nats.request(subject, '', headers)).json()
    const error = readError(ack)
    if (error?.code === WRONG_LAST_SEQUENCE) return
    this.removed()
    if (error !== undefined) throw new Error(`JetStream does not store the removal of a topic: ${error.description}`)
    if (!this.#isCopy && typeof ack === 'object' && ack !== null && 'seq' in ack)
      await stream.purgeBefore(Number(ack.seq), subject)
  }

  /** Of the last message that the log has of the topic; undefined if it is newer. */
  async #findExpected({ seq, place }: Delivered, subject: string): Promise<number | undefined> {
    const { log } = this.#swept
    if (!this.#isCopy || log === undefined) return place
    const last = await log.newest(subject)
    if (last === undefined) return 0
    return last.seq > seq ? undefined : last.place
  }

  async #forget(removals: readonly Delivered[]): Promise<void> {
    if (removals.length === 0) return
    const { stream } = this.#swept
    const { places } = await stream.head()
    // The last message of a copy says how far it is.
    const forgotten = removals.filter(({ place }) => !this.#isCopy || place < places.last)
    if (forgotten.length === 0) return
    await stream.setMark({ cut: Math.max(...forgotten.map(({ seq }) => seq)) })
    for (const { subject, place } of forgotten) await stream.purgeBefore(place + 1, subject)
  }

  /** Messages that are too old, of topics that have newer ones. */
  async #cutBefore(limit: number): Promise<void> {
    const { time } = this.#env
    const { stream } = this.#swept
    const { places, messages, cut, last } = await stream.head()
    const isOld = (message: Delivered): boolean => time.of(message) < limit
    const first = messages === 0 ? undefined : await stream.next(places.first)
    if (first === undefined || !isOld(first)) return
    const found = await stream.placeAfterAll(isOld, places)
    const place = this.#isCopy ? Math.min(found, places.last) : found
    if (place <= places.first) return
    const kept = await stream.next(place)
    const removed = (kept?.seq ?? last + 1) - 1
    if (cut < removed) await stream.setMark({ cut: removed })
    await stream.purgeBefore(place)
  }
}
