/** Slows down who tries many secrets for a client, from the address they come from only: the real client elsewhere notices nothing. */
import type { Clock } from '../protocol/clock.ts'
import { digestOf } from '../store/opaque.ts'

export interface SecretThrottle {
  /** Seconds to wait; 0 when a try may be made. */
  waitFor(clientId: string, address: string): number
  failed(clientId: string, address: string): void
}

const FREE = 10
const LONGEST_WAIT_MS = 60_000
const FORGET_MS = 15 * 60_000
const MOST_REMEMBERED = 10_000

/** Kept in memory: a secret has far too many bits to be found by trying on every node. */
export function createSecretThrottle(clock: Clock): SecretThrottle {
  const failures = new Map<string, { count: number; at: number }>()
  return {
    waitFor(clientId, address) {
      if (failures.size === 0) return 0
      const known = failures.get(keyOf(clientId, address))
      if (known === undefined || known.count < FREE) return 0
      const wait = Math.min(LONGEST_WAIT_MS, 1000 * 2 ** (known.count - FREE))
      return Math.max(0, Math.ceil((known.at + wait - clock()) / 1000))
    },
    failed(clientId, address) {
      const key = keyOf(clientId, address)
      const known = failures.get(key)
      const now = clock()
      const count = known === undefined || now - known.at > FORGET_MS ? 1 : known.count + 1
      failures.delete(key)
      failures.set(key, { count, at: now })
      if (failures.size <= MOST_REMEMBERED) return
      const oldest = failures.keys().next().value
      if (oldest !== undefined) failures.delete(oldest)
    },
  }
}

/** A digest: a stranger may call a client by sixty thousand letters, ten thousand times. */
function keyOf(clientId: string, address: string): string {
  return digestOf(`${address} ${clientId}`)
}
