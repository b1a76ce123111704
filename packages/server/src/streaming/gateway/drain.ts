/** Closes all connections because the server is stopping. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Peer } from '../connection/peer.ts'

const STEP_MS = 20
/** How much longer than the drain time requests in progress and closing handshakes may take. */
const GRACE_MS = 2_000

/** Spreads the closes over the drain time, so that the clients do not all reconnect to another node at once. */
export async function drain(peers: ReadonlySet<Peer>, drainTime: number): Promise<void> {
  const waiting = [...peers]
  const started = performance.now()
  const total = waiting.length
  while (waiting.length > 0) {
    const share = Math.min(1, (performance.now() - started + STEP_MS) / drainTime)
    while (waiting.length > total * (1 - share)) waiting.pop()?.connection.finish()
    if (waiting.length > 0) await sleep(STEP_MS)
  }
  const end = started + drainTime + GRACE_MS
  while (peers.size > 0 && performance.now() < end) await sleep(STEP_MS)
  for (const peer of peers) peer.terminate()
}
