/** Publishes the messages of a request to a stream: all at once where the server can, otherwise one after the other. */
import { randomUUID } from 'node:crypto'
import type { Msg, MsgHdrs } from '@nats-io/transport-node'
import { FairQueue } from '../../lib/fair-queue.ts'
import type { NewMessage } from '../engine.ts'
import type { Feed } from '../feed.ts'
import { refuse, refuseAppend } from '../refusals.ts'
import { type Nats, NatsUnavailable } from './connection.ts'
import { REMOVED_HEADER, TIME_HEADER } from './delivered.ts'
import { readError } from './keys.ts'
import { type FeedStream, mostPerTopic } from './stream.ts'
import type { Subjects } from './subjects.ts'

/** Of an atomic batch (ADR-50), and of what is not acknowledged otherwise. */
const MOST_AT_ONCE = 1_000
/** Of requests with several messages: JetStream refuses more than 50 batches of a stream, of all nodes together. */
const REQUESTS_AT_ONCE = 8
/** Of requests with one message: what comes after them in the connection waits for them. */
const SINGLES_AT_ONCE = 256
const DUPLICATE_IN_BATCH: ReadonlySet<number> = new Set([10_201])
const TOO_LARGE = 10_054

export interface Published {
  /** Of each message; undefined for one that was not sent again. */
  readonly seqs: readonly (number | undefined)[]
  /** All of them had been stored before. */
  readonly isRepeated: boolean
}

export interface PublishOptions {
  readonly time: number
  /** Messages with the same id are stored once. */
  readonly id: string | undefined
  /** Some of the messages may have been stored by an earlier attempt. */
  readonly isRepetition?: boolean
  /** The stream keeps every message. */
  readonly keepsAll?: boolean
  /** Publishers take turns. */
  readonly publisher: string
}

/** A message of a request, and its place there. */
interface Placed {
  readonly message: NewMessage
  readonly index: number
}

const NEVER = new AbortController().signal

export class StreamPublisher {
  readonly #nats: Nats
  readonly #stream: FeedStream
  readonly #isAtomic: boolean
  readonly #several = new FairQueue({ slots: REQUESTS_AT_ONCE, waiting: Number.POSITIVE_INFINITY })
  readonly #singles = new FairQueue({ slots: SINGLES_AT_ONCE, waiting: Number.POSITIVE_INFINITY })

  constructor(nats: Nats, stream: FeedStream, isAtomic: boolean) {
    this.#nats = nats
    this.#stream = stream
    this.#isAtomic = isAtomic
  }

  async publish(feed: Feed, messages: readonly NewMessage[], options: PublishOptions): Promise<Published> {
    const publishing = new Publishing(this.#nats, this.#stream, feed, options)
    const sent = this.#choose(feed, messages, options)
    const queue = sent.length > 1 ? this.#several : this.#singles
    const release = await queue.acquire(options.publisher, NEVER)
    try {
      const batch = this.#canBatch(sent.length) ? await publishing.batch(sent) : undefined
      const { seqs, isRepeated } = batch ?? (await publishing.each(sent))
      const bySent = new Map(sent.map(({ index }, at) => [index, seqs[at]]))
      return { seqs: messages.map((_, index) => bySent.get(index)), isRepeated }
    } finally {
      if (typeof release === 'function') release()
    }
  }

  /**
   * Of each topic, a repetition sends only the messages that the stream keeps: a server that was killed knows the ids of these alone, and
   * would store the others again, after them.
   */
  #choose(feed: Feed, messages: readonly NewMessage[], options: PublishOptions): readonly Placed[] {
    const { isRepetition = false, keepsAll = false } = options
    const placed = messages.map((message, index) => ({ message, index }))
    if (!isRepetition || keepsAll || !this.#stream.isOurs) return placed
    const most = mostPerTopic(feed)
    const left = new Map<string, number>()
    const isKept = ({ message: { topic, data } }: Placed): boolean => {
      const count = left.get(topic) ?? most
      left.set(topic, data === undefined ? 0 : count - 1)
      return count > 0
    }
    return placed.reverse().filter(isKept).reverse()
  }

  #canBatch(count: number): boolean {
    return this.#isAtomic && count > 1 && count <= MOST_AT_ONCE && this.#stream.isOurs && this.#nats.isAtLeast(2, 12)
  }
}

class Publishing {
  readonly #nats: Nats
  readonly #stream: FeedStream
  readonly #feed: Feed
  readonly #time: string
  readonly #id: string | undefined

