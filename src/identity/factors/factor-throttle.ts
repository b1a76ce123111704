/** Throttles guessing of second factors. An attacker who knows the password must not be able to lock the user out. */
import { networkOf } from '../../http/rate-limits.ts'
import type { Clock } from '../../protocol/clock.ts'
import { digestOf } from '../../store/opaque.ts'
import type { ThrottlePolicy, Throttles } from '../../store/throttles.ts'

export interface Guess {
  /** If this is above 0, the guess must not be checked. */
  readonly waitMs: number
  succeeded(): Promise<void>
}

const MINUTE = 60_000
/** One user and one address. Of a million codes three are valid at a time: few free guesses, then long waits. */
const PAIR: ThrottlePolicy = { free: 5, firstWaitMs: 2000, longestWaitMs: 15 * MINUTE, forgetMs: 60 * MINUTE }
/** One user from all addresses: at most 288 guesses a day. Addresses from which the user passed before are not counted. */
const USER: ThrottlePolicy = { free: 20, firstWaitMs: 2000, longestWaitMs: 5 * MINUTE, forgetMs: 60 * MINUTE }
const KNOWN_ADDRESS_MS = 7 * 24 * 60 * MINUTE

/** Counts the guess before it is checked, so that simultaneous guesses cannot all get through. */
export async function beginGuess(
  userId: string,
  address: string,
  { throttles, clock }: { readonly throttles: Throttles; readonly clock: Clock },
): Promise<Guess> {
  const network = networkOf(address)
  const pair = digestOf(`factor ${userId}@${network}`)
  const user = digestOf(`factor ${userId}`)
  const known = digestOf(`factor known ${userId}@${network}`)
  const counts = [{ key: pair, policy: PAIR }]
  if (!(await throttles.isMarked(known))) counts.push({ key: user, policy: USER })
  const { waitMs } = await throttles.takeAll(counts)
  return {
    waitMs,
    async succeeded() {
      await Promise.all([
        throttles.clear([pair]),
        throttles.refund(counts.slice(1).map(({ key }) => key)),
        throttles.mark(known, clock() + KNOWN_ADDRESS_MS),
      ])
    },
  }
}
