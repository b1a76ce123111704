/** Throttles guessing of second factors. An attacker who knows the password must not be able to lock the user out. */

import type { Clock } from 'gatehouse-protocol'
import { addressNetwork } from '../../lib/network.ts'
import type { ThrottlePolicy, Throttles } from '../../store/accounts/throttles.ts'
import { digestSecret } from '../../store/keys/opaque.ts'
import type { Attempted, Attempts } from '../attempts.ts'

const MINUTE = 60_000
/** One user and one address. Of a million codes three are valid at a time: few free guesses, then long waits. */
const PAIR: ThrottlePolicy = { free: 5, firstWaitMs: 2000, longestWaitMs: 15 * MINUTE, forgetMs: 60 * MINUTE }
/** One user from all addresses: at most 288 guesses a day. Addresses from which the user passed before are not counted. */
const USER: ThrottlePolicy = { free: 20, firstWaitMs: 2000, longestWaitMs: 5 * MINUTE, forgetMs: 60 * MINUTE }
const KNOWN_ADDRESS_MS = 7 * 24 * 60 * MINUTE

interface GuessEnv {
  readonly throttles: Pick<Throttles, 'clear' | 'mark' | 'isMarked'>
  readonly attempts: Attempts
  readonly clock: Clock
}

/** Checks the guess unless too many have failed; `check` says whether it is right. */
export async function makeGuess(
  userId: string,
  address: string,
  { throttles, attempts, clock }: GuessEnv,
  check: () => Promise<boolean>,
): Promise<Attempted<boolean>> {
  const network = addressNetwork(address)
  const pair = digestSecret(`factor ${userId}@${network}`)
  const user = digestSecret(`factor ${userId}`)
  const known = digestSecret(`factor known ${userId}@${network}`)
  const counts = [{ key: pair, policy: PAIR }]
  if (!(await throttles.isMarked(known))) counts.push({ key: user, policy: USER })
  const attempted = await attempts.make(counts, check, (isRight) => !isRight)
  if (attempted.outcome === 'made' && attempted.result)
    await Promise.all([throttles.clear([pair]), throttles.mark(known, clock() + KNOWN_ADDRESS_MS)])
  return attempted
}
