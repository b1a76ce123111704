/** Shares the rate-limit counts of busy callers between the workers of a machine, ten times a second. */

import type { Clock } from 'gatehouse-protocol'
import type { SlidingWindow } from '../http/limits/sliding-window.ts'
import type { WorkerLink } from './worker-link.ts'

const EVERY_MS = 100
/** Only callers near a limit are shared, so this is far more than normal traffic produces. */
const MOST_KEYS = 10_000

/** What the others have counted for one key. */
interface Counted {
  readonly window: number
  readonly expiresAt: number
  readonly byWorker: Map<string, number>
}

export function shareRateCounts(
  worker: Pick<WorkerLink, 'sendRates' | 'onRates'>,
  rates: Pick<SlidingWindow, 'share' | 'learn'>,
  clock: Clock,
): { stop(): void } {
  const others = new Map<string, Counted>()
  worker.onRates((from, counts) => {
    for (const { key, window, expiresAt, count } of counts) {
      const known = others.get(key)
      const counted = known?.window === window ? known : { window, expiresAt, byWorker: new Map<string, number>() }
      counted.byWorker.set(from, count)
      if (known !== undefined || others.size < MOST_KEYS) others.set(key, counted)
    }
  })
  const timer = setInterval(() => {
    const mine = rates.share()
    if (mine.length > 0) worker.sendRates(mine)
    const now = clock()
    for (const [key, { expiresAt }] of others) if (expiresAt <= now) others.delete(key)
    // All of them each time: `learn` ignores keys that this worker has not counted yet.
    rates.learn([...others].map(([key, { window, byWorker }]) => ({ key, window, count: sum(byWorker.values()) })))
  }, EVERY_MS)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

function sum(counts: Iterable<number>): number {
  let total = 0
  for (const count of counts) total += count
  return total
}
