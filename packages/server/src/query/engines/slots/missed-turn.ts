/** The error of a statement that gets no turn within the time limit. It is not a timeout of the statement itself. */

import { Refusal } from 'gatehouse-protocol'
import { abortable } from '../../../lib/abortable.ts'
import { refuse } from '../../errors.ts'

/** The reason to end a wait, as the error that the caller gets. */
export function missedTurn(reason: unknown): unknown {
  if (!(reason instanceof Refusal) || reason.code !== 'Limit.Time') return reason
  // It has waited for the whole time limit: a second more would change little.
  return refuse('Limit.Overload', 'The statement timed out while waiting to run: other statements are running', {
    headers: { 'retry-after': '5' },
  })
}

/** Waits for a turn, until the signal aborts. */
export async function awaitTurn<Value>(turn: Promise<Value>, signal: AbortSignal): Promise<Value> {
  try {
    return await abortable(turn, signal)
  } catch (error) {
    throw missedTurn(error)
  }
}
