/**
 * The stored data of the query service without a running service: what `gatehouse move` reads and writes in both engines. It is an entry
 * beside `index.ts`, because it loads both engines' catalogues and no service; nothing else loads it.
 */
import type { Database } from 'better-sqlite3'
import { BOOLEAN, INTEGER, type IqlType, TEXT, TIMESTAMP } from 'gatehouse-iql'
import type { PoolClient } from 'pg'
import type { PostgresPlace } from '../store/database/servers/one-connection.ts'
import { readDefinition, type TableDefinition } from './catalogue/definition.ts'
import { findKeyLimit } from './catalogue/key-limit.ts'
import { AGENT_CALLS } from './engines/agent-calls.ts'
import { ALERT_TABLES, type AlertTable } from './engines/alert-tables.ts'
import { createIndex, createTable, ENTRIES, type TableDialect } from './engines/catalogue-sql.ts'
import { COPIES, MARKS } from './engines/delayed-copies.ts'
import { DOCUMENT_READERS, DOCUMENTS } from './engines/document-rows.ts'
import { KEEPER } from './engines/keeper-lease.ts'
import { KEPT_COUNTS, KEPT_STATES } from './engines/kept-state-sql.ts'
import * as postgres from './engines/postgres/catalogue.ts'
import { SCHEMA, sqlType } from './engines/postgres/representation.ts'
import { checkPostgres } from './engines/postgres/setup/fitness.ts'
import { prepareDatabase } from './engines/postgres/setup/setup.ts'
import { CUTS, RETENTION } from './engines/retention.ts'
import * as sqlite from './engines/sqlite/catalogue.ts'
import { openForWriting } from './engines/sqlite/connection.ts'
import { rowId } from './engines/sqlite/dialect/row-id.ts'
import { MODE } from './engines/sqlite/retention/retention-triggers.ts'
import { COMMITS } from './engines/sqlite/write/commit-records.ts'
import { WATCHES } from './engines/watch-rows.ts'

export type { TableDefinition } from './catalogue/definition.ts'
/** Decimals of more than 18 digits, as SQLite stores them. */
export { fromWide, toWide } from './engines/sqlite/representation.ts'

export const SQLITE_STORAGE = {
  ...storageSql(sqlite.CATALOGUE),
  openForWriting,
  /** Creates the service's own tables. */
  prepare: sqlite.prepareCatalogue,
  /** The definitions of all tables of callers; none in a file that the service has not prepared. */
  readDefinitions(database: Database): TableDefinition[] {
    const isPrepared = database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(ENTRIES) !== undefined
    return isPrepared ? sqlite.readCatalogue(database).map(readDefinition) : []
  },
  /** The name of the row identifier; undefined if columns use all its names. */
  rowId,
}

export const POSTGRES_STORAGE = {
  ...storageSql(postgres.CATALOGUE),
  schema: SCHEMA,
  /** The type of a column. */
  columnType: sqlType,
  /** Throws UnfitDatabase; leaves nothing in the database. */
  check: checkPostgres,
  /** Creates the service's own tables. */
  async prepare(client: PoolClient): Promise<void> {
    await prepareDatabase(client)
  },
  /** As in SQLite. */
  async readDefinitions(place: PostgresPlace): Promise<TableDefinition[]> {
    return (await postgres.readStoredCatalogue(place)).map(readDefinition)
  },
}

function storageSql(dialect: TableDialect) {
  return {
    identifier: dialect.identifier,
    createTable: (definition: TableDefinition) => createTable(definition, dialect),
    createIndexes: ({ name, indexes }: TableDefinition) =>
      indexes.map((index) => createIndex(name.toLowerCase(), index, dialect).sql),
  }
}

/** The most bytes of a value in the column, if it is in a key or an index. */
export function longestValue(definition: TableDefinition, column: string): number {
  const indexes = definition.indexes.map(({ columns }) => columns.map(({ name }) => name))
  return findKeyLimit(definition, indexes, column) ?? Number.POSITIVE_INFINITY
}

export interface OwnTable {
  readonly key: readonly string[]
  readonly columns: Readonly<Record<string, IqlType>>
}

/** The service's own tables as `createSystemTables` creates them. The entries last: those of tables that do not exist yet would be faults. */
export const OWN_TABLES: ReadonlyMap<string, OwnTable> = new Map<string, OwnTable>([
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
    RETENTION,
    {
      key: ['name'],
      columns: {
        ...texts('name', 'time', 'time_column', 'fault'),
        ...integers('held', 'horizon', 'settling', 'cut', 'requested', 'done', 'removed'),
        ...integers('unrecorded', 'unrecorded_since', 'unrecorded_oldest'),
      },
    },
  ],
  ...ALERT_TABLES.map(ownAlertTable),
  [
    KEPT_STATES,
    {
      key: ['key'],
      columns: {
        ...texts('key', 'state', 'position', 'error', 'zones', 'cuts'),
        built: BOOLEAN,
        ...integers(...KEPT_COUNTS),
      },
    },
  ],
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

function ownAlertTable({ name, columns, key }: AlertTable): readonly [string, OwnTable] {
  const types = Object.entries(columns).map(([column, type]) => [column, type === 'text' ? TEXT : INTEGER] as const)
  return [name, { key, columns: Object.fromEntries(types) }]
}

function texts(...names: readonly string[]): Record<string, IqlType> {
  return Object.fromEntries(names.map((name) => [name, TEXT]))
}

function integers(...names: readonly string[]): Record<string, IqlType> {
  return Object.fromEntries(names.map((name) => [name, INTEGER]))
}

const OF_PROCESSES = new RegExp(
  `^(?:_gh_logs|_gh_log_.*|_gh_column_.*|_gh_aside_.*|_gh_delayed_.*|${COPIES}|${MARKS}|${WATCHES}|${AGENT_CALLS}|${KEEPER}|${CUTS}|${MODE}|${COMMITS})$`,
)

/** Whether it is a table of processes that have ended, or the service makes a new one when it starts. */
export function isOfProcesses(name: string): boolean {
  return OF_PROCESSES.test(name)
}
