/** Throttled attempts: only failures delay later attempts, and parallel attempts cannot exceed the limit of the policy. */
import type { ThrottleCount, Throttles } from '../store/accounts/throttles.ts'

export type Attempted<T> =
  | { readonly outcome: 'made'; readonly result: T }
  /** Not made, after too many failures of the keys in `blocked`. */
  | { readonly outcome: 'delayed'; readonly seconds: number; readonly blocked: readonly string[] }
  /** Not made: too many attempts are in progress, and none of them finished in time. */
  | { readonly outcome: 'busy' }

/** For `Retry-After` when too many attempts are in progress. */
export const BUSY_SECONDS = 5

type NotMade = Exclude<Attempted<never>, { outcome: 'made' }>

/** The attempts of this node against one key: in progress (counted, or being counted), and waiting for one of those. */
interface Line {
  underWay: number
  /** Places freed so far. */
  freed: number
  readonly waiting: Set<(signal: 'again' | 'over') => void>
}

export interface AttemptLimits {
  /** For one key. */
  readonly mostWaiting: number
  readonly longestWaitMs: number
}

const LIMITS: AttemptLimits = { mostWaiting: 256, longestWaitMs: 10_000 }

/**
 * An attempt is counted as a failure before it is made, so that parallel guesses cannot pass together. One that would
 * have to be delayed while others are under way waits for them: if one succeeds, its place becomes free. Only when all of
 * them are decided do the remaining failures cause a delay.
 */
export class Attempts {
  readonly #throttles: Pick<Throttles, 'takeAll' | 'refund'>
  readonly #limits: AttemptLimits
  readonly #lines = new Map<string, Line>()

  constructor(throttles: Pick<Throttles, 'takeAll' | 'refund'>, limits = LIMITS) {
    this.#throttles = throttles
    this.#limits = limits
  }

  /** `check` makes the attempt. If it throws, the attempt does not count. */
  async make<T>(
    counts: readonly ThrottleCount[],
    check: () => Promise<T>,
    isFailure: (result: T) => boolean,
  ): Promise<Attempted<T>> {
    const keys = counts.map(({ key }) => key)
    const begun = await this.#begin(counts, keys)
    if (begun !== undefined) return begun
    try {
      const result = await check()
      if (isFailure(result)) this.#leaveAll(keys, false)
      else await this.#withdraw(keys)
      return { outcome: 'made', result }
    } catch (error) {
      // Not the user's fault. The database may be unavailable, so the first error is the one to report.
      void this.#withdraw(keys).catch(() => {})
      throw error
    }
  }

  /** Undefined once the attempt is counted, and may be made. */
  async #begin(counts: readonly ThrottleCount[], keys: readonly string[]): Promise<NotMade | undefined> {
    const deadline = performance.now() + this.#limits.longestWaitMs
    for (const key of keys) this.#enter(key)
    for (;;) {
      const freed = new Map(keys.map((key) => [key, this.#lines.get(key)?.freed]))
      const { waitMs, blocked } = await this.#take(counts, keys)
      if (waitMs === 0) return undefined
      // An attempt that was counted as a failure may have succeeded since.
      const mayPass = blocked.every((each) => freed.get(each) !== this.#lines.get(each)?.freed)
      if (mayPass && performance.now() < deadline) continue
      for (const key of keys) this.#leave(key, !blocked.includes(key))
      const key = blocked.every((each) => this.#lines.has(each)) ? blocked[0] : undefined
      const line = key === undefined ? undefined : this.#lines.get(key)
      // Blocked by failures alone.
      if (line === undefined) return delayed(waitMs, blocked)
      if (line.waiting.size >= this.#limits.mostWaiting) return { outcome: 'busy' }
      const asked = performance.now()
      const signal = await wait(line, deadline)
      if (signal === 'late') return { outcome: 'busy' }
      if (signal === 'over') return delayed(Math.max(1, waitMs - (performance.now() - asked)), blocked)
      for (const other of keys) if (other !== key) this.#enter(other)
    }
  }

  async #take(counts: readonly ThrottleCount[], keys: readonly string[]) {
    try {
      return await this.#throttles.takeAll(counts)
    } catch (error) {
      this.#leaveAll(keys, false)
      throw error
    }
  }

  /** It succeeded, or was not made: it does not count. */
  async #withdraw(keys: readonly string[]): Promise<void> {
    try {
      await this.#throttles.refund(keys)
    } finally {
      this.#leaveAll(keys, true)
    }
  }

  #enter(key: string): void {
    const line = this.#lines.get(key)
    if (line === undefined) this.#lines.set(key, { underWay: 1, freed: 0, waiting: new Set() })
    else line.underWay++
  }

  #leaveAll(keys: readonly string[], isPlaceFree: boolean): void {
    for (const key of keys) this.#leave(key, isPlaceFree)
  }

  /** A finished attempt passes its place on to a waiting one. When none is under way, the waiting ones are delayed. */
  #leave(key: string, isPlaceFree: boolean): void {
    const line = this.#lines.get(key)
    if (line === undefined) return
    if (isPlaceFree) line.freed++
    const [next] = line.waiting
    if (isPlaceFree && next !== undefined) {
      next('again')
      return
    }
    line.underWay--
    if (line.underWay > 0) return
    this.#lines.delete(key)
    for (const each of line.waiting) each('over')
  }
}

function wait(line: Line, deadline: number): Promise<'again' | 'over' | 'late'> {
  return new Promise((resolve) => {
    const end = (signal: 'again' | 'over' | 'late') => {
      line.waiting.delete(end)
      clearTimeout(timer)
      resolve(signal)
    }
    const timer = setTimeout(end, Math.max(0, deadline - performance.now()), 'late')
    line.waiting.add(end)
  })
}

function delayed(waitMs: number, blocked: readonly string[]) {
  return { outcome: 'delayed', seconds: Math.ceil(waitMs / 1000), blocked } as const
}
