/** Password hashing for the whole server, a few at a time: it shares the thread pool with signing, and must leave it room. */
import type { Metrics } from '../protocol/metrics.ts'
import { hashPassword, verifyPassword } from '../store/password-hash.ts'
import { createTurnstile } from './turnstile.ts'

/** Both answer undefined, at once, when too many wait already. */
export interface Hashing {
  verify(passwordHash: string, password: string): Promise<boolean | undefined>
  hash(password: string): Promise<string | undefined>
}

const AT_ONCE = 2
const MOST_WAITING = 64

export function createHashing(metrics: Metrics): Hashing {
  const turnstile = createTurnstile(AT_ONCE, MOST_WAITING)
  metrics.watch('gatehouse_hash_queue', () => [
    [{ state: 'running' }, turnstile.running],
    [{ state: 'waiting' }, turnstile.waiting],
  ])
  return {
    verify: (passwordHash, password) => pass(() => verifyPassword(passwordHash, password)),
    hash: (password) => pass(() => hashPassword(password)),
  }

  async function pass<T>(work: () => Promise<T>): Promise<T | undefined> {
    const started = performance.now()
    const entered = await turnstile.enter(work)
    metrics.observe('gatehouse_hash_seconds', {}, (performance.now() - started) / 1000)
    return entered === 'full' ? undefined : entered.result
  }
}