  constructor(nats: Nats, stream: FeedStream, feed: Feed, { time, id }: PublishOptions) {
    this.#nats = nats
    this.#stream = stream
    this.#feed = feed
    this.#time = String(time)
    this.#id = id
  }

  /** All or none. Undefined where some of them have been stored before. */
  async batch(messages: readonly Placed[]): Promise<Published | undefined> {
    const batch = randomUUID()
    const last = messages.length - 1
    const reply = await this.#nats.run(async () => {
      let committed: Promise<Msg> | undefined
      for (const [at, { message, index }] of messages.entries()) {
        const headers = this.#headers(message, index)
        headers.set('Nats-Batch-Id', batch)
        headers.set('Nats-Batch-Sequence', String(at + 1))
        if (at === last) headers.set('Nats-Batch-Commit', '1')
        const subject = this.#stream.subjects.ofTopic(message.topic)
        if (at === last) committed = this.#send(message, subject, headers)
        else this.#nats.connection.publish(subject, message.data ?? '', { headers })
      }
      return committed
    })
    const ack: unknown = reply?.json()
    const error = readError(ack)
    if (error !== undefined && DUPLICATE_IN_BATCH.has(error.code)) return undefined
    const { seq } = this.#readAck(ack)
    return { seqs: messages.map((_, at) => seq - last + at), isRepeated: false }
  }

  async each(messages: readonly Placed[]): Promise<Published> {
    const seqs: number[] = []
    let isRepeated = true
    for (let at = 0; at < messages.length; at += MOST_AT_ONCE) {
      const part = messages.slice(at, at + MOST_AT_ONCE)
      const results = await Promise.allSettled(part.map((one) => this.#one(one)))
      for (const result of results) {
        if (result.status === 'rejected') throw this.#toFault(result.reason, messages.length, seqs.length)
        seqs.push(result.value.seq)
        isRepeated &&= result.value.isDuplicate
      }
    }
    return { seqs, isRepeated }
  }

  async #one({ message, index }: Placed) {
    const subject = this.#stream.subjects.ofTopic(message.topic)
    const reply = await this.#nats.run(() => this.#send(message, subject, this.#headers(message, index)))
    const ack: unknown = reply.json()
    return this.#readAck(ack)
  }

  #send({ data = '' }: NewMessage, subject: string, headers: MsgHdrs): Promise<Msg> {
    return this.#nats.connection.request(subject, data, { headers, timeout: 5_000 })
  }

  #headers({ data }: NewMessage, index: number): MsgHdrs {
    const headers = this.#nats.headers({ [TIME_HEADER]: this.#time })
    if (data === undefined) headers.set(REMOVED_HEADER, '1')
    if (this.#id !== undefined) headers.set('Nats-Msg-Id', `${this.#id}.${index}`)
    return headers
  }

  #readAck(ack: unknown): { seq: number; isDuplicate: boolean } {
    const error = readError(ack)
    if (error !== undefined) throw this.#toRefusal(error)
    if (typeof ack !== 'object' || ack === null || !('seq' in ack) || !('stream' in ack))
      throw new Error('JetStream acknowledged a message without its number')
    if (ack.stream !== this.#stream.name)
      throw new Error(`The stream ${String(ack.stream)} of NATS has taken a message of the feed ${this.#feed.name}`)
    return { seq: Number(ack.seq), isDuplicate: 'duplicate' in ack && ack.duplicate === true }
  }

  #toRefusal({ code, description }: { code: number; description: string }): Error {
    if (/maximum (bytes|messages)|insufficient/i.test(description)) return refuseAppend('bytes', this.#feed)
    if (code === TOO_LARGE || /size exceeds/i.test(description))
      return refuse('feed.message_too_large', `A message is longer than NATS allows: ${description}`)
    return new Error(`JetStream does not store a message: ${description}`)
  }

  #toFault(error: unknown, all: number, stored: number): unknown {
    if (error instanceof Error && /max_payload/i.test(error.message))
      return refuse('feed.message_too_large', 'A message is longer than the max_payload of NATS')
    if (error instanceof NatsUnavailable && all > 1)
      return new NatsUnavailable(`${error.message}; at least ${stored} of ${all} messages may be published`, {
        cause: error,
      })
    return error
  }
}

/** A feed of existing subjects may offer only some of those below its prefix. */
export function checkTopics(messages: readonly NewMessage[], subjects: Subjects): void {
  const other = messages.find(({ topic }) => !subjects.accepts(topic))
  if (other !== undefined)
    throw refuse(
      'feed.bad_topic',
      `The feed offers ${subjects.all} of NATS, which has no topic ${JSON.stringify(other.topic)}`,
    )
}
