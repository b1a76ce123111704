/** Choices made from a seed, so that whatever was found can be made again. */

export class Choice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 up to, not including, `end`. The generator is mulberry32. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let bits = this.#state
    bits = Math.imul(bits ^ (bits >>> 15), bits | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * end)
  }

  /** True once in so many times. */
  oneIn(times: number): boolean {
    return this.below(times) === 0
  }

  of<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)]
    if (item === undefined) throw new Error('Nothing to choose from')
    return item
  }

  list<Item>(least: number, most: number, make: (index: number) => Item): Item[] {
    return Array.from({ length: least + this.below(most - least + 1) }, (_, index) => make(index))
  }
}
