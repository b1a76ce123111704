/**
 * Executes the requests of one connection in the order of arrival, in which replies are sent too. One runs at a time, except those that may
 * overlap: a publisher need not wait for one message to be stored before the next is.
 */
import { CONNECTIONS_MS, connectionTurns } from '../websocket/connection-turns.ts'
import type { Operation } from './operation.ts'

export interface RequestQueueOwner {
  /** Called when waiting operations have been started. */
  onTurn(): void
  onFault(error: unknown): void
}

const NONE: readonly Operation[] = []
/** Of those that overlap. */
const MOST_RUNNING = 64

export class RequestQueue {
  /** Several only if all of them may overlap. */
  #running: readonly Operation[] = NONE
  #waiting: Operation[] | undefined
  #paused = false
  #isTurnDue = false
  readonly #owner: RequestQueueOwner

  constructor(owner: RequestQueueOwner) {
    this.#owner = owner
  }

  get isIdle(): boolean {
    return this.#running.length === 0 && (this.#waiting?.length ?? 0) === 0
  }

  /** When the first of the running operations times out. */
  get deadline(): number {
    return this.#running[0]?.deadline ?? Number.POSITIVE_INFINITY
  }

  add(operation: Operation): void {
    if (this.#waiting === undefined && !this.#paused && this.#mayStart(operation)) this.#start(operation)
    else {
      this.#waiting ??= []
      this.#waiting.push(operation)
    }
  }

  /** Starts the next operation once a running one has been answered. */
  finish(operation: Operation): void {
    if (!this.#running.includes(operation)) return
    this.#remove(operation)
    this.#awaitTurn()
  }

  /** While paused, no operation is started. */
  setPaused(paused: boolean): void {
    this.#paused = paused
    if (!paused) this.#awaitTurn()
  }

  /** Cancels the oldest unanswered operation with this id. A waiting one is answered when its turn comes. */
  cancel(id: unknown): void {
    const running = this.#running.find((operation) => operation.isCancellable(id))
    if (running !== undefined) {
      running.abort('cancelled')
      this.finish(running)
    } else this.#waiting?.find((operation) => operation.isCancellable(id))?.abort('cancelled')
  }

  timeOut(): void {
    const [running] = this.#running
    if (running === undefined) return
    running.abort('timeout')
    this.finish(running)
  }

  /** Aborts all unanswered operations; no others are started. */
  end(reason: 'closed' | 'ended'): void {
    const running = this.#running
    const waiting = this.#waiting
    this.#paused = true
    this.#running = NONE
    this.#waiting = undefined
    for (const operation of running) operation.abort(reason)
    if (waiting !== undefined) for (const operation of waiting) operation.abort(reason)
  }

  #mayStart(operation: Operation): boolean {
    const last = this.#running.at(-1)
    return last === undefined || (this.#running.length < MOST_RUNNING && last.mayOverlap && operation.mayOverlap)
  }

  #start(operation: Operation): void {
    const previous = this.#running.at(-1)
    this.#running = previous === undefined ? [operation] : [...this.#running, operation]
    if (operation.start(previous)) this.#remove(operation)
  }

  #remove(operation: Operation): void {
    const rest = this.#running.filter((other) => other !== operation)
    this.#running = rest.length === 0 ? NONE : rest
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
      if (this.#mayStartNext()) this.#awaitTurn()
      this.#owner.onTurn()
    } catch (error) {
      this.#owner.onFault(error)
    }
  }

  #mayStartNext(): boolean {
    const next = this.#waiting?.[0]
    return next !== undefined && this.#mayStart(next)
  }

  #startWaiting(): void {
    const end = performance.now() + CONNECTIONS_MS
    while (!this.#paused && this.#waiting !== undefined && this.#mayStartNext()) {
      const operation = this.#waiting.shift()
      if (this.#waiting.length === 0) this.#waiting = undefined
      if (operation !== undefined) this.#start(operation)
      if (performance.now() >= end) break
    }
  }
}
