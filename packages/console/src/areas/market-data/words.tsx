/** How the area shows access, reasons, and what a coverage covers. */
import { Badge } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { Access, Coverage, Entitlement } from './types.ts'

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

/** Who has an entitlement. */
export function holderText({ user, client, role, attribute }: Entitlement): string {
  if (user !== undefined) return user
  if (client !== undefined) return client
  if (role !== undefined) return role
  const [entry] = Object.entries(attribute ?? {})
  return entry === undefined ? '' : `${entry[0]} = ${String(entry[1])}`
}

export function holderKind({ user, client, role }: Entitlement): string {
  if (user !== undefined) return word('User')
  if (client !== undefined) return word('Application')
  return role === undefined ? word('Attribute') : word('Role')
}

export function coverageKind({ feed, controller, table }: Coverage): string {
  if (feed !== undefined) return word('Feed')
  if (controller !== undefined) return word('Controller')
  return table === undefined ? word('Resource') : word('Table')
}

export function coverageName({ feed, controller, table, resource }: Coverage): string {
  return feed ?? controller ?? table ?? resource ?? ''
}

/** Which part of it. */
export function coveragePart({ topics, column, values, ids, where }: Coverage): string {
  const listed = topics ?? values ?? ids
  if (listed === 'others') return column === undefined ? word('What no product names') : `${column}: ${word('others')}`
  if (listed !== undefined) return `${column === undefined ? '' : `${column} = `}${listed.join(', ')}`
  return where === undefined ? word('All') : JSON.stringify(where)
}
