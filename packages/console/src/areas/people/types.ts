/** People, as the administration describes them. */
import type { AdminUser } from '../../../../client/src/index.ts'
import type { Values } from '../../admin/attributes.tsx'

export interface Person extends AdminUser {
  readonly has_password: boolean
  readonly has_second_factor: boolean
  readonly must_change_password: boolean
  readonly attributes?: Values
  readonly created_at: string
  readonly updated_at: string
  /** In lists: when a browser session of the user was last used; null if none is known. */
  readonly seen_at?: string | null
}

/** The name of a person, if there is one besides the username. */
export function fullName(user: AdminUser): string | undefined {
  const { name, given_name: given, family_name: family, nickname } = user
  const parts = [given, family].filter((part) => typeof part === 'string' && part !== '')
  const found = name ?? (parts.length > 0 ? parts.join(' ') : nickname)
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** A one-time link; `url` only in the reply that creates it. */
export interface Link {
  readonly id: string
  readonly kind: 'invitation' | 'reset' | 'administrator'
  readonly state: string
  readonly user: string | null
  readonly username: string | null
  readonly created_by: string
  readonly created_at: string
  readonly expires_at: string
  readonly url?: string
  /** Where it was mailed; then there is no `url`. */
  readonly sent_to: string | null
}

export interface Mail {
  readonly id: string
  readonly kind: string
  readonly state: 'waiting' | 'sent' | 'failed' | 'dropped' | 'removed'
  readonly user: string | null
  readonly to: string | null
  readonly attempts: number
  readonly error: string | null
  readonly created_at: string
  readonly next_at: string | null
  readonly ended_at: string | null
}

export interface Session {
  readonly id: string
  readonly user?: string
  readonly username?: string | null
  readonly methods: readonly string[]
  readonly address: string
  readonly user_agent: string
  readonly created_at: string
  readonly seen_at: string
  readonly expires_at: string
}

export interface Grant {
  readonly id: string
  readonly user: string
  readonly username: string | null
  readonly client_id: string
  readonly kind: string
  readonly scopes: readonly string[]
  readonly offline: boolean
  readonly created_at: string
  readonly expires_at: string | null
}

export interface Connection {
  readonly id: string
  readonly node: string
  readonly user: string | null
  readonly username: string | null
  readonly client: string | null
  readonly address: string
  readonly opened_at: string
  readonly subscriptions: number
}

export interface Factor {
  readonly id: string
  readonly kind: string
  readonly label: string
  readonly created_at: string
  readonly used_at: string | null
}

/** Of a user at another provider. */
export interface Identity {
  readonly id: string
  readonly provider: string
  readonly issuer: string
  readonly subject: string
  readonly label: string
  readonly created_at: string
  readonly used_at: string | null
}

export interface Consent {
  readonly client_id: string
  readonly scopes: readonly string[]
  readonly consented: boolean
  readonly created_at: string
}

/** The path of a user in the administration. */
export function userPath(id: string, ...parts: readonly string[]): string {
  return ['/admin/users', ...[id, ...parts].map(encodeURIComponent)].join('/')
}
