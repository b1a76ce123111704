/** Remembers what was used lately, a bounded number of things, in two generations: the older one is forgotten as a whole. */

/**
 * One map in the order of use would have to delete on every hit, and V8 steps over all that was deleted before it
 * finds the oldest.
 */
export class Recent<Value> {
  readonly #half: number
  #young = new Map<string, Value>()
  #old = new Map<string, Value>()

  constructor(most: number) {
    this.#half = Math.ceil(most / 2)
  }

  get(key: string): Value | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: string, value: Value): void {
    if (this.#young.size >= this.#half) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }
}
