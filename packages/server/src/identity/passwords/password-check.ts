/** Checks a password, for the sign-in page and the password grant. Throttled, and the same reply for every cause of failure. */

import type { Audit, Clock } from 'gatehouse-protocol'
import { addressNetwork } from '../../lib/network.ts'
import { hashPassword, needsRehash } from '../../store/accounts/password-hash.ts'
import type { ThrottlePolicy, Throttles } from '../../store/accounts/throttles.ts'
import { type User, usernameKey } from '../../store/accounts/user.ts'
import type { Users } from '../../store/accounts/users.ts'
import { digestSecret } from '../../store/keys/opaque.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Attempts } from '../attempts.ts'
import type { Hashing } from './hashing.ts'

export type PasswordVerdict =
  | { readonly outcome: 'good'; readonly user: User }
  /** Wrong password, unknown or disabled user, or a password that is not enough: the reply does not reveal which. */
  | { readonly outcome: 'wrong'; readonly reason: string }
  /** Not checked, after too many failures. The reply is the same whether or not the password is right. */
  | { readonly outcome: 'delayed'; readonly seconds: number }
  /** Not checked: too many checks are in progress. */
  | { readonly outcome: 'busy' }

export interface PasswordAttempt {
  readonly username: string
  readonly password: string
  readonly address: string
  readonly clientId?: string | undefined
  readonly requestId?: string | undefined
  /**
   * Why the right password is not enough for this user; undefined if it is. The attempt then counts, and takes as long, as one with
   * a wrong password. Otherwise guesses could be checked where the password alone does not sign in.
   */
  readonly insufficiency?: (user: User) => string | undefined
}

export type CheckPassword = (attempt: PasswordAttempt) => Promise<PasswordVerdict>

export interface PasswordCheckEnv {
  readonly users: Pick<Users, 'findById' | 'findByUsername' | 'rehash'>
  /** Whether the user may sign in with a password at all; the reply does not reveal it. */
  readonly mayUsePassword: (user: User) => boolean
  readonly throttles: Pick<Throttles, 'clear' | 'mark' | 'isMarked'>
  readonly attempts: Attempts
  readonly hashing: Hashing
  readonly audit: Audit
  readonly clock: Clock
  readonly metrics: Metrics
}

const MINUTE = 60_000
/** One address and one account. */
const PAIR: ThrottlePolicy = { free: 5, firstWaitMs: 1000, longestWaitMs: 15 * MINUTE, forgetMs: 60 * MINUTE }
/** One account from all addresses: short waits only, and none for addresses from which the user signed in before. */
const ACCOUNT: ThrottlePolicy = { free: 20, firstWaitMs: 1000, longestWaitMs: MINUTE, forgetMs: 60 * MINUTE }
/** One address and all accounts. */
const ADDRESS: ThrottlePolicy = { free: 50, firstWaitMs: 1000, longestWaitMs: 5 * MINUTE, forgetMs: 15 * MINUTE }
const KNOWN_ADDRESS_MS = 7 * 24 * 60 * MINUTE

export function createPasswordCheck(env: PasswordCheckEnv): CheckPassword {
  const { users, mayUsePassword, throttles, attempts, hashing, audit, clock, metrics } = env
  let decoy: Promise<string> | undefined
  return async (attempt) => {
    const verdict = await check(attempt)
    metrics.count('gatehouse_signins_total', { method: 'password', outcome: verdict.outcome })
    return verdict
  }

  async function check(attempt: PasswordAttempt): Promise<PasswordVerdict> {
    const { username, address, clientId, requestId } = attempt
    const context = { client: clientId, address, requestId }
    const keys = throttleKeys(username, address)
    const isKnownAddress = await throttles.isMarked(keys.known)
    const counts = [
      { key: keys.pair, policy: PAIR },
      { key: keys.address, policy: ADDRESS },
    ]
    if (!isKnownAddress) counts.push({ key: keys.account, policy: ACCOUNT })
    const attempted = await attempts.make(
      counts,
      () => verify(attempt, context, keys),
      ({ outcome }) => outcome === 'wrong',
    )
    if (attempted.outcome === 'made') return attempted.result
    if (attempted.outcome === 'busy') return attempted
    const { seconds, blocked } = attempted
    const scope = (['address', 'account', 'pair'] as const).filter((name) => blocked.includes(keys[name]))
    const user = await users.findByUsername(username)
    audit.record({
      event: 'signin.delayed',
      ...context,
      actor: user?.id,
      details: { scope, seconds, username: user?.username },
    })
    return { outcome: 'delayed', seconds }
  }

  async function verify(
    { username, password, insufficiency }: PasswordAttempt,
    context: { client: string | undefined; address: string; requestId: string | undefined },
    keys: ReturnType<typeof throttleKeys>,
  ): Promise<PasswordVerdict> {
    const refuse = (reason: string, user: User | undefined): PasswordVerdict => {
      const details = { reason, username: user?.username }
      audit.record({ event: 'signin.refused', ...context, actor: user?.id, details })
      return { outcome: 'wrong', reason }
    }
    const user = await users.findByUsername(username)
    decoy ??= hashPassword(digestSecret(String(clock())))
    const hash = user?.passwordHash ?? (await decoy)
    const matches = await hashing.verify(hash, password)
    if (matches === undefined) return { outcome: 'busy' }
    if (user === undefined) return refuse('unknown user', user)
    if (user.disabled) return refuse('disabled', user)
    if (!mayUsePassword(user)) return refuse('provider needed', user)
    if (!matches || user.passwordHash === undefined) return refuse('wrong password', user)
    const missing = insufficiency?.(user)
    if (missing !== undefined) return refuse(missing, user)

    // Hashing and its queue take time: the user may have been disabled, or the password changed, in the meantime.
    const current = await users.findById(user.id)
    const isSame = current !== undefined && current.passwordChangedAt === user.passwordChangedAt
    if (!isSame || current.disabled || insufficiency?.(current) !== undefined) return refuse('changed meanwhile', user)

    await Promise.all([throttles.clear([keys.pair]), throttles.mark(keys.known, clock() + KNOWN_ADDRESS_MS)])
    if (needsRehash(user.passwordHash)) await rehash(user, user.passwordHash, password)
    return { outcome: 'good', user: current }
  }

  /** The hashing parameters have changed since the hash was stored. */
  async function rehash(user: User, oldHash: string, password: string): Promise<void> {
    const newHash = await hashing.hash(password)
    if (newHash !== undefined) await users.rehash(user.id, oldHash, newHash)
  }
}

/** Digests, because people sometimes type their password into the username field. */
function throttleKeys(username: string, address: string) {
  const account = usernameKey(username)
  const network = addressNetwork(address)
  return {
    pair: digestSecret(`pair ${account}@${network}`),
    account: digestSecret(`account ${account}`),
    address: digestSecret(`address ${network}`),
    known: digestSecret(`known ${account}@${network}`),
  }
}
