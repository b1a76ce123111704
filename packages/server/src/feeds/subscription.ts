/** One subscription of a feed: first what the subscriber missed, then what is published, as fast as it may be sent. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  JsonText,
  type Principal,
  Refusal,
  type RunningSubscription,
  type StepUpNeed,
  sameNeed,
  type UrgentSink,
} from 'gatehouse-protocol'
import type { Page, ReadOptions, StoredMessage } from './engine.ts'
import type { TopicChoice } from './feed.ts'
import type { FeedMessage } from './message.ts'
import { RateGate } from './rate-gate.ts'
import { missingRight } from './rights.ts'

/** Where a subscription begins. */
export type Start =
  /** With what is published from now on. */
  | { readonly kind: 'now' }
  /** With the newest message of each topic. */
  | { readonly kind: 'state' }
  /** After message `seq`, which the subscriber has seen: it may be younger than those that it may see now. */
  | { readonly kind: 'after'; readonly seq: number }
  | { readonly kind: 'last'; readonly count: number }
  /** After message `seq`; undefined if it cannot be found. */
  | { readonly kind: 'resume'; readonly seq: number | undefined }

/** Whether a message is sent. */
export type Accepts = (topic: string, seq: number) => boolean

/** The feed, as a subscription sees it. */
export interface SubscribedFeed {
  readonly keepsLatest: boolean
  readonly hasHistory: boolean
  readonly isStored: boolean
  /** All messages up to this number have been passed to the subscriptions. */
  readonly through: number
  /** Beside each message. */
  readonly label: Pick<FeedMessage, 'delay' | 'licence'>
  readAfter(choice: TopicChoice, after: number, options: ReadOptions): Promise<Page>
  readLast(choice: TopicChoice, count: number, accepts?: Accepts): Promise<readonly StoredMessage[]>
  writePosition(seq: number): string
  /** By its current definition. */
  mayRead(principal: Principal): boolean
  /** What the sign-in of subscribers must be like. */
  readonly need: StepUpNeed | undefined
  /** Throws if the sign-in is not enough. */
  requireStepUp(principal: Principal, need: StepUpNeed): void
  onFault(error: unknown): void
  remove(subscription: FeedSubscription): void
}

/** Who has it: a subscriber has one for each delay. */
export interface SubscriptionOwner {
  /** A product covers the feed, which none has covered before. */
  cover(): void
}

const PAGE_MESSAGES = 256

export class FeedSubscription implements RunningSubscription {
  readonly key: string
  readonly choice: TopicChoice
  readonly #feed: SubscribedFeed
  readonly #sink: UrgentSink<FeedMessage>
  readonly #rate: RateGate | undefined
  readonly #accepts: Accepts | undefined
  #principal: Principal
  /** The sign-in of this token was judged by this need. */
  #judged: { readonly tokenId: string; readonly need: StepUpNeed | undefined }
  /** `reading`: messages are read from the store, until there is none that the subscription lacks. */
  #state: 'waiting' | 'reading' | 'live' | 'paused' | 'closed' = 'waiting'
  #isReading = false
  #start: Start
  #kind: ReadOptions['kind'] = 'history'
  /** Everything up to this number was sent, or is not wanted. */
  #sent = 0
  /** The newest message that was published while the subscription read. */
  #missed = 0
  #isRecovered: boolean | undefined
  /** `#sent` is what the client says; nothing has been read after it yet. */
  #isClaimed = false
  /** All messages were dropped, and the subscriber could not be notified yet. */
  #isPurged = false

