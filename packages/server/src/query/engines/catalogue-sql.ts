/** The SQL that defines and changes tables, callers' and the service's own; each engine fills in types and names. */
import { randomUUID } from 'node:crypto'
import { BOOLEAN, INTEGER, type IqlType, TEXT, TIMESTAMP } from 'gatehouse-iql'
import {
  type AlterStep,
  type CatalogueChange,
  type CatalogueRow,
  type ColumnDefinition,
  type IndexDefinition,
  readDefinition,
  refuseStale,
  type TableDefinition,
  writeDefinition,
} from '../catalogue/definition.ts'
import { findKeyLimit } from '../catalogue/key-limit.ts'
import { refuseAgainstRetention } from '../catalogue/retention.ts'
import { refuse } from '../errors.ts'
import { AGENT_CALLS } from './agent-calls.ts'
import { createAlertTables } from './alert-tables.ts'
import { createCopyTables } from './delayed-copies.ts'
import { DOCUMENT_READERS, DOCUMENTS } from './document-rows.ts'
import type { Dialect, Sql } from './emit/dialect.ts'
import type { Bind, Bindable, SqlStatement } from './emit/parameters.ts'
import type { ChangeStep } from './engine.ts'
import { KEEPER } from './keeper-lease.ts'
import { createKeptStates, insertKeptState, removeKeptState, selectKeptState } from './kept-state-sql.ts'
import { createRetentionTables } from './retention.ts'
import { LONG_RESPONSE_BYTES } from './stored-response.ts'
import { WATCHES } from './watch-rows.ts'

export interface CatalogueDialect extends Pick<Dialect, 'identifier' | 'truth' | 'keyFits'> {
  /** The schema of all tables. */
  readonly schema: string
  readonly columnType: (type: IqlType) => Sql
  readonly placeholder: (position: number) => Sql
  readonly bind: Bind
  /** A timestamp column of the service's own tables, as `CatalogueRow` is read from it. */
  readonly selectTimestamp: (column: Sql) => Sql
  /** Clauses of a table whose primary key is a text. */
  readonly textKeyOptions: Sql
  /** An index and its table in CREATE INDEX, with the schema where the database wants it. */
  readonly indexOn: (index: Sql, table: Sql) => Sql
  /** Names the constraint of a key. */
  readonly constraint: () => Sql
  /** Adds a column; `fill` is its value in existing rows. */
  readonly addColumn: (table: string, column: AddedColumn, fill: Bindable) => readonly SqlStatement[]
}

/** What it takes to create a table. */
export type TableDialect = Omit<CatalogueDialect, 'addColumn'>

export type AddedColumn = Pick<ColumnDefinition, 'name' | 'type' | 'nullable'> & { readonly isUnique: boolean }

/** The entries of the catalogue. */
export const ENTRIES = '_gh_tables'

