/** A map with a bounded number of entries that evicts those used least recently: the one cache of this program. */

/**
 * Entries live in two generations, each at most half the capacity. Reading or writing an entry moves it to the young
 * generation. When that is full it becomes the old one, and the previous old one is dropped as a whole. So a map never
 * holds more than `capacity` entries, and the capacity / 2 entries used last are always among them.
 *
 * Entries of unequal size can be weighed: then the capacity is a sum of weights instead of a number of entries, and only an
 * entry heavier than half of it can exceed it.
 *
 * One Map in order of use would delete and insert on every hit, and V8 steps over every deleted entry to find the oldest.
 */
export class LruMap<Value extends NonNullable<unknown>> {
  readonly #half: number
  readonly #weigh: (value: Value, key: string) => number
  #young = new Map<string, Value>()
  #old = new Map<string, Value>()
  #youngWeight = 0

  constructor(capacity: number, weigh: (value: Value, key: string) => number = () => 1) {
    if (capacity < 2) throw new RangeError('An LruMap has a capacity of at least 2')
    this.#half = Math.floor(capacity / 2)
    this.#weigh = weigh
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  get(key: string): Value | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: string, value: Value): void {
    // A key is in one generation only.
    this.delete(key)
    const weight = this.#weigh(value, key)
    if (this.#youngWeight + weight > this.#half) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngWeight = 0
    }
    this.#young.set(key, value)
    this.#youngWeight += weight
  }

  delete(key: string): void {
    const young = this.#young.get(key)
    if (young === undefined) this.#old.delete(key)
    else {
      this.#young.delete(key)
      this.#youngWeight -= this.#weigh(young, key)
    }
  }

  /** All entries, none of which counts as used by this. */
  *entries(): Generator<[key: string, value: Value]> {
    yield* this.#old
    yield* this.#young
  }

  clear(): void {
    this.#young.clear()
    this.#old.clear()
    this.#youngWeight = 0
  }
}
