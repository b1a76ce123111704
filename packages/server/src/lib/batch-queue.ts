/** Collects items into batches: a batch starts once a turn of the event loop has brought no further items. */

export interface BatchQueueOptions {
  /** Turns of the event loop that a batch waits at most, while each turn brings more items. */
  readonly maxTurns: number
  readonly isReady: () => boolean
  /** Takes a batch; called when items are waiting and `isReady` holds. */
  readonly start: () => void
}

/** Requests arrive in bursts, and callers that just got an answer send again within a turn or two: waiting for them costs little. */
export class BatchQueue<Item> {
  readonly #options: BatchQueueOptions
  #items: Item[] = []
  #isGathering = false

  constructor(options: BatchQueueOptions) {
    this.#options = options
  }

  get length(): number {
    return this.#items.length
  }

  /** The oldest first. */
  get items(): readonly Item[] {
    return this.#items
  }

  /** The oldest item. */
  get first(): Item | undefined {
    return this.#items[0]
  }

  push(item: Item): void {
    this.#items.push(item)
    this.schedule()
  }

  /** Removes the oldest items, up to `count`. */
  take(count: number): Item[] {
    return this.#items.splice(0, count)
  }

  /** Removes these, wherever they are. */
  removeAll(items: readonly Item[]): void {
    const taken = new Set(items)
    this.#items = this.#items.filter((item) => !taken.has(item))
  }

  /** Puts taken items back in front of those that have arrived since. */
  putBack(items: readonly Item[]): void {
    this.#items = [...items, ...this.#items]
  }

  remove(item: Item): void {
    const index = this.#items.indexOf(item)
    if (index >= 0) this.#items.splice(index, 1)
  }

  /** Call it whenever `isReady` may have become true. */
  schedule(): void {
    if (this.#isGathering || this.#items.length === 0 || !this.#options.isReady()) return
    this.#isGathering = true
    this.#gather(this.#items.length, this.#options.maxTurns)
  }

  #gather(seen: number, turns: number): void {
    setImmediate(() => {
      if (this.#items.length > seen && turns > 0) return this.#gather(this.#items.length, turns - 1)
      this.#isGathering = false
      if (this.#items.length > 0 && this.#options.isReady()) this.#options.start()
    })
  }
}
