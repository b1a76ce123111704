/** Waits for a short turn of the event loop in which nothing came: what is closed right after it has nothing waiting. */
import { setImmediate as nextTurn } from 'node:timers/promises'

const LONGEST_WAIT_MS = 1_000
/** In a longer turn something may have come after the event loop looked. */
const SHORT_TURN_MS = 0.2

/** `hasCome` tells whether anything has come since it was last asked. */
export async function quietTurn(hasCome: () => boolean): Promise<void> {
  const end = performance.now() + LONGEST_WAIT_MS
  // Before the first whole turn.
  await nextTurn()
  hasCome()
  for (let since = performance.now(); since < end; ) {
    await nextTurn()
    const now = performance.now()
    if (!hasCome() && now - since < SHORT_TURN_MS) return
    since = now
  }
}
