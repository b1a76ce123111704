/** Work at an even rate, and the percentiles of what is measured meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Begins the work at even times, however long it takes. */
export async function paced(perSecond: number, milliseconds: number, work: () => Promise<void>): Promise<void> {
  const started = performance.now()
  const running: Promise<void>[] = []
  for (let count = 0; count < (perSecond * milliseconds) / 1000; count++) {
    const wait = started + (count * 1000) / perSecond - performance.now()
    if (wait > 0) await sleep(wait)
    running.push(work())
  }
  await Promise.all(running)
}

export function percentiles(values: readonly number[]): { readonly p50: number; readonly p99: number } {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}
