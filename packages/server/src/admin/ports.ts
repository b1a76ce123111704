/** What administration needs from the services of a running server. */
import type { Principal } from 'gatehouse-protocol'
import type { AttributeValues } from '../store/accounts/user.ts'
import type { MailPort } from '../store/mail/notify.ts'
import type { JsonObject } from './request/body.ts'

export interface OpenStream {
  readonly connectionId: string
  readonly subject: string | undefined
  readonly username: string | undefined
  readonly clientId: string | undefined
  readonly address: string
  /** Milliseconds. */
  readonly openedAt: number
  readonly expiresAt: number | undefined
  readonly subscriptions: number
}

export interface OpenStreams {
  list(): Iterable<OpenStream>
}

/** A connection of PostgreSQL's protocol. */
export interface OpenWireConnection {
  readonly connectionId: string
  readonly subject: string
  readonly username: string | undefined
  readonly clientId: string
  readonly address: string
  /** Milliseconds. */
  readonly openedAt: number
  readonly expiresAt: number
  /** What the client calls itself. */
  readonly application: string
  readonly isIdle: boolean
}

export interface OpenWireConnections {
  list(): Iterable<OpenWireConnection>
}

export interface RunningQuery {
  readonly requestId: string
  readonly subject: string
  readonly clientId: string
  /** A live statement runs until it is ended. */
  readonly kind: 'query' | 'live'
  readonly statement: string
  readonly startedAt: number
}

export interface RunningQueries {
  list(): Iterable<RunningQuery>
  /** With `owner`, only if the query is theirs. False when no such query is running. */
  cancel(requestId: string, owner: string | undefined): boolean
}

/** A user whose rights are looked at. */
export interface UserRights {
  readonly subject: string
  readonly username: string
  readonly roles: readonly string[]
  readonly attributes: AttributeValues
  readonly scopes: readonly string[]
}

export interface TablePage {
  readonly prefix: string
  readonly after: string
  readonly limit: number
}

/** The tables that a user could use; `next` is the name of the last one if there are more. */
export interface UserTables {
  readonly items: readonly object[]
  readonly next?: string | undefined
}

/** Which running items are listed, and how many by each node. */
export interface ActivityFilter {
  readonly user?: string | undefined
  readonly kind?: RunningQuery['kind'] | undefined
  readonly id?: string | undefined
  /** The cursor of the last one on the previous page. */
  readonly after?: string | undefined
  readonly limit: number
}

/** What runs on all nodes, and what any node of a service knows. */
export interface ClusterActivity {
  /** Resolves when earlier changes have taken effect on all nodes; within about a second, also if some do not answer. */
  settle(): Promise<void>
  streams(filter: ActivityFilter): Promise<ActivityItems>
  /** Connections of PostgreSQL's protocol. */
  wire(filter: ActivityFilter): Promise<ActivityItems>
  /** The open connections of a user; 0 where no node has the service. */
  countStreams(user: string): Promise<number>
  queries(filter: ActivityFilter): Promise<ActivityItems>
  cancel(requestId: string, owner?: string): Promise<boolean>
  nodes(): Promise<ActivityItems>
  /** Of each node, after a time. */
  figures(since: number): Promise<ActivityItems>
  /** Undefined where no node runs the query service. */
  listTables(user: UserRights, page: TablePage): Promise<UserTables | undefined>
  /** Undefined where no node runs the streaming service. */
  listTopics(scopes: readonly string[]): Promise<readonly object[] | undefined>
}

/** The JSON of the replies. */
export interface ActivityItems {
  /** Each with the name of its node. */
  readonly items: readonly JsonObject[]
  /** How many there are, listed or not. */
  readonly total: number
  /** Nodes that did not reply in time. */
  readonly silent: readonly string[]
}

/** The messages of feeds, as far as an administrator has to do with them. */
export interface FeedMessages {
  /** Forgets all messages of a feed, on every node. */
  purge(feed: string): Promise<void>
  /** Undefined where it is not known. */
  usage(feed: string): Promise<FeedUsage | undefined>
}

export interface FeedUsage {
  /** Those that hold a state or history. */
  readonly topics: number
  /** Of the messages that are kept. */
  readonly bytes: number
}

