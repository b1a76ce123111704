/** Long work on the rows of a result, cut into slices so that everything else goes on in between, sooner than in `lib/turns.ts`. */
import { setImmediate as immediate } from 'node:timers/promises'

const SLICE_MS = 2
/** A request of others needs several turns of the event loop, and should not wait for a slice in each of them. */
const TURNS_BETWEEN = 2

/** Work that yields wherever it may be interrupted. */
export type SlicedWork<Result> = Generator<void, Result, void>

export async function inSlices<Result>(work: SlicedWork<Result>): Promise<Result> {
  for (;;) {
    const end = performance.now() + SLICE_MS
    do {
      const step = work.next()
      if (step.done) return step.value
    } while (performance.now() < end)
    for (let turn = 0; turn < TURNS_BETWEEN; turn++) await immediate()
  }
}

/** For little work. */
export function atOnce<Result>(work: SlicedWork<Result>): Result {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}

/** Rows between two yields. */
export const ROWS_PER_STEP = 512
/** What is done with the text of such a row takes as long as many others. */
const LONG_TEXT = 4096

/** Whether work with the texts of rows yields before the next one. */
export function isStep(count: number, text: string | undefined): boolean {
  return count % ROWS_PER_STEP === 0 || (text !== undefined && text.length >= LONG_TEXT)
}
