/** One that takes places: a subscription, a live query or a statement, whatever uses of licences it opens one after the other. */
import type { Refusal } from 'gatehouse-protocol'

/**
 * It displaces other places when it begins, and not again. A place that it has lost to another it does not take again by itself: else two
 * screens of a user would displace each other with each change of any licence.
 */
export class Taker {
  readonly #displaces: boolean
  #hasBegun = false
  /** By place: why it is lost. */
  readonly #losses = new Map<string, Refusal>()

  /** `displaces`: whether it displaces others at all. */
  constructor(displaces = true) {
    this.#displaces = displaces
  }

  get mayDisplace(): boolean {
    return this.#displaces && !this.#hasBegun
  }

  /** What it asked for has been decided. */
  begun(): void {
    this.#hasBegun = true
  }

  /** Its user has signed in as another, or again. */
  beginAnew(): void {
    this.#hasBegun = false
  }

  lose(place: string, refusal: Refusal): void {
    this.#losses.set(place, refusal)
  }

  /** Undefined: it may ask for the place. */
  findLoss(place: string): Refusal | undefined {
    return this.#losses.get(place)
  }
}
