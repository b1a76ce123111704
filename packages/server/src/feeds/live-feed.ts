/** The subscriptions of a feed on this node that are passed its messages in real time, or with one delay. */
import { JsonText, type Principal, Refusal, type UrgentSink } from 'gatehouse-protocol'
import { LruMap } from '../lib/lru-map.ts'
import { inTurns, type Steps } from '../lib/turns.ts'
import type { StepUp } from '../step-up/step-up.ts'
import type { FeedReads, Follower, Following, StoredMessage, Wanted } from './engine.ts'
import { type Feed, isStored, type TopicChoice } from './feed.ts'
import type { FeedLicences } from './licences.ts'
import type { FeedMessage } from './message.ts'
import { Positions } from './position.ts'
import { readLast } from './read-last.ts'
import { refuse } from './refusals.ts'
import { mayRead } from './rights.ts'
import {
  type Accepts,
  FeedSubscription,
  type Start,
  type SubscribedFeed,
  type SubscriptionOwner,
} from './subscription.ts'

export interface SubscribeOptions {
  readonly start: Start
  readonly maxRate: number | undefined
  /** Which messages are sent; undefined: all. */
  readonly accepts?: Accepts | undefined
}

export interface LiveFeedEnv {
  readonly onError: (error: unknown) => void
  readonly stepUp: StepUp
  /** Undefined where there are none. */
  readonly licences?: Pick<FeedLicences, 'catchUp'> | undefined
}

/** The subscriptions of one topic or pattern. */
interface Group {
  readonly pattern: string | undefined
  readonly positions: Positions
  /** The feed, as they see it. */
  readonly seen: SubscribedFeed
  readonly subscriptions: Set<FeedSubscription>
}

/** While more messages than this wait for their subscribers, publishers on this node wait too. */
const MAX_WAITING = 10_000
const CACHED_POSITIONS = 10_000

export class LiveFeed implements Follower {
  readonly reads: FeedReads
  /** Milliseconds; 0: real-time. */
  readonly delay: number
  readonly #onFault: (error: unknown) => void
  readonly #stepUp: StepUp
  readonly #licences: LiveFeedEnv['licences']
  #definition: Feed
  #following: Following | undefined
  #through = 0
  /** By topic, and by the prefix of a pattern. */
  readonly #topics = new Map<string, Group>()
  readonly #prefixes = new Map<string, Group>()
  readonly wanted = { topics: new Set<string>(), prefixes: new Set<string>() } satisfies Wanted
  /** What is not passed on yet, or not completely. */
  #waiting: { readonly messages: readonly StoredMessage[]; readonly through: number; sent: number }[] = []
  #waitingMessages = 0
  /** Resolves when nothing waits. */
  #delivering: Promise<void> | undefined
  /** Each needs a digest. */
  readonly #positions = new LruMap<Positions>(CACHED_POSITIONS)
  #isClosed = false
  readonly #owners = new Map<FeedSubscription, SubscriptionOwner>()

  constructor(definition: Feed, reads: FeedReads, { onError, stepUp, licences }: LiveFeedEnv, delay = 0) {
    this.#definition = definition
    this.reads = reads
    this.delay = delay
    this.#onFault = onError
    this.#stepUp = stepUp
    this.#licences = licences
  }

  get definition(): Feed {
    return this.#definition
  }

  get subscriptions(): number {
    return [...this.#topics.values(), ...this.#prefixes.values()].reduce(
      (sum, group) => sum + group.subscriptions.size,
      0,
    )
  }

