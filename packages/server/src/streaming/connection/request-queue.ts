/** Executes the requests of one connection one at a time, so that replies are sent in the order of arrival. */
import { CONNECTIONS_MS, connectionTurns } from '../websocket/connection-turns.ts'
import type { Operation } from './operation.ts'

export interface RequestQueueOwner {
  /** Called when waiting operations have been started. */
  onTurn(): void
  onFault(error: unknown): void
}

export class RequestQueue {
  #running: Operation | undefined
  #waiting: Operation[] | undefined
  #paused = false
  #isTurnDue = false
  readonly #owner: RequestQueueOwner

  constructor(owner: RequestQueueOwner) {
    this.#owner = owner
  }

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
    this.#awaitTurn()
  }

  /** While paused, no operation is started. */
  setPaused(paused: boolean): void {
    this.#paused = paused
    if (!paused) this.#awaitTurn()
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
    const running = this.#running
    const waiting = this.#waiting
    this.#paused = true
    this.#running = undefined
    this.#waiting = undefined
    running?.abort(reason)
    if (waiting !== undefined) for (const operation of waiting) operation.abort(reason)
  }

  #start(operation: Operation): void {
    this.#running = operation
    if (operation.start() && this.#running === operation) this.#running = undefined
  }

  /** Starts them in a later turn: thousands of operations may wait, and together they could block the event loop. */
  #awaitTurn(): void {
    if (this.#isTurnDue || this.#waiting === undefined || this.#paused) return
    this.#isTurnDue = true
    connectionTurns.add(() => this.#takeTurn())
  }

  #takeTurn(): void {
    this.#isTurnDue = false
    try {
      this.#startWaiting()
      if (this.#running === undefined) this.#awaitTurn()
      this.#owner.onTurn()
    } catch (error) {
      this.#owner.onFault(error)
    }
  }

  #startWaiting(): void {
    const end = performance.now() + CONNECTIONS_MS
    while (this.#running === undefined && !this.#paused && this.#waiting !== undefined) {
      const operation = this.#waiting.shift()
      if (this.#waiting.length === 0) this.#waiting = undefined
      if (operation !== undefined) this.#start(operation)
      if (performance.now() >= end) break
    }
  }
}
