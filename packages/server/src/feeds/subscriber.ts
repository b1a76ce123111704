/** One subscriber of a feed: a subscription of the feed itself, or where products cover it, one for each delay that the caller has. */
import { type Principal, Refusal, type RunningSubscription, type UrgentSink } from 'gatehouse-protocol'
import type { TopicChoice } from './feed.ts'
import type { FeedLicences, FeedUse, FeedWay } from './licences.ts'
import type { LiveFeed } from './live-feed.ts'
import type { FeedMessage } from './message.ts'
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
  #principal: Principal
  #hasBegun = false
  #isPaused = false
  #isClosed = false
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
      if (licences?.covers(feed.definition.name)) await this.#openUse(licences)
      if (this.#use === undefined) await this.#openLane(0, this.#options.start(feed))
      else await this.#openLanes((source) => this.#options.start(source))
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** A product covers the feed, which none has covered before. */
  cover(): void {
    const { licences } = this.#env
    if (licences === undefined || this.#use !== undefined) return
    this.#change(async () => {
      if (this.#use !== undefined || this.#isClosed) return
      await this.#openUse(licences)
      const lane = this.#lanes.get(0)
      const sent = lane?.subscription.sent
      this.#closeLane(0)
      await this.#openLanes(() => (sent === undefined ? { kind: 'now' } : { kind: 'after', seq: sent }))
    })
  }

  drained(): void {
    this.#hasBegun = true
    for (const { subscription } of this.#lanes.values()) subscription.drained()
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
    for (const { subscription } of [...this.#lanes.values()]) subscription.resume(principal)
  }

  close(): void {
    this.#isClosed = true
    this.#use?.close()
    for (const delay of [...this.#lanes.keys()]) this.#closeLane(delay)
  }

  async #openUse(licences: FeedLicences): Promise<void> {
    const { choice, address, way } = this.#options
    const use = await licences.open({
      ...{ feed: this.#env.feed.definition.name, choice, principal: this.#principal, address, way },
      onChange: () => this.#onChange(),
    })
    this.#use = use
    if (this.#isClosed) use.close()
    use.setPrincipal(this.#principal)
    if (use.refusal !== undefined) throw use.refusal
  }

  /** What is taken away ends at once. */
  #onChange(): void {
    const { delays = [], refusal } = this.#use ?? {}
    for (const delay of [...this.#lanes.keys()]) if (!delays.includes(delay)) this.#closeLane(delay)
    if (refusal !== undefined) this.#end(refusal)
    else this.#change(() => this.#openLanes(() => ({ kind: 'now' })))
  }

  async #openLanes(start: (source: LiveFeed) => Start): Promise<void> {
    for (const delay of this.#use?.delays ?? []) {
      const source = this.#findSource(delay)
      if (source !== undefined && !this.#lanes.has(delay)) await this.#openLane(delay, start(source))
    }
  }

  #findSource(delay: number): LiveFeed | undefined {
    return delay === 0 ? this.#env.feed : undefined
  }

  async #openLane(delay: number, start: Start): Promise<void> {
    const source = this.#findSource(delay)
    if (source === undefined || this.#isClosed) return
    const { key, choice, maxRate, sink } = this.#options
    const used = this.#use === undefined ? sink : this.#laneSink(delay)
    const subscription = await source.subscribe(key, choice, { start, maxRate }, this.#principal, used, this)
    const isWanted = this.#use === undefined || this.#use.delays.includes(delay)
    if (this.#isClosed || !isWanted) {
      subscription.close()
      return
    }
    this.#lanes.set(delay, { source, subscription })
    subscription.setPrincipal(this.#principal)
    if (this.#hasBegun && !this.#isPaused) subscription.drained()
  }

  /** Passes on only the topics that the caller has with this delay. */
  #laneSink(delay: number): UrgentSink<FeedMessage> {
    const { sink, key } = this.#options
    const isShown = ({ topic }: FeedMessage): boolean => {
      const use = this.#use
      // What concerns the pattern as a whole has no topic.
      if (use === undefined || use.isUniform || topic === key) return true
      return use.delayFor(topic) === delay
    }
    return {
      send: (message) => {
        if (isShown(message)) sink.send(message)
      },
      sendOrClose: (message) => {
        if (isShown(message)) sink.sendOrClose(message)
      },
      get maySend() {
        return sink.maySend
      },
      get isOpen() {
        return sink.isOpen
      },
      end: (reason) => this.#end(reason),
    }
  }

  #closeLane(delay: number): void {
    const lane = this.#lanes.get(delay)
    this.#lanes.delete(delay)
    lane?.subscription.close()
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
