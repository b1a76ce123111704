/** The feeds of this node: opened as they are declared, published to and subscribed to by every transport. */
import {
  type Clock,
  type MonotonicClock,
  monotonicClock,
  type Principal,
  Refusal,
  type UrgentSink,
} from 'gatehouse-protocol'
import type { StepUp, StepUpRequest } from '../step-up/step-up.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { FeedEngine, NewMessage, PublishOnce } from './engine.ts'
import { type DroppedFeed, type Feed, isStored, type TopicChoice, topicChoice, topicFault } from './feed.ts'
import { FeedView } from './feed-view.ts'
import type { FeedAccess, FeedLicences, FeedWay } from './licences.ts'
import { type PublisherLimits, PublishRates } from './limits.ts'
import type { LiveFeed } from './live-feed.ts'
import type { FeedMessage } from './message.ts'
import { OpenFeed } from './open-feed.ts'
import { refuse, refuseForNow } from './refusals.ts'
import { mayRead, mayWrite, missingRight } from './rights.ts'
import { Subscriber } from './subscriber.ts'
import type { Start } from './subscription.ts'

export interface FeedLimits extends PublisherLimits {
  /** The `Data` of all messages that all feeds keep. */
  readonly bytes: number
}

/** Where a request came from, for the audit log. */
export type RequestOrigin = Omit<StepUpRequest, 'resource'>

export interface SubscribeOrigin extends RequestOrigin {
  /** On a stream, if it is not said. */
  readonly way?: FeedWay
}

export interface FeedServiceOptions {
  readonly definitions: () => Promise<readonly Feed[]>
  /** Feeds that are no longer declared, and whose messages are to be dropped. */
  readonly dropped: () => Promise<readonly DroppedFeed[]>
  readonly forgetDropped: (generation: string) => Promise<void>
  /** Called for the first declared feed. */
  readonly openEngine: () => Promise<FeedEngine>
  readonly clock: Clock
  readonly monotonic?: MonotonicClock
  readonly limits: FeedLimits
  readonly stepUp: StepUp
  /** Undefined where there are none. */
  readonly licences?: FeedLicences | undefined
  /** By feed, in milliseconds: the delays with which products cover it. */
  readonly delays?: () => Promise<ReadonlyMap<string, readonly number[]>>
  readonly metrics: Metrics
  readonly onError: (error: unknown) => void
  /** Called when feeds were added, changed or removed. */
  readonly onChanged: (feeds: readonly Feed[]) => void
}

/** What a subscriber asks for. */
export interface SubscribeRequest {
  readonly topic: string
  readonly maxRate?: number | undefined
  readonly resume?: string | undefined
  readonly last?: number | undefined
}

export const [MIN_RATE, MAX_RATE, MAX_LAST] = [0.01, 50, 1_000]
export const MAX_MESSAGES = 10_000

/** How often the bytes that all feeds keep are counted, while messages are published. */
const COUNT_MS = 1_000
/** After messages of a removed feed could not be dropped. */
const RETRY_DROPS_MS = 5_000

export class FeedService {
  readonly #options: FeedServiceOptions
  readonly #feeds = new Map<string, OpenFeed>()
  readonly #rates: PublishRates
  readonly #published = new Map<string, (by: number) => void>()
  #engine: Promise<FeedEngine> | undefined
  #reloading: Promise<void> = Promise.resolve()
  /** A reload for delays that were not known. */
  #refreshing: Promise<void> | undefined
  #bytes = 0
  #bytesAt = Number.NEGATIVE_INFINITY
  #retry: NodeJS.Timeout | undefined

