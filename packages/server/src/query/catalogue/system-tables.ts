/** The tables that the service itself provides. */
import { BOOLEAN, INTEGER, type IqlType, JSON_TYPE, TEXT, TIMESTAMP } from 'gatehouse-iql'
import type { TableDefinition } from './definition.ts'

const CATALOGUE_TABLES = 'cataloguetables'
const CATALOGUE_COLUMNS = 'cataloguecolumns'
const CATALOGUE_TABLE = 'CatalogueTable'
/** The scope to define tables, and to write to tables that name no scope. */
export const ADMIN_SCOPE = 'Platform/Admin'

export const AUDIT_LOG = 'auditlog'
export const ALERT_STATES = 'alertstates'
export const ALERT_EVENTS = 'alertevents'

/** Their rows change without the catalogue: live statements read them every second. */
export const POLLED: ReadonlySet<string> = new Set([AUDIT_LOG, ALERT_STATES, ALERT_EVENTS])

export interface SystemTable {
  readonly description: string
  readonly isWritable: boolean
  readonly columns: readonly (readonly [name: string, type: IqlType, nullable: boolean])[]
  readonly primaryKey: readonly string[]
  /** Undefined: any scope of the platform is enough. */
  readonly readScope?: string
}

/** What tables demand of the sign-in of their callers. */
const STEP_UP_COLUMNS = [
  ['requireacr', INTEGER, true],
  ['requireage', INTEGER, true],
  ['writerequireacr', INTEGER, true],
  ['writerequireage', INTEGER, true],
] as const

export const SYSTEM_TABLES: ReadonlyMap<string, SystemTable> = new Map<string, SystemTable>([
  [
    CATALOGUE_TABLES,
    {
      description: 'The tables and views that you may see',
      isWritable: false,
      columns: [
        ['name', TEXT, false],
        ['issystem', BOOLEAN, false],
        ['description', TEXT, true],
        ['readscope', TEXT, true],
        ['writescope', TEXT, true],
        ['columns', INTEGER, false],
        ['created', TIMESTAMP, false],
        ['live', BOOLEAN, false],
        ['columnar', BOOLEAN, false],
        ['isview', BOOLEAN, false],
        ['ismaterialized', BOOLEAN, false],
        ['view', TEXT, true],
        ...STEP_UP_COLUMNS,
      ],
      primaryKey: ['name'],
    },
  ],
  [
    CATALOGUE_COLUMNS,
    {
      description: 'The columns of the tables and views that you may see',
      isWritable: false,
      columns: [
        ['tablename', TEXT, false],
        ['name', TEXT, false],
        ['type', TEXT, false],
        ['ordinal', INTEGER, false],
        ['nullable', BOOLEAN, false],
        ['isprimarykey', BOOLEAN, false],
        ['default', TEXT, true],
      ],
      primaryKey: ['tablename', 'name'],
    },
  ],
  [
    CATALOGUE_TABLE,
    {
      description:
        'The definitions of the tables that you may see: insert a row to create a table, delete it to drop the table',
      isWritable: true,
      columns: [
        ['name', TEXT, false],
        ['columns', JSON_TYPE, false],
        ['description', TEXT, true],
        ['readscope', TEXT, true],
        ['writescope', TEXT, true],
        ['rowfilter', TEXT, true],
        ['live', BOOLEAN, true],
        ['columnar', BOOLEAN, true],
        ...STEP_UP_COLUMNS,
      ],
      primaryKey: ['name'],
    },
  ],
  [
    AUDIT_LOG,
    {
      description: 'Who did what, from where and when: the audit log, as far as it is kept',
      isWritable: false,
      columns: [
        ['seq', INTEGER, false],
        ['at', TIMESTAMP, false],
        ['event', TEXT, false],
        ['outcome', TEXT, false],
        ['actor', TEXT, true],
        ['client', TEXT, true],
        ['target', TEXT, true],
        ['address', TEXT, true],
        ['request_id', TEXT, true],
        ['node', TEXT, false],
        ['details', JSON_TYPE, false],
        ['hash', TEXT, false],
      ],
      primaryKey: ['seq'],
      readScope: 'Identity/Admin',
    },
  ],
  [
    ALERT_STATES,
    {
      description: 'The keys of your alerts that are pending or firing',
      isWritable: false,
      columns: [
        ['alert', TEXT, false],
        ['name', TEXT, false],
        ['key', TEXT, false],
        ['state', TEXT, false],
        ['since', TIMESTAMP, false],
        ['row', JSON_TYPE, false],
      ],
      primaryKey: ['alert', 'key'],
    },
  ],
  [
    ALERT_EVENTS,
    {
      description: 'What has happened to your alerts, as far as it is kept',
      isWritable: false,
      columns: [
        ['alert', TEXT, false],
        ['seq', INTEGER, false],
        ['name', TEXT, false],
        ['at', TIMESTAMP, false],
        ['type', TEXT, false],
        ['key', TEXT, true],
        ['row', JSON_TYPE, true],
      ],
      primaryKey: ['alert', 'seq'],
    },
  ],
])

export function systemDefinitions(): TableDefinition[] {
  return [...SYSTEM_TABLES].map(([name, { columns, primaryKey, description, isWritable, readScope }]) => ({
    name,
    columns: columns.map(([column, type, nullable]) => ({ name: column, type, nullable, default: undefined })),
    primaryKey,
    uniques: [],
    indexes: [],
    readScope,
    writeScope: isWritable ? ADMIN_SCOPE : undefined,
    rowFilter: undefined,
    description,
    isLive: false,
    created: 0n,
  }))
}
