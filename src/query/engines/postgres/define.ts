/** Changes of the catalogue in PostgreSQL: the table and its entry in one transaction. */
import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import {
  type AlterStep,
  type CatalogueChange,
  type CatalogueRow,
  type IndexDefinition,
  refuseStale,
  type TableDefinition,
  writeDefinition,
} from '../../catalogue/definition.ts'
import { systemDefinitions } from '../../catalogue/system-tables.ts'
import { refuse } from '../../errors.ts'
import { readTimestamp, writeTimestamp } from '../../iql/time-values.ts'
import type { Bindable } from '../engine.ts'
import { quoteIdentifier } from './dialect.ts'
import { noUnicode, refuseUnfit } from './fitness.ts'
import { functionSql, HELPER_FUNCTIONS } from './functions.ts'
import { columnType, SCHEMA } from './representation.ts'
import { POSTGRES_CATALOGUE_SCHEMA } from './system-tables.ts'

/** One node at a time makes or changes anything here. */
const DEFINE_LOCK = 'SELECT pg_advisory_xact_lock(7301945120366)'

/** Provider and locale of a collation with Unicode's case rules, best first; which exist depends on the version and the build. */
const UNICODE_COLLATIONS = [`provider = builtin, locale = 'PG_UNICODE_FAST'`, `provider = icu, locale = 'und'`]

