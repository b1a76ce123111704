/** Waits for a short turn of the event loop in which nothing came: what is closed right after it has nothing waiting. */
import { setImmediate as nextTurn } from 'node:timers/promises'

const LONGEST_WAIT_MS = 3_000
/** In a longer turn something may have come after the event loop looked. A busy machine has no shorter ones: it grows while we wait. */
const SHORT_TURN_MS = 0.2
const GROWTH = 1 / 500

/** `hasCome` tells whether anything has come since it was last asked. */
export async function quietTurn(hasCome: () => boolean): Promise<void> {
  // Before the first whole turn.
  await nextTurn()
  hasCome()
  const began = performance.now()
  for (let since = began; since - began < LONGEST_WAIT_MS; ) {
    await nextTurn()
    const now = performance.now()
    if (!hasCome() && now - since < SHORT_TURN_MS + (now - began) * GROWTH) return
    since = now
  }
}
