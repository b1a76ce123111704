/** Bytes that a node keeps in memory for its callers, up to a limit. Past it, the caller with the most loses what it has held longest. */

interface Held {
  readonly caller: string
  readonly bytes: number
  readonly close: () => void
}

export class HeldBytes {
  readonly #maxBytes: number
  /** Oldest first. */
  readonly #held = new Set<Held>()
  readonly #byCaller = new Map<string, number>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Returns the function that releases the bytes. They are released already when `close` is called, which may be before this returns. */
  hold(caller: string, bytes: number, close: () => void): () => void {
    const held = { caller, bytes, close }
    this.#held.add(held)
    this.#count(held, 1)
    while (this.#bytes > this.#maxBytes && this.#held.size > 1) this.#closeOldest()
    return () => this.#release(held)
  }

  #release(held: Held): void {
    if (this.#held.delete(held)) this.#count(held, -1)
  }

  #count({ caller, bytes }: Held, sign: 1 | -1): void {
    const sum = (this.#byCaller.get(caller) ?? 0) + sign * bytes
    this.#bytes += sign * bytes
    if (sum > 0) this.#byCaller.set(caller, sum)
    else this.#byCaller.delete(caller)
  }

  #closeOldest(): void {
    const [most] = [...this.#byCaller].reduce((a, b) => (b[1] > a[1] ? b : a))
    for (const held of this.#held) {
      if (held.caller !== most) continue
      this.#release(held)
      held.close()
      return
    }
  }
}
