/** Waits for a short turn of the event loop in which nothing arrived: a port that is closed right after it leaves no client waiting. */
import { setImmediate as nextTurn } from 'node:timers/promises'

const LONGEST_WAIT_MS = 3_000
/** In a longer turn something may have arrived after the event loop polled. */
const SHORT_TURN_MS = 0.2
/** A busy machine may have no such turns: after this time, longer and longer turns are accepted. */
const PATIENCE_MS = 1_000

/** `hasCome` returns whether anything has arrived since its last call. */
export async function quietTurn(hasCome: () => boolean): Promise<void> {
  // Arrivals before the first whole turn do not count.
  await nextTurn()
  hasCome()
  const began = performance.now()
  for (let since = began; since - began < LONGEST_WAIT_MS; ) {
    await nextTurn()
    const now = performance.now()
    const short = SHORT_TURN_MS + Math.max(0, now - began - PATIENCE_MS) / 500
    if (!hasCome() && now - since < short) return
    since = now
  }
}
