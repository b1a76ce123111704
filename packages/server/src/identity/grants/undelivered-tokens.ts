/**
 * Successors of refresh tokens that may be stored, but whose reply did not reach the client: the database did not answer, or the client had
 * left. The client has only the token before, which stays as good as it was until the successor is used. By their digests.
 */
import type { Clock } from 'gatehouse-protocol'
import type { Cluster } from '../../events/cluster.ts'
import { LruMap } from '../../lib/lru-map.ts'
import type { Undelivered } from '../../store/authorizations/refresh-tokens.ts'

export interface UndeliveredOptions {
  readonly clock: Clock
  /** How long a token that was delivered may be sent again. */
  readonly graceMs: () => number
  /** The client may repeat its request at any of them. */
  readonly nodes: Pick<Cluster, 'handle' | 'callAny'>
}

const TOPIC = 'undelivered'
/** The longest outage after which a client goes on without signing in again. */
const KEPT_MS = 30 * 60_000
const MOST = 10_000

export function createUndeliveredTokens({ clock, graceMs, nodes }: UndeliveredOptions): Undelivered {
  /** Until when. */
  const noted = new LruMap<number>(MOST)
  nodes.handle(TOPIC, ({ digest = '' }) => {
    const until = noted.get(digest)
    if (until === undefined || until < clock()) return null
    // It is delivered now; two tabs of a browser may ask at once.
    noted.set(digest, Math.min(until, clock() + graceMs()))
    return true
  })
  return {
    note: (digest) => noted.set(digest, clock() + KEPT_MS),
    claim: async (digest) => (await nodes.callAny(TOPIC, { digest })) === true,
  }
}
