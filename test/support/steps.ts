/** Runs the steps of `lib/turns.ts` at once. */
import type { Steps } from '../../packages/server/src/lib/turns.ts'

export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
