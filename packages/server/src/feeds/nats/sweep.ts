/** Removes topics that have expired, so that followers are notified, and messages that are too old. Each node of a feed does; each topic is removed once. */
import type { Clock } from 'gatehouse-protocol'
import type { Feed } from '../feed.ts'
import type { Nats } from './connection.ts'
import { type Delivered, REMOVED_HEADER, TIME_HEADER } from './delivered.ts'
import { readError } from './keys.ts'
import { openConsumer, pullAll } from './pull.ts'
import { type FeedStream, retentionRules } from './stream.ts'
import type { StreamTopics } from './topics.ts'

/** How long a removal is kept for readers that come back. After it they see a gap instead. */
const REMOVED_MS = 10 * 60_000
/** The clocks of NATS and of the nodes may differ. */
const CLOCKS_MS = 5_000
const [SHORTEST_MS, LONGEST_MS] = [250, 60_000]
const AT_ONCE = 100
const WRONG_LAST_SEQUENCE = 10_071

export class Sweeper {
  readonly #nats: Nats
  readonly #stream: FeedStream
  readonly #topics: StreamTopics
  readonly #clock: Clock
  readonly #onError: (error: unknown) => void
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  /** Until when there may be removals to forget. Those of a node that has stopped are found by the next that starts. */
  #removalsUntil: number

  constructor(
    { nats, clock, onError }: { nats: Nats; clock: Clock; onError: (error: unknown) => void },
    stream: FeedStream,
    topics: StreamTopics,
  ) {
    this.#nats = nats
    this.#stream = stream
    this.#topics = topics
    this.#clock = clock
    this.#onError = onError
    this.#removalsUntil = clock() + 2 * REMOVED_MS
  }

  /** This node has removed a topic. */
  removed(): void {
    this.#removalsUntil = this.#clock() + 2 * REMOVED_MS
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
    try {
      if (this.#nats.isConnected) await this.sweep(feed)
    } catch (error) {
      if (!this.#isStopped) this.#onError(error)
    }
    if (timer === this.#timer) this.start(feed)
  }

  async sweep(feed: Feed): Promise<void> {
    const now = this.#clock()
    const { topicTime } = retentionRules(feed)
    const expired = topicTime === undefined ? 0 : now - topicTime
    const forgotten = now < this.#removalsUntil ? now - REMOVED_MS : 0
    // Topics come in the order of their newest messages: where nothing is old enough, nothing is read.
    const end = Math.max(forgotten, expired)
    if (end === 0) return
    for await (const page of this.#topics.newest()) {
      const old = page.filter(({ isRemoval, time }) => time < (isRemoval ? forgotten : expired))
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
  async #expire({ subject, seq }: Delivered, now: number): Promise<void> {
    const headers = this.#nats.headers({
      ...{ [TIME_HEADER]: String(now), [REMOVED_HEADER]: '1' },
      'Nats-Expected-Last-Subject-Sequence': String(seq),
    })
    const ack: unknown = (await this.#nats.request(subject, '', headers)).json()
    const error = readError(ack)
    if (error?.code === WRONG_LAST_SEQUENCE) return
    this.removed()
    if (error !== undefined) throw new Error(`JetStream does not store the removal of a topic: ${error.description}`)
    if (typeof ack === 'object' && ack !== null && 'seq' in ack)
      await this.#stream.purgeBefore(Number(ack.seq), subject)
  }

  async #forget(removals: readonly Delivered[]): Promise<void> {
    if (removals.length === 0) return
    await this.#stream.setMark({ cut: Math.max(...removals.map(({ seq }) => seq)) })
    for (const { subject, seq } of removals) await this.#stream.purgeBefore(seq + 1, subject)
  }

  /** Messages that are too old, of topics that have newer ones. */
  async #cutBefore(time: number): Promise<void> {
    const head = await this.#stream.head()
    if (head.messages === 0 || head.firstTime >= time) return
    const consumer = await openConsumer(this.#nats, this.#stream.name, {
      ...{ filter: this.#stream.subjects.all, headers_only: true },
      ...{ deliver_policy: 'by_start_time', opt_start_time: new Date(time).toISOString() },
    })
    let seq = head.last + 1
    for await (const page of pullAll(this.#nats, this.#stream.name, consumer, { count: 1, end: head.last })) {
      seq = page[0]?.seq ?? seq
      break
    }
    if (seq <= head.first) return
    if (head.cut < seq - 1) await this.#stream.setMark({ cut: seq - 1 })
    await this.#stream.purgeBefore(seq)
  }
}
