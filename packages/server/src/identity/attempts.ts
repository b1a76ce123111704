/** Throttled attempts: only failures delay later attempts, and attempts made at the same time get no more tries than the policy. */
import type { ThrottleCount, Throttles } from '../store/accounts/throttles.ts'

export type Attempted<T> =
  | { readonly outcome: 'made'; readonly result: T }
  /** Not made, after too many failures of the keys in `blocked`. */
  | { readonly outcome: 'delayed'; readonly seconds: number; readonly blocked: readonly string[] }
  /** Not made: too many attempts are under way, and none of them was decided in time. */
  | { readonly outcome: 'busy' }

/** For `Retry-After` where too many attempts are under way. */
export const BUSY_SECONDS = 5

export interface Attempts {
  /** `check` makes the attempt. If it throws, the attempt does not count. */
  make<T>(
    counts: readonly ThrottleCount[],
    check: () => Promise<T>,
    isFailure: (result: T) => boolean,
  ): Promise<Attempted<T>>
}

type Begun = Exclude<Attempted<never>, { outcome: 'made' }> | { readonly outcome: 'begun'; readonly attempt: Attempt }

/** One of the two must be called. */
interface Attempt {
  failed(): void
  /** It succeeded, or was not made: it does not count. */
  withdraw(): Promise<void>
}

/** The attempts of this node against one key: under way (counted, or being counted), and waiting for one of those. */
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
export function createAttempts(throttles: Pick<Throttles, 'takeAll' | 'refund'>, limits = LIMITS): Attempts {
  const lines = new Map<string, Line>()

  return {
    async make(counts, check, isFailure) {
      const begun = await begin(counts)
      if (begun.outcome !== 'begun') return begun
      const { attempt } = begun
      try {
        const result = await check()
        if (isFailure(result)) attempt.failed()
        else await attempt.withdraw()
        return { outcome: 'made', result }
      } catch (error) {
        // Not the user's fault. The database may be unavailable, so the first error is the one to report.
        void attempt.withdraw().catch(() => {})
        throw error
      }
    },
  }

  async function begin(counts: readonly ThrottleCount[]): Promise<Begun> {
    const keys = counts.map(({ key }) => key)
    const deadline = performance.now() + limits.longestWaitMs
    for (const key of keys) enter(key)
    for (;;) {
      const freed = freedOf(keys)
      const { waitMs, blocked } = await take(counts, keys)
      if (waitMs === 0) return { outcome: 'begun', attempt: begunAttempt(keys) }
      // An attempt that was counted as a failure may have succeeded since.
      const mayPass = blocked.every((each) => freed.get(each) !== lines.get(each)?.freed)
      if (mayPass && performance.now() < deadline) continue
      for (const key of keys) leave(key, !blocked.includes(key))
      const key = blocked.every((each) => lines.has(each)) ? blocked[0] : undefined
      const line = key === undefined ? undefined : lines.get(key)
      // Blocked by failures alone.
      if (line === undefined) return delayed(waitMs, blocked)
      if (line.waiting.size >= limits.mostWaiting) return { outcome: 'busy' }
      const asked = performance.now()
      const signal = await wait(line, deadline)
      if (signal === 'late') return { outcome: 'busy' }
      if (signal === 'over') return delayed(Math.max(1, waitMs - (performance.now() - asked)), blocked)
      for (const other of keys) if (other !== key) enter(other)
    }
  }

  async function take(counts: readonly ThrottleCount[], keys: readonly string[]) {
    try {
      return await throttles.takeAll(counts)
    } catch (error) {
      for (const key of keys) leave(key, false)
      throw error
    }
  }

  function freedOf(keys: readonly string[]): ReadonlyMap<string, number | undefined> {
    return new Map(keys.map((key) => [key, lines.get(key)?.freed]))
  }

  function begunAttempt(keys: readonly string[]): Attempt {
    return {
      failed() {
        for (const key of keys) leave(key, false)
      },
      async withdraw() {
        try {
          await throttles.refund(keys)
        } finally {
          for (const key of keys) leave(key, true)
        }
      },
    }
  }

  function enter(key: string): void {
    const line = lines.get(key)
    if (line === undefined) lines.set(key, { underWay: 1, freed: 0, waiting: new Set() })
    else line.underWay++
  }

  /** A finished attempt passes its place on to a waiting one. When none is under way, the waiting ones are delayed. */
  function leave(key: string, isPlaceFree: boolean): void {
    const line = lines.get(key)
    if (line === undefined) return
    if (isPlaceFree) line.freed++
    const [next] = line.waiting
    if (isPlaceFree && next !== undefined) {
      next('again')
      return
    }
    line.underWay--
    if (line.underWay > 0) return
    lines.delete(key)
    for (const each of line.waiting) each('over')
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
}

function delayed(waitMs: number, blocked: readonly string[]) {
  return { outcome: 'delayed', seconds: Math.ceil(waitMs / 1000), blocked } as const
}
