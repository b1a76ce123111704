/** What one connection listens to: counted, so that as many Unsub as Sub end a subscription. */
import { refuse, type Topic } from './controller.ts'
import { type Broadcast, type Hub, type Subscriber, topicKey } from './hub.ts'

export interface Subscription {
  readonly key: string
  readonly controller: string
  readonly name: string
  readonly topic: Topic
  readonly slow: 'latest' | 'close'
  count: number
  /** Its rights have lapsed: nothing is delivered until they are back. */
  quiet: boolean
}

/** A subscription whose state is being fetched. */
interface Opening {
  readonly key: string
  readonly backlog: Backlog
}

/** As many publications may come while one state is fetched, where each of them counts. */
const MOST_MISSED = 1_000

/** What is published while a state is fetched. */
export class Backlog {
  readonly #slow: 'latest' | 'close'
  #missed: Broadcast[] = []

  constructor(slow: 'latest' | 'close') {
    this.#slow = slow
  }

  keep(broadcast: Broadcast): void {
    if (this.#slow === 'latest') this.#missed = [broadcast]
    else if (this.#missed.length <= MOST_MISSED) this.#missed.push(broadcast)
  }

  /** Throws when more came than is kept. */
  take(): readonly Broadcast[] {
    if (this.#missed.length > MOST_MISSED) throw refuse('Limited', 'publications before the state')
    return this.#missed
  }
}

export class Subscriptions {
  readonly #hub: Hub
  readonly #subscriber: Subscriber
  #byKey: Map<string, Subscription> | undefined
  /** One at most: requests are carried out one after another. */
  #opening: Opening | undefined

  constructor(hub: Hub, subscriber: Subscriber) {
    this.#hub = hub
    this.#subscriber = subscriber
  }

  get size(): number {
    return this.#byKey?.size ?? 0
  }

  get(key: string): Subscription | undefined {
    return this.#byKey?.get(key)
  }

  /** A copy: the caller may drop some on its way. */
  all(): Subscription[] {
    return [...(this.#byKey?.values() ?? [])]
  }

  /** From now on nothing of the topic is lost, though nothing is delivered before it is open. */
  prepare(controller: string, name: string, topic: Topic): void {
    const key = topicKey(controller, name)
    this.#opening = { key, backlog: new Backlog(slowOf(topic)) }
    this.#hub.join(key, this.#subscriber)
  }

  /** Puts aside what is published on the topic that is being opened. */
  keep(broadcast: Broadcast): void {
    if (this.#opening?.key === broadcast.key) this.#opening.backlog.keep(broadcast)
  }

  /** Opens the subscription, unless it is open; returns what was published since it was prepared. */
  open(controller: string, name: string, topic: Topic): readonly Broadcast[] {
    const key = topicKey(controller, name)
    if (this.#byKey?.has(key)) return []
    const missed = this.#opening?.key === key ? this.#opening.backlog.take() : []
    this.#opening = undefined
    this.#byKey ??= new Map()
    this.#byKey.set(key, { key, controller, name, topic, slow: slowOf(topic), count: 1, quiet: false })
    this.#hub.join(key, this.#subscriber)
    return missed
  }

  /** The state could not be fetched. */
  abandon(key: string): void {
    if (this.#opening?.key !== key) return
    this.#opening = undefined
    this.#hub.leave(key, this.#subscriber)
  }

  /** Counts one more Sub of an open subscription; false when there is none. */
  repeat(key: string): boolean {
    const subscription = this.#byKey?.get(key)
    if (subscription === undefined) return false
    subscription.count++
    return true
  }

  /** Counts one Unsub; the last one ends the subscription. */
  remove(key: string): void {
    const subscription = this.#byKey?.get(key)
    if (subscription !== undefined && --subscription.count === 0) this.drop(subscription)
  }

  drop({ key }: Subscription): void {
    this.#byKey?.delete(key)
    if (this.#byKey?.size === 0) this.#byKey = undefined
    this.#hub.leave(key, this.#subscriber)
  }

  clear(): void {
    if (this.#opening !== undefined) this.abandon(this.#opening.key)
    for (const subscription of this.all()) this.drop(subscription)
  }
}

function slowOf({ subscription }: Topic): 'latest' | 'close' {
  return subscription?.slow ?? 'close'
}
