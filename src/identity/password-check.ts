/** Is this the user's password? One answer for the sign-in page and the password grant: slowed down, bounded, without an oracle. */
import { networkOf } from '../http/doors.ts'
import type { Audit } from '../protocol/audit-events.ts'
import type { Clock } from '../protocol/clock.ts'
import type { Metrics } from '../protocol/metrics.ts'
import { digestOf } from '../store/opaque.ts'
import { hashPassword, needsRehash } from '../store/password-hash.ts'
import type { ThrottlePolicy, Throttles } from '../store/throttles.ts'
import { type User, type Users, usernameKey } from '../store/users.ts'
import type { Hashing } from './hashing.ts'

export type PasswordVerdict =
  | { readonly outcome: 'good'; readonly user: User }
  /** Wrong, unknown or disabled: nobody is told which. */
  | { readonly outcome: 'wrong' }
  /** Not looked at: too many failures before. The caller says the same as for a wrong one. */
  | { readonly outcome: 'delayed'; readonly seconds: number }
  /** Not looked at: the server has too many passwords to check already. */
  | { readonly outcome: 'busy' }

export interface PasswordAttempt {
  readonly username: string
  readonly password: string
  readonly address: string
  readonly clientId?: string | undefined
  readonly requestId?: string | undefined
}

export type CheckPassword = (attempt: PasswordAttempt) => Promise<PasswordVerdict>

export interface PasswordCheckEnv {
  readonly users: Pick<Users, 'findById' | 'findByUsername' | 'rehash'>
  readonly throttles: Throttles
  readonly hashing: Hashing
  readonly audit: Audit
  readonly clock: Clock
  readonly metrics: Metrics
}

const MINUTE = 60_000
/** One address trying one account: the guesser's own. */
const PAIR: ThrottlePolicy = { free: 5, firstWaitMs: 1000, longestWaitMs: 15 * MINUTE, forgetMs: 60 * MINUTE }
/** All addresses together on one account: a short wait at most, and none from where its owner signed in before. */
const ACCOUNT: ThrottlePolicy = { free: 20, firstWaitMs: 1000, longestWaitMs: MINUTE, forgetMs: 60 * MINUTE }
/** One address trying many accounts. */
const ADDRESS: ThrottlePolicy = { free: 50, firstWaitMs: 1000, longestWaitMs: 5 * MINUTE, forgetMs: 15 * MINUTE }
const KNOWN_ADDRESS_MS = 7 * 24 * 60 * MINUTE

export function createPasswordCheck(env: PasswordCheckEnv): CheckPassword {
  const { users, throttles, hashing, audit, clock, metrics } = env
  let decoy: Promise<string> | undefined
  return async (attempt) => {
    const verdict = await check(attempt)
    metrics.count('gatehouse_signins_total', { method: 'password', outcome: verdict.outcome })
    return verdict
  }

  async function check(attempt: PasswordAttempt): Promise<PasswordVerdict> {
    const { username, password, address, clientId, requestId } = attempt
    const facts = { client: clientId, address, requestId }
    const keys = keysOf(username, address)
    const known = await throttles.isMarked(keys.known)
    const counts = [
      { key: keys.pair, policy: PAIR },
      { key: keys.address, policy: ADDRESS },
    ]
    if (!known) counts.push({ key: keys.account, policy: ACCOUNT })
    const wait = await throttles.takeAll(counts)
    if (wait > 0) {
      const seconds = Math.ceil(wait / 1000)
      audit.record({ event: 'signin.delayed', ...facts, details: { seconds } })
      return { outcome: 'delayed', seconds }
    }

    const user = await users.findByUsername(username)
    decoy ??= hashPassword(digestOf(String(clock())))
    const hash = user?.passwordHash ?? (await decoy)
    const matches = await hashing.verify(hash, password)
    if (matches === undefined) {
      await throttles.giveBack(counts.map(({ key }) => key))
      return { outcome: 'busy' }
    }
    if (!matches || user === undefined || user.passwordHash === undefined || user.disabled) {
      const reason = user === undefined ? 'unknown user' : user.disabled ? 'disabled' : 'wrong password'
      const who = user === undefined ? {} : { actor: user.id, username: user.username }
      audit.record({ event: 'signin.refused', ...facts, actor: who.actor, details: { reason, username: who.username } })
      return { outcome: 'wrong' }
    }

    // Hashing takes its time, and there may be a queue: whoever was disabled or changed the password meanwhile wins.
    const current = await users.findById(user.id)
    if (current === undefined || current.disabled || current.passwordChangedAt !== user.passwordChangedAt) {
      audit.record({ event: 'signin.refused', ...facts, actor: user.id, details: { reason: 'changed meanwhile' } })
      return { outcome: 'wrong' }
    }

    await Promise.all([
      throttles.clear([keys.pair]),
      throttles.giveBack(counts.slice(1).map(({ key }) => key)),
      throttles.mark(keys.known, clock() + KNOWN_ADDRESS_MS),
    ])
    if (needsRehash(user.passwordHash)) await rehash(user, user.passwordHash, password)
    return { outcome: 'good', user: current }
  }

  /** Parameters have changed since the hash was made. */
  async function rehash(user: User, from: string, password: string): Promise<void> {
    const made = await hashing.hash(password)
    if (made !== undefined) await users.rehash(user.id, from, made)
  }
}

/** Digests: what people type into a name field is sometimes their password. */
function keysOf(username: string, address: string) {
  const account = usernameKey(username)
  const network = networkOf(address)
  return {
    pair: digestOf(`pair ${account}@${network}`),
    account: digestOf(`account ${account}`),
    address: digestOf(`address ${network}`),
    known: digestOf(`known ${account}@${network}`),
  }
}
