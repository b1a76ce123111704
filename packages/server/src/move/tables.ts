/** Which tables are moved: those of the identity data, the query service's own, and those of callers. */
import { INTEGER, TEXT } from 'gatehouse-iql'
import { isOfProcesses, OWN_TABLES, type OwnTable, type TableDefinition } from '../query/storage.ts'
import { MARK_TABLE } from '../store/database/move-mark.ts'
import type { Schema } from '../store/database/schema.ts'
import { type MovedColumn, type MovedTable, MoveRefused, type Part } from './table.ts'

/** The record of the progress, in the target as long as the move is unfinished. */
export const PROGRESS = 'move_progress'

/** Nodes and their replies to each other belong to processes that have ended, the history to the servers of PostgreSQL. */
const IDENTITY: Readonly<Record<keyof Schema, 'moved' | 'left out'>> = {
  schema_version: 'moved',
  users: 'moved',
  roles: 'moved',
  user_roles: 'moved',
  clients: 'moved',
  client_secrets: 'moved',
  attributes: 'moved',
  controllers: 'moved',
  feeds: 'moved',
  // The messages stay where they are.
  dropped_feeds: 'left out',
  providers: 'moved',
  identities: 'moved',
  provider_states: 'moved',
  session_origins: 'moved',
  provider_logouts: 'moved',
  apis: 'moved',
  agents: 'moved',
  grants: 'moved',
  codes: 'moved',
  refresh_tokens: 'moved',
  device_codes: 'moved',
  sessions: 'moved',
  session_clients: 'moved',
  interactions: 'moved',
  consents: 'moved',
  factors: 'moved',
  pushed_requests: 'moved',
  spent_jwts: 'moved',
  throttles: 'moved',
  signing_keys: 'moved',
  events: 'moved',
  audit_log: 'moved',
  audit_head: 'moved',
  rate_counts: 'moved',
  nodes: 'left out',
  node_answers: 'left out',
  database_history: 'left out',
  set_up_links: 'moved',
  mail_queue: 'moved',
  address_links: 'moved',
  known_browsers: 'moved',
  scim_external_ids: 'moved',
  scim_groups: 'moved',
  scim_tokens: 'moved',
  scim_clients: 'moved',
  products: 'moved',
  agreements: 'moved',
  entitlements: 'moved',
  acceptances: 'moved',
  licence_statuses: 'moved',
  trials: 'moved',
  licence_places: 'moved',
  licence_warnings: 'moved',
  channels: 'moved',
  alerts: 'moved',
  push_subscriptions: 'moved',
  push_keys: 'moved',
}

/** A column as the database describes it. */
export interface FoundColumn {
  readonly name: string
  /** Whether it holds text; otherwise integers. Of identity data only. */
  readonly isText: boolean
  readonly nullable: boolean
  /** The position in the primary key, from 1; 0 if it is not part of it. */
  readonly key: number
}

/** The columns of a table; none if it does not exist. */
export type FindColumns = (part: Part, table: string) => Promise<readonly FoundColumn[]>

export async function identityTables(find: FindColumns): Promise<MovedTable[]> {
  const tables: MovedTable[] = []
  for (const [name, decision] of Object.entries(IDENTITY)) {
    if (decision === 'left out') continue
    const found = await find('identity', name)
    const columns = found.map((column) => ({ ...column, type: column.isText ? TEXT : INTEGER }))
    const key = found.filter((column) => column.key > 0).sort((one, other) => one.key - other.key)
    tables.push({ part: 'identity', name, columns, key: key.map((column) => column.name) })
  }
  return tables
}

/** Views have no rows; their definitions are in the entries. */
export async function queryTables(definitions: readonly TableDefinition[], find: FindColumns): Promise<MovedTable[]> {
  const tables: MovedTable[] = definitions
    .filter(({ view }) => view === undefined)
    .map((definition) => {
      const { name, columns, primaryKey } = definition
      return { part: 'query', name: name.toLowerCase(), columns, key: primaryKey, definition }
    })
  for (const [name, { key, columns }] of OWN_TABLES) {
    const found = await find('query', name)
    // A file of an earlier version may lack one.
    if (found.length > 0) tables.push({ part: 'query', name, columns: ownColumns(name, columns, found), key })
  }
  return tables
}

function ownColumns(table: string, known: OwnTable['columns'], found: readonly FoundColumn[]): MovedColumn[] {
  return found.map(({ name, nullable }) => {
    const type = Object.hasOwn(known, name) ? known[name] : undefined
    if (type === undefined)
      throw new MoveRefused(`The table ${table} has the column ${name}, which this version does not know`)
    return { name, type, nullable }
  })
}

/** Whether a table of the product is left out: the processes that wrote it have ended, or the server makes a new one. */
export function isLeftOut(part: Part, name: string): boolean {
  if (name === MARK_TABLE || name === PROGRESS) return true
  return part === 'identity' ? Object.hasOwn(IDENTITY, name) : isOfProcesses(name)
}
