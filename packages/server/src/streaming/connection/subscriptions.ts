/** The subscriptions of one connection: counted, paused and resumed with its authority, fed by the hub. */
import { COMMON_TOPIC_NAMES, type Refusal } from 'gatehouse-protocol'
import type { Profile } from '../codec/profile.ts'
import { IDENTIFY } from '../controllers/auth.ts'
import type { StreamUse } from '../licences.ts'
import { type Call, refuse, type SlowPolicy, type Topic, type TopicRunRules } from '../topics/controller.ts'
import { type Broadcast, type TopicListener, topicKey } from '../topics/hub.ts'
import { CallAbort } from './call-abort.ts'
import type { ConnectionCaller } from './caller.ts'
import { LicensedUses } from './licensed-uses.ts'
import { publicError, push, sendError, subscriptionEnd } from './messages.ts'
import { TopicRunSubscription } from './topic-run-subscription.ts'
import type { ConnectionEnv, Transport } from './types.ts'

interface Subscription {
  readonly key: string
  readonly controller: string
  readonly name: string
  readonly topic: Topic
  readonly slow: SlowPolicy
  /** The subscription ends after as many Unsub as Sub. */
  count: number
  readonly stepUp: Topic['stepUp']
  /** The token whose sign-in was judged last. */
  tokenId: string | undefined
  /** The authority it needs has expired: nothing is delivered until it is renewed. */
  paused: boolean
}

/** A subscription whose snapshot is being fetched for the first time. */
interface Opening {
  readonly key: string
  readonly backlog: Backlog
}

/** A subscription that fetches a new snapshot because its authority was renewed, or whose licence is not known. */
interface Resumption {
  readonly abort: CallAbort
  readonly deadline: number
  readonly backlog: Backlog
}

/** How many messages may be published while a snapshot is fetched, for topics where each message counts. */
const MAX_BACKLOG = 1_000

/** The messages published while a snapshot is fetched; they are sent after it. */
class Backlog {
  readonly #slow: SlowPolicy
  #broadcasts: Broadcast[] = []

  constructor(slow: SlowPolicy) {
    this.#slow = slow
  }

