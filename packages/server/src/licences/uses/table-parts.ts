/** What a caller has of the parts of a table. */
import type { Refusal } from 'gatehouse-protocol'
import { isReason, licenceNeeded } from '../refusals.ts'
import type { TableAccess } from './table-access.ts'
import type { TableCoverage } from './table-coverage.ts'
import type { PartAccess } from './uses.ts'

/** What a caller has of a table while no place is missing. */
export interface Expected {
  readonly coverage: TableCoverage
  readonly parts: readonly PartAccess[]
  readonly access: TableAccess
}

export function isNothing({ parts }: Pick<Expected, 'parts'>): boolean {
  return parts.every(({ access }) => access === 'none')
}

export function lacksPlace(parts: readonly PartAccess[]): boolean {
  return parts.some((part) => part.access === 'none' && part.refusal.code !== 'Licence.Needed')
}

/** Why there is no access, or not to all: where a place is missing that, else what is missing of the products. */
export function findRefusal(parts: readonly PartAccess[], { products }: TableCoverage): Refusal {
  const refusals = parts.flatMap((part) => (part.access === 'none' ? [part.refusal] : []))
  const noPlace = refusals.find(({ code }) => code !== 'Licence.Needed')
  if (noPlace !== undefined) return noPlace
  const reasons = refusals.map(({ details }) => details.members?.Reason)
  const telling = reasons.find((reason) => isReason(reason) && reason !== 'none' && reason !== 'uncovered')
  return licenceNeeded([...products].sort(), isReason(telling) ? telling : 'none')
}

/** Whether any row is seen later than before, or no longer. */
export function isLower(before: readonly PartAccess[], now: readonly PartAccess[]): boolean {
  return before.some((part, index) => {
    const other = now[index]
    if (part.access === 'none') return false
    if (other === undefined || other.access === 'none') return true
    return other.access === 'delayed' && (part.access === 'realtime' || part.delay < other.delay)
  })
}

export function isSamePart(one: PartAccess, other: PartAccess | undefined): boolean {
  if (one.access === 'none' || other === undefined || other.access === 'none') return one.access === other?.access
  if (one.product !== other.product) return false
  const [delay, otherDelay] = [one, other].map((part) => (part.access === 'delayed' ? part.delay : 0))
  return delay === otherDelay
}
