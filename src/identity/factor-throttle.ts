/** Slows down who guesses second factors. Whoever gets here knows the password, and still must not keep its owner out. */
import { networkOf } from '../http/doors.ts'
import type { Clock } from '../protocol/clock.ts'
import { digestOf } from '../store/opaque.ts'
import type { ThrottlePolicy, Throttles } from '../store/throttles.ts'

export interface Guess {
  /** More than 0: it must not be looked at. */
  readonly waitMs: number
  succeeded(): Promise<void>
}

const MINUTE = 60_000
/** A million codes, three of them good at a time: few guesses from one address, then long waits. */
const PAIR: ThrottlePolicy = { free: 5, firstWaitMs: 2000, longestWaitMs: 15 * MINUTE, forgetMs: 60 * MINUTE }
/** All addresses together, at most 288 guesses a day; none of it where the person proved a factor before. */
const PERSON: ThrottlePolicy = { free: 20, firstWaitMs: 2000, longestWaitMs: 5 * MINUTE, forgetMs: 60 * MINUTE }
const KNOWN_ADDRESS_MS = 7 * 24 * 60 * MINUTE

/** Counted before it is looked at: guesses made at once cannot slip through together. */
export async function beginGuess(
  userId: string,
  address: string,
  { throttles, clock }: { readonly throttles: Throttles; readonly clock: Clock },
): Promise<Guess> {
  const network = networkOf(address)
  const pair = digestOf(`factor ${userId}@${network}`)
  const person = digestOf(`factor ${userId}`)
  const known = digestOf(`factor known ${userId}@${network}`)
  const counts = [{ key: pair, policy: PAIR }]
  if (!(await throttles.isMarked(known))) counts.push({ key: person, policy: PERSON })
  const waitMs = await throttles.takeAll(counts)
  return {
    waitMs,
    async succeeded() {
      await Promise.all([
        throttles.clear([pair]),
        throttles.giveBack(counts.slice(1).map(({ key }) => key)),
        throttles.mark(known, clock() + KNOWN_ADDRESS_MS),
      ])
    },
  }
}
