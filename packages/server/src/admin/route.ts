/** An administration route as data, from which the HTTP route, its description and its tests are derived. */

import { type Audit, type Clock, type GateEvent, type Principal, Refusal } from 'gatehouse-protocol'
import type { KnownApis } from '../declarative/check-meaning.ts'
import type { Definitions } from '../declarative/export.ts'
import type { JsonSchema } from '../http/openapi.ts'
import type { AuditLog } from '../store/audit/audit.ts'
import type { BuiltInClients } from '../store/clients/built-in-clients.ts'
import type { RecordedEvent } from '../store/cluster/events.ts'
import type { Database } from '../store/database/database.ts'
import type { Stores } from '../store/stores.ts'
import type { SigningKeyring } from './keyring.ts'
import type {
  AgentActivity,
  AlertStates,
  ChannelSender,
  ClusterActivity,
  ColumnSegments,
  FeedMessages,
  KeptViews,
  MailAdministration,
  ReplicationAdministration,
  RetentionRounds,
  SettingInForce,
} from './ports.ts'

export interface AdminRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: `/admin/${string}`
  readonly scope: 'Identity/Admin' | 'Platform/Admin'
  readonly summary: string
  /** Descriptions of the query parameters. */
  readonly query?: Readonly<Record<string, string>>
  readonly body?: JsonSchema
  /** A short description of the response; absent if it has no content (204). */
  readonly reply?: string
  readonly status?: 200 | 201
  readonly mediaType?: 'application/x-ndjson'
  run(call: AdminCall, env: AdminEnv): Promise<AdminReply | undefined>
}

export interface AdminCall {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body: unknown
  readonly ifMatch: string | undefined
  readonly caller: Principal
  readonly address: string
  readonly requestId: string
  /** For replies that wait: aborted when the caller has left, or the server stops. */
  readonly signal: AbortSignal
  /** For replies that take long: throws if the caller has lost its token or the scope since the request began. */
  requireAccess(): Promise<void>
  /** Runs a reply that waits; refuses it if too many requests of the caller already wait. */
  hold<T>(act: () => Promise<T>): Promise<T>
}

export interface AdminReply {
  readonly status?: number
  readonly body?: unknown
  /** Instead of JSON. */
  readonly text?: { readonly type: string; readonly body: string }
  /** Lines of an export, streamed. */
  readonly lines?: AsyncIterable<string>
  readonly headers?: Readonly<Record<string, string>>
}

export interface AdminEnv {
  readonly database: Database
  readonly stores: Stores
  readonly builtInClients: BuiltInClients
  readonly clock: Clock
  /** The time by which entitlements and places begin and end, where a server runs. */
  readonly licenceClock?: () => Promise<Clock>
  /** The address of the pages, for links. */
  readonly issuer: string
  readonly audit: Audit & Pick<AuditLog, 'append' | 'flush'>
  publish(event: GateEvent): Promise<unknown>
  /** Takes an event that was recorded in a transaction which has committed. */
  receive(recorded: RecordedEvent): void
  readonly keyring: SigningKeyring
  /** Argon2id as a PHC string; undefined when the queue of the server is full. */
  hashPassword(password: string): Promise<string | undefined>
  settings(): readonly SettingInForce[]
  readonly activity: ClusterActivity
  /** The tables and views; undefined where the query service does not run here. */
  definitions(): Promise<Definitions | undefined>
  /** Resolves when this node uses the definitions of a section as they are now, such as those of `apis`; others do so by themselves. */
  reload(section: string): Promise<void>
  /** Whether clients can be registered for the right to provision users. */
  readonly provisioning?: boolean
  /** The names of the streaming controllers that this node has loaded. */
  readonly loadedControllers: readonly string[]
  /** Undefined where the streaming service does not run here. */
  readonly feeds: FeedMessages | undefined
  /** Undefined where no query service with column segments runs. */
  readonly columns?: ColumnSegments | undefined
  /** Undefined where no query service runs. */
  readonly retention?: (() => Promise<RetentionRounds>) | undefined
  /** Undefined where no query service runs. */
  readonly alertStates?: AlertStates | undefined
  /** Undefined on the command line. */
  readonly channels?: (() => Promise<ChannelSender>) | undefined
  /** Undefined where no query service runs. */
  readonly views?: KeptViews | undefined
  /** Undefined where no agents are served. */
  readonly agentActivity?: AgentActivity | undefined
  /** Undefined where no mail is set up. */
  readonly mail: MailAdministration | undefined
  /** Undefined where `backup_url` is not set. */
  readonly replication?: ReplicationAdministration | undefined
  /** Seals the secrets of providers and channels. */
  readonly providerKey: Buffer
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal
}

/** The scopes that roles, clients and others may name. */
export async function knownApis(
  { provisioning = false }: AdminEnv,
  { apis }: Pick<Stores, 'apis'>,
): Promise<KnownApis> {
  return { apis: await apis.list(), provisioning }
}

/** A parameter of the path. The router has matched it, so it is present. */
export function part(call: AdminCall, name: string): string {
  const value = Object.hasOwn(call.params, name) ? call.params[name] : undefined
  if (value === undefined) throw new Error(`The route has no {${name}}`)
  return value
}

export function notFound(what: string, name: string): Refusal {
  return new Refusal('admin.not_found', 404, `There is no ${what} "${name}"`)
}

export function conflict(text: string): Refusal {
  return new Refusal('admin.conflict', 409, text)
}
