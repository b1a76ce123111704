/**
 * The copies of a feed with delays: one for readers in real time, and one for each delay. This node moves messages to them when they are old
 * enough, unless another one does, and cuts from the log what all of them have.
 */
import type { Clock } from 'gatehouse-protocol'
import type { FeedReads, Page, ReadOptions, Usage } from '../engine.ts'
import type { Feed, TopicChoice } from '../feed.ts'
import { type Nats, NatsUnavailable } from './connection.ts'
import { type CopyStream, dropCopies, openCopy } from './copy-stream.ts'
import { DelayedReads, type ReadableCopy } from './delayed-reads.ts'
import type { Delivered, Skipped } from './delivered.ts'
import type { Keys } from './keys.ts'
import { Mover } from './mover.ts'
import { StreamReads } from './reads.ts'
import { type FeedStream, type Head, markedGeneration } from './stream.ts'
import { Sweeper } from './sweep.ts'
import type { EngineTime } from './time.ts'
import { StreamTopics } from './topics.ts'

export interface CopiesEnv {
  readonly nats: Nats
  /** It keeps every message. */
  readonly log: FeedStream
  readonly keys: Keys
  readonly replicas: number
  readonly clock: Clock
  readonly time: EngineTime
  readonly skipped: Skipped
  readonly feed: () => Feed
  /** Another node has set the limits of the definition, which it read before there were delays. */
  readonly makeLog: () => Promise<unknown>
  readonly onError: (error: unknown) => void
  /** Readers in real time have another copy. */
  readonly onRenewed: () => void
  /** Delayed readers were shown something, so long after it was old enough. */
  readonly onMoved: (lateMs: number) => void
}

/** What readers with one delay see. */
interface FeedCopy extends ReadableCopy {
  /** Milliseconds; 0: real-time. */
  readonly delay: number
  readonly mover: Mover
  readonly sweeper: Sweeper
}

const MOVE_MS = 200
const TRIM_MS = 1_000
/** Messages stay in the log a little longer than they are needed: followers read them too. */
const SLACK_MS = 30_000
/** A delay that no node has needed for this long is forgotten. Nodes say it again in a part of that time. */
const [UNDECLARED_MS, DECLARE_MS] = [120_000, 30_000]
const EVERYTHING: TopicChoice = { kind: 'prefix', prefix: '' }
const PAGE_MESSAGES = 256

export class Copies {
  readonly #env: CopiesEnv
  readonly #logTopics: StreamTopics
  /** By delay. */
  readonly #copies = new Map<number, FeedCopy>()
  readonly #readers = new Map<number, DelayedReads>()
  /** The longest first. */
  #delays: readonly number[] = []
  /** There are copies that this node does not need: others may know more than it does. */
  #hasOthers = true
  #turn: Promise<unknown> = Promise.resolve()
  readonly #timer: NodeJS.Timeout
  #isMoving = false
  #isClosed = false
  #trimmedAt = 0
  #declaredAt = 0

  /** What is old enough is in the copies then, unless it is much. */
  static async open(env: CopiesEnv, delays: readonly number[]): Promise<Copies> {
    const copies = new Copies(env)
    try {
      await copies.update(delays)
    } catch (error) {
      copies.close()
      throw error
    }
    return copies
  }

  private constructor(env: CopiesEnv) {
    this.#env = env
    this.#logTopics = new StreamTopics(env.nats, env.log, env.clock)
    this.#timer = setInterval(() => void this.#moveInTurn(), MOVE_MS)
    this.#timer.unref()
  }

  /** What readers in real time see. */
  get current(): FeedCopy {
    const copy = this.#copies.get(0)
    if (copy === undefined) throw new NatsUnavailable('The copies of the feed are not there yet')
    return copy
  }

  delayed(delay: number): FeedReads | undefined {
    return this.#readers.get(delay)
  }

