/** Waits for a short turn of the event loop in which nothing came: what is closed right after it has nothing waiting. */
import { setImmediate as nextTurn } from 'node:timers/promises'

const LONGEST_WAIT_MS = 3_000
/** In a longer turn something may have come after the event loop looked. */
const SHORT_TURN_MS = 0.2
/** A busy machine may have no such turns: after this time, longer and longer ones will do. */
const PATIENCE_MS = 1_000

/** `hasCome` tells whether anything has come since it was last asked. */
export async function quietTurn(hasCome: () => boolean): Promise<void> {
  // Before the first whole turn.
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
