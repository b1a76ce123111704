/** The one refusal of the query service while its database is away. */

import type { Refusal } from 'gatehouse-protocol'
import { unavailableReason } from '../lib/unavailable.ts'
import { refuse } from './errors.ts'

/** The refusal for an error of a database that cannot serve now; undefined for other errors. */
export function asUnavailable(error: unknown): Refusal | undefined {
  const reason = unavailableReason(error)
  return reason === undefined ? undefined : unavailable(`The database is not available: ${reason}`)
}

/** Without a cause, so that it is not logged for each request: one line in the log says when the database goes away. */
export function unavailable(detail: string): Refusal {
  return refuse('Data.Unavailable', detail)
}