/** Creates the service's own tables. Names that begin with _gh_ are not in the catalogue, so IQL cannot name them. */
export function createSystemTables(dialect: CatalogueDialect): Sql[] {
  const { schema, columnType, textKeyOptions, indexOn } = dialect
  const [text, integer, boolean, timestamp] = [TEXT, INTEGER, BOOLEAN, TIMESTAMP].map(columnType)
  return [
    `CREATE TABLE IF NOT EXISTS ${schema}.${ENTRIES} (
      key ${text} PRIMARY KEY, name ${text} NOT NULL, issystem ${boolean} NOT NULL, definition ${text} NOT NULL,
      readscope ${text}, writescope ${text}, rowfilter ${text}, description ${text}, created ${timestamp} NOT NULL, id ${integer}
    )${textKeyOptions}`,
    `CREATE TABLE IF NOT EXISTS ${schema}._gh_requests (
      owner ${text} NOT NULL, key ${text} NOT NULL, fingerprint ${text} NOT NULL, answer ${text} NOT NULL,
      created ${timestamp} NOT NULL, PRIMARY KEY (owner, key)
    )${textKeyOptions}`,
    `CREATE INDEX IF NOT EXISTS ${indexOn('_gh_requests_created', '_gh_requests')} (created)`,
    `CREATE INDEX IF NOT EXISTS ${indexOn('_gh_requests_owner', '_gh_requests')} (owner, created)`,
    `CREATE INDEX IF NOT EXISTS ${indexOn('_gh_requests_long', '_gh_requests')} (owner, created)
      WHERE octet_length(answer) > ${LONG_RESPONSE_BYTES}`,
    `CREATE TABLE IF NOT EXISTS ${schema}._gh_auditlog (
      seq ${integer} PRIMARY KEY, at ${timestamp} NOT NULL, event ${text} NOT NULL, outcome ${text} NOT NULL, actor ${text},
      client ${text}, target ${text}, address ${text}, request_id ${text}, node ${text} NOT NULL, details ${text} NOT NULL,
      hash ${text} NOT NULL
    )`,
    `CREATE INDEX IF NOT EXISTS ${indexOn('_gh_auditlog_at', '_gh_auditlog')} (at)`,
    `CREATE TABLE IF NOT EXISTS ${schema}.${DOCUMENTS} (
      id ${text} PRIMARY KEY, kind ${text} NOT NULL, name ${text} NOT NULL, sortname ${text} NOT NULL, owner ${text} NOT NULL,
      shared ${text} NOT NULL, version ${integer} NOT NULL, updated ${integer} NOT NULL, body ${text} NOT NULL
    )`,
    `CREATE TABLE IF NOT EXISTS ${schema}.${DOCUMENT_READERS} (
      reader ${text} NOT NULL, sortname ${text} NOT NULL, id ${text} NOT NULL, kind ${text} NOT NULL,
      PRIMARY KEY (reader, sortname, id)
    )${textKeyOptions}`,
    `CREATE INDEX IF NOT EXISTS ${indexOn(`${DOCUMENT_READERS}_id`, DOCUMENT_READERS)} (id)`,
    `CREATE TABLE IF NOT EXISTS ${schema}.${WATCHES} (
      id ${text} PRIMARY KEY, owner ${text} NOT NULL, body ${text} NOT NULL, positions ${text} NOT NULL, used ${integer} NOT NULL
    )`,
    `CREATE INDEX IF NOT EXISTS ${indexOn(`${WATCHES}_owner`, WATCHES)} (owner)`,
    `CREATE INDEX IF NOT EXISTS ${indexOn(`${WATCHES}_used`, WATCHES)} (used)`,
    `CREATE TABLE IF NOT EXISTS ${schema}.${AGENT_CALLS} (
      owner ${text} PRIMARY KEY, day ${text} NOT NULL, calls ${integer} NOT NULL, rowsread ${integer} NOT NULL, called ${integer} NOT NULL
    )`,
    createKeptStates(dialect),
    `CREATE TABLE IF NOT EXISTS ${schema}.${KEEPER} (
      id ${integer} PRIMARY KEY, node ${text} NOT NULL, name ${text} NOT NULL, epoch ${integer} NOT NULL, until ${integer} NOT NULL
    )`,
    ...createRetentionTables(dialect),
    ...createAlertTables(dialect),
    ...createCopyTables(dialect),
  ]
}

/** The number of an entry, from which the object ids of its table are derived. Databases of earlier versions have no such column. */
export const ID_COLUMN = 'id'

export function addIdColumn({ schema, columnType }: CatalogueDialect): Sql {
  return `ALTER TABLE ${schema}.${ENTRIES} ADD COLUMN ${ID_COLUMN} ${columnType(INTEGER)}`
}

/** Numbers the entries that an earlier version has written. */
export function numberEntries({ schema, truth }: CatalogueDialect): Sql {
  return `UPDATE ${schema}.${ENTRIES} SET id = n.next FROM (
      SELECT key, (SELECT coalesce(max(id), 0) FROM ${schema}.${ENTRIES}) + row_number() OVER (ORDER BY created, key) AS next
      FROM ${schema}.${ENTRIES} WHERE id IS NULL AND issystem = ${truth(false)}
    ) AS n WHERE n.key = ${ENTRIES}.key`
}

/** Selects the entries of all tables except system tables. */
export function selectEntries(dialect: CatalogueDialect): Sql {
  return `${select(dialect, ID_COLUMN)} WHERE issystem = ${dialect.truth(false)} ORDER BY key`
}

