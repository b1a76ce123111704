/** Passes on to the follower of a feed what this node and others have appended, in order and without a gap. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Backoff, pauseAfter } from '../../lib/retry.ts'
import type { Follower, Following, StoredMessage } from '../engine.ts'
import type { AppendedGroup } from './append-queue.ts'

/** What can be read of a feed. */
export interface NewsSource {
  /** The last number, and the time of it. */
  head(): Promise<Seen>
  read(seen: Seen, wanted: Follower['wanted']): Promise<News>
}

/** Everything up to `through` has been passed on. */
export interface Seen {
  readonly through: number
  readonly throughTime: number
}

export interface News extends Seen {
  readonly messages: readonly StoredMessage[]
  /** There was nothing after it. */
  readonly isWhole: boolean
}

const RETRY: Backoff = { firstMs: 50, longestMs: 1000 }

export class FeedFollowing implements Following {
  readonly #follower: Follower
  readonly #source: NewsSource
  readonly #onError: (error: unknown) => void
  readonly #onStop: () => void
  /** Undefined while nothing is wanted. */
  #seen: Seen | undefined
  #starting: Promise<void> | undefined
  /** The read that is under way. */
  #reading: Promise<unknown> | undefined
  #isPumping = false
  /** The highest number that this node has heard of. */
  #known = 0
  #isStopped = false

  constructor(follower: Follower, source: NewsSource, onError: (error: unknown) => void, onStop: () => void) {
    this.#follower = follower
    this.#source = source
    this.#onError = onError
    this.#onStop = onStop
  }

  get isReading(): boolean {
    return this.#seen !== undefined || this.#starting !== undefined
  }

  async wantedMore(): Promise<void> {
    if (this.#seen === undefined) {
      this.#starting ??= this.#start()
      return this.#starting
    }
    // It may have begun before more was wanted. Those after it know.
    await this.#reading?.catch(() => {})
  }

  stop(): void {
    this.#isStopped = true
    this.#onStop()
  }

  purged(): void {
    if (!this.#isStopped) this.#follower.purged()
  }

  /** Another node may have appended up to this number. */
  heard(seq: number): void {
    this.#known = Math.max(this.#known, seq)
    if (!this.#isPumping) this.#pump().catch(this.#onError)
  }

  /** What this node has appended need not be read again, if nothing is missing before it. */
  appended({ firstSeq, lastSeq, time, messages }: AppendedGroup): void {
    const isNext = !this.#isPumping && !this.#isIdle() && this.#seen?.through === firstSeq - 1
    if (messages === undefined || !isNext) this.heard(lastSeq)
    else
      this.#deliver({
        messages: messages.map(({ topic, data }, index) => ({ seq: firstSeq + index, time, topic, data })),
        through: lastSeq,
        throughTime: time,
      })
  }

  async #start(): Promise<void> {
    try {
      this.#seen = await this.#source.head()
    } finally {
      this.#starting = undefined
    }
    this.heard(0)
  }

  /** While nothing is wanted, nothing is read: the next subscriber begins anew. */
  #isIdle(): boolean {
    const { topics, prefixes } = this.#follower.wanted
    if (topics.size > 0 || prefixes.size > 0) return this.#isStopped
    this.#seen = undefined
    return true
  }

  async #pump(): Promise<void> {
    this.#isPumping = true
    try {
      for (let failures = 0; !this.#isIdle() && this.#seen !== undefined && this.#seen.through < this.#known; ) {
        try {
          const known = this.#known
          const reading = this.#source.read(this.#seen, this.#follower.wanted)
          this.#reading = reading
          const news = await reading
          failures = 0
          // There may be less than this node has heard of: everybody can notify.
          if (news.isWhole && this.#known === known) this.#known = news.through
          if (!this.#isStopped && this.#seen !== undefined) this.#deliver(news)
        } catch (error) {
          this.#onError(error)
          await sleep(pauseAfter(++failures, RETRY), undefined, { ref: false })
        } finally {
          this.#reading = undefined
        }
      }
    } finally {
      this.#isPumping = false
    }
  }

  #deliver({ messages, through, throughTime }: Omit<News, 'isWhole'>): void {
    this.#seen = { through, throughTime }
    this.#follower.deliver(messages, through)
  }
}
