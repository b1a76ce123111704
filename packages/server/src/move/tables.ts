/** Which tables are moved: those of the identity data, the query service's own, and those of callers. */
import { BOOLEAN, INTEGER, type IqlType, TEXT, TIMESTAMP } from 'gatehouse-iql'
import { type CatalogueRow, readDefinition } from '../query/catalogue/definition.ts'
import { ENTRIES } from '../query/engines/catalogue-sql.ts'
import { DOCUMENT_READERS, DOCUMENTS } from '../query/engines/document-rows.ts'
import { COMMITS } from '../query/engines/sqlite/write/commit-records.ts'
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
}

interface OwnTable {
  readonly key: readonly string[]
  readonly columns: Readonly<Record<string, IqlType>>
}

/** As `createSystemTables` creates them. The entries last: those of tables that do not exist yet would be faults. */
const OWN: ReadonlyMap<string, OwnTable> = new Map<string, OwnTable>([
  [
    '_gh_requests',
    { key: ['owner', 'key'], columns: { ...texts('owner', 'key', 'fingerprint', 'answer'), created: TIMESTAMP } },
  ],
  [
    '_gh_auditlog',
    {
      key: ['seq'],
      columns: {
        seq: INTEGER,
        at: TIMESTAMP,
        ...texts('event', 'outcome', 'actor', 'client', 'target', 'address', 'request_id', 'node', 'details', 'hash'),
      },
    },
  ],
  [
    DOCUMENTS,
    {
      key: ['id'],
      columns: {
        ...texts('id', 'kind', 'name', 'sortname', 'owner', 'shared', 'body'),
        version: INTEGER,
        updated: INTEGER,
      },
    },
  ],
  [DOCUMENT_READERS, { key: ['reader', 'sortname', 'id'], columns: texts('reader', 'sortname', 'id', 'kind') }],
  [
    ENTRIES,
    {
      key: ['key'],
      columns: {
        ...texts('key', 'name', 'definition', 'readscope', 'writescope', 'rowfilter', 'description'),
        issystem: BOOLEAN,
        created: TIMESTAMP,
        id: INTEGER,
      },
    },
  ],
])

function texts(...names: readonly string[]): Record<string, IqlType> {
  return Object.fromEntries(names.map((name) => [name, TEXT]))
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
export async function queryTables(entries: readonly CatalogueRow[], find: FindColumns): Promise<MovedTable[]> {
  const tables: MovedTable[] = entries
    .map(readDefinition)
    .filter(({ view }) => view === undefined)
    .map((definition) => {
      const { name, columns, primaryKey } = definition
      return { part: 'query', name: name.toLowerCase(), columns, key: primaryKey, definition }
    })
  for (const [name, { key, columns }] of OWN) {
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

const OF_PROCESSES = new RegExp(`^(?:_gh_logs|_gh_log_.*|${COMMITS})$`)

/** Whether a table of ours is left out: the processes that wrote it have ended, or the server makes a new one. */
export function isLeftOut(part: Part, name: string): boolean {
  if (name === MARK_TABLE || name === PROGRESS) return true
  return part === 'identity' ? Object.hasOwn(IDENTITY, name) : OF_PROCESSES.test(name)
}
