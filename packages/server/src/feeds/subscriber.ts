/** One subscriber of a feed: a subscription of the feed itself, or where products cover it, one for each delay that the caller has. */
import { type Principal, Refusal, type RunningSubscription, type UrgentSink } from 'gatehouse-protocol'
import type { TopicChoice } from './feed.ts'
import { EVERYTHING, type FeedAccess, type FeedLicences, type FeedUse, type FeedWay, writeLabels } from './licences.ts'
import type { LiveFeed } from './live-feed.ts'
import type { FeedMessage } from './message.ts'
import { mixPosition } from './mixed-positions.ts'
import { Progress } from './progress.ts'
import type { FeedSubscription, Start, SubscriptionOwner } from './subscription.ts'

export interface SubscriberOptions {
  readonly key: string
  readonly choice: TopicChoice
  readonly principal: Principal
  readonly sink: UrgentSink<FeedMessage>
  readonly maxRate: number | undefined
  readonly address: string
  readonly way: FeedWay
  /** Where the subscription of a source begins. */
  start(source: LiveFeed): Start
}

export interface SubscriberEnv {
  readonly feed: LiveFeed
  /** As those see it who have this delay. */
  findSource(delay: number): Promise<LiveFeed>
  readonly licences: FeedLicences | undefined
  readonly onError: (error: unknown) => void
}

interface Lane {
  readonly source: LiveFeed
  readonly subscription: FeedSubscription
}

export class Subscriber implements RunningSubscription, SubscriptionOwner {
  readonly #options: SubscriberOptions
  readonly #env: SubscriberEnv
  /** By delay. */
  readonly #lanes = new Map<number, Lane>()
  #use: FeedUse | undefined
  #access: FeedAccess = EVERYTHING
  /** What the subscriber has seen of each topic before the lanes were opened. */
  #progress = Progress.none
  #principal: Principal
  #hasBegun = false
  #isPaused = false
  #isClosed = false
  /** The subscriber does not know its access yet. */
  #mustTell = false
  #changing: Promise<void> = Promise.resolve()

  constructor(options: SubscriberOptions, env: SubscriberEnv) {
    this.#options = options
    this.#env = env
    this.#principal = options.principal
  }

