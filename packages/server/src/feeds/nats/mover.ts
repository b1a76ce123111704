/**
 * Moves the messages of a feed to a copy, in order, when they are old enough. Every node of the feed can do it: of two that try at once, one
 * sees that the other has moved, since a message is stored only right after the one that precedes it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { StoredMessage } from '../engine.ts'
import type { Feed } from '../feed.ts'
import { type Nats, NatsUnavailable } from './connection.ts'
import type { CopyStream } from './copy-stream.ts'
import { type Delivered, NUMBER_HEADER, REMOVED_HEADER, readMessage, STORED_HEADER, TIME_HEADER } from './delivered.ts'
import { readError } from './keys.ts'
import { pullPage } from './pull.ts'
import type { FeedStream, Head } from './stream.ts'
import type { Subjects } from './subjects.ts'
import type { EngineTime } from './time.ts'

export interface MoverEnv {
  readonly nats: Nats
  readonly log: FeedStream
  readonly copy: CopyStream
  readonly time: EngineTime
  readonly feed: () => Feed
  /** Another copy, for what the log has no more. */
  readonly older: () => CopyStream | undefined
}

/** What follows what was moved. */
interface Next {
  readonly seq: number
  /** When it was stored, by the time that counts for readers with a delay, and by JetStream. */
  readonly time: number
  readonly stored: number
  /** Undefined for what is no message of the feed. */
  readonly message: StoredMessage | undefined
}

type Step =
  /** `oldest` is when the first of them was stored. */
  { readonly kind: 'moved'; readonly oldest: number } | { readonly kind: 'overtaken' } | { readonly kind: 'none' }

/** A node that does not move looks so often whether one does, and takes over from it when it is so late. */
const [LOOK_MS, TAKE_OVER_MS] = [250, 400]
const CATCH_UP_MS = 5_000
/** So long at a time. */
const MOST_MS = 500
const RETRY_MS = 20
/** What moving adds to a message, at most. */
export const MOVED_BYTES = 1_024
/** Of the last message, and of the last sequence number. */
const OTHERS_HAVE_MOVED: ReadonlySet<number> = new Set([10_070, 10_071])