/** The column segments of tables with `columns = on`. */
export interface ColumnSegments {
  status(): Promise<readonly object[]>
  /** Undefined if the table has none. */
  verify(table: string, signal: AbortSignal): Promise<object | undefined>
  /** False if the table has none. */
  rebuild(table: string): Promise<boolean>
}

/** What agents have done lately, by grant. */
export type AgentActivity = (grants: readonly string[]) => Promise<ReadonlyMap<string, AgentUse>>

export interface AgentUse {
  /** In milliseconds since the epoch; undefined if it has not called. */
  readonly last: number | undefined
  readonly callsToday: number
  readonly rowsToday: number
  /** Those that have not ended. */
  readonly watches: number
}

/** The retention of tables. */
export interface RetentionRounds {
  list(): Promise<readonly object[]>
  /** Undefined if the table is neither held nor has a retention. */
  find(table: string): Promise<object | undefined>
  /** As an ALTER TABLE of the caller. Members that are absent stay as they are. */
  set(caller: Principal, table: string, setting: RetentionSetting): Promise<object | undefined>
  /** What `set` would delete. */
  explain(caller: Principal, table: string, setting: RetentionSetting): Promise<object | undefined>
  /** Deletes rows, also closed ones, with the rights of the caller; undefined if there is no such table. */
  erase(caller: Principal, table: string, erasure: Erasure): Promise<object | undefined>
  /** Undefined if the table has none. */
  run(table: string, signal: AbortSignal): Promise<object | undefined>
}

export interface Erasure {
  /** A condition in IQL. */
  readonly where: string
  readonly parameters: Readonly<Record<string, string>>
  readonly reason: string
  readonly isDryRun: boolean
}

export interface RetentionSetting {
  /** Null: rows are kept for ever from now on. */
  readonly retention?: { readonly time: string; readonly on: string } | null | undefined
  readonly hold?: boolean | undefined
}

/** What the keeper knows of alerts, by id. */
export type AlertStates = (
  alerts: readonly string[],
) => Promise<ReadonlyMap<string, { readonly state: string; readonly error: string | null }>>

/** What sends to channels of alerts. */
export interface ChannelSender {
  /** Sends a delivery of the type `test` at once. */
  test(channel: string): Promise<ChannelTest>
}

export interface ChannelTest {
  /** Undefined if it was taken: else what happened. */
  readonly error: string | undefined
  /** The status of the reply, if there was one. */
  readonly status: number | undefined
}

/** E-mail, as far as an administrator has to do with it. */
export interface MailAdministration {
  readonly port: MailPort
  /** Sends a mail at once. Rejects with the reason. */
  test(to: string): Promise<void>
}

export interface SettingInForce {
  readonly name: string
  readonly environment: string
  /** Masked where it is secret. */
  readonly value: string
  readonly source: string
  /** What it does. */
  readonly description: string
}

/** What was sent to `backup_url`; times are in milliseconds. */
export interface ReplicationState {
  readonly at: number
  readonly location: string
  readonly generation: string | undefined
  readonly moment: number | undefined
  readonly lagMs: number
  readonly spoolBytes: number
  readonly base: { readonly at: number; readonly bytes: number } | undefined
  readonly verified: { readonly at: number; readonly moment: number } | undefined
  readonly error: string | undefined
  readonly interruptedSince: number | undefined
}

export interface ReplicationAdministration {
  /** Undefined before anything was replicated. */
  status(): Promise<ReplicationState | undefined>
  /** `take`: sends all pages again. `verify`: restores beside the data, and checks it. */
  ask(request: 'take' | 'verify'): Promise<void>
}

/** A materialized view, and how far it is. */
export interface KeptView {
  readonly name: string
  readonly query: string
  readonly base: string
  readonly state: 'building' | 'ready' | 'failed'
  readonly progress: number
  readonly behind: number | null
  readonly rows: number
  readonly builds: number
  readonly error: string | null
}

export interface KeptViews {
  list(): Promise<readonly KeptView[]>
  find(name: string): Promise<KeptView | undefined>
  /** Returns how many rows were wrong. */
  refresh(name: string, isFull: boolean, signal: AbortSignal): Promise<number>
}