  /** Throws if the caller has no access. */
  async open(): Promise<void> {
    const { feed, licences } = this.#env
    try {
      if (licences?.covers(feed.definition.name)) {
        await this.#openUse(licences)
        if (this.#access.refusal !== undefined) throw this.#access.refusal
      }
      // On streams, the confirmation says it.
      this.#mustTell = this.#options.way === 'events' && (this.#use?.access.labels.length ?? 0) > 0
      await this.#openLanes(this.#access)
      await this.#changing
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** What is delayed, or left out. */
  get labels(): readonly object[] {
    return writeLabels(this.#env.feed.definition.name, this.#use?.access.labels ?? [])
  }

  /** Seconds, if all topics have the same; 0: real-time. */
  get delay(): number | undefined {
    const [delay = 0] = this.#access.delays
    return this.#access.isUniform ? delay / 1000 : undefined
  }

  /**
   * Where it can be resumed before a message was received: at the newest one, where the subscription does not begin with messages that
   * are kept; undefined otherwise, and without history.
   */
  async startPosition(): Promise<string | undefined> {
    const { key, choice, start } = this.#options
    if (this.#env.feed.definition.history === undefined) return undefined
    const seqs = new Map<number, number>()
    for (const [delay, { source }] of this.#lanes) {
      const { kind } = start(source)
      if (kind === 'resume') return undefined
      const [newest] = await source.reads.readLast(choice, 1)
      if (newest !== undefined && kind !== 'now') return undefined
      seqs.set(delay, source.newestSeq(newest?.seq))
    }
    const [lane] = this.#lanes.values()
    if (lane === undefined) return undefined
    const positions = lane.source.findOrAddPositions(key)
    const [seq = 0] = seqs.values()
    return seqs.size === 1
      ? positions.write(lane.source.reads.epoch, seq)
      : positions.writeEach(lane.source.reads.epoch, seqs)
  }

  /** A product covers the feed, which none has covered before. */
  cover(): void {
    const { licences } = this.#env
    if (licences === undefined || this.#use !== undefined) return
    this.#change(async () => {
      if (this.#use !== undefined || this.#isClosed) return
      await this.#openUse(licences, EVERYTHING)
      this.#onChange()
    })
  }

  drained(): void {
    this.#hasBegun = true
    this.#tellAccess()
    for (const { subscription } of [...this.#lanes.values()]) subscription.drained()
  }

  setPrincipal(principal: Principal): void {
    this.#principal = principal
    this.#use?.setPrincipal(principal)
    for (const { subscription } of [...this.#lanes.values()]) subscription.setPrincipal(principal)
  }

  pause(): void {
    this.#isPaused = true
    for (const { subscription } of this.#lanes.values()) subscription.pause()
  }

  resume(principal: Principal): void {
    this.#isPaused = false
    this.#principal = principal
    this.#use?.setPrincipal(principal)
    this.#tellAccess()
    for (const { subscription } of [...this.#lanes.values()]) {
      subscription.resume(principal)
      // One that was opened meanwhile has not begun.
      if (this.#hasBegun) subscription.drained()
    }
  }

  close(): void {
    this.#isClosed = true
    this.#use?.close()
    this.#closeLanes()
  }

  /** `access` is what the caller had until now; otherwise it is what the use says. */
  async #openUse(licences: FeedLicences, access?: FeedAccess): Promise<void> {
    const { choice, address, way } = this.#options
    const use = await licences.open({
      ...{ feed: this.#env.feed.definition.name, choice, principal: this.#principal, address, way },
      onChange: () => this.#onChange(),
      approve: async ({ delays }) => {
        for (const delay of delays) if (delay > 0) await this.#env.findSource(delay)
      },
    })
    this.#use = use
    this.#access = access ?? use.access
    if (this.#isClosed) use.close()
    use.setPrincipal(this.#principal)
  }

  /** What is taken away ends at once. What was seen is not sent again: what follows it comes when it may. */
  #onChange(): void {
    if (this.#use === undefined || this.#isClosed) return
    const { access } = this.#use
    if (access.refusal !== undefined) this.#end(access.refusal)
    else if (!isSame(this.#access, access)) {
      this.#progress = this.#progress.after(this.#access, this.#sentByDelay())
      this.#closeLanes()
      this.#access = access
      this.#mustTell = true
      this.#tellAccess()
      this.#change(() => this.#openLanes(access))
    }
  }

  #sentByDelay(): ReadonlyMap<number, number> {
    return new Map(
      [...this.#lanes].flatMap(
        ([
          delay,
          {
            subscription: { sent },
          },
        ]) => (sent === undefined ? [] : [[delay, sent]]),
      ),
    )
  }

  /** A message without data. */
  #tellAccess(): void {
    const { sink, key, choice } = this.#options
    if (!this.#mustTell || !this.#hasBegun || !sink.isOpen) return
    this.#mustTell = false
    const isPattern = choice.kind === 'prefix'
    sink.sendOrClose({
      topic: key,
      pattern: isPattern ? key : undefined,
      ...{ data: undefined, position: undefined, isRemoved: false, isRecovered: undefined, delay: this.delay },
      licence: isPattern ? this.labels : undefined,
    })
  }

  /** Unless the access has changed meanwhile. */
  async #openLanes(access: FeedAccess): Promise<void> {
    for (const delay of access.delays) {
      if (access !== this.#access || this.#isClosed) return
      const source = delay === 0 ? this.#env.feed : await this.#env.findSource(delay)
      if (access === this.#access && !this.#isClosed) await this.#openLane(source, access)
    }
  }

  async #openLane(source: LiveFeed, access: FeedAccess): Promise<void> {
    const { delay } = source
    const { key, choice, maxRate, sink } = this.#options
    const progress = this.#progress
    const isSimple = access.isUniform && !access.isPartial && progress.isUniform
    const accepts = (topic: string, seq: number) => access.delayFor(topic) === delay && !progress.hasSeen(topic, seq)
    const start = progress.start(source.definition.keep) ?? this.#options.start(source)
    const used = this.#use === undefined ? sink : this.#laneSink(delay)
    const options = { start, maxRate, accepts: isSimple ? undefined : accepts }
    const subscription = await source.subscribe(key, choice, options, this.#principal, used, this)
    if (this.#isClosed || access !== this.#access) {
      subscription.close()
      return
    }
    this.#lanes.set(delay, { source, subscription })
    subscription.setPrincipal(this.#principal)
    if (this.#hasBegun && !this.#isPaused) subscription.drained()
  }

  /** The end of one ends all. The position of a message says how far the others are, too. */
  #laneSink(delay: number): UrgentSink<FeedMessage> {
    const { sink } = this.#options
    const shape = (message: FeedMessage): FeedMessage => {
      if (this.#access.isUniform) return message
      const sent = new Map(this.#sentByDelay())
      sent.delete(delay)
      return mixPosition(message, delay, sent)
    }
    return {
      send: (message) => sink.send(shape(message)),
      sendOrClose: (message) => sink.sendOrClose(shape(message)),
      get maySend() {
        return sink.maySend
      },
      get isOpen() {
        return sink.isOpen
      },
      end: (reason) => this.#end(reason),
    }
  }

  #closeLanes(): void {
    const lanes = [...this.#lanes.values()]
    this.#lanes.clear()
    for (const { subscription } of lanes) subscription.close()
  }

  #end(reason: Refusal): void {
    if (this.#isClosed) return
    this.close()
    this.#options.sink.end(reason)
  }

  /** One change after the other. */
  #change(work: () => Promise<void>): void {
    this.#changing = this.#changing.then(work).catch((error: unknown) => {
      if (!(error instanceof Refusal)) this.#env.onError(error)
      // The client can come back, and resume.
      this.#end(error instanceof Refusal ? error : new Refusal('server.fault', 500, 'The licence could not be read'))
    })
  }
}

function isSame(one: FeedAccess, other: FeedAccess): boolean {
  return one.isUniform && other.isUniform && !one.isPartial && !other.isPartial && one.delays[0] === other.delays[0]
}
