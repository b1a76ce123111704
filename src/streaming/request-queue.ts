/** Executes the requests of one connection one at a time, so that replies are sent in the order of arrival. */
import type { Operation } from './operation.ts'

export class RequestQueue {
  #running: Operation | undefined
  #waiting: Operation[] | undefined
  #paused = false

  get isIdle(): boolean {
    return this.#running === undefined && (this.#waiting?.length ?? 0) === 0
  }

  /** When the running operation times out. */
  get deadline(): number {
    return this.#running?.deadline ?? Number.POSITIVE_INFINITY
  }

  add(operation: Operation): void {
    if (this.isIdle && !this.#paused) this.#start(operation)
    else {
      this.#waiting ??= []
      this.#waiting.push(operation)
    }
  }

  /** Starts the next operation once the running one has been answered. */
  finish(operation: Operation): void {
    if (this.#running !== operation) return
    this.#running = undefined
    this.#startNext()
  }

  /** While paused, no operation is started. */
  setPaused(paused: boolean): void {
    this.#paused = paused
    if (!paused) this.#startNext()
  }

  /** Cancels the oldest unanswered operation with this id. A waiting one is answered when its turn comes. */
  cancel(id: unknown): void {
    const running = this.#running
    if (running?.isCancellable(id)) {
      running.abort('cancelled')
      this.finish(running)
    } else this.#waiting?.find((operation) => operation.isCancellable(id))?.abort('cancelled')
  }

  timeOut(): void {
    const running = this.#running
    if (running === undefined) return
    running.abort('timeout')
    this.finish(running)
  }

  /** Aborts all unanswered operations; no others are started. */
  end(reason: 'closed' | 'ended'): void {
    const unanswered = [...(this.#running === undefined ? [] : [this.#running]), ...(this.#waiting ?? [])]
    this.#paused = true
    this.#running = undefined
    this.#waiting = undefined
    for (const operation of unanswered) operation.abort(reason)
  }

  #start(operation: Operation): void {
    this.#running = operation
    if (operation.start() && this.#running === operation) this.#running = undefined
  }

  /** A loop, not a recursion: thousands of waiting operations may complete synchronously. */
  #startNext(): void {
    while (this.#running === undefined && !this.#paused) {
      const operation = this.#waiting?.shift()
      if (operation === undefined) break
      this.#start(operation)
    }
    if (this.#waiting?.length === 0) this.#waiting = undefined
  }
}
