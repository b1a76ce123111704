/** How licences of market data are shown: access, its reason, and what the report counts. */
import { Badge } from '../ui/index.ts'
import { word } from '../ui/word.ts'

export type Access = 'none' | 'delayed' | 'realtime'

export const ACCESS_TITLES: Readonly<Record<Access, string>> = {
  none: word('No access'),
  delayed: word('Delayed'),
  realtime: word('Real-time'),
}

const ACCESS_KINDS = { none: undefined, delayed: 'warning', realtime: 'good' } as const

export function AccessBadge({ of }: { readonly of: Access }) {
  return <Badge kind={ACCESS_KINDS[of]}>{ACCESS_TITLES[of]}</Badge>
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['user', word('By name')],
  ['client', word('By name')],
  ['trial', word('A trial')],
  ['attribute', word('An attribute')],
  ['role', word('A role')],
  ['default', word('The default')],
  ['none', word('No entitlement')],
  ['not_yet', word('Not yet')],
  ['expired', word('It has ended')],
  ['disabled', word('The product is off')],
  ['agreement', word('The agreement is not accepted')],
])

export function reasonText(reason: string): string {
  return REASONS.get(reason) ?? reason
}

const STATUSES: ReadonlyMap<string, string> = new Map([
  ['professional', word('Professional')],
  ['non_professional', word('Not professional')],
  ['undeclared', word('Undeclared')],
])

export function statusText(status: string): string {
  return STATUSES.get(status) ?? status
}

const KINDS: ReadonlyMap<string, string> = new Map([
  ['billable', word('Billable')],
  ['trial', word('Trial')],
  ['exempt', word('Exempt')],
])

export function kindText(kind: string): string {
  return KINDS.get(kind) ?? kind
}
