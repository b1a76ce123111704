/** The queue of long writes: one at a time, in turns by owner, and stopped when a write of another owner waits too long. */
import { refuse } from '../../../errors.ts'
import type { Stoppable } from '../../engine.ts'
import { FairSlots } from '../../slots/fair-slots.ts'

interface Current {
  readonly owner: string | undefined
  readonly stop: AbortController
}

/** SQLite has one write lock. A long write holds it from its first row to its commit, and every other write waits. */
export class LongWriteQueue {
  readonly #maxWaitMs: number
  readonly #turns = new FairSlots(1, Number.POSITIVE_INFINITY)
  /** Short writes that wait for the current long one, by owner. */
  readonly #short = new Map<string, number>()
  #current: Current | undefined
  #timer: NodeJS.Timeout | undefined
  /** Another owner waits for the current one in another worker. */
  #isWantedElsewhere = false
  /** Long writes that were stopped because others waited. */
  stopped = 0

  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs
  }

  /** Queues the task and runs it. A write without an owner, such as one of the service itself, is never stopped for others. */
  async run<T>(owner: string | undefined, running: Stoppable, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const turn = this.#turns.acquire({ owner: owner ?? '' }, running)
    this.#watch()
    const slot = await turn.finally(() => this.#watch())
    const current = { owner, stop: new AbortController() }
    this.#current = current
    this.#watch()
    try {
      return await task(AbortSignal.any([running.signal, current.stop.signal]))
    } catch (error) {
      // Once its commit has begun, a write is not stopped.
      if (current.stop.signal.aborted && error === current.stop.signal.reason) this.stopped++
      throw error
    } finally {
      this.#current = undefined
      this.#isWantedElsewhere = false
      this.#watch()
      slot.release()
    }
  }

  /** Counts a short write as waiting until it has ended. */
  countShort<T>(owner: string | undefined, write: Promise<T>): Promise<T> {
    return this.#current === undefined || owner === undefined ? write : this.#countWaiting(owner, write)
  }

  async #countWaiting<T>(owner: string, write: Promise<T>): Promise<T> {
    this.#short.set(owner, (this.#short.get(owner) ?? 0) + 1)
    this.#watch()
    try {
      return await write
    } finally {
      const left = (this.#short.get(owner) ?? 1) - 1
      if (left > 0) this.#short.set(owner, left)
      else this.#short.delete(owner)
      this.#watch()
    }
  }

  /** Writes of these owners wait in another worker; an empty owner is the service itself. */
  wantedElsewhere(owners: readonly string[]): void {
    const current = this.#current
    if (current === undefined || owners.every((owner) => owner === current.owner)) return
    this.#isWantedElsewhere = true
    this.#watch()
  }

  /** The timer starts when the first other owner waits, and stops with the current write or with the last wait. */
  #watch(): void {
    const current = this.#current
    if (current?.owner === undefined || this.#maxWaitMs === 0 || !this.#isWantedByOthers(current.owner)) {
      clearTimeout(this.#timer)
      this.#timer = undefined
      return
    }
    this.#timer ??= setTimeout(() => current.stop.abort(tooLong(this.#maxWaitMs)), this.#maxWaitMs).unref()
  }

  #isWantedByOthers(owner: string): boolean {
    if (this.#isWantedElsewhere) return true
    return this.#turns.isWantedByOthers(owner) || this.#short.size > (this.#short.has(owner) ? 1 : 0)
  }
}

function tooLong(milliseconds: number): Error {
  return refuse(
    'Limit.WriteTime',
    `The write was stopped because writes of others had waited ${milliseconds / 1000} s for it (the setting query_write_wait). Nothing was written: split it into smaller writes`,
  )
}
