/** The errors of those who have no licence, or no place left. */
import { Refusal } from 'gatehouse-protocol'
import type { Reason } from './decide.ts'

/** `uncovered`: of a feed, table or controller that products cover, a part that none of them names. */
export type NeededReason = Reason | 'uncovered'

export function licenceNeeded(products: readonly string[], reason: NeededReason): Refusal {
  const what = products.length === 0 ? 'what no product names' : products.join(', ')
  return new Refusal('Licence.Needed', 403, `There is no access to ${what}: ${reason}`, {
    members: { Products: products, Reason: reason },
  })
}
