/** Delivers events to all connections: immediately if there are few, in several turns of the event loop if there are thousands. */
import { inTurns, type Steps } from '../../lib/turns.ts'

interface Receiver<E> {
  onEvent(event: E): void
}

interface Delivery<E> {
  readonly event: E
  readonly receivers: readonly Receiver<E>[]
}

/** Every receiver gets the events in order, and only those that happened while it was registered. */
export class EventDelivery<E> {
  readonly #receivers: ReadonlySet<Receiver<E>>
  readonly #onError: (error: unknown) => void
  /** The first is being delivered. */
  readonly #queue: Delivery<E>[] = []

  constructor(receivers: ReadonlySet<Receiver<E>>, onError: (error: unknown) => void) {
    this.#receivers = receivers
    this.#onError = onError
  }

  deliver(event: E): void {
    this.#queue.push({ event, receivers: [...this.#receivers] })
    if (this.#queue.length === 1) void inTurns(this.#deliverAll())
  }

  *#deliverAll(): Steps<void> {
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      for (const receiver of first.receivers) {
        if (this.#receivers.has(receiver)) this.#tell(receiver, first.event)
        yield
      }
      this.#queue.shift()
    }
  }

  /** A receiver that fails does not keep the event from the others. */
  #tell(receiver: Receiver<E>, event: E): void {
    try {
      receiver.onEvent(event)
    } catch (error) {
      this.#onError(error)
    }
  }
}
