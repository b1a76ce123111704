/** Passes on what is appended to a stream: a push consumer that is created again from the last message when one is missing. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Msg, Subscription } from '@nats-io/transport-node'
import type { Follower, Following, Page, StoredMessage } from '../engine.ts'
import type { Feed } from '../feed.ts'
import type { Nats } from './connection.ts'
import { type Delivered, delivered, readMessage, type Skipped } from './delivered.ts'
import { chooseFilters } from './filters.ts'
import type { FeedStream, Head } from './stream.ts'
import { WantedTopics } from './wanted-topics.ts'

const HEARTBEAT_MS = 1_000
/** Without a heartbeat for this long, a connection counts as lost: three may be missed. */
const SILENT_MS = 3_500
const RETRY_MS = 200
const INACTIVE_NS = 10e9
const [ADVANCE_TRIES, ADVANCE_MS] = [10, 10]

export interface FollowedFeed {
  readonly nats: Nats
  readonly stream: FeedStream
  readonly skipped: Skipped
  readonly onError: (error: unknown) => void
  definition(): Feed
  /** A purge, by this node or another; also numbers that have gone back, because NATS has lost messages. */
  learnEpoch(epoch: string): void
  /** Messages that the stream may have no more, if others are kept elsewhere; undefined where they are gone. */
  missed?(after: number): Promise<Page> | undefined
  /** Numbers have gone back: positions from before are worthless. */
  beginEpoch(): Promise<string>
}

interface OpenConsumer {
  readonly subscription: Subscription
  /** Empty until it is created. */
  name: string
  /** How many messages it has delivered. */
  count: number
}

export class StreamFollower implements Following {
  readonly #feed: FollowedFeed
  readonly #follower: Follower
  readonly #wanted: WantedTopics
  readonly #timer: NodeJS.Timeout
  readonly #forgetListener: () => void
  #epoch: string
  #through = 0
  #isStopped = false
  #started: Promise<void> | undefined
  /** Undefined between two consumers. */
  #consumer: OpenConsumer | undefined
  #heard = 0
  #retry: NodeJS.Timeout | undefined
  #waiting: Delivered[] = []
  /** Undefined for all subjects. */
  #filters: ReadonlySet<string> | undefined
  #widening: Promise<void> | undefined

