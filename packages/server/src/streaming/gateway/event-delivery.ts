/** Delivers events to all connections: at once to those of a small server, and in slices where there are thousands. */

interface Receiver<E> {
  onEvent(event: E): void
}

interface Delivery<E> {
  readonly event: E
  readonly receivers: readonly Receiver<E>[]
  next: number
}

/** A receiver that is closed by an event takes up to 0.1 ms. */
const SLICE_MS = 10

/** Every receiver gets the events in their order, and those only that happened while it was there. */
export class EventDelivery<E> {
  readonly #receivers: ReadonlySet<Receiver<E>>
  /** The first is being delivered. */
  readonly #queue: Delivery<E>[] = []

  constructor(receivers: ReadonlySet<Receiver<E>>) {
    this.#receivers = receivers
  }

  deliver(event: E): void {
    this.#queue.push({ event, receivers: [...this.#receivers], next: 0 })
    if (this.#queue.length === 1) this.#run()
  }

  #run(): void {
    const end = performance.now() + SLICE_MS
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      while (first.next < first.receivers.length) {
        const receiver = first.receivers[first.next++]
        try {
          if (receiver !== undefined && this.#receivers.has(receiver)) receiver.onEvent(first.event)
        } catch (error) {
          // The others must learn of it all the same, and of every later event.
          setImmediate(() => this.#run())
          throw error
        }
        if (performance.now() < end) continue
        setImmediate(() => this.#run())
        return
      }
      this.#queue.shift()
    }
  }
}
