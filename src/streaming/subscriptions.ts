/** What one connection listens to: counted, so that as many Unsub as Sub end a subscription. */
import type { Topic } from './controller.ts'
import { type Hub, type Subscriber, topicKey } from './hub.ts'

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

export class Subscriptions {
  readonly #hub: Hub
  readonly #subscriber: Subscriber
  #byKey: Map<string, Subscription> | undefined

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

  /** Opens the subscription, unless it is open. */
  open(controller: string, name: string, topic: Topic): void {
    const key = topicKey(controller, name)
    if (this.#byKey?.has(key)) return
    this.#byKey ??= new Map()
    this.#byKey.set(key, {
      key,
      controller,
      name,
      topic,
      slow: topic.subscription?.slow ?? 'close',
      count: 1,
      quiet: false,
    })
    this.#hub.join(key, this.#subscriber)
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
    for (const subscription of this.all()) this.drop(subscription)
  }
}
