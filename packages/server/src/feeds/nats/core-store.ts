/** The messages of a feed that are not stored: core subjects of NATS carry them to current subscribers. */
import { randomBytes } from 'node:crypto'
import type { Msg, Subscription } from '@nats-io/transport-node'
import type {
  Appended,
  FeedStore,
  Follower,
  Following,
  NewMessage,
  Page,
  PublishOnce,
  StoredMessage,
  Usage,
} from '../engine.ts'
import type { Feed } from '../feed.ts'
import { refuse, refuseAppend } from '../refusals.ts'
import { REMOVED_HEADER, readMessage, readTime, TIME_HEADER } from './delivered.ts'
import { checkTopics } from './publish.ts'
import type { StoreEnv } from './stream-store.ts'
import type { Subjects } from './subjects.ts'
import { WantedTopics } from './wanted-topics.ts'

export class CoreStore implements FeedStore {
  readonly epoch = randomBytes(6).toString('hex')
  readonly #env: StoreEnv
  readonly #subjects: Subjects
  #feed: Feed
  #subscription: Subscription | undefined

  constructor(env: StoreEnv, subjects: Subjects, feed: Feed) {
    this.#env = env
    this.#subjects = subjects
    this.#feed = feed
  }

  /** NATS keeps nothing of it. */
  delayed(): undefined {}

  async update(feed: Feed): Promise<void> {
    this.#feed = feed
  }

  async append(messages: readonly NewMessage[], once?: PublishOnce): Promise<Appended> {
    checkTopics(messages, this.#subjects)
    const time = this.#env.clock()
    const begun = once && (await this.#env.keys.begin(this.#feed.generation, once, time))
    if (begun?.kind === 'used') throw refuseAppend('key', this.#feed)
    // One whose node has failed may have been published: at most once.
    if (begun !== undefined && (begun.kind === 'done' || begun.request.isTakenOver))
      return { seq: 0, time: begun.kind === 'done' ? begun.time : begun.request.time, isRepeated: true }
    await this.#publish(messages, time)
    if (begun !== undefined) await this.#env.keys.finish(begun.request, 0)
    return { seq: 0, time, isRepeated: false }
  }

  async wasAppended(once: PublishOnce): Promise<boolean> {
    const known = await this.#env.keys.fingerprint(this.#feed.generation, once)
    if (known !== undefined && known !== once.fingerprint) throw refuseAppend('key', this.#feed)
    return known !== undefined
  }

  /** Resolves when the server has all of them. */
  async #publish(messages: readonly NewMessage[], time: number): Promise<void> {
    const { nats } = this.#env
    const most = nats.connection.info?.max_payload ?? Number.POSITIVE_INFINITY
    if (messages.some(({ data = '' }) => Buffer.byteLength(data) + HEADER_BYTES > most))
      throw refuse('feed.message_too_large', 'A message is longer than the max_payload of NATS')
    await nats.run(async () => {
      for (const { topic, data } of messages) {
        const headers = nats.headers({ [TIME_HEADER]: String(time) })
        if (data === undefined) headers.set(REMOVED_HEADER, '1')
        nats.connection.publish(this.#subjects.ofTopic(topic), data ?? '', { headers })
      }
      await nats.connection.flush()
    })
  }

  async readAfter(_choice: unknown, after: number): Promise<Page> {
    return { messages: [], through: after, isLast: true, hasGap: after > 0 }
  }

  async readLast(): Promise<[]> {
    return []
  }

  async listTopics(): Promise<[]> {
    return []
  }

  async usage(): Promise<Usage> {
    return { topics: 0, bytes: 0 }
  }

  follow(follower: Follower): Following {
    const { nats } = this.#env
    const wanted = new WantedTopics(follower)
    let waiting: StoredMessage[] = []
    const passOn = (): void => {
      const messages = waiting
      waiting = []
      if (this.#subscription !== undefined) follower.deliver(messages, 0)
    }
    const receive = (message: Msg): void => {
      const topic = this.#subjects.readTopic(message.subject)
      if (topic !== undefined && !wanted.has(topic)) return
      const received = this.#read(message)
      if (received !== undefined && waiting.push(received) === 1) queueMicrotask(passOn)
    }
    return {
      wantedMore: async () => {
        wanted.changed()
        if (this.#subscription !== undefined) return
        // The client subscribes again after each new connection.
        this.#subscription = nats.connection.subscribe(this.#subjects.all, {
          callback: (error, message) => (error === null ? receive(message) : this.#env.onError(error)),
        })
        await nats.run(() => nats.connection.flush())
      },
      stop: () => this.close(),
    }
  }

  async purge(): Promise<void> {}

  close(): void {
    this.#subscription?.unsubscribe()
    this.#subscription = undefined
  }

  #read({ subject, headers, data }: Msg): StoredMessage | undefined {
    const time = readTime(headers?.get(TIME_HEADER) || undefined, this.#env.clock())
    const isRemoval = headers?.has(REMOVED_HEADER) ?? false
    return readMessage(
      { subject, seq: 0, time, isRemoval, payload: data },
      this.#subjects,
      this.#feed.messageBytes,
      this.#env.skipped,
    )
  }
}

/** Of our headers. */
const HEADER_BYTES = 128
