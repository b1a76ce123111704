/**
 * Shares the event loop: connections that send more than is handled at once wait for each other, and have together a few milliseconds of
 * a turn, and half of the time in the long run. So a client who sends thousands of messages, or costly ones, holds back neither other
 * connections nor HTTP.
 */

import { currentTurn } from '../lib/turns.ts'

/** How long messages of one connection are handled before others have their turn; a single message can take longer. */
export const SLICE_MS = 1
/** How long those of all that wait are handled in one turn. */
const TURN_MS = 2
/** What they may take without a pause, and which part of the time from then on. */
const BURST_MS = 100
const SHARE = 0.5

export class MessageTurns {
  readonly #monotonic: () => number
  #waiting: (() => void)[] = []
  #isScheduled = false
  /** Of the time that they have had, what is not made up for by the time since. */
  #debtMs = 0
  #at = 0
  #turn = 0
  #turnMs = 0

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /**
   * Counts a message. Whether those of all connections have had their time in this turn of the event loop, in which many sockets are
   * read, and each of them many times.
   */
  isFull(milliseconds: number): boolean {
    const turn = currentTurn()
    if (turn !== this.#turn) this.#turnMs = 0
    this.#turn = turn
    this.#turnMs += milliseconds
    return this.#turnMs > TURN_MS
  }

  /** Messages of a connection took longer than a slice, or came in a turn that was full. */
  spend(milliseconds: number): void {
    this.#debtMs += milliseconds
  }

  /** Calls back in one of the next turns. */
  later(act: () => void): void {
    this.#waiting.push(act)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    const run = (): void => this.#run()
    this.#payBack()
    const pause = (this.#debtMs - BURST_MS) / SHARE
    if (pause > 0) setTimeout(run, pause)
    // A request of another connection needs several turns, and should not wait in each of them.
    else setImmediate(() => setImmediate(run))
  }

  #run(): void {
    this.#isScheduled = false
    const due = this.#waiting
    this.#waiting = []
    const began = this.#monotonic()
    let next = 0
    try {
      do due[next++]?.()
      while (next < due.length && this.#monotonic() - began < TURN_MS)
    } finally {
      this.#waiting = [...due.slice(next), ...this.#waiting]
      if (this.#waiting.length > 0) this.#schedule()
    }
  }

  #payBack(): void {
    const now = this.#monotonic()
    this.#debtMs = Math.max(0, this.#debtMs - (now - this.#at) * SHARE)
    this.#at = now
  }
}