  add(broadcast: Broadcast): void {
    if (this.#slow === 'latest') this.#broadcasts = [broadcast]
    else if (this.#broadcasts.length <= MAX_BACKLOG) this.#broadcasts.push(broadcast)
  }

  /** Throws if messages were dropped. */
  drain(): readonly Broadcast[] {
    if (this.#broadcasts.length > MAX_BACKLOG) throw refuse('Limited', 'messages during the snapshot')
    return this.#broadcasts
  }
}

export class Subscriptions implements TopicListener {
  readonly #caller: ConnectionCaller
  readonly #transport: Transport
  readonly #env: ConnectionEnv
  #shared: Map<string, Subscription> | undefined
  /** Subscriptions that their topic runs. */
  #topicRun: Map<string, TopicRunSubscription> | undefined
  /** At most one, because requests are executed one at a time. */
  #opening: Opening | undefined
  #resuming: Map<Subscription, Resumption> | undefined
  readonly #uses: LicensedUses

  constructor(caller: ConnectionCaller, transport: Transport, env: ConnectionEnv) {
    this.#uses = new LicensedUses(caller, env, (key, reason) => this.#loseLicence(key, reason))
    this.#caller = caller
    this.#transport = transport
    this.#env = env
  }

  get profile(): Profile {
    return this.#caller.profile
  }

  get size(): number {
    return (this.#shared?.size ?? 0) + (this.#topicRun?.size ?? 0)
  }

  has(key: string): boolean {
    return this.#shared?.has(key) === true || this.#topicRun?.has(key) === true
  }

  /** Called by the hub for each message published on a subscribed topic. */
  deliver(broadcast: Broadcast, now: number): void {
    const subscription = this.#shared?.get(broadcast.key)
    if (subscription === undefined) {
      if (this.#opening?.key === broadcast.key) this.#opening.backlog.add(broadcast)
      return
    }
    if (subscription.paused) return
    const resumption = this.#resuming?.get(subscription)
    if (resumption !== undefined) resumption.backlog.add(broadcast)
    else if (this.#caller.auth.satisfies(subscription.topic.needs, now)) {
      const catchingUp = this.#uses.catchUp(subscription.key)
      if (catchingUp === undefined) this.#transport.sendBroadcast(broadcast, subscription.slow)
      else this.#deliverAfter(catchingUp, subscription).add(broadcast)
    }
  }

  /** What comes until this node knows whether the subscription has its licence still. */
  #deliverAfter(catchingUp: Promise<void>, subscription: Subscription): Backlog {
    const backlog = new Backlog(subscription.slow)
    const waiting = { abort: new CallAbort(), deadline: Number.POSITIVE_INFINITY, backlog }
    this.#resuming ??= new Map()
    this.#resuming.set(subscription, waiting)
    const deliverAll = (): void => {
      if (this.#resuming?.get(subscription) !== waiting) return
      this.#resuming.delete(subscription)
      const now = this.#env.clock()
      for (const broadcast of backlog.drain()) this.deliver(broadcast, now)
    }
    catchingUp
      .then(deliverAll)
      .catch((error: unknown) => this.#end(subscription, publicError(error, this.#env, this.#caller.connectionId)))
    return backlog
  }

  /** Collects what is published on the topic from now on; nothing is delivered before `open`. */
  prepare(controller: string, name: string, topic: Topic): void {
    const key = topicKey(controller, name)
    this.#opening = { key, backlog: new Backlog(slowPolicy(topic)) }
    this.#env.hub.subscribe(key, this)
  }

  /** Opens the subscription if it is not open; returns what was published since `prepare`. */
  open(controller: string, name: string, topic: Topic): readonly Broadcast[] {
    const key = topicKey(controller, name)
    if (this.#shared?.has(key)) return []
    const missed = this.#opening?.key === key ? this.#opening.backlog.drain() : []
    this.#opening = undefined
    this.#shared ??= new Map()
    const tokenId = this.#caller.auth.principal?.tokenId
    const { stepUp } = topic
    const slow = slowPolicy(topic)
    this.#shared.set(key, { key, controller, name, topic, slow, stepUp, tokenId, count: 1, paused: false })
    this.#env.hub.subscribe(key, this)
    return missed
  }

  /** Undoes `prepare` after a failure. */
  abandon(key: string): void {
    if (this.#opening?.key !== key) return
    this.#opening = undefined
    this.#env.hub.unsubscribe(key, this)
  }

  /** Counts another Sub of an open subscription; false if it is not open. */
  repeat(key: string): boolean {
    const subscription = this.#shared?.get(key) ?? this.#topicRun?.get(key)
    if (subscription === undefined) return false
    subscription.count++
    return true
  }

  /** Lets the topic open a subscription that it runs itself. `addTopicRun` follows unless it fails. */
  async openTopicRun(rules: TopicRunRules, call: Call, topic: Topic): Promise<TopicRunSubscription> {
    const subscription = new TopicRunSubscription(call, topic, {
      auth: this.#caller.auth,
      transport: this.#transport,
      env: this.#env,
      onEnd: (reason) => this.#endTopicRun(subscription, reason),
      onFault: (error) => this.#env.onFault(error, this.#caller.connectionId),
    })
    await subscription.open(rules, call)
    return subscription
  }

  addTopicRun(subscription: TopicRunSubscription): void {
    this.#topicRun ??= new Map()
    this.#topicRun.set(subscription.key, subscription)
  }

  /** Throws unless the caller may use the topic of a covered controller. */
  openUse(used: Pick<Subscription, 'controller'> & { readonly topic: string }): Promise<StreamUse> {
    return this.#uses.open(used)
  }

  /** Of a subscription that is open now. */
  addUse(used: Pick<Subscription, 'controller'> & { readonly topic: string }, use: StreamUse): void {
    this.#uses.add(used, use)
  }

  /** Products cover other controllers now. */
  cover(): void {
    for (const { key, controller, name: topic } of [...copyValues(this.#shared), ...copyValues(this.#topicRun)])
      if (!COMMON_TOPIC_NAMES.includes(topic)) this.#uses.cover(key, { controller, topic })
  }

  #loseLicence(key: string, reason: Refusal): void {
    const [shared, topicRun] = [this.#shared?.get(key), this.#topicRun?.get(key)]
    if (shared !== undefined) this.#end(shared, reason)
    if (topicRun !== undefined) this.#endTopicRun(topicRun, reason)
  }

  /** The send queue has room again for subscriptions that their topic runs. */
  onDrained(): void {
    for (const subscription of copyValues(this.#topicRun)) {
      // An earlier one may have filled the queue; then there will be another call.
      if (this.#transport.topicsMustWait) break
      // Moved to the end, so that each gets its turn.
      if (this.#topicRun?.delete(subscription.key)) this.#topicRun.set(subscription.key, subscription)
      subscription.drained()
    }
  }

  /** Roles or the name of the caller changed, which row filters can refer to. */
  onClaimsChanged(): void {
    const { principal } = this.#caller.auth
    if (principal === undefined) return
    for (const subscription of copyValues(this.#topicRun)) subscription.setPrincipal(principal)
  }

  /** Counts one Unsub; the last one ends the subscription. */
  remove(key: string): void {
    const topicRun = this.#topicRun?.get(key)
    if (topicRun !== undefined && --topicRun.count === 0) this.#dropTopicRun(topicRun)
    const subscription = this.#shared?.get(key)
    if (subscription !== undefined && --subscription.count === 0) this.#drop(subscription)
  }

  /** Pushes the new authority to `Auth/Identify`, then resumes, pauses or ends each subscription. */
  onAuthorityChanged(): void {
    const { auth } = this.#caller
    if (auth.principal !== undefined) this.#uses.setPrincipal(auth.principal)
    if (this.has(IDENTIFY.key)) this.#transport.send(push(IDENTIFY.controller, IDENTIFY.topic, auth.describe()))
    const now = this.#env.clock()
    for (const subscription of copyValues(this.#shared)) {
      if (auth.satisfies(subscription.topic.needs, now)) {
        const fault = this.#stepUpFault(subscription)
        if (fault !== undefined) this.#end(subscription, fault)
        else if (subscription.paused) this.#resume(subscription)
      } else if (auth.authority.state === 'expired') {
        subscription.paused = true
        this.#cancelResumption(subscription)
      } else this.#end(subscription, refuse('Authority'))
    }
    this.#updateTopicRun(now)
  }

  /** Judges the sign-in once for each token. */
  #stepUpFault(subscription: Subscription | TopicRunSubscription): Refusal | undefined {
    const { auth } = this.#caller
    const tokenId = auth.principal?.tokenId
    if (subscription.stepUp === undefined || subscription.tokenId === tokenId) return undefined
    subscription.tokenId = tokenId
    return auth.stepUpFault(subscription)
  }

  #updateTopicRun(now: number): void {
    const { auth } = this.#caller
    const { principal } = auth
    for (const subscription of copyValues(this.#topicRun)) {
      if (principal !== undefined && auth.satisfies(subscription.needs, now)) {
        const fault = this.#stepUpFault(subscription)
        if (fault !== undefined) this.#endTopicRun(subscription, fault)
        else subscription.setPrincipal(principal)
      } else if (auth.authority.state === 'expired') subscription.pause()
      else this.#endTopicRun(subscription, refuse('Authority'))
    }
  }

  /** When the first resumption times out. */
  nextDeadline(): number {
    if (this.#resuming === undefined) return Number.POSITIVE_INFINITY
    return Math.min(...[...this.#resuming.values()].map(({ deadline }) => deadline))
  }

  tick(now: number): void {
    for (const [subscription, { deadline }] of [...(this.#resuming ?? [])])
      if (deadline <= now) this.#end(subscription, refuse('Operation.Timeout'))
  }

  clear(): void {
    if (this.#opening !== undefined) this.abandon(this.#opening.key)
    for (const subscription of copyValues(this.#shared)) this.#drop(subscription)
    for (const subscription of copyValues(this.#topicRun)) this.#dropTopicRun(subscription)
  }

  /** Topics with a snapshot send a new one, followed by what was published while it was fetched. */
  async #resume(subscription: Subscription): Promise<void> {
    const { key, controller, name, topic, slow } = subscription
    const { auth } = this.#caller
    subscription.paused = false
    if (topic.subscription?.snapshot === undefined) return
    const abort = new CallAbort()
    const deadline = this.#env.monotonic() + this.#caller.timeouts(controller).subscription
    const backlog = new Backlog(slow)
    this.#resuming ??= new Map()
    this.#resuming.set(subscription, { abort, deadline, backlog })
    try {
      const snapshot = await topic.subscription.snapshot(this.#snapshotCall(controller, name, abort))
      if (abort.isAborted) return
      const missed = backlog.drain()
      const now = this.#env.clock()
      this.#resuming.delete(subscription)
      if (snapshot !== undefined && auth.satisfies(topic.needs, now))
        this.#transport.send(push(controller, name, snapshot))
      for (const broadcast of missed) this.deliver(broadcast, now)
    } catch (error) {
      if (abort.isAborted || this.#shared?.get(key) !== subscription) return
      this.#end(subscription, publicError(error, this.#env, this.#caller.connectionId))
    }
  }

  #snapshotCall(controller: string, topic: string, abort: CallAbort): Call {
    const caller = this.#caller
    return {
      controller,
      topic,
      data: undefined,
      get principal() {
        return caller.auth.principal
      },
      caller,
      get signal() {
        return abort.signal
      },
      get isAborted() {
        return abort.isAborted
      },
    }
  }

  /** Ends a subscription that the client still expects to be open. */
  #end(subscription: Subscription, reason: Refusal): void {
    this.#drop(subscription)
    this.#sendEnd(subscription, reason)
  }

  #endTopicRun(subscription: TopicRunSubscription, reason: Refusal): void {
    this.#dropTopicRun(subscription)
    this.#sendEnd(subscription, publicError(reason, this.#env, this.#caller.connectionId))
  }

  #sendEnd({ controller, name: topic }: Pick<Subscription, 'controller' | 'name'>, reason: Refusal): void {
    sendError(this.#transport, this.#env, { controller, topic, id: undefined }, reason)
    this.#transport.send(subscriptionEnd(controller, topic))
  }

  #dropTopicRun(subscription: TopicRunSubscription): void {
    this.#topicRun?.delete(subscription.key)
    if (this.#topicRun?.size === 0) this.#topicRun = undefined
    this.#uses.drop(subscription.key)
    subscription.close()
  }

  #drop(subscription: Subscription): void {
    const { key } = subscription
    this.#cancelResumption(subscription)
    this.#uses.drop(key)
    this.#shared?.delete(key)
    if (this.#shared?.size === 0) this.#shared = undefined
    this.#env.hub.unsubscribe(key, this)
  }

  #cancelResumption(subscription: Subscription): void {
    this.#resuming?.get(subscription)?.abort.abort()
    this.#resuming?.delete(subscription)
  }
}

const NONE: readonly never[] = []

/** For a loop that changes the map. Most connections have no subscriptions, and then nothing is copied. */
function copyValues<T>(map: ReadonlyMap<string, T> | undefined): readonly T[] {
  return map === undefined ? NONE : [...map.values()]
}

function slowPolicy({ subscription }: Topic): SlowPolicy {
  return subscription?.slow ?? 'close'
}