  constructor(feed: FollowedFeed, follower: Follower, epoch: string) {
    this.#feed = feed
    this.#follower = follower
    this.#epoch = epoch
    this.#wanted = new WantedTopics(follower)
    this.#timer = setInterval(() => this.#checkSilence(), HEARTBEAT_MS)
    this.#timer.unref()
    this.#forgetListener = feed.nats.onReconnect(() => {
      if (this.#started !== undefined) this.#restart(0)
    })
  }

  /** Once it has begun, it goes on where it was after each failure. */
  async wantedMore(): Promise<void> {
    this.#wanted.changed()
    this.#started ??= this.#begin().catch((error: unknown) => {
      this.#started = undefined
      throw error
    })
    await this.#started
    // What is wanted is read when it begins, so a call during one needs another.
    await this.#widening
    this.#widening ??= this.#widen().finally(() => {
      this.#widening = undefined
    })
    await this.#widening
  }

  stop(): void {
    this.#isStopped = true
    clearInterval(this.#timer)
    clearTimeout(this.#retry)
    this.#forgetListener()
    this.#close()
  }

  async #begin(): Promise<void> {
    const head = await this.#feed.stream.head()
    this.#through = head.last
    this.#compareEpoch(head)
    this.#filters = this.#wantedFilters()
    await this.#open()
  }

  /** Versions before 2.10 have one filter at most. */
  #wantedFilters(): ReadonlySet<string> | undefined {
    const { nats, stream } = this.#feed
    return nats.isAtLeast(2, 10) ? chooseFilters(this.#follower.wanted, stream.subjects) : undefined
  }

  /** Another consumer goes on where the one before was, if that did not deliver all that is wanted now. */
  async #widen(): Promise<void> {
    const filters = this.#filters
    if (filters === undefined) return
    const wanted = this.#wantedFilters()
    if (wanted !== undefined && [...wanted].every((subject) => filters.has(subject))) return
    await this.#advance()
    this.#passOn()
    this.#close()
    this.#filters = wanted
    if (this.#isStopped) return
    await this.#open().catch((error: unknown) => {
      this.#feed.onError(error)
      this.#restart(RETRY_MS)
    })
  }

  /**
   * A consumer with filters does not tell how far it is. Without this, one that follows it would deliver what was published long ago to
   * the topics that are wanted now.
   */
  async #advance(): Promise<void> {
    const { stream } = this.#feed
    for (let tries = 0; tries < ADVANCE_TRIES; tries++) {
      const [consumer, filters] = [this.#consumer, this.#filters]
      if (filters === undefined || consumer === undefined || consumer.name === '') return
      const { last } = await stream.head()
      if (last <= this.#through) return
      const newest = await Promise.all(this.#followedSubjects(filters).map((subject) => stream.newest(subject)))
      if (consumer !== this.#consumer || this.#waiting.length > 0) continue
      if (last <= this.#through) return
      if (newest.every((message) => message === undefined || message.seq <= this.#through)) {
        this.#through = last
        this.#follower.deliver([], last)
        return
      }
      await sleep(ADVANCE_MS)
    }
  }

  async #open(): Promise<void> {
    const { nats, stream } = this.#feed
    const inbox = nats.inbox()
    const consumer: OpenConsumer = {
      name: '',
      count: 0,
      subscription: nats.connection.subscribe(inbox, { callback: (_, message) => this.#receive(consumer, message) }),
    }
    this.#consumer = consumer
    this.#heard = Date.now()
    try {
      const { name } = await nats.run(() =>
        nats.consumers.add(stream.name, {
          ...{ ack_policy: 'none', mem_storage: true, num_replicas: 1, max_deliver: 1 },
          ...{ deliver_policy: 'by_start_sequence', opt_start_seq: this.#through + 1, deliver_subject: inbox },
          ...{ flow_control: true, idle_heartbeat: HEARTBEAT_MS * 1e6, inactive_threshold: INACTIVE_NS },
          ...this.#filterConfig(),
        }),
      )
      consumer.name = name
    } catch (error) {
      consumer.subscription.unsubscribe()
      if (this.#consumer === consumer) this.#consumer = undefined
      throw error
    }
    if (this.#isStopped) this.#close()
  }

  #filterConfig() {
    const { isOurs, subjects } = this.#feed.stream
    if (this.#filters !== undefined) return { filter_subjects: this.#followedSubjects(this.#filters) }
    return isOurs ? {} : { filter_subject: subjects.all }
  }

  /** The prefix alone is the subject of purges. */
  #followedSubjects(filters: ReadonlySet<string>): string[] {
    const { isOurs, subjects } = this.#feed.stream
    return isOurs ? [...filters, subjects.prefix] : [...filters]
  }

  #receive(consumer: OpenConsumer, message: Msg): void {
    if (consumer !== this.#consumer) return
    this.#heard = Date.now()
    const one = delivered(message)
    if (one === undefined) this.#receiveStatus(consumer, message)
    else if (one.count !== consumer.count + 1) this.#restart(0)
    else {
      consumer.count++
      // All messages that have arrived together are passed on together.
      if (this.#waiting.push(one) === 1) queueMicrotask(() => this.#passOn())
    }
  }

  #receiveStatus({ count }: { readonly count: number }, { headers, reply }: Msg): void {
    const stalled = headers?.get('Nats-Consumer-Stalled')
    if (stalled) this.#feed.nats.connection.publish(stalled)
    if (reply) this.#feed.nats.connection.publish(reply)
    const sent = headers?.get('Nats-Last-Consumer')
    if (sent && Number(sent) !== count) this.#restart(0)
  }

  #passOn(): void {
    if (this.#waiting.length === 0) return
    const all = this.#waiting
    this.#waiting = []
    let messages: StoredMessage[] = []
    const { messageBytes } = this.#feed.definition()
    for (const one of all) {
      if (this.#isStopped) return
      // It was removed before it arrived, and has been counted as seen.
      if (one.seq <= this.#through) continue
      this.#through = one.seq
      if (one.purged !== undefined && one.subject === this.#feed.stream.subjects.prefix) {
        if (messages.length > 0) this.#follower.deliver(messages, one.seq - 1)
        messages = []
        this.#purged(one.purged)
        continue
      }
      const topic = this.#feed.stream.subjects.readTopic(one.subject)
      if (topic !== undefined && !this.#wanted.has(topic)) continue
      const message = readMessage(one, this.#feed.stream.subjects, messageBytes, this.#feed.skipped)
      if (message !== undefined) messages.push(message)
    }
    if (!this.#isStopped) this.#follower.deliver(messages, this.#through)
  }

  #purged(epoch: string): void {
    this.#feed.learnEpoch(epoch)
    if (epoch === this.#epoch) return
    this.#epoch = epoch
    this.#follower.purged()
  }

  #checkSilence(): void {
    if (this.#consumer === undefined || !this.#feed.nats.isConnected) return
    if (Date.now() - this.#heard > SILENT_MS) this.#restart(0)
    else if (this.#widening === undefined) this.#advance().catch(this.#feed.onError)
  }

  #restart(delay: number): void {
    this.#close()
    clearTimeout(this.#retry)
    if (this.#isStopped) return
    this.#retry = setTimeout(() => {
      this.#resume().catch((error: unknown) => {
        this.#feed.onError(error)
        // After a new connection it is tried anyway.
        if (this.#consumer === undefined) this.#restart(RETRY_MS)
      })
    }, delay)
    this.#retry.unref()
  }

  async #resume(): Promise<void> {
    this.#passOn()
    const head = await this.#feed.stream.head()
    if (head.last < this.#through) {
      this.#through = head.last
      this.#purged(await this.#feed.beginEpoch())
    } else {
      this.#compareEpoch(head)
      await this.#passOnMissed(head)
    }
    if (this.#consumer === undefined && !this.#isStopped) await this.#open()
  }

  /** What was cut from the stream while there was no consumer. */
  async #passOnMissed({ places }: Head): Promise<void> {
    while (this.#through + 1 < places.first && !this.#isStopped) {
      const page = await this.#feed.missed?.(this.#through)
      if (page === undefined || page.through <= this.#through) return
      this.#through = page.through
      this.#follower.deliver(
        page.messages.filter(({ topic }) => this.#wanted.has(topic)),
        page.through,
      )
    }
  }

  /** The message of a purge may have expired. */
  #compareEpoch({ epoch }: Head): void {
    if (epoch !== this.#epoch) this.#purged(epoch)
  }

  #close(): void {
    const consumer = this.#consumer
    this.#consumer = undefined
    if (consumer === undefined) return
    consumer.subscription.unsubscribe()
    const { nats, stream } = this.#feed
    if (consumer.name !== '' && nats.isConnected)
      nats.connection.publish(`$JS.API.CONSUMER.DELETE.${stream.name}.${consumer.name}`)
  }
}