/** The same, in a database that perhaps only an earlier version has prepared. */
export function selectStoredEntries(dialect: CatalogueDialect): Sql {
  return `${select(dialect, 'NULL', 'NULL')} WHERE issystem = ${dialect.truth(false)} ORDER BY key`
}

/** Selects the entry that a change is checked against. */
export function selectEntry(change: CatalogueChange, dialect: CatalogueDialect): SqlStatement {
  const name = change.kind === 'create' ? change.table.name : change.name
  return {
    sql: `${select(dialect, ID_COLUMN)} WHERE key = ${dialect.placeholder(1)}`,
    parameters: [name.toLowerCase()],
  }
}

function select({ schema, selectTimestamp }: CatalogueDialect, id: Sql, kept = selectKeptState(schema)): Sql {
  return `SELECT name, definition, readscope AS "readScope", writescope AS "writeScope", rowfilter AS "rowFilter", description,
    ${selectTimestamp('created')} AS created, ${id} AS id, ${kept} AS kept FROM ${schema}._gh_tables`
}

/** Writes an entry of the catalogue. */
export function storeEntry(table: TableDefinition, isSystem: boolean, dialect: CatalogueDialect): SqlStatement {
  const { bind, placeholder, schema } = dialect
  const texts = [
    table.name.toLowerCase(),
    table.name,
    writeDefinition(table),
    table.readScope ?? null,
    table.writeScope ?? null,
    table.rowFilter ?? null,
    table.description ?? null,
  ]
  const parameters = [...texts, bind(isSystem, BOOLEAN), bind(table.created, TIMESTAMP)]
  // Changes of the catalogue run one at a time, so no other table gets this number.
  const id = isSystem ? 'NULL' : `(SELECT coalesce(max(id), 0) + 1 FROM ${schema}._gh_tables)`
  return {
    sql: `INSERT INTO ${schema}._gh_tables (key, name, definition, readscope, writescope, rowfilter, description, issystem, created, id)
      VALUES (${parameters.map((_parameter, index) => placeholder(index + 1)).join(', ')}, ${id})
      ON CONFLICT (key) DO UPDATE SET name = excluded.name, definition = excluded.definition, readscope = excluded.readscope,
        writescope = excluded.writescope, rowfilter = excluded.rowfilter, description = excluded.description
        WHERE _gh_tables.issystem = excluded.issystem`,
    parameters,
  }
}

/** The statements of a change, to be run in one transaction. Refuses a change that does not fit the entry found by `selectEntry`. */
export function changeStatements(
  { change, fill }: ChangeStep,
  entry: CatalogueRow | undefined,
  dialect: CatalogueDialect,
): SqlStatement[] {
  refuseAgainstRetention(change, entry && readDefinition(entry))
  switch (change.kind) {
    case 'create': {
      const { table } = change
      if (entry !== undefined) throw refuse('Data.TableExists', `The name ${table.name} is taken`)
      if (table.view !== undefined) return [storeEntry(table, false, dialect)]
      const indexes = table.indexes.map((index) => createIndex(table.name, index, dialect))
      const states = table.kept === undefined ? [] : [insertKeptState(table.name, dialect)]
      return [plain(createTable(table, dialect)), ...indexes, storeEntry(table, false, dialect), ...states]
    }
    case 'drop': {
      if (entry === undefined) throw refuse('Data.UnknownTable', `There is no table ${change.name}`)
      if ((readDefinition(entry).view !== undefined) !== change.isView)
        throw refuse('Data.Conflict', `${change.name} has just changed`)
      const states = readDefinition(entry).kept === undefined ? [] : [removeKeptState(change.name, dialect)]
      const remove = `DELETE FROM ${dialect.schema}._gh_tables WHERE key = ${dialect.placeholder(1)}`
      return [
        ...(change.isView ? [] : [plain(`DROP TABLE ${tableName(change.name, dialect)}`)]),
        { sql: remove, parameters: [change.name.toLowerCase()] },
        ...states,
      ]
    }
    case 'alter':
      refuseStale(entry, change.from)
      return [
        ...(change.step.kind === 'create-index' ? refuseLongValues(change.table, change.step.index, dialect) : []),
        ...alterTable(change.name, change.step, fill, dialect),
        storeEntry(change.table, false, dialect),
      ]
  }
}

