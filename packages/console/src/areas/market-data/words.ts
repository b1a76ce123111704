/** How the area shows who is entitled, and what a coverage covers. */
import { word } from '../../ui/word.ts'
import type { Coverage, Entitlement } from './types.ts'

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
