/** The turns of connections with a backlog of unread or unanswered input: one queue for all of them. */
import { currentTurn, TurnQueue } from '../../lib/turns.ts'

/**
 * The time budget of all connections together in one turn of the event loop. A single request then waits equally long behind 1 or 100
 * busy connections. It is enough for about 20 requests; the overhead of a turn is a tenth of it.
 */
export const CONNECTIONS_MS = 0.2

export const connectionTurns = new TurnQueue(CONNECTIONS_MS)

/** A longer read can hold hundreds of requests. */
const LONG_READ_BYTES = 16 * 1024
/** The long reads that are answered as they arrive in one turn of the event loop. */
const LONG_READS_AT_ONCE = 4

let turn = 0
let longReads = 0

/** Whether what was read has to wait for its turn: in one turn, input may arrive from hundreds of connections that send at full speed. */
export function mustWait(bytes: number): boolean {
  if (bytes < LONG_READ_BYTES) return false
  const now = currentTurn()
  if (now !== turn) longReads = 0
  turn = now
  return ++longReads > LONG_READS_AT_ONCE
}