export async function prepareSchema(client: PoolClient): Promise<void> {
  await refuseUnfit(client)
  await client.query('BEGIN')
  await client.query(DEFINE_LOCK)
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`)
  await client.query(`REVOKE ALL ON SCHEMA ${SCHEMA} FROM PUBLIC`)
  await createUnicodeCollation(client)
  for (const statement of POSTGRES_CATALOGUE_SCHEMA) await client.query(statement)
  // They call one another: none is looked into before all are there.
  await client.query('SET LOCAL check_function_bodies = off')
  for (const helper of HELPER_FUNCTIONS) await client.query(functionSql(helper))
  for (const table of systemDefinitions()) await storeEntry(client, table, true)
  await client.query('COMMIT')
}

async function createUnicodeCollation(client: PoolClient): Promise<void> {
  const { rowCount } = await client.query(
    `SELECT 1 FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace WHERE n.nspname = $1 AND c.collname = 'gh_unicode'`,
    [SCHEMA],
  )
  if (rowCount !== 0) return
  let last: unknown
  for (const definition of UNICODE_COLLATIONS) {
    await client.query('SAVEPOINT attempt')
    try {
      await client.query(`CREATE COLLATION ${SCHEMA}.gh_unicode (${definition})`)
      return
    } catch (error) {
      last = error
      await client.query('ROLLBACK TO attempt')
    }
  }
  throw noUnicode(last)
}

/** Runs inside a transaction of the caller. `fill` is the value of a new column in the rows that exist. */
export async function applyChange(client: PoolClient, change: CatalogueChange, fill: Bindable): Promise<void> {
  await client.query(DEFINE_LOCK)
  switch (change.kind) {
    case 'create':
      if (await findEntry(client, change.table.name))
        throw refuse('Data.TableExists', `The name ${change.table.name} is taken`)
      await client.query(createTableSql(change.table))
      for (const index of change.table.indexes) await client.query(createIndexSql(change.table.name, index))
      return storeEntry(client, change.table, false)
    case 'drop':
      if (!(await findEntry(client, change.name))) throw refuse('Data.UnknownTable', `There is no table ${change.name}`)
      await client.query(`DROP TABLE ${SCHEMA}.${quoteIdentifier(change.name)}`)
      await client.query(`DELETE FROM ${SCHEMA}._gh_tables WHERE key = $1`, [change.name.toLowerCase()])
      return
    case 'alter':
      refuseStale((await readEntries(client, 'AND key = $1', [change.name.toLowerCase()]))[0], change.from)
      await alter(client, change.name, change.step, fill)
      return storeEntry(client, change.table, false)
  }
}

export function readCatalogue(client: PoolClient): Promise<CatalogueRow[]> {
  return readEntries(client, 'ORDER BY key', [])
}

async function readEntries(client: PoolClient, tail: string, values: readonly string[]): Promise<CatalogueRow[]> {
  const { rows } = await client.query<Omit<CatalogueRow, 'created'> & { created: string }>(
    `SELECT name, definition, readscope AS "readScope", writescope AS "writeScope", rowfilter AS "rowFilter", description, created::text AS created
     FROM ${SCHEMA}._gh_tables WHERE NOT issystem ${tail}`,
    [...values],
  )
  return rows.map((row) => ({ ...row, created: readTimestamp(row.created) ?? 0n }))
}

async function findEntry(client: PoolClient, name: string): Promise<boolean> {
  const { rowCount } = await client.query(`SELECT 1 FROM ${SCHEMA}._gh_tables WHERE key = $1`, [name.toLowerCase()])
  return rowCount !== 0
}

async function storeEntry(client: PoolClient, table: TableDefinition, isSystem: boolean): Promise<void> {
  await client.query(
    `INSERT INTO ${SCHEMA}._gh_tables (key, name, issystem, definition, readscope, writescope, rowfilter, description, created)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::timestamp)
     ON CONFLICT (key) DO UPDATE SET name = excluded.name, definition = excluded.definition, readscope = excluded.readscope,
       writescope = excluded.writescope, rowfilter = excluded.rowfilter, description = excluded.description
       WHERE _gh_tables.issystem = excluded.issystem`,
    [
      table.name.toLowerCase(),
      table.name,
      isSystem,
      writeDefinition(table),
      table.readScope ?? null,
      table.writeScope ?? null,
      table.rowFilter ?? null,
      table.description ?? null,
      writeTimestamp(table.created).slice(0, -1),
    ],
  )
}

function createTableSql(table: TableDefinition): string {
  const parts = table.columns.map(
    ({ name, type, nullable }) => `${quoteIdentifier(name)} ${columnType(type)}${nullable ? '' : ' NOT NULL'}`,
  )
  if (table.primaryKey.length > 0) parts.push(`${constraint()} PRIMARY KEY (${names(table.primaryKey)})`)
  for (const unique of table.uniques) parts.push(`${constraint()} UNIQUE (${names(unique)})`)
  return `CREATE TABLE ${SCHEMA}.${quoteIdentifier(table.name)} (${parts.join(', ')})`
}

function createIndexSql(table: string, index: IndexDefinition): string {
  const columns = index.columns.map(({ name, descending }) => `${quoteIdentifier(name)}${descending ? ' DESC' : ''}`)
  return `CREATE ${index.unique ? 'UNIQUE ' : ''}INDEX ${indexName(index.name)} ON ${SCHEMA}.${quoteIdentifier(table)} (${columns.join(', ')})`
}

/** Named by us: the index of a name that PostgreSQL makes up, such as trades_pkey, would take it from the tables. */
function constraint(): string {
  return `CONSTRAINT ${quoteIdentifier(`_gh_key_${randomUUID()}`)}`
}

/** Tables and indexes share one space of names in PostgreSQL, not in IQL. */
function indexName(name: string): string {
  return quoteIdentifier(`_gh_index_${name}`)
}

async function alter(client: PoolClient, table: string, step: AlterStep, fill: Bindable): Promise<void> {
  const target = `${SCHEMA}.${quoteIdentifier(table)}`
  switch (step.kind) {
    case 'rights':
      return
    case 'add-column': {
      const { name, type, nullable } = step.column
      const column = quoteIdentifier(name)
      await client.query(`ALTER TABLE ${target} ADD COLUMN ${column} ${columnType(type)}`)
      if (fill !== null) await client.query(`UPDATE ${target} SET ${column} = $1`, [fill])
      if (!nullable) await client.query(`ALTER TABLE ${target} ALTER COLUMN ${column} SET NOT NULL`)
      if (step.isUnique) await client.query(`ALTER TABLE ${target} ADD ${constraint()} UNIQUE (${column})`)
      return
    }
    case 'drop-column':
      await client.query(`ALTER TABLE ${target} DROP COLUMN ${quoteIdentifier(step.column)}`)
      return
    case 'rename-column':
      await client.query(
        `ALTER TABLE ${target} RENAME COLUMN ${quoteIdentifier(step.column)} TO ${quoteIdentifier(step.to)}`,
      )
      return
    case 'create-index':
      await client.query(createIndexSql(table, step.index))
      return
    case 'drop-index':
      await client.query(`DROP INDEX ${SCHEMA}.${indexName(step.index)}`)
  }
}

function names(columns: readonly string[]): string {
  return columns.map(quoteIdentifier).join(', ')
}
