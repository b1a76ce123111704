/** Password hashing with a limit on concurrency: it shares Node's thread pool with signing and must not fill it. */
import { createSemaphore } from '../../lib/semaphore.ts'
import { hashPassword, verifyPassword } from '../../store/accounts/password-hash.ts'
import type { Metrics } from '../../telemetry/metrics.ts'

export type Hashing = ReturnType<typeof createHashing>

const MAX_RUNNING = 2
const MAX_WAITING = 64

/** Both methods return undefined at once when the queue is full. */
export function createHashing(metrics: Metrics) {
  const semaphore = createSemaphore(MAX_RUNNING, MAX_WAITING)
  metrics.watch('gatehouse_hash_queue', () => [
    [{ state: 'running' }, semaphore.running],
    [{ state: 'waiting' }, semaphore.waiting],
  ])
  return {
    verify: (passwordHash: string, password: string) => limited(() => verifyPassword(passwordHash, password)),
    hash: (password: string) => limited(() => hashPassword(password)),
  }

  async function limited<T>(work: () => Promise<T>): Promise<T | undefined> {
    const started = performance.now()
    const outcome = await semaphore.run(work)
    metrics.observe('gatehouse_hash_seconds', {}, (performance.now() - started) / 1000)
    return outcome === 'full' ? undefined : outcome.result
  }
}