  /** Those who have subscriptions. */
  get owners(): ReadonlySet<SubscriptionOwner> {
    return new Set(this.#owners.values())
  }

  /** Subscribers who may not read it any more lose their subscriptions. */
  update(definition: Feed): void {
    this.#definition = definition
    for (const subscription of this.#all()) subscription.checkRights()
  }

  close(reason = refuse('feed.unknown', `The feed ${this.#definition.name} was removed`)): void {
    this.#isClosed = true
    for (const subscription of this.#all()) subscription.end(reason)
    this.#following?.stop()
  }

  /** Resolves when less waits for its subscribers, where that is too much. */
  get keepingUp(): Promise<void> | undefined {
    return this.#waitingMessages > MAX_WAITING ? this.#delivering : undefined
  }

  /** Between what the subscription reads and what it is passed on, nothing is lost. */
  async subscribe(
    key: string,
    choice: TopicChoice,
    options: SubscribeOptions,
    principal: Principal,
    sink: UrgentSink<FeedMessage>,
    owner: SubscriptionOwner,
  ): Promise<FeedSubscription> {
    const group = this.#findOrAddGroup(key, choice)
    const subscription = new FeedSubscription(key, choice, options, group.seen, principal, sink)
    group.subscriptions.add(subscription)
    this.#owners.set(subscription, owner)
    try {
      this.#following ??= this.reads.follow(this)
      await this.#following.wantedMore()
      if (this.#isClosed) throw refuse('feed.unknown', `The feed ${this.#definition.name} was removed`)
    } catch (error) {
      subscription.close()
      throw error
    }
    return subscription
  }

  /** That of message `seq`, or of a later one of another topic. */
  newestPosition(key: string, seq = 0): string {
    return this.findOrAddPositions(key).write(this.reads.epoch, this.newestSeq(seq))
  }

  /** This number, or that of a later message. */
  newestSeq(seq = 0): number {
    return Math.max(seq, this.#through)
  }

  findOrAddPositions(key: string): Positions {
    let positions = this.#positions.get(key)
    if (positions === undefined) {
      positions = new Positions(this.#definition.name, key)
      this.#positions.set(key, positions)
    }
    return positions
  }

  /** At once, if it is little; otherwise in turns: ten thousand messages for a thousand subscribers take seconds. */
  deliver(messages: readonly StoredMessage[], through: number): void {
    this.#waiting.push({ messages, through, sent: 0 })
    this.#waitingMessages += messages.length
    if (this.#delivering !== undefined) return
    const delivered = this.#deliverKnown()
    if (delivered === undefined) return
    this.#delivering = delivered.catch(this.#onFault).finally(() => {
      this.#delivering = undefined
    })
  }

  /** While this node knows who may see them. */
  #deliverKnown(): Promise<void> | undefined {
    const again = (): Promise<void> | undefined => (this.#waiting.length === 0 ? undefined : this.#deliverKnown())
    const catchingUp = this.#catchUp()
    if (catchingUp !== undefined) return catchingUp.then(again)
    const delivered = inTurns(this.#deliverWaiting())
    return delivered === undefined ? again() : delivered.then(again)
  }

  /** What was read, once this node knows who may see it. */
  whenKnown<Read>(reading: Promise<Read>): Promise<Read> {
    return reading.then((read) => this.#catchUp()?.then(() => read) ?? read)
  }

  #catchUp(): Promise<void> | undefined {
    return this.#licences?.catchUp(this.#definition.name)
  }

  /** Returns before all are delivered where it is not known who may see the next. */
  *#deliverWaiting(): Steps<void> {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      for (; next.sent < next.messages.length; next.sent++) {
        if (this.#catchUp() !== undefined) return
        const message = next.messages[next.sent]
        if (message !== undefined) this.#deliverOne(message)
        yield
        // A purge has removed it in the meantime.
        if (this.#waiting[0] !== next) break
      }
      if (this.#waiting[0] !== next) continue
      this.#waiting.shift()
      this.#through = next.through
      this.#waitingMessages -= next.messages.length
    }
  }

  purged(): void {
    this.#skipWaiting()
    for (const subscription of this.#all()) subscription.purged(this.#through)
  }

  #skipWaiting(): void {
    this.#through = this.#waiting.at(-1)?.through ?? this.#through
    this.#waiting = []
    this.#waitingMessages = 0
  }

  #deliverOne(message: StoredMessage): void {
    const { topic } = message
    let data: JsonText | undefined
    const deliver = (group: Group | undefined): void => {
      if (group === undefined) return
      if (message.data !== undefined) data ??= new JsonText(message.data)
      const shared = this.#createMessage(message, data, group)
      for (const subscription of group.subscriptions) this.#deliverTo(subscription, message, shared)
    }
    deliver(this.#topics.get(topic))
    if (this.#prefixes.size === 0) return
    deliver(this.#prefixes.get(''))
    // Patterns end with a slash, so there are no other prefixes than these.
    for (let slash = topic.indexOf('/'); slash >= 0; slash = topic.indexOf('/', slash + 1))
      deliver(this.#prefixes.get(topic.slice(0, slash + 1)))
  }

  /** A message that cannot be encoded for one subscriber ends that subscription, and reaches all others. */
  #deliverTo(subscription: FeedSubscription, message: StoredMessage, shared: FeedMessage): void {
    try {
      subscription.deliver(message, shared)
    } catch (error) {
      this.#onFault(error)
      subscription.end(new Refusal('server.fault', 500, 'A message could not be sent'))
    }
  }

  #createMessage(
    { topic, seq, data: text }: StoredMessage,
    data: JsonText | undefined,
    { pattern, positions }: Group,
  ): FeedMessage {
    const hasHistory = this.#definition.history !== undefined
    return {
      ...label(this.delay),
      topic,
      pattern,
      data,
      position: hasHistory ? positions.write(this.reads.epoch, seq) : undefined,
      isRemoved: text === undefined,
      isRecovered: undefined,
    }
  }

  #findOrAddGroup(key: string, choice: TopicChoice): Group {
    const [groups, name] =
      choice.kind === 'topic' ? ([this.#topics, choice.topic] as const) : ([this.#prefixes, choice.prefix] as const)
    const pattern = choice.kind === 'prefix' ? key : undefined
    const known = groups.get(name)
    if (known !== undefined) return known
    const positions = this.findOrAddPositions(key)
    const group = { pattern, positions, seen: this.#seenBy(positions), subscriptions: new Set<FeedSubscription>() }
    groups.set(name, group)
    this.#wantedNames(choice).add(name)
    return group
  }

  #seenBy(positions: Positions): SubscribedFeed {
    const feed = this
    return {
      get keepsLatest() {
        return feed.#definition.keep === 'latest'
      },
      get hasHistory() {
        return feed.#definition.history !== undefined
      },
      get isStored() {
        return isStored(feed.#definition)
      },
      get through() {
        return feed.#through
      },
      label: label(this.delay),
      readAfter: (choice, after, options) => feed.whenKnown(feed.reads.readAfter(choice, after, options)),
      readLast: (choice, count, accepts) =>
        feed.whenKnown(
          accepts === undefined ? feed.reads.readLast(choice, count) : readLast(feed.reads, choice, count, accepts),
        ),
      writePosition: (seq) => positions.write(feed.reads.epoch, seq),
      mayRead: (principal) => mayRead(feed.#definition, principal),
      get need() {
        return feed.#definition.stepUp?.read
      },
      requireStepUp: (principal, need) => this.#stepUp.require(principal, need, { resource: feed.#definition.name }),
      onFault: this.#onFault,
      remove: (subscription) => feed.#remove(subscription),
    }
  }

  #remove(subscription: FeedSubscription): void {
    this.#owners.delete(subscription)
    const { choice } = subscription
    const [groups, name] =
      choice.kind === 'topic' ? ([this.#topics, choice.topic] as const) : ([this.#prefixes, choice.prefix] as const)
    const group = groups.get(name)
    if (!group?.subscriptions.delete(subscription) || group.subscriptions.size > 0) return
    groups.delete(name)
    this.#wantedNames(choice).delete(name)
    if (this.#topics.size === 0 && this.#prefixes.size === 0) this.#skipWaiting()
  }

  #wantedNames({ kind }: TopicChoice): Set<string> {
    return kind === 'topic' ? this.wanted.topics : this.wanted.prefixes
  }

  #all(): readonly FeedSubscription[] {
    return [...this.#topics.values(), ...this.#prefixes.values()].flatMap(({ subscriptions }) => [...subscriptions])
  }
}

/** Beside each message that is delayed. */
function label(delay: number): Pick<FeedMessage, 'delay' | 'licence'> {
  return { delay: delay === 0 ? undefined : delay / 1000, licence: undefined }
}
