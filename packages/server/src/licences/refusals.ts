/** The errors of those who have no licence, or no place left. */
import { Refusal } from 'gatehouse-protocol'
import type { Reason } from './decide.ts'

/** `uncovered`: of a feed, table or controller that products cover, a part that none of them names. */
export type NeededReason = Reason | 'uncovered'

const REASONS: ReadonlySet<unknown> = new Set<NeededReason>([
  ...(['user', 'client', 'trial', 'attribute', 'role', 'default'] as const),
  ...(['none', 'not_yet', 'expired', 'disabled', 'agreement', 'uncovered'] as const),
])

export function isReason(value: unknown): value is NeededReason {
  return REASONS.has(value)
}

/** Whether it says what a caller would need to do, or to wait for. */
export function isMissing(reason: NeededReason): boolean {
  return reason === 'not_yet' || reason === 'expired' || reason === 'disabled' || reason === 'agreement'
}

export function licenceNeeded(products: readonly string[], reason: NeededReason): Refusal {
  const what = products.length === 0 ? 'what no product names' : products.join(', ')
  return new Refusal('Licence.Needed', 403, `There is no access to ${what}: ${reason}`, {
    members: { Products: products, Reason: reason },
  })
}

/** Another place has it now. */
export function licenceDisplaced(product: string): Refusal {
  return new Refusal('Licence.Displaced', 403, `Another place uses ${product} now`, {
    members: { Products: [product] },
  })
}

/** The place of another was to end for this one, and has not ended in time. */
export function placeUnavailable(product: string): Refusal {
  return new Refusal('Licence.Unavailable', 503, `Another place still uses ${product}`, {
    headers: { 'retry-after': '1' },
    members: { Products: [product] },
  })
}

export function licenceUnavailable(): Refusal {
  return new Refusal('Licence.Unavailable', 503, 'It cannot be found out now who may see licensed data', {
    headers: { 'retry-after': '1' },
  })
}
