/** Which rows of an ordered result have moved: as few as possible, so that a client keeps the places of all others. */
import type { Steps } from '../../../lib/turns.ts'
import { ROWS_PER_STEP } from './row-steps.ts'

/** The keys, apart from those in `changed`, that have to be taken out and put back to get from one order to the other. */
export function* movedKeys(
  held: readonly string[],
  next: readonly string[],
  changed: ReadonlyMap<string, unknown>,
): Steps<string[]> {
  const heldIndexes = new Map<string, number>()
  for (const [index, key] of held.entries()) {
    if (index % ROWS_PER_STEP === 0) yield
    if (!changed.has(key)) heldIndexes.set(key, index)
  }
  const keys: string[] = []
  const indexes: number[] = []
  let isRising = true
  for (const [step, key] of next.entries()) {
    if (step % ROWS_PER_STEP === 0) yield
    const index = heldIndexes.get(key)
    if (index === undefined) continue
    if (index < (indexes.at(-1) ?? 0)) isRising = false
    keys.push(key)
    indexes.push(index)
  }
  if (isRising) return []
  const staying = yield* longestIncreasing(indexes)
  return keys.filter((_key, place) => !staying.has(place))
}

/** The places of a longest increasing subsequence of different numbers. */
function* longestIncreasing(numbers: readonly number[]): Steps<ReadonlySet<number>> {
  /** The place of the smallest number that ends an increasing subsequence, by its length minus one. */
  const ends: number[] = []
  /** For each place: the place that precedes it in its subsequence, or -1. */
  const before = new Int32Array(numbers.length).fill(-1)
  for (const [place, number] of numbers.entries()) {
    if (place % ROWS_PER_STEP === 0) yield
    let low = 0
    let high = ends.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((numbers[ends[middle] ?? 0] ?? 0) < number) low = middle + 1
      else high = middle
    }
    if (low > 0) before[place] = ends[low - 1] ?? -1
    ends[low] = place
  }
  const found = new Set<number>()
  for (let place = ends.at(-1) ?? -1; place >= 0; place = before[place] ?? -1) found.add(place)
  return found
}