export class Mover {
  readonly #env: MoverEnv
  /** Whether this node moved last. Otherwise it does not know how far the copy is. */
  #isActive = false
  #looked = 0
  /** Of the last message of the copy, its place and its number. */
  #place = 0
  #copied = 0
  #moved = 0
  /** At most a page. */
  #next: readonly Next[] = []
  #turn: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(env: MoverEnv) {
    this.#env = env
  }

  /** Everything up to this number has been moved, or is no message of the feed. */
  get moved(): number {
    return this.#moved
  }

  get isActive(): boolean {
    return this.#isActive
  }

  close(): void {
    this.#isClosed = true
  }

  /** Somebody has deleted the copy: another one begins anew. */
  forget(): void {
    this.#isActive = false
    this.#moved = 0
    this.#copied = 0
    this.#place = 0
    this.#next = []
  }

  /** Moves what is old enough, whether another node does so or not. */
  async begin(horizon: number, head: Head): Promise<void> {
    await this.#inTurn(() => this.#learn())
    this.#isActive = true
    await this.due(horizon, head)
  }

  /**
   * Moves what was stored up to `horizon`, of the log with this state. Resolves with when the first of it was stored; undefined if there is
   * nothing, or another node moves.
   */
  due(horizon: number, head: Head): Promise<number | undefined> {
    return this.#inTurn(async () => {
      if (!this.#isActive && !(await this.#isLate(horizon))) return undefined
      let oldest: number | undefined
      for (const deadline = Date.now() + MOST_MS; Date.now() < deadline && !this.#isClosed; ) {
        const step = await this.#move(horizon, head.last)
        if (step.kind !== 'moved') break
        oldest ??= step.oldest
      }
      return oldest
    })
  }

  /** Moves everything up to this number, of the messages that the log has. */
  async through(last: number): Promise<void> {
    if (this.#moved >= last) return
    await this.#inTurn(async () => {
      for (const deadline = Date.now() + CATCH_UP_MS; this.#moved < last && !this.#isClosed; ) {
        if (Date.now() > deadline) throw new NatsUnavailable('JetStream does not deliver messages that it has')
        const { kind } = await this.#move(Number.POSITIVE_INFINITY, last)
        if (kind === 'none' && this.#moved < last) await sleep(RETRY_MS)
      }
    })
  }

  async #isLate(horizon: number): Promise<boolean> {
    const { log, time } = this.#env
    if (Date.now() - this.#looked < LOOK_MS) return false
    this.#looked = Date.now()
    await this.#learn()
    const next = await log.next(this.#moved + 1, log.subjects.all)
    return next !== undefined && time.of(next) <= horizon - TAKE_OVER_MS
  }

  async #move(horizon: number, last: number): Promise<Step> {
    try {
      if (!this.#isActive) await this.#learn()
      if (this.#next.length === 0 && this.#moved < last) await this.#fill(last)
      const young = this.#next.findIndex(({ time }) => time > horizon)
      const due = young < 0 ? this.#next : this.#next.slice(0, young)
      const [first, end] = [due[0], due.at(-1)]
      if (first === undefined || end === undefined) return { kind: 'none' }
      if (!(await this.#append(due))) {
        this.#isActive = false
        return { kind: 'overtaken' }
      }
      this.#isActive = true
      this.#moved = end.seq
      this.#next = this.#next.slice(due.length)
      return { kind: 'moved', oldest: first.time }
    } catch (error) {
      this.#isActive = false
      throw error
    }
  }

  /** How far the copy is. */
  async #learn(): Promise<void> {
    const { places, last } = await this.#env.copy.readOwn()
    // Somebody has deleted it, and it begins anew.
    this.#moved = last < this.#copied ? last : Math.max(this.#moved, last)
    this.#copied = last
    this.#place = places.last
    this.#next = this.#next[0]?.seq === this.#moved + 1 ? this.#next : []
  }

  async #fill(last: number): Promise<void> {
    const { log, older } = this.#env
    const copy = older()
    const { places } = await log.head()
    if (copy !== undefined && this.#moved + 1 < places.first) {
      this.#next = (await this.#readCopy(copy)).filter(({ seq }) => seq < places.first)
      if (this.#next.length > 0) return
    }
    const newest = await log.newest(log.subjects.all)
    if (newest === undefined || newest.seq <= this.#moved) this.#moved = Math.max(this.#moved, last)
    else this.#next = await this.#readPage(log, this.#moved + 1, newest.seq)
  }

  async #readCopy(copy: CopyStream): Promise<readonly Next[]> {
    const { last } = await copy.readOwn()
    return last > this.#moved ? this.#readPage(copy, await copy.placeAfter(this.#moved), last) : []
  }

  async #readPage(stream: FeedStream, place: number, end: number): Promise<readonly Next[]> {
    const { nats } = this.#env
    const page = await pullPage(nats, stream.name, { filter: stream.subjects.all, place, end })
    return page.filter(({ seq }) => seq > this.#moved).map((one) => this.#read(one, stream.subjects))
  }

  #read(one: Delivered, subjects: Subjects): Next {
    const { nats, time, feed } = this.#env
    const most = (nats.connection.info?.max_payload ?? Number.POSITIVE_INFINITY) - MOVED_BYTES
    const messageBytes = Math.min(feed().messageBytes, most)
    // What is none is counted where it is passed on.
    const message = readMessage(one, subjects, messageBytes, () => {})
    return { seq: one.seq, time: time.of(one), stored: one.stored, message }
  }

  /** False if another node has moved: then not all of it is stored by this one. */
  async #append(due: readonly Next[]): Promise<boolean> {
    const messages = due.filter(({ message }) => message !== undefined)
    const [first, ...others] = messages
    if (first === undefined) return true
    if (!(await this.#put(first, this.#place))) return false
    const results = await Promise.allSettled(
      others.map((one, index) => this.#put(one, this.#place + 1 + index, messages[index])),
    )
    const refused = results.findIndex((result) => result.status === 'rejected' || !result.value)
    const stored = refused < 0 ? messages : messages.slice(0, refused + 1)
    await this.#purgeRemoved(stored, this.#place)
    this.#place += stored.length
    this.#copied = stored.at(-1)?.seq ?? this.#copied
    for (const result of results) if (result.status === 'rejected') throw result.reason
    return refused < 0
  }

  /** After `place`, and after the message before it: a late repetition cannot follow anything else. */
  async #put({ seq, stored, message }: Next, place: number, before?: Next): Promise<boolean> {
    const { nats, copy } = this.#env
    if (message === undefined) return true
    const { topic, data, time } = message
    const headers = nats.headers({
      ...{ [TIME_HEADER]: String(time), [NUMBER_HEADER]: String(seq), [STORED_HEADER]: String(stored) },
      ...{ 'Nats-Msg-Id': String(seq), 'Nats-Expected-Last-Sequence': String(place) },
    })
    if (before !== undefined) headers.set('Nats-Expected-Last-Msg-Id', String(before.seq))
    // Versions before 2.10 take 0 for no sequence number.
    if (place === 0) headers.set('Nats-Expected-Last-Subject-Sequence', '0')
    if (data === undefined) headers.set(REMOVED_HEADER, '1')
    const ack: unknown = (await nats.request(copy.subjects.ofTopic(topic), data ?? '', headers)).json()
    const error = readError(ack)
    if (error !== undefined && !OTHERS_HAVE_MOVED.has(error.code))
      throw new Error(`JetStream does not store a message for readers with a delay: ${error.description}`)
    const isDuplicate = typeof ack === 'object' && ack !== null && 'duplicate' in ack && ack.duplicate === true
    return error === undefined && !isDuplicate
  }

  /** Nothing before the removal of a topic counts. `place` is that before the first of these. */
  async #purgeRemoved(stored: readonly Next[], place: number): Promise<void> {
    const { copy } = this.#env
    const removals = new Map<string, number>()
    for (const [index, { message }] of stored.entries())
      if (message !== undefined && message.data === undefined) removals.set(message.topic, place + 1 + index)
    for (const [topic, at] of removals) await copy.purgeBefore(at, copy.subjects.ofTopic(topic))
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(act)
    this.#turn = result.catch(() => {})
    return result
  }
}
