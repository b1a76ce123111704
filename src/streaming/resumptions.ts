/** Subscriptions that have their rights back: the state of now goes first, what is published while it is fetched follows. */
import { refuse } from './controller.ts'
import type { Broadcast } from './hub.ts'
import type { Operation } from './operation.ts'
import { Backlog, type Subscription } from './subscriptions.ts'

/** The connection whose subscriptions these are. */
export interface Resumer {
  /** In the order in which they are to be sent. */
  resumed(subscription: Subscription, state: unknown, missed: readonly Broadcast[]): void
  notResumed(subscription: Subscription, error: unknown): void
}

interface Resumption {
  readonly call: Operation
  readonly due: number
  readonly backlog: Backlog
}

export class Resumptions {
  readonly #resumer: Resumer
  readonly #running = new Map<Subscription, Resumption>()

  constructor(resumer: Resumer) {
    this.#resumer = resumer
  }

  /** When the first of them must be done. */
  get due(): number {
    return Math.min(...[...this.#running.values()].map(({ due }) => due))
  }

  async begin(subscription: Subscription, call: Operation, due: number): Promise<void> {
    const resumption = { call, due, backlog: new Backlog(subscription.slow) }
    this.#running.set(subscription, resumption)
    let settled = false
    try {
      const state = await subscription.topic.subscription?.snapshot?.(call)
      settled = this.#settle(subscription, resumption)
      if (settled) this.#resumer.resumed(subscription, state, resumption.backlog.take())
    } catch (error) {
      if (settled || this.#settle(subscription, resumption)) this.#resumer.notResumed(subscription, error)
    }
  }

  /** Puts aside what is published before the state has been sent; false when nothing has to wait. */
  keep(subscription: Subscription, broadcast: Broadcast): boolean {
    const resumption = this.#running.get(subscription)
    resumption?.backlog.keep(broadcast)
    return resumption !== undefined
  }

  /** The rights are gone again, or the subscription is. */
  cancel(subscription: Subscription): void {
    this.#running.get(subscription)?.call.abort('closed')
    this.#running.delete(subscription)
  }

  expire(now: number): void {
    for (const [subscription, { due }] of [...this.#running]) {
      if (due > now) continue
      this.cancel(subscription)
      this.#resumer.notResumed(subscription, refuse('Operation.Timeout'))
    }
  }

  clear(): void {
    for (const subscription of [...this.#running.keys()]) this.cancel(subscription)
  }

  /** False when it was cancelled meanwhile. */
  #settle(subscription: Subscription, resumption: Resumption): boolean {
    return this.#running.get(subscription) === resumption && this.#running.delete(subscription)
  }
}