  /** These delays are needed now. The definition of the feed may have changed, too. */
  async update(delays: readonly number[]): Promise<void> {
    await this.#inTurn(async () => {
      this.#delays = delays.toSorted((one, other) => other - one)
      await this.#fit(await this.#env.log.head())
    })
  }

  /** The log may have another epoch: everything was forgotten. */
  async renew(): Promise<void> {
    await this.#inTurn(async () => {
      const head = await this.#env.log.head()
      if (!this.#fits(head)) await this.#fit(head)
    })
  }

  /** Bytes that are kept for readers with a delay; estimated where a part of them has more than `most` messages. */
  async countHeld(most: number): Promise<number> {
    if (this.#delays.length === 0) return 0
    const feed = this.#env.feed()
    const counts = this.#delayedCopies().map(async ({ stream, topics }) => {
      const head = await stream.readOwn()
      const holdings = head.messages > most ? undefined : await topics.holdings(feed, head)
      return (holdings?.usage ?? topics.estimate(head)).bytes
    })
    const bytes = await Promise.all([this.#logTopics.countBytes(most), ...counts])
    return bytes.reduce((sum, each) => sum + each, 0)
  }

  /** At least what is kept for all readers, without counting it. */
  async readAtMost(): Promise<Usage> {
    const { stream: current, mover } = this.current
    const own = await current.readOwn()
    const { last, bytes: logBytes, messages } = await this.#env.log.head()
    const unmoved = Math.max(0, last - Math.max(own.last, mover.moved))
    const bytes = own.bytes + Math.ceil((unmoved * logBytes) / Math.max(1, messages))
    const topics = own.subjects + unmoved
    if (this.#delays.length === 0) return { topics, bytes }
    const delayed = await Promise.all(this.#delayedCopies().map(({ stream }) => stream.readOwn()))
    return { topics, bytes: delayed.reduce((sum, copy) => sum + copy.bytes, bytes + logBytes) }
  }

  /** Messages that the log may have no more. */
  readMissed(after: number): Promise<Page> {
    const feed = this.#env.feed()
    const kind: ReadOptions['kind'] = feed.history === undefined ? 'newest' : 'history'
    return this.current.reads.page(feed, EVERYTHING, after, { kind, limit: PAGE_MESSAGES })
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    for (const reader of this.#readers.values()) reader.close()
    for (const copy of this.#copies.values()) closeCopy(copy)
  }

  #delayedCopies(): readonly FeedCopy[] {
    return [...this.#copies.values()].filter(({ delay }) => delay > 0)
  }

  #fits({ epoch }: Head): boolean {
    return [0, ...this.#delays].every((delay) => this.#copies.get(delay)?.epoch === epoch)
  }

  /** Opens what is missing, and forgets what is of another epoch or not needed. */
  async #fit(head: Head): Promise<void> {
    const { log, time } = this.#env
    if (this.#isClosed || !this.#belongs(head)) return
    const now = await time.now(log, head)
    await this.#declare(now)
    for (const [delay, copy] of [...this.#copies])
      if (copy.epoch !== head.epoch || !(delay === 0 || this.#delays.includes(delay))) {
        closeCopy(copy)
        this.#copies.delete(delay)
      }
    for (const delay of [0, ...this.#delays]) await this.#openCopy(delay, head, now)
    for (const [delay, reader] of [...this.#readers])
      if (!this.#delays.includes(delay)) {
        reader.close()
        this.#readers.delete(delay)
      }
    await this.#dropUnneeded(now)
  }

  /** Not if the feed was declared again: that one has copies of its own. */
  #belongs({ generation }: Head): boolean {
    return generation === markedGeneration(this.#env.feed())
  }

  async #openCopy(delay: number, head: Head, now: number): Promise<void> {
    const { nats, log, replicas, feed, onRenewed } = this.#env
    const known = this.#copies.get(delay)
    const stream = await openCopy(nats, { feed: feed(), delay, head, replicas })
    if (known !== undefined) return known.sweeper.start(feed())
    const copy = this.#createCopy(stream, delay, head.epoch)
    await copy.mover.begin(now - delay, head)
    if (this.#isClosed) return closeCopy(copy)
    this.#copies.set(delay, copy)
    copy.sweeper.start(feed())
    const reader = this.#readers.get(delay)
    if (delay === 0) onRenewed()
    else if (reader !== undefined) reader.use(copy)
    else this.#readers.set(delay, new DelayedReads({ nats, log, feed }, copy))
  }

  #createCopy(stream: CopyStream, delay: number, epoch: string): FeedCopy {
    const { nats, log, clock: realtime, time, skipped, feed, onError, replicas } = this.#env
    const clock = () => realtime() - delay
    const topics = new StreamTopics(nats, stream, clock)
    const mover = new Mover({ nats, log, copy: stream, time, feed, older: () => this.#oldestBeside(delay) })
    stream.restore = async () => {
      const head = await this.#requireEpoch(epoch)
      await openCopy(nats, { feed: feed(), delay, head, replicas })
      mover.forget()
    }
    if (delay === 0)
      stream.catchUp = async () => {
        const head = await this.#requireEpoch(epoch)
        await mover.through(head.last)
        return head
      }
    return {
      ...{ delay, epoch, stream, topics, mover },
      reads: new StreamReads({ nats, clock, skipped }, stream),
      sweeper: new Sweeper({ nats, clock, time, onError }, { stream, topics, log: delay === 0 ? log : undefined }),
    }
  }

  /** The other copy that reaches back farthest. */
  #oldestBeside(delay: number): CopyStream | undefined {
    const others = [...this.#copies.keys()].filter((other) => other !== delay)
    return this.#copies.get(Math.max(...others))?.stream
  }

  /** What is of another epoch is not read, and not created, any more. */
  async #requireEpoch(epoch: string): Promise<Head> {
    const head = await this.#env.log.head()
    if (head.epoch !== epoch) throw new NatsUnavailable('The feed was purged')
    return head
  }

  /** One at a time: it may take longer than the interval. */
  async #moveInTurn(): Promise<void> {
    if (this.#isMoving || !this.#env.nats.isConnected) return
    this.#isMoving = true
    try {
      await this.#inTurn(() => this.#moveAll())
    } catch (error) {
      if (!this.#isClosed && !(await this.#isPurged())) this.#env.onError(error)
    } finally {
      this.#isMoving = false
    }
  }

  /** By another node, which has removed the copies. */
  async #isPurged(): Promise<boolean> {
    return this.#env.log.head().then(
      (head) => !this.#fits(head),
      () => false,
    )
  }

  async #moveAll(): Promise<void> {
    const { log, time, makeLog } = this.#env
    const head = await log.head()
    if (this.#isClosed || !this.#belongs(head)) return
    if (!head.isLog) await makeLog()
    if (!this.#fits(head)) await this.#fit(head)
    const now = await time.now(log, head)
    const results = await Promise.allSettled(Array.from(this.#copies.values(), (copy) => this.#move(copy, now, head)))
    for (const result of results) if (result.status === 'rejected') throw result.reason
    for (const reader of this.#readers.values()) await reader.readNew()
    if (Math.abs(now - this.#trimmedAt) >= TRIM_MS) await this.#trim(now, head)
    if (Math.abs(now - this.#declaredAt) < DECLARE_MS) return
    await this.#declare(now)
    await this.#dropUnneeded(now)
  }

  async #move({ delay, mover }: FeedCopy, now: number, head: Head): Promise<void> {
    const oldest = await mover.due(now - delay, head)
    if (oldest !== undefined && delay > 0) this.#env.onMoved(now - delay - oldest)
  }

  /** Cuts from the log what all copies have; by the node that moves messages to the one with the longest delay. */
  async #trim(now: number, { places, messages }: Head): Promise<void> {
    const { log, time } = this.#env
    const [longest = 0] = this.#delays
    this.#trimmedAt = now
    if (messages === 0 || this.#hasOthers || this.#copies.get(longest)?.mover.isActive !== true) return
    const moved = Math.min(...Array.from(this.#copies.values(), ({ mover }) => mover.moved))
    const oldest = now - longest - SLACK_MS
    const isDone = (message: Delivered): boolean => message.seq <= moved && time.of(message) < oldest
    const first = await log.next(places.first)
    if (first !== undefined && isDone(first)) await log.purgeBefore(await log.placeAfterAll(isDone, places))
  }

  async #declare(now: number): Promise<void> {
    const { keys, feed } = this.#env
    for (const delay of this.#delays) await keys.declareDelay(feed().generation, delay, now)
    this.#declaredAt = now
  }

  /** Copies of other epochs, and of delays that no node has needed for a while. */
  async #dropUnneeded(now: number): Promise<void> {
    const { nats, log, keys, feed } = this.#env
    const { epoch: current } = await log.head()
    const { generation } = feed()
    let hasOthers = false
    await dropCopies(nats, feed(), async ({ delay, epoch }) => {
      if (epoch !== current) return false
      if (delay === 0 || this.#delays.includes(delay)) return true
      const declared = await keys.readDelay(generation, delay)
      const isNeeded = declared !== undefined && declared >= now - UNDECLARED_MS
      hasOthers ||= isNeeded
      return isNeeded
    })
    this.#hasOthers = hasOthers
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(act)
    this.#turn = result.catch(() => {})
    return result
  }
}

function closeCopy({ mover, sweeper }: FeedCopy): void {
  mover.close()
  sweeper.stop()
}
