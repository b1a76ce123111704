/** What an administration route is: one row of a table, from which the HTTP route, its description and its tests are made. */
import type { JsonSchema } from '../http/openapi.ts'
import type { Audit } from '../protocol/audit-events.ts'
import type { Clock } from '../protocol/clock.ts'
import type { GateEvent } from '../protocol/gate-event.ts'
import type { Principal } from '../protocol/principal.ts'
import { Refusal } from '../protocol/refusal.ts'
import type { Database } from '../store/database.ts'
import type { Stores } from '../store/stores.ts'
import type { Live, SettingInForce, SigningKeyring } from './ports.ts'

export interface AdminRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: `/admin/${string}`
  readonly scope: 'Identity/Admin' | 'Platform/Admin'
  readonly summary: string
  /** Query parameters and what they mean. */
  readonly query?: Readonly<Record<string, string>>
  readonly body?: JsonSchema
  /** What comes back, in a few words. */
  readonly reply: string
  readonly status?: 200 | 201 | 204
  readonly mediaType?: 'application/x-ndjson'
  run(call: AdminCall, env: AdminEnv): Promise<AdminReply>
}

export interface AdminCall {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body: unknown
  readonly ifMatch: string | undefined
  readonly caller: Principal
  readonly address: string
  readonly requestId: string
}

export interface AdminReply {
  readonly status?: number
  readonly body?: unknown
  /** Lines of an export, sent as they come. */
  readonly lines?: AsyncIterable<string>
  readonly headers?: Readonly<Record<string, string>>
}

export interface AdminEnv {
  readonly database: Database
  readonly stores: Stores
  readonly clock: Clock
  readonly audit: Audit & { flush(): Promise<void> }
  publish(event: GateEvent): Promise<unknown>
  readonly keyring: SigningKeyring
  /** Argon2id, as a PHC string; undefined when the server hashes too many already. */
  hashPassword(password: string): Promise<string | undefined>
  settings(): readonly SettingInForce[]
  readonly live: Live
}

/** Every part of a path is there: the router matched it. */
export function part(call: AdminCall, name: string): string {
  const value = call.params[name]
  if (value === undefined) throw new Error(`The route has no {${name}}`)
  return value
}

export function notFound(what: string, name: string): Refusal {
  return new Refusal('admin.not_found', 404, `There is no ${what} "${name}"`)
}

export function conflict(text: string): Refusal {
  return new Refusal('admin.conflict', 409, text)
}
