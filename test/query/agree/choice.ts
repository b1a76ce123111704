/** Seeded random choices, so that every finding can be reproduced. */

export class Choice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to `end`, exclusive. The generator is mulberry32. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let bits = this.#state
    bits = Math.imul(bits ^ (bits >>> 15), bits | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * end)
  }

  /** True with a probability of 1 / `times`. */
  oneIn(times: number): boolean {
    return this.below(times) === 0
  }

  of<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)]
    if (item === undefined) throw new Error('Nothing to choose from')
    return item
  }

  list<Item>(min: number, max: number, make: (index: number) => Item): Item[] {
    return Array.from({ length: min + this.below(max - min + 1) }, (_, index) => make(index))
  }
}
