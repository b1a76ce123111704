/** The tables of alerts in the query database: what both engines share. Times are in milliseconds since the epoch. */
import { INTEGER, type IqlType, TEXT } from 'gatehouse-iql'
import type { Sql } from './emit/dialect.ts'

export interface AlertTable<Column extends string = string> {
  readonly name: string
  readonly columns: Readonly<Record<Column, 'text' | 'integer'>>
  readonly key: readonly Column[]
}

function table<const Column extends string>(
  name: string,
  columns: Readonly<Record<Column, 'text' | 'integer'>>,
  key: readonly NoInfer<Column>[],
): AlertTable<Column> {
  return { name, columns, key }
}

/** What the keeper knows of each alert. Its definition is in the identity database. */
export const ALERT_RUNS = table(
  '_gh_alerts',
  {
    alert: 'text',
    owner: 'text',
    name: 'text',
    /** JSON: the scopes that a token of the owner needs to see its rows. */
    scopes: 'text',
    /** Of the definition that was evaluated last. */
    version: 'integer',
    /** A digest of what is evaluated: with another one the states begin anew. */
    basis: 'text',
    /** A digest of what the owner may see. */
    rights: 'text',
    state: 'text',
    error: 'text',
    watched: 'integer',
    position: 'text',
    /** How many events there have been. */
    events: 'integer',
    /** JSON: the number of the last delivery of each channel. */
    sequences: 'text',
  },
  ['alert'],
)

/** The keys of results that are in a state, or of which a notice said that they are in one. */
export const ALERT_STATES = table(
  '_gh_alert_states',
  {
    ...{ alert: 'text', key: 'text', state: 'text', since: 'integer' },
    /** Since when it has been about to end; null: it is not. */
    ending: 'integer',
    ...{ notified: 'text', notified_at: 'integer', row: 'text' },
  },
  ['alert', 'key'],
)

export const ALERT_EVENTS = table(
  '_gh_alert_events',
  { alert: 'text', seq: 'integer', at: 'integer', type: 'text', key: 'text', row: 'text' },
  ['alert', 'seq'],
)

export const ALERT_DELIVERIES = table(
  '_gh_alert_deliveries',
  {
    ...{ id: 'text', alert: 'text', channel: 'text', sequence: 'integer', state: 'text', created: 'integer' },
    ...{ next_at: 'integer', ended: 'integer', attempts: 'integer', status: 'integer', error: 'text' },
    /** How many others were joined to it. */
    joined: 'integer',
    /** JSON. */
    notice: 'text',
  },
  ['id'],
)

/** Any node writes them: an empty key is all keys of the alert. */
export const ALERT_SILENCES = table('_gh_alert_silences', { alert: 'text', key: 'text', until: 'integer' }, [
  'alert',
  'key',
])

export const ALERT_TABLES: readonly AlertTable[] = [
  ALERT_RUNS,
  ALERT_STATES,
  ALERT_EVENTS,
  ALERT_DELIVERIES,
  ALERT_SILENCES,
]

interface OwnTablesDialect {
  readonly schema: string
  readonly columnType: (type: IqlType) => Sql
  readonly indexOn: (index: Sql, table: Sql) => Sql
}

export function createAlertTables({ schema, columnType, indexOn }: OwnTablesDialect): Sql[] {
  const types = { text: columnType(TEXT), integer: columnType(INTEGER) }
  const tables = ALERT_TABLES.map(({ name, columns, key }) => {
    const parts = Object.entries(columns).map(
      ([column, type]) => `${column} ${types[type]}${key.includes(column) ? ' NOT NULL' : ''}`,
    )
    return `CREATE TABLE IF NOT EXISTS ${schema}.${name} (${parts.join(', ')}, PRIMARY KEY (${key.join(', ')}))`
  })
  const index = (of: AlertTable, name: string, columns: string): Sql =>
    `CREATE INDEX IF NOT EXISTS ${indexOn(`${of.name}_${name}`, of.name)} ${columns}`
  return [
    ...tables,
    index(ALERT_EVENTS, 'at', '(at)'),
    index(ALERT_DELIVERIES, 'alert', '(alert, created)'),
    index(ALERT_DELIVERIES, 'waiting', "(created) WHERE state = 'waiting'"),
    index(ALERT_DELIVERIES, 'ended', "(ended) WHERE state <> 'waiting'"),
  ]
}
