/** The turns of connections with a backlog of unread or unanswered input: one queue for all of them. */
import { TurnQueue } from '../../lib/turns.ts'

/**
 * The time of all connections together in one turn of the event loop, so that a client with a single request waits no longer for a
 * hundred busy connections than for one. It is about twenty requests; a turn of the event loop costs a tenth of it.
 */
export const CONNECTIONS_MS = 0.2

export const connectionTurns = new TurnQueue(CONNECTIONS_MS)