  constructor(options: FeedServiceOptions) {
    const { limits, monotonic = monotonicClock, metrics } = options
    this.#options = options
    this.#rates = new PublishRates(limits, monotonic)
    metrics.watch('gatehouse_feed_subscriptions', () =>
      [...this.#feeds.values()].map(({ definition, subscriptions }) => [{ feed: definition.name }, subscriptions]),
    )
  }

  /** Takes over the definitions; calls are carried out one after the other. */
  reload(): Promise<void> {
    this.#reloading = this.#reloading.catch(() => {}).then(() => this.#reload())
    return this.#reloading
  }

  list(): readonly Feed[] {
    return [...this.#feeds.values()].map(({ definition }) => definition)
  }

  /** Throws if there is no such feed, or the caller may neither publish nor subscribe. */
  find(name: string, principal: Principal): OpenFeed {
    const feed = this.#feeds.get(name)
    if (feed === undefined || !(mayRead(feed.definition, principal) || mayWrite(feed.definition, principal)))
      throw refuse('feed.unknown', `There is no feed ${JSON.stringify(name)}`)
    return feed
  }

  /** What the caller may read of these topics. It is to be closed. */
  async openView(name: string, choice: TopicChoice, principal: Principal, from: RequestOrigin = {}): Promise<FeedView> {
    const feed = this.#findToRead(name, principal, from)
    const { licences, clock } = this.#options
    if (!licences?.covers(name)) return new FeedView([feed.realtime], undefined, clock)
    const request = { feed: name, choice, principal, address: from.address ?? '', way: 'query' } as const
    const approve = (access: FeedAccess) => this.#requireSources(feed, access)
    const use = await licences.open({ ...request, approve, onChange() {} })
    try {
      const { delays, refusal } = use.access
      if (refusal !== undefined) throw refusal
      return new FeedView(await Promise.all(delays.map((delay) => this.#findSource(feed, delay))), use, clock)
    } catch (error) {
      use.close()
      throw error
    }
  }

  /** Before a use begins, which is recorded as one that showed something. */
  async #requireSources(feed: OpenFeed, { delays }: FeedAccess): Promise<void> {
    await Promise.all(delays.map((delay) => delay === 0 || this.#findSource(feed, delay)))
  }

  /** The feed as those see it who have this delay. A product may have it that this node does not know yet. */
  async #findSource(feed: OpenFeed, delay: number): Promise<LiveFeed> {
    let source = feed.find(delay)
    if (source === undefined && !feed.delays.includes(delay)) {
      this.#refreshing ??= this.reload().finally(() => {
        this.#refreshing = undefined
      })
      await this.#refreshing
      source = feed.find(delay)
    }
    if (source !== undefined) return source
    const { name } = feed.definition
    throw new Refusal('Licence.NotReady', 503, `The feed ${name} cannot be read with a delay`, {
      members: { Products: [] },
      headers: { 'retry-after': '5' },
    })
  }

  /** The definition of a feed that the caller may read, if its sign-in is strong enough. */
  definitionToRead(name: string, principal: Principal, from: RequestOrigin = {}): Feed {
    return this.#findToRead(name, principal, from).definition
  }

  /** Products cover other feeds now. */
  licencesChanged(): void {
    for (const [name, feed] of this.#feeds) if (this.#options.licences?.covers(name)) feed.cover()
  }

  /** As above, for callers who may read the feed and whose sign-in is strong enough. */
  #findToRead(name: string, principal: Principal, from: RequestOrigin = {}): OpenFeed {
    const feed = this.find(name, principal)
    if (!mayRead(feed.definition, principal)) throw missingRight(feed.definition.read)
    const { stepUp } = feed.definition
    if (stepUp?.read !== undefined) this.#options.stepUp.require(principal, stepUp.read, { ...from, resource: name })
    return feed
  }

  /** As above, for callers who may publish to the feed. */
  findToWrite(name: string, principal: Principal, from: RequestOrigin = {}): OpenFeed {
    const feed = this.find(name, principal)
    this.#requireToWrite(feed.definition, principal, from)
    return feed
  }

  /** Returns the position of the last message, if the feed has a history, and the publisher may see how many messages others publish. */
  async publish(
    name: string,
    messages: readonly NewMessage[],
    principal: Principal,
    once?: PublishOnce,
    from: RequestOrigin = {},
  ): Promise<string | undefined> {
    const feed = this.find(name, principal)
    try {
      this.#requireToWrite(feed.definition, principal, from)
      const position = await this.#publish(feed, messages, principal, once)
      this.#published.get(name)?.(messages.length)
      return position === undefined || (await this.#seesNow(name, messages, principal)) ? position : undefined
    } catch (error) {
      if (error instanceof Refusal)
        this.#options.metrics.count('gatehouse_feed_refused_total', { feed: name, code: error.code })
      throw error
    }
  }

  async #seesNow(name: string, messages: readonly NewMessage[], principal: Principal): Promise<boolean> {
    const { licences } = this.#options
    const [first] = messages
    if (first === undefined || !licences?.covers(name)) return true
    const isOneTopic = messages.every(({ topic }) => topic === first.topic)
    const choice: TopicChoice = isOneTopic ? { kind: 'topic', topic: first.topic } : { kind: 'prefix', prefix: '' }
    return licences.hasRealtime(name, choice, principal)
  }

  #requireToWrite(feed: Feed, principal: Principal, from: RequestOrigin): void {
    if (!mayWrite(feed, principal)) throw missingRight(feed.write)
    if (feed.stepUp?.write !== undefined)
      this.#options.stepUp.require(principal, feed.stepUp.write, { ...from, resource: feed.name })
  }

  async #publish(
    feed: OpenFeed,
    messages: readonly NewMessage[],
    principal: Principal,
    once: PublishOnce | undefined,
  ): Promise<string | undefined> {
    const { definition } = feed
    for (const message of messages) checkMessage(definition, message)
    this.#rates.take(principal.subject, definition, messages.length)
    if (once !== undefined) this.#rates.takeKey(principal.subject, definition)
    if (isStored(definition)) this.#checkBytes()
    return feed.append(messages, once, principal.subject)
  }

  async subscribe(
    name: string,
    { topic, maxRate, resume, last }: SubscribeRequest,
    principal: Principal,
    sink: UrgentSink<FeedMessage>,
    from: SubscribeOrigin = {},
  ): Promise<Subscriber> {
    const feed = this.#findToRead(name, principal, from)
    const { definition } = feed
    const choice = topicChoice(topic)
    if (choice === undefined)
      throw refuse('feed.bad_topic', 'A topic has no *; a pattern is * or ends in /*, such as NYSE/*')
    if (maxRate !== undefined && definition.keep !== 'latest')
      throw refuse('feed.no_rate', `MaxRate needs a feed that keeps the latest message; ${name} keeps all`)
    if (definition.history === undefined) {
      if (resume !== undefined) throw refuse('feed.no_history', `The feed ${name} has no history to resume from`)
      if ((last ?? 0) > 0) throw refuse('feed.no_last', `The feed ${name} has no history, and so no last messages`)
    }
    const { licences, onError } = this.#options
    const { address = '', way = 'stream' } = from
    const start = (source: LiveFeed): Start => chooseStart(source, topic, resume, last)
    const subscriber = new Subscriber(
      { key: topic, choice, principal, sink, maxRate, address, way, start },
      { feed: feed.realtime, findSource: (delay) => this.#findSource(feed, delay), licences, onError },
    )
    await subscriber.open()
    return subscriber
  }

  async usage(name: string) {
    return this.#feeds.get(name)?.store.usage()
  }

  async purge(name: string): Promise<void> {
    await this.#feeds.get(name)?.store.purge()
  }

  /** Rejects when nothing can be published. */
  async check(): Promise<void> {
    if (this.#engine !== undefined) await (await this.#engine).check()
  }

  setLimits(limits: PublisherLimits): void {
    this.#rates.setLimits(limits)
  }

  async close(): Promise<void> {
    clearTimeout(this.#retry)
    await this.#reloading.catch(() => {})
    for (const { store } of this.#feeds.values()) store.close()
    this.#feeds.clear()
    await (await this.#engine?.catch(() => undefined))?.close()
  }

  async #reload(): Promise<void> {
    // First those that were dropped: what is removed after the definitions are read would be open, and gone.
    const dropped = [...(await this.#options.dropped())]
    const definitions = await this.#options.definitions()
    if (definitions.length + dropped.length + this.#feeds.size === 0) return
    const delays = await this.#options.delays?.()
    const engine = await this.#openEngine()
    const generations = new Map(definitions.map(({ name, generation }) => [name, generation]))
    for (const [name, feed] of this.#feeds)
      if (generations.get(name) !== feed.definition.generation) {
        this.#feeds.delete(name)
        this.#rates.forget(name)
        feed.close()
        // Another node may have dropped it while this one was opening it, which stores it again.
        const { generation } = feed.definition
        if (dropped.every((known) => known.generation !== generation)) dropped.push({ name, generation })
      }
    for (const definition of definitions) await this.#take(engine, definition, delays?.get(definition.name) ?? [])
    await this.#countBytes()
    this.#options.onChanged(this.list())
    if (dropped.length > 0) await this.#dropAll(engine, dropped)
  }

  /** What cannot be dropped now is dropped later: by this node, or by one that starts. Until then it cannot be read. */
  async #dropAll(engine: FeedEngine, dropped: readonly DroppedFeed[]): Promise<void> {
    const { forgetDropped, onError } = this.#options
    for (const feed of dropped)
      try {
        await engine.drop(feed)
        await forgetDropped(feed.generation)
      } catch (error) {
        onError(error)
        this.#retryDrops()
      }
  }

  #retryDrops(): void {
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => void this.reload().catch(this.#options.onError), RETRY_DROPS_MS)
    this.#retry.unref()
  }

  /** Opened again after a failure. */
  #openEngine(): Promise<FeedEngine> {
    this.#engine ??= this.#options
      .openEngine()
      .then((engine) => this.#dropUndeclared(engine))
      .catch((error) => {
        this.#engine = undefined
        throw error
      })
    return this.#engine
  }

  /**
   * Those that an earlier version has removed, or that were removed while their messages were restored. The definitions are read last: whatever was
   * stored before is declared by then, if it ever was.
   */
  async #dropUndeclared(engine: FeedEngine): Promise<FeedEngine> {
    try {
      const stored = await engine.listStored()
      const declared = new Set((await this.#options.definitions()).map(({ generation }) => generation))
      for (const generation of stored)
        if (!declared.has(generation)) await engine.drop({ name: generation, generation })
    } catch (error) {
      this.#options.onError(error)
    }
    return engine
  }

  async #take(engine: FeedEngine, definition: Feed, delays: readonly number[]): Promise<void> {
    const known = this.#feeds.get(definition.name)
    if (known === undefined) {
      const feed = new OpenFeed(definition, delays, await engine.open(definition, delays), this.#options)
      this.#feeds.set(definition.name, feed)
      const { metrics } = this.#options
      this.#published.set(definition.name, metrics.counter('gatehouse_feed_messages_total', { feed: definition.name }))
    } else if (JSON.stringify(known.definition) !== JSON.stringify(definition) || known.delays.join() !== delays.join())
      await known.update(definition, delays)
  }

  /** All feeds together. No publication waits for the count: the next ones of its connection would overtake it. */
  #checkBytes(): void {
    const { limits, onError } = this.#options
    if (performance.now() - this.#bytesAt > COUNT_MS) this.#countBytes().catch(onError)
    if (this.#bytes > limits.bytes)
      throw refuseForNow(
        'feed.full',
        `The messages that all feeds keep have more than ${limits.bytes} bytes: shorten histories, or raise feed_bytes`,
        60,
      )
  }

  async #countBytes(): Promise<void> {
    this.#bytesAt = performance.now()
    const usages = await Promise.all([...this.#feeds.values()].map(({ store }) => store.usage()))
    this.#bytes = usages.reduce((sum, { bytes }) => sum + bytes, 0)
  }
}

function checkMessage({ name, messageBytes }: Feed, { topic, data }: NewMessage): void {
  const fault = topicFault(topic)
  if (fault !== undefined) throw refuse('feed.bad_topic', `The topic ${JSON.stringify(topic.slice(0, 300))} ${fault}`)
  // A character has at most three bytes in UTF-8 for each unit.
  if (data === undefined || data.length * 3 <= messageBytes) return
  if (Buffer.byteLength(data) > messageBytes)
    throw refuse('feed.message_too_large', `A message of the feed ${name} has at most ${messageBytes} bytes of Data`)
}

function chooseStart(feed: LiveFeed, topic: string, resume: string | undefined, last: number | undefined): Start {
  if (resume !== undefined)
    return { kind: 'resume', seq: feed.findOrAddPositions(topic).read(resume, feed.reads.epoch, feed.delay) }
  if (last !== undefined && feed.definition.history !== undefined)
    return last === 0 ? { kind: 'now' } : { kind: 'last', count: last }
  return feed.definition.keep === 'latest' ? { kind: 'state' } : { kind: 'now' }
}
