/**
 * Shares the event loop between the sockets that have sent more than is read at once. They are read in turns, for a short
 * time in each turn of the event loop however many they are, so that a client with a single request waits no longer for
 * a hundred busy connections than for one.
 */

export interface TurnReader {
  /** Reads a limited amount; may ask for another turn. */
  readTurn(): void
}

/** About twenty requests. A turn of the event loop costs a tenth of this, which is what a busy connection pays for it. */
const MAX_MS = 0.2

let waiting: TurnReader[] = []
let isScheduled = false

export function readInTurn(reader: TurnReader): void {
  waiting.push(reader)
  schedule()
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(run)
}

/** At least one is read. Those that ask for another turn go to the end. */
function run(): void {
  isScheduled = false
  const readers = waiting
  const end = performance.now() + MAX_MS
  waiting = []
  let next = 0
  do readers[next++]?.readTurn()
  while (next < readers.length && performance.now() < end)
  if (next < readers.length) waiting = [...readers.slice(next), ...waiting]
  if (waiting.length > 0) schedule()
}
