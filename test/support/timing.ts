/** Whether two kinds of request can be distinguished by their response time. Robust: a busy machine slows both equally. */
import { randomInt } from 'node:crypto'

export interface Comparison {
  /** Milliseconds: the median of each, and of the differences within the pairs. */
  readonly medians: readonly [number, number]
  readonly difference: number
  /** In how many pairs the first took longer. */
  readonly longer: number
  readonly pairs: number
}

type Ask = (index: number) => Promise<unknown>

/** Interleaved in pairs, each in random order, so that whatever drifts drifts for both. */
export async function compareTimes(first: Ask, second: Ask, pairs: number): Promise<Comparison> {
  const took: [number, number][] = []
  for (let index = -WARM_UP; index < pairs; index++) {
    const pair: [number, number] = [0, 0]
    for (const which of randomInt(2) === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const began = performance.now()
      await (which === 0 ? first : second)(index + WARM_UP)
      pair[which] = performance.now() - began
    }
    if (index >= 0) took.push(pair)
  }
  return {
    medians: [median(took.map(([one]) => one)), median(took.map(([, other]) => other))],
    difference: median(took.map(([one, other]) => one - other)),
    longer: took.filter(([one, other]) => one > other).length,
    pairs,
  }
}

/**
 * A difference counts when it is more than chance (the sign test, five standard deviations) and more than `bound`, a part of
 * the smaller median. Load can fake the second, not the first; a difference too small to matter can be real.
 */
export function isTelling({ medians, difference, longer, pairs }: Comparison, bound: number): boolean {
  const isChance = Math.abs(longer - pairs / 2) < (5 * Math.sqrt(pairs)) / 2
  return !isChance && Math.abs(difference) > bound * Math.min(...medians)
}

const WARM_UP = 3

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[sorted.length >> 1] ?? 0
}