  constructor(
    key: string,
    choice: TopicChoice,
    options: { readonly start: Start; readonly maxRate: number | undefined; readonly accepts?: Accepts | undefined },
    feed: SubscribedFeed,
    principal: Principal,
    sink: UrgentSink<FeedMessage>,
  ) {
    this.key = key
    this.choice = choice
    this.#feed = feed
    this.#principal = principal
    this.#judged = { tokenId: principal.tokenId, need: feed.need }
    this.#sink = sink
    this.#start = options.start
    this.#accepts = options.accepts
    if (options.maxRate !== undefined)
      this.#rate = new RateGate(options.maxRate, {
        send: (message) => this.#sendLatest(message),
        isReady: () => this.#state === 'live' && sink.maySend,
        tooMany: (before) => this.#readFrom(before),
      })
  }

  /** Everything up to this number was sent, or is not wanted; undefined before it has begun. */
  get sent(): number | undefined {
    if (this.#start.kind === 'after') return this.#start.seq
    return this.#state === 'waiting' || !this.#feed.isStored ? undefined : this.#sent
  }

  /** The sink may send: for the first time, or again. */
  drained(): void {
    if (this.#state === 'waiting') this.#begin()
    else if (this.#state === 'reading') this.#read()
    else if (this.#state !== 'live') return
    else if (this.#isPurged) this.#readFrom(this.#sent)
    else this.#rate?.flush()
  }

  /** `message` is shared by all subscriptions with the same key. Messages come in the order of their numbers. */
  deliver({ seq }: StoredMessage, message: FeedMessage): void {
    if (this.#state === 'live') this.#deliverLive(seq, message)
    else this.#missed = Math.max(this.#missed, seq)
  }

  /** All messages were forgotten. */
  purged(through: number): void {
    this.#rate?.clear()
    this.#sent = Math.max(this.#sent, through)
    if (this.#start.kind === 'resume') this.#start = { kind: 'resume', seq: undefined }
    if (this.#state === 'waiting' || this.#state === 'closed') return
    if (this.#isRecovered === true) this.#isRecovered = false
    this.#isPurged = true
    if (this.#state === 'live' && this.#sink.isOpen) this.#tellPurge()
  }

  #tellPurge(): void {
    this.#isPurged = false
    this.#sink.send(this.#message(this.key, undefined, this.#sent, true))
  }

  setPrincipal(principal: Principal): void {
    this.#principal = principal
    this.checkRights()
  }

  /** The rights of the caller, or those that the feed needs, have changed. */
  checkRights(): void {
    if (!this.#feed.mayRead(this.#principal)) this.end(missingRight())
    else this.#checkSignIn()
  }

  /** The sign-in is judged again for a new token, and when the feed demands something else. */
  #checkSignIn(): void {
    const { need } = this.#feed
    const { tokenId } = this.#principal
    const { tokenId: judgedToken, need: judgedNeed } = this.#judged
    if (tokenId === judgedToken && sameNeed(need, judgedNeed)) return
    this.#judged = { tokenId, need }
    if (need === undefined) return
    try {
      this.#feed.requireStepUp(this.#principal, need)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      this.end(error)
    }
  }

  pause(): void {
    if (this.#state === 'closed' || this.#state === 'waiting') return
    const held = this.#rate?.clear()
    if (held !== undefined) this.#sent = Math.min(this.#sent, held - 1)
    this.#state = 'paused'
  }

  /** What was published since is sent first, as far as it was kept. */
  resume(principal: Principal): void {
    this.setPrincipal(principal)
    if (this.#state !== 'paused') return
    if (!this.#feed.isStored) this.#state = 'live'
    else this.#readFrom(this.#sent)
  }

  end(reason: Refusal): void {
    if (this.#state === 'closed') return
    this.close()
    this.#sink.end(reason)
  }

  close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#rate?.clear()
    this.#feed.remove(this)
  }

  #begin(): void {
    const { kind } = this.#start
    if (kind === 'now') {
      this.#state = 'live'
      this.#sent = this.#feed.through
      return
    }
    if (this.#start.kind === 'after') {
      this.#sent = this.#start.seq
      this.#start = { kind: 'now' }
      this.#readFrom(this.#sent)
      return
    }
    this.#state = 'reading'
    this.#kind = kind === 'state' ? 'newest' : 'history'
    this.#isClaimed = kind === 'resume'
    if (this.#start.kind === 'resume') {
      this.#isRecovered = this.#start.seq !== undefined
      this.#sent = this.#start.seq ?? 0
      if (this.#start.seq === undefined) this.#startOver()
    }
    this.#read()
  }

  #readFrom(sent: number): void {
    this.#state = 'reading'
    this.#sent = Math.min(this.#sent, sent)
    this.#kind = this.#feed.keepsLatest ? 'newest' : 'history'
    this.#read()
  }

  /** One loop at a time; it ends when nothing is missing, or the sink must wait. */
  #read(): void {
    if (this.#isReading) return
    this.#isReading = true
    this.#readPages()
      .catch((error) => {
        this.#feed.onFault(error)
        // The client can come back, and resume.
        this.end(error instanceof Refusal ? error : new Refusal('server.fault', 500, 'The messages could not be read'))
      })
      .finally(() => {
        this.#isReading = false
      })
  }

  async #readPages(): Promise<void> {
    if (this.#start.kind === 'last') await this.#sendLast(this.#start.count)
    while (this.#state === 'reading' && this.#sink.maySend) {
      if (this.#isPurged) this.#tellPurge()
      const after = this.#sent
      const page = await this.#feed.readAfter(this.choice, after, { kind: this.#kind, limit: PAGE_MESSAGES })
      if (this.#state !== 'reading') return
      // What was read is forgotten.
      if (this.#isPurged) continue
      const isBeyond =
        page.hasGap && !this.#isClaimed && page.isLast && page.through === after && page.messages.length === 0
      if (page.hasGap && !isBeyond && this.#mustTellGap(after)) continue
      this.#isClaimed = false
      if (!this.#sendPage(page, after)) return
      if (page.isLast && this.#missed <= this.#sent) this.#goLive()
      else await nextTurn()
    }
  }

  /** Whether to read again from the start, after messages that cannot be recovered. */
  #mustTellGap(after: number): boolean {
    // From the start, nothing was promised; the newest message of each topic is all that is wanted.
    if (after === 0 || this.#kind === 'newest') return false
    this.#isRecovered = false
    this.#startOver()
    return true
  }

  #startOver(): void {
    this.#sent = 0
    this.#kind = this.#feed.keepsLatest ? 'newest' : 'history'
  }

  async #sendLast(count: number): Promise<void> {
    const { through } = this.#feed
    const messages = await this.#feed.readLast(this.choice, count, this.#accepts)
    if (this.#state !== 'reading') return
    this.#start = { kind: 'now' }
    for (const message of messages) this.#sendRead(message)
    this.#sent = Math.max(through, messages.at(-1)?.seq ?? 0)
  }

  /** False if the sink must wait before the end of the page. */
  #sendPage({ messages, through }: Page, after: number): boolean {
    for (const message of messages) {
      if (!this.#sink.maySend) return false
      // A subscriber who begins with the state has not heard of a topic that is removed.
      const isWanted = this.#accepts?.(message.topic, message.seq) ?? true
      if (isWanted && (message.data !== undefined || after > 0)) this.#sendRead(message)
      this.#sent = message.seq
    }
    this.#sent = through
    return true
  }

  #sendRead({ topic, data, seq }: StoredMessage): void {
    this.#rate?.passed(topic)
    this.#sink.send(this.#message(topic, data, seq, data === undefined))
  }

  #goLive(): void {
    this.#state = 'live'
    this.#start = { kind: 'now' }
    if (this.#isRecovered !== undefined) this.#sink.send(this.#message(this.key, undefined, this.#sent, false))
  }

  #deliverLive(seq: number, message: FeedMessage): void {
    if (this.#feed.isStored) {
      if (seq <= this.#sent) return
      this.#sent = seq
    }
    if (this.#accepts?.(message.topic, seq) === false) return
    if (!this.#feed.keepsLatest) {
      // After it has expired, the token may be renewed.
      if (this.#sink.isOpen) this.#sink.sendOrClose(message)
      else this.#missedLive(seq)
    } else if (this.#rate !== undefined) this.#rate.add(seq, message)
    else if (this.#sink.maySend) this.#sink.send(message)
    else this.#readFrom(seq - 1)
  }

  #missedLive(seq: number): void {
    if (this.#feed.hasHistory) this.#readFrom(seq - 1)
  }

  /** Of those that wait for their turn, the oldest must not be skipped by a resumption. */
  #sendLatest({
    message,
    seq,
    oldestHeld,
  }: {
    message: FeedMessage
    seq: number
    oldestHeld: number | undefined
  }): void {
    const isFirst = oldestHeld === undefined || oldestHeld > seq || message.position === undefined
    this.#sink.send(isFirst ? message : { ...message, position: this.#feed.writePosition(oldestHeld - 1) })
  }

  #message(topic: string, data: string | undefined, seq: number, isRemoved: boolean): FeedMessage {
    const isRecovered = this.#isRecovered
    this.#isRecovered = undefined
    return {
      ...this.#feed.label,
      topic,
      pattern: this.choice.kind === 'prefix' ? this.key : undefined,
      data: data === undefined ? undefined : new JsonText(data),
      position: this.#feed.hasHistory ? this.#feed.writePosition(seq) : undefined,
      isRemoved,
      isRecovered,
    }
  }
}
