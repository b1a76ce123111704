/** Changes of the catalogue in SQLite: the table and its entry in one transaction. */
import { randomUUID } from 'node:crypto'
import type { Database } from 'better-sqlite3'
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
import type { Bindable } from '../engine.ts'
import { quoteIdentifier } from './dialect.ts'
import { columnAffinity } from './representation.ts'
import { SQLITE_CATALOGUE_SCHEMA } from './system-tables.ts'

export function prepareCatalogue(database: Database): void {
  database.exec(SQLITE_CATALOGUE_SCHEMA)
  database.transaction(() => {
    for (const table of systemDefinitions()) storeEntry(database, table, true)
  })()
}

/** Runs inside a transaction of the caller. `fill` is the value of a new column in the rows that exist. */
export function applyChange(database: Database, change: CatalogueChange, fill: Bindable): void {
  switch (change.kind) {
    case 'create':
      if (findEntry(database, change.table.name))
        throw refuse('Data.TableExists', `The name ${change.table.name} is taken`)
      database.exec(createTableSql(change.table))
      for (const index of change.table.indexes) database.exec(createIndexSql(change.table.name, index))
      storeEntry(database, change.table, false)
      return
    case 'drop':
      if (!findEntry(database, change.name)) throw refuse('Data.UnknownTable', `There is no table ${change.name}`)
      database.exec(`DROP TABLE main.${quoteIdentifier(change.name)}`)
      database.prepare('DELETE FROM main._gh_tables WHERE key = ?').run(change.name.toLowerCase())
      return
    case 'alter':
      refuseStale(readEntry(database, change.name), change.from)
      alter(database, change.name, change.step, fill)
      storeEntry(database, change.table, false)
  }
}

/** Rows that a change may go through on the event loop. */
const FEW_ROWS = 10_000

export function isLong(reading: Database, change: CatalogueChange): boolean {
  if (change.kind === 'create') return false
  if (change.kind === 'alter' && (change.step.kind === 'rights' || change.step.kind === 'rename-column')) return false
  if (!findEntry(reading, change.name)) return false
  return (
    reading.prepare(`SELECT 1 FROM main.${quoteIdentifier(change.name)} LIMIT 1 OFFSET ${FEW_ROWS}`).get() !== undefined
  )
}

const ENTRIES = `SELECT name, definition, readscope AS readScope, writescope AS writeScope, rowfilter AS rowFilter, description, created
  FROM main._gh_tables WHERE issystem = 0`

export function readCatalogue(database: Database): CatalogueRow[] {
  return database.prepare<[], CatalogueRow>(`${ENTRIES} ORDER BY key`).safeIntegers(true).all()
}

function readEntry(database: Database, name: string): CatalogueRow | undefined {
  return database.prepare<[string], CatalogueRow>(`${ENTRIES} AND key = ?`).safeIntegers(true).get(name.toLowerCase())
}

function findEntry(database: Database, name: string): boolean {
  return database.prepare('SELECT 1 FROM main._gh_tables WHERE key = ?').get(name.toLowerCase()) !== undefined
}

function storeEntry(database: Database, table: TableDefinition, isSystem: boolean): void {
  database
    .prepare(
      `INSERT INTO main._gh_tables (key, name, issystem, definition, readscope, writescope, rowfilter, description, created)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET name = excluded.name, definition = excluded.definition, readscope = excluded.readscope,
         writescope = excluded.writescope, rowfilter = excluded.rowfilter, description = excluded.description
       WHERE _gh_tables.issystem = excluded.issystem`,
    )
    .run(
      table.name.toLowerCase(),
      table.name,
      isSystem ? 1n : 0n,
      writeDefinition(table),
      table.readScope ?? null,
      table.writeScope ?? null,
      table.rowFilter ?? null,
      table.description ?? null,
      table.created,
    )
}

/** Defaults are written out by the emitter, so the file holds none. */
function createTableSql(table: TableDefinition): string {
  const parts = table.columns.map(
    ({ name, type, nullable }) => `${quoteIdentifier(name)} ${columnAffinity(type)}${nullable ? '' : ' NOT NULL'}`,
  )
  if (table.primaryKey.length > 0) parts.push(`PRIMARY KEY (${names(table.primaryKey)})`)
  for (const unique of table.uniques) parts.push(`UNIQUE (${names(unique)})`)
  return `CREATE TABLE main.${quoteIdentifier(table.name)} (${parts.join(', ')})`
}

function createIndexSql(table: string, index: IndexDefinition): string {
  const columns = index.columns.map(({ name, descending }) => `${quoteIdentifier(name)}${descending ? ' DESC' : ''}`)
  return `CREATE ${index.unique ? 'UNIQUE ' : ''}INDEX main.${indexName(index.name)} ON ${quoteIdentifier(table)} (${columns.join(', ')})`
}

/** Tables and indexes share one space of names in SQLite, not in IQL. */
function indexName(name: string): string {
  return quoteIdentifier(`_gh_index_${name}`)
}

function alter(database: Database, table: string, step: AlterStep, fill: Bindable): void {
  const target = `main.${quoteIdentifier(table)}`
  switch (step.kind) {
    case 'rights':
      return
    case 'add-column': {
      const { name, type, nullable } = step.column
      const value = fill === null ? '' : ` DEFAULT ${database.prepare('SELECT quote(?)').pluck().get(fill)}`
      database.exec(
        `ALTER TABLE ${target} ADD COLUMN ${quoteIdentifier(name)} ${columnAffinity(type)}${nullable ? '' : ' NOT NULL'}${value}`,
      )
      if (step.isUnique)
        database.exec(
          createIndexSql(table, {
            // Of its own: the column may be renamed, and another one take its old name.
            name: randomUUID(),
            unique: true,
            columns: [{ name, descending: false }],
          }),
        )
      return
    }
    case 'drop-column':
      database.exec(`ALTER TABLE ${target} DROP COLUMN ${quoteIdentifier(step.column)}`)
      return
    case 'rename-column':
      database.exec(
        `ALTER TABLE ${target} RENAME COLUMN ${quoteIdentifier(step.column)} TO ${quoteIdentifier(step.to)}`,
      )
      return
    case 'create-index':
      database.exec(createIndexSql(table, step.index))
      return
    case 'drop-index':
      database.exec(`DROP INDEX main.${indexName(step.index)}`)
  }
}

function names(columns: readonly string[]): string {
  return columns.map(quoteIdentifier).join(', ')
}
