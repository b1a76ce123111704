/** The states of alerts and of deliveries, as badges. */
import type { AlertState } from '../../../client/src/index.ts'
import { Badge } from '../ui/index.ts'
import { word } from '../ui/word.ts'

const STATES: Readonly<Record<AlertState, string>> = {
  ok: word('Quiet'),
  pending: word('Pending'),
  firing: word('Firing'),
  paused: word('Paused'),
  suspended: word('Suspended'),
  error: word('Error'),
}

const KINDS = {
  ok: 'good',
  pending: 'warning',
  firing: 'danger',
  paused: undefined,
  suspended: 'warning',
  error: 'danger',
} as const

export function StateBadge({ state }: { readonly state: AlertState }) {
  const kind = KINDS[state]
  return <Badge {...(kind !== undefined && { kind })}>{STATES[state]}</Badge>
}

/** A key, or a row, in one line. */
export function rowText(row: unknown): string {
  if (row === null || row === undefined) return ''
  if (Array.isArray(row)) return row.map(String).join(', ')
  if (typeof row !== 'object') return String(row)
  return Object.entries(row)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(' · ')
}
