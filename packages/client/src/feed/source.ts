/** A subscription of a feed on the server, shared by all who ask for the same; it resumes after the last message that it took. */
import { asObject, type GatehouseError, text } from '../errors.ts'
import { type LicenceLabel, readLabels } from '../licence-labels.ts'
import type { Channel, Channels } from '../stream/channel.ts'
import type { Message } from '../stream/protocol.ts'
import type { FeedMessage } from './message.ts'

/** Where a subscription begins, and how fast its messages come. */
export interface FeedStart {
  /** The most messages per second and topic, from 0.01 to 50, where the feed keeps the latest message: the newest wins. */
  readonly maxRate?: number | undefined
  /** How many of the newest messages come first, up to 1,000, where the feed has a history. */
  readonly last?: number | undefined
  /** Begins after this `position` of a message of the same topic or pattern. */
  readonly resume?: string | undefined
}

/** One of those who share it. */
export interface Member {
  onOpen(): void
  onMessage(message: FeedMessage): void
  onResumed(recovered: boolean): void
  onLicences(): void
  onEnd(error: unknown): void
}

/** Of a feed that stores nothing, any number of topics can come: this many are remembered. */
const MOST_TOPICS = 100_000

export class FeedSource implements Channel {
  readonly controller: string
  readonly topic: string
  readonly start: FeedStart
  readonly members = new Set<Member>()
  /** The newest message of each topic that has one. */
  readonly newest = new Map<string, FeedMessage>()
  last: FeedMessage | undefined
  /** `latest` or `all`, once it is confirmed. */
  keep: unknown
  /** Where to go on; undefined if the feed has no history. */
  position: string | undefined
  /** Seconds; undefined: real-time. */
  delay: number | undefined
  licences: readonly LicenceLabel[] = []
  isOpen = false
  readonly #channels: Channels
  readonly #onClosed: (source: FeedSource) => void
  /** Readers with too many messages: until they have read them, no more are wanted. */
  readonly #slow = new Set<unknown>()
  #wasOpen = false
  #wasPaused = false
  /** The Sub that waits for its confirmation goes on where the one before ended. */
  #resumes = false

  constructor(
    channels: Channels,
    controller: string,
    topic: string,
    start: FeedStart,
    onClosed: (source: FeedSource) => void,
  ) {
    this.#channels = channels
    this.controller = controller
    this.topic = topic
    this.start = start
    this.position = start.resume
    this.#onClosed = onClosed
  }

  open(): void {
    this.#channels.attach(this)
  }

  close(): void {
    this.#channels.detach(this)
    this.#onClosed(this)
  }

  data(): unknown {
    const { maxRate, last } = this.start
    this.isOpen = false
    this.#resumes = this.position !== undefined
    return { MaxRate: maxRate, Resume: this.position, Last: this.#resumes ? undefined : last }
  }

  onConfirmed(data: unknown): void {
    const { Keep, Position, Delay, Licence } = asObject(data)
    this.keep = Keep
    this.#label(Delay, Licence)
    this.position ??= text(Position)
    this.isOpen = true
    if (this.#wasOpen && !this.#resumes) this.#tell(false)
    this.#wasOpen = true
    for (const member of this.members) member.onOpen()
  }

  onData(data: unknown, { Topic = '', Position, Removed, Recovered, Delay, Licence }: Message = {}): void {
    // What was on its way when a reader asked for a pause is sent again later.
    if (!this.isOpen) return
    this.position = Position ?? this.position
    if (Recovered !== undefined) this.#tell(Recovered)
    if (data === undefined && !Removed) {
      // The one that says that nothing is missing has the delay of messages, and no labels.
      if (Recovered === undefined && (Delay !== undefined || Licence !== undefined)) {
        this.#label(Delay, Licence)
        for (const member of this.members) member.onLicences()
      }
      return
    }
    const common = { topic: Topic, position: Position, recovered: Recovered, delay: Delay }
    const message: FeedMessage = Removed
      ? { ...common, data: undefined, removed: true }
      : { ...common, data, removed: false }
    this.last = message
    this.newest.delete(Topic)
    if (!Removed) this.newest.set(Topic, message)
    else if (Topic === this.topic) this.newest.clear()
    if (this.newest.size > MOST_TOPICS) this.newest.delete(String(this.newest.keys().next().value))
    for (const member of this.members) member.onMessage(message)
  }

  /** If the server no longer knows the position, it begins again. One that the application has given may be wrong. */
  onRefused({ code, message }: GatehouseError): boolean {
    const again = this.#wasOpen && this.#resumes && code === 'Data' && message.endsWith(' Resume')
    if (again) this.position = undefined
    return again
  }

  onEnd(error: unknown): void {
    this.#onClosed(this)
    for (const member of this.members) member.onEnd(error)
  }

  /** Nothing comes until `proceed`, and then all that was missed. */
  pause(reader: unknown): void {
    this.#slow.add(reader)
    if (!this.isOpen) return
    this.isOpen = false
    this.#wasPaused = true
    this.#channels.detach(this)
  }

  proceed(reader: unknown): void {
    if (this.#slow.delete(reader) && this.#slow.size === 0 && this.members.size > 0) this.open()
  }

  #label(delay: unknown, list: unknown): void {
    this.delay = (delay as number) || undefined
    this.licences = readLabels(list as object[] | undefined)
  }

  /** Continuing after a pause is not reported, unless messages were lost. */
  #tell(recovered: boolean): void {
    const isNews = !recovered || !this.#wasPaused
    this.#wasPaused = false
    if (isNews) for (const member of this.members) member.onResumed(recovered)
  }
}
