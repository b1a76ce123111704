/**
 * Shares the event loop between the connections that have sent more than is read, or answered, at once. They are served in turns,
 * for a short time in each turn of the event loop however many they are, so that a client with a single request waits no longer
 * for a hundred busy connections than for one.
 */

export interface TurnTaker {
  /** Does a limited amount of work; may ask for another turn. */
  takeTurn(): void
}

/** About twenty requests. A turn of the event loop costs a tenth of this, which is what a busy connection pays for it. */
export const MAX_MS = 0.2

let waiting: TurnTaker[] = []
let isScheduled = false

export function waitForTurn(taker: TurnTaker): void {
  waiting.push(taker)
  schedule()
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(run)
}

/** At least one is served. Those that ask for another turn go to the end. */
function run(): void {
  isScheduled = false
  const takers = waiting
  const end = performance.now() + MAX_MS
  waiting = []
  let next = 0
  try {
    do takers[next++]?.takeTurn()
    while (next < takers.length && performance.now() < end)
  } finally {
    // Also if one fails: the others must not lose their turn for it.
    if (next < takers.length) waiting = [...takers.slice(next), ...waiting]
    if (waiting.length > 0) schedule()
  }
}
