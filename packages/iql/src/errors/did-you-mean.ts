/** Hints for mistyped names. */
import { nearest } from 'gatehouse-protocol'

/** "did you mean price?", or undefined if no name is close. Case is ignored. */
export function didYouMean(written: string, known: Iterable<string>): string | undefined {
  const near = nearest(written, known, 1)
  return near === undefined ? undefined : `did you mean ${near}?`
}
