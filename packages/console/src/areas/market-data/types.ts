/** Products of market data, as the administration describes them. */
import type { Access } from '../../admin/licences.tsx'

export interface Coverage {
  readonly feed?: string
  readonly controller?: string
  readonly table?: string
  readonly resource?: string
  readonly topics?: readonly string[] | 'others'
  readonly column?: string
  readonly values?: readonly (string | number)[] | 'others'
  readonly ids?: readonly string[]
  readonly actions?: readonly string[]
  readonly where?: Readonly<Record<string, readonly unknown[]>>
}

export interface Product {
  readonly name: string
  readonly delay?: string
  readonly default: Access
  readonly agreement?: string
  readonly trial?: string
  readonly warn?: string
  readonly simultaneous?: number
  readonly when_full?: 'refuse' | 'displace' | 'delay'
  readonly count?: 'user' | 'place'
  readonly enabled: boolean
  readonly covers?: readonly Coverage[]
}

export interface Agreement {
  readonly id: string
  readonly version: string
  readonly title: string
  readonly text: Readonly<Record<string, string>>
  readonly asks_status: boolean
  readonly grace?: string
}

export interface Entitlement {
  readonly id: string
  readonly product: string
  readonly user?: string
  readonly client?: string
  readonly role?: string
  readonly attribute?: Readonly<Record<string, string | number | boolean>>
  readonly access: Access
  readonly from?: string
  readonly until?: string
  readonly kind: 'billable' | 'trial' | 'exempt'
  readonly note?: string
}

/** What a user has of a product now, and why. */
export interface Holder {
  readonly user: string
  readonly username: string
  readonly access: Access
  readonly reason: string
  readonly until?: string
  readonly kind?: string
  readonly status: 'professional' | 'non_professional' | 'undeclared'
}

export interface Place {
  readonly product: string
  readonly user?: string
  readonly username?: string | null
  readonly client?: string
  readonly access: Access
  readonly since: string
  readonly session: string
}

export interface Usage {
  readonly month: string
  readonly head: { readonly seq: number; readonly at: string }
  readonly rows: readonly UsageRow[]
  readonly names: Readonly<Record<string, string>>
}

export interface UsageRow {
  readonly product: string
  readonly type: 'user' | 'client'
  readonly subject: string
  readonly firm: string
  readonly status: string
  readonly kind: string
  readonly access: Access
  readonly sessions: number
  readonly peak: number
  readonly first: string
  readonly last: string
  readonly units: number
}

export function productPath(name: string, ...parts: readonly string[]): string {
  return ['/admin/products', ...[name, ...parts].map(encodeURIComponent)].join('/')
}
