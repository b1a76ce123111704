/** Decides when results are evaluated: after changes, not too often, and again after a failure. */

import { Refusal } from 'gatehouse-protocol'
import { inTurns, type Steps, type TurnQueue } from '../../../lib/turns.ts'
import type { Positions } from '../../engines/live-source.ts'
import { refuse } from '../../errors.ts'
import type { LiveMethod } from '../../plan/live-method.ts'
import { asUnavailable } from '../../unavailable.ts'
import { MAX_RATE, MIN_RATE } from '../contract.ts'
import type { LiveCounts } from '../counts.ts'
import { failed } from '../limits.ts'
import type { LiveResult, ResultEvaluator } from '../results/live-result.ts'
import type { LiveReader } from './reader.ts'
import type { TableWatches, Watcher } from './table-watches.ts'

export interface EvaluatorEnv {
  readonly reader: LiveReader
  readonly watches: TableWatches
  readonly counts: LiveCounts
  readonly onError: (error: unknown) => void
  /** A commit can affect thousands of evaluators. */
  readonly starts: TurnQueue
  /** The rows of a result have changed: its memory must be counted again. */
  readonly hasChanged: (result: LiveResult) => void
}

/** One run of an evaluator, by the monotonic clock. */
export interface Evaluation {
  readonly startedAt: number
  /** Call it when a read that had to wait begins: the wait does not count towards the evaluation time. */
  readonly onStart: () => void
}

const MAX_FAILURES = 3
const RETRY_MS = 1000
/** The interval at which results that depend on the time are evaluated. */
const REPEAT_MS = 1000
/** A timer may be early by a fraction of a millisecond. */
const TOLERANCE_MS = 1

export abstract class Evaluator implements Watcher, ResultEvaluator {
  abstract readonly tables: readonly string[]
  abstract readonly method: LiveMethod
  /** The result changes with time, or with tables that have no positions. */
  abstract readonly isRepeated: boolean
  protected readonly env: EvaluatorEnv
  readonly #rates = new Array<number>(MAX_RATE + 1).fill(0)
  #dirtySince: number | undefined
  #waiting: PromiseWithResolvers<void>[] = []
  #isRunning = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined
  #startedAt = Number.NEGATIVE_INFINITY
  /** The earliest time of the next evaluation, even if the rates allow an earlier one. */
  #notBefore = Number.NEGATIVE_INFINITY
  #failures = 0

  constructor(env: EvaluatorEnv) {
    this.env = env
  }

  /** Evaluates the results, and returns those with new versions. */
  protected abstract evaluate(evaluation: Evaluation): Promise<readonly LiveResult[]>
  /** Ends everything that it evaluates. */
  protected abstract end(reason: Refusal): void

  get isFailing(): boolean {
    return this.#failures > 0
  }

  addRate(rate: number): void {
    this.#rates[rate] = (this.#rates[rate] ?? 0) + 1
    this.#schedule()
  }

  removeRate(rate: number): void {
    this.#rates[rate] = (this.#rates[rate] ?? 0) - 1
  }

  markDirty(at: number): void {
    this.#dirtySince ??= at
    this.#schedule()
  }

  bringUpToDate(): Promise<void> {
    const waiting = Promise.withResolvers<void>()
    this.#waiting.push(waiting)
    this.markDirty(performance.now())
    return waiting.promise
  }

  /** Call it when the first result has been added, with its positions. */
  protected open(positions: Positions): void {
    this.env.watches.add(this, positions)
    // The first state has been read just now.
    this.#startedAt = performance.now()
    if (this.isRepeated) this.markDirty(this.#startedAt)
  }

  protected close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.env.watches.remove(this)
    for (const { reject } of this.#waiting.splice(0)) reject(refuse('Limit.Cancelled', 'The statement has ended'))
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    if (this.#isClosed || this.#isRunning || this.#dirtySince === undefined) return
    const wait = this.#dueAt() - performance.now()
    if (wait <= TOLERANCE_MS) {
      this.#isRunning = true
      this.env.starts.run(() => this.#run()).catch(this.env.onError)
    } else {
      this.#timer = setTimeout(() => this.#schedule(), wait)
      this.#timer.unref()
    }
  }

  #dueAt(): number {
    if (this.#waiting.length > 0) return Number.NEGATIVE_INFINITY
    const interval = this.isRepeated ? REPEAT_MS : 1000 / this.#greatestRate()
    return Math.max(this.#startedAt + interval, this.#notBefore)
  }

  #greatestRate(): number {
    return Math.max(
      MIN_RATE,
      this.#rates.findLastIndex((count) => count > 0),
    )
  }

  async #run(): Promise<void> {
    if (this.#isClosed) return
    const waiting = this.#waiting.splice(0)
    this.#startedAt = performance.now()
    const dirtySince = this.#dirtySince ?? this.#startedAt
    this.#dirtySince = undefined
    let ranFrom = this.#startedAt
    let isOutage = false
    const onStart = (): void => {
      ranFrom = performance.now()
    }
    try {
      this.env.counts.evaluations[this.method]++
      const changed = await this.evaluate({ startedAt: this.#startedAt, onStart })
      await inTurns(this.#publish(changed))
      this.#failures = 0
      if (changed.length > 0) this.env.counts.delivered(performance.now() - dirtySince)
      for (const { resolve } of waiting) resolve()
    } catch (error) {
      for (const { reject } of waiting) reject(error)
      if (!this.#isClosed) this.#fail(error)
      isOutage = asUnavailable(error) !== undefined
    }
    const now = performance.now()
    // An evaluation that waited for a database that was away says nothing about what the next one costs.
    if (this.method !== 'keys' && !isOutage) this.#notBefore = Math.max(this.#notBefore, now + 2 * (now - ranFrom))
    this.#isRunning = false
    if (this.isRepeated) this.#dirtySince ??= now
    this.#schedule()
  }

  /** Pauses in between: a change can affect thousands of results and followers. */
  *#publish(changed: readonly LiveResult[]): Steps<void> {
    for (const result of changed) {
      yield* result.publish()
      this.env.hasChanged(result)
      yield
    }
  }

  /** Retries while the database is unavailable. After any other failure the statement ends: immediately, or at the third failure in a row. */
  #fail(error: unknown): void {
    const refusal = asUnavailable(error) ?? (error instanceof Refusal ? error : undefined)
    this.#failures++
    const mayPass = refusal === undefined || refusal.code === 'Limit.Time'
    if (refusal === undefined) this.env.onError(error)
    if (refusal !== undefined && isTransient(refusal)) this.#retry()
    else if (mayPass && this.#failures < MAX_FAILURES) this.#retry()
    else this.end(refusal ?? failed())
  }

  #retry(): void {
    const now = performance.now()
    this.#notBefore = now + RETRY_MS
    this.#dirtySince ??= now
  }
}

export function isTransient({ code }: Refusal): boolean {
  return code === 'Data.Unavailable' || code === 'Limit.Overload'
}
