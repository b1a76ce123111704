/** The bodies of requests about alerts. */

import { readDuration } from '../../lib/duration.ts'
import { isRawNumber, type Json } from '../../lib/exact-json.ts'
import { isObject, refuse } from '../../query/index.ts'
import { ALERT, ALERT_PATTERNS, alertFaults, type DeclaredAlert } from '../../resources/alert-shape.ts'
import { checkItemShape } from '../../resources/define-resource.ts'
import { refuseFaults } from '../checks.ts'

export function readBody(value: Json): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw refuse('Request.BadBody', 'The body is a JSON object')
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withTexts(each)]))
}

/** A number that a double cannot hold becomes its text, which means the same as a parameter. */
function withTexts(value: Json): unknown {
  if (isRawNumber(value)) return value.rawJSON
  if (Array.isArray(value)) return value.map(withTexts)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withTexts(each)]))
}

export function readAlert(body: object): DeclaredAlert {
  const checked = checkItemShape<DeclaredAlert>({ list: { items: ALERT }, patterns: ALERT_PATTERNS }, body)
  if ('faults' in checked) {
    refuseFaults(checked.faults)
    throw refuse('Alert.Invalid', 'The alert is invalid')
  }
  refuseFaults(alertFaults(checked.declared))
  return checked.declared
}

/** Until when, and of which key; without one, all. */
export interface SilenceRequest {
  readonly forMs: number | undefined
  readonly until: number | undefined
  readonly key: string | undefined
}

const LONGEST_MS = 366 * 86_400_000

export function readSilence(value: Json): SilenceRequest {
  const { for: time, until, key, ...others } = readBody(value)
  const [other] = Object.keys(others)
  if (other !== undefined) refuseFaults([{ path: other, text: 'unknown member' }])
  if ((time === undefined) === (until === undefined))
    refuseFaults([{ path: 'for', text: 'or `until` is needed, and not both' }])
  const forMs = typeof time === 'string' ? readDuration(time) : undefined
  if (time !== undefined && (forMs === undefined || forMs <= 0 || forMs > LONGEST_MS))
    refuseFaults([{ path: 'for', text: 'must be a time such as "2 hours", up to 366 days' }])
  const end = typeof until === 'string' ? Date.parse(until) : Number.NaN
  if (until !== undefined && Number.isNaN(end))
    refuseFaults([{ path: 'until', text: 'must be an instant such as 2026-01-31T09:30:00Z' }])
  return {
    forMs,
    until: until === undefined ? undefined : end,
    // With the digits that it has in rows.
    key: key === undefined ? undefined : JSON.stringify(isObject(value) ? value.key : key),
  }
}

export function readDelivery(id: string): string {
  if (!/^[\w-]{1,64}$/.test(id)) throw refuse('Alert.NotFound', 'There is no such delivery')
  return id
}