export function tableName(table: string, { schema, identifier }: TableDialect): Sql {
  return `${schema}.${identifier(table)}`
}

/** Without its indexes. Defaults are written out by the emitter, so the table has none. */
export function createTable(table: TableDefinition, dialect: TableDialect): Sql {
  const { columnType, constraint, identifier } = dialect
  const list = (columns: readonly string[]): Sql => columns.map(identifier).join(', ')
  const parts = table.columns.map(
    ({ name, type, nullable }) => `${identifier(name)} ${columnType(type)}${nullable ? '' : ' NOT NULL'}`,
  )
  if (table.primaryKey.length > 0) parts.push(`${constraint()}PRIMARY KEY (${list(table.primaryKey)})`)
  for (const unique of table.uniques) parts.push(`${constraint()}UNIQUE (${list(unique)})`)
  return `CREATE TABLE ${tableName(table.name, dialect)} (${parts.join(', ')})`
}

export function createIndex(table: string, index: IndexDefinition, dialect: TableDialect): SqlStatement {
  const { identifier, indexOn } = dialect
  const columns = index.columns.map(({ name, descending }) => `${identifier(name)}${descending ? ' DESC' : ''}`)
  const target = indexOn(indexName(index.name, dialect), identifier(table))
  return plain(`CREATE ${index.unique ? 'UNIQUE ' : ''}INDEX ${target} (${columns.join(', ')})`)
}

export function dropIndex(index: string, dialect: TableDialect): Sql {
  return `DROP INDEX ${dialect.schema}.${indexName(index, dialect)}`
}

/** Queries that fail if a row has a value that is too long for the index. */
function refuseLongValues(table: TableDefinition, index: IndexDefinition, dialect: CatalogueDialect): SqlStatement[] {
  const keys = table.indexes.map(({ columns }) => columns.map(({ name }) => name))
  return index.columns.flatMap(({ name }) => {
    const type = table.columns.find((column) => column.name === name)?.type
    const limit = findKeyLimit(table, keys, name)
    if (type === undefined || limit === undefined) return []
    const value = dialect.identifier(name)
    return plain(
      `SELECT ${dialect.keyFits(value, type, name, limit)} FROM ${tableName(table.name, dialect)} WHERE octet_length(${value}) > ${limit} LIMIT 1`,
    )
  })
}

/** A unique index whose name does not depend on the column, because the column may be renamed and its name reused. */
export function createUniqueIndex(table: string, column: string, dialect: CatalogueDialect): SqlStatement {
  const columns = [{ name: column, descending: false }]
  return createIndex(table, { name: randomUUID(), unique: true, columns }, dialect)
}

/** In the databases tables and indexes share one namespace, in IQL they do not. */
function indexName(name: string, { identifier }: TableDialect): Sql {
  return identifier(`_gh_index_${name}`)
}

function alterTable(
  table: string,
  step: AlterStep,
  fill: Bindable,
  dialect: CatalogueDialect,
): readonly SqlStatement[] {
  const { addColumn, identifier } = dialect
  const target = tableName(table, dialect)
  switch (step.kind) {
    case 'rights':
    case 'replace-view':
      return []
    case 'add-column':
      return addColumn(table, { ...step.column, isUnique: step.isUnique }, fill)
    case 'drop-column':
      return [plain(`ALTER TABLE ${target} DROP COLUMN ${identifier(step.column)}`)]
    case 'rename-column':
      return [plain(`ALTER TABLE ${target} RENAME COLUMN ${identifier(step.column)} TO ${identifier(step.to)}`)]
    case 'create-index':
      return [createIndex(table, step.index, dialect)]
    case 'drop-index':
      return [plain(dropIndex(step.index, dialect))]
  }
}

/** A statement without parameters. */
export function plain(sql: Sql): SqlStatement {
  return { sql, parameters: [] }
}
