/** Counts events by key over a sliding window, shared between nodes. Independent of HTTP. */
import type { Clock } from 'gatehouse-protocol'
import { LruMap } from '../../lib/lru-map.ts'

/** A number of requests in a number of seconds. */
export interface Budget {
  readonly requests: number
  readonly seconds: number
}

export interface Decision {
  readonly allowed: boolean
  readonly remaining: number
  /** Seconds until the budget is full again or, when refused, until the next request is allowed. */
  readonly seconds: number
}

/** The count of one key on one node. */
export interface SharedCount {
  readonly key: string
  /** Start of the window in milliseconds. */
  readonly window: number
  readonly expiresAt: number
  readonly count: number
}

interface Count {
  window: number
  here: number
  elsewhere: number
  before: number
  readonly seconds: number
  readonly requests: number
  changed: boolean
}

/** Keys below this part of their budget are not shared. */
const SHARED_FROM = 0.1
const MOST_KEYS = 100_000

export class SlidingWindow {
  readonly #clock: Clock
  /** A caller cannot renew its budget by sending under many other keys: those in use stay. */
  readonly #counts = new LruMap<Count>(MOST_KEYS)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `amount`: how many to count if one more is allowed. */
  take(key: string, budget: Budget, amount = 1): Decision {
    const now = this.#clock()
    const length = budget.seconds * 1000
    const count = this.#current(key, budget, now - (now % length))
    const elapsed = (now - count.window) / length
    const used = count.before * (1 - elapsed) + count.here + count.elsewhere
    if (used + 1 > budget.requests) return { allowed: false, remaining: 0, seconds: waitFor(count, budget, elapsed) }
    count.here += amount
    count.changed = true
    return {
      allowed: true,
      remaining: Math.floor(budget.requests - used - amount),
      seconds: Math.ceil(((1 - elapsed) * length) / 1000),
    }
  }

  /** Counts what has happened already, whether the budget has room for it or not. */
  add(key: string, budget: Budget, amount: number): void {
    const now = this.#clock()
    const count = this.#current(key, budget, now - (now % (budget.seconds * 1000)))
    count.here += amount
    count.changed = true
  }

  /** The keys that changed since the last call and are busy enough to matter to other nodes. */
  share(): SharedCount[] {
    const shared: SharedCount[] = []
    for (const [key, count] of this.#counts.entries()) {
      if (!count.changed || count.here < count.requests * SHARED_FROM) continue
      count.changed = false
      const expiresAt = count.window + 2 * count.seconds * 1000
      shared.push({ key, window: count.window, expiresAt, count: count.here })
    }
    return shared
  }

  /** The sums of what the other nodes counted. */
  learn(learned: readonly Pick<SharedCount, 'key' | 'window' | 'count'>[]): void {
    for (const { key, window, count: elsewhere } of learned) {
      const count = this.#counts.get(key)
      if (count?.window === window) count.elsewhere = elsewhere
    }
  }

  #current(key: string, budget: Budget, window: number): Count {
    const known = this.#counts.get(key)
    if (known?.seconds === budget.seconds && known.window === window) return known
    const isNext = known?.seconds === budget.seconds && window - known.window === budget.seconds * 1000
    const before = isNext ? known.here + known.elsewhere : 0
    const count = { window, here: 0, elsewhere: 0, before, ...budget, changed: false }
    this.#counts.set(key, count)
    return count
  }
}

/** When the weight of what was counted has decayed enough for one more request. */
function waitFor(count: Count, { requests, seconds }: Budget, elapsed: number): number {
  const now = count.here + count.elsewhere
  const free = requests - 1
  const fraction =
    now <= free && count.before > 0
      ? 1 - (free - now) / count.before - elapsed
      : 1 - elapsed + Math.max(0, 1 - free / Math.max(now, 1))
  return Math.max(1, Math.ceil(fraction * seconds))
}
