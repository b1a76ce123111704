/** The catalogue in SQLite: a table and its entry change in one transaction. */
import Sqlite, { type Database } from 'better-sqlite3'
import {
  type AlterStep,
  type CatalogueChange,
  type CatalogueRow,
  readDefinition,
  type TableDefinition,
} from '../../catalogue/definition.ts'
import { systemDefinitions } from '../../catalogue/system-tables.ts'
import { concernsViews, ViewGuard } from '../../catalogue/view-guard.ts'
import { refuse } from '../../errors.ts'
import {
  addIdColumn,
  type CatalogueDialect,
  changeStatements,
  createSystemTables,
  createUniqueIndex,
  ENTRIES,
  ID_COLUMN,
  numberEntries,
  plain,
  selectEntries,
  selectEntry,
  selectStoredEntries,
  storeEntry,
  type TableDialect,
  tableName,
} from '../catalogue-sql.ts'
import { alwaysLogged, hasLog, toLogChange } from '../change-log.ts'
import { listCopies } from '../delayed-copies.ts'
import type { SqlStatement } from '../emit/parameters.ts'
import type { ChangeStep } from '../engine.ts'
import type { KeptPlan } from '../kept-engine.ts'
import * as columns from './columns/column-changes.ts'
import { beginCopies, changeCopies, prepareCopies } from './delayed/copies.ts'
import { SQLITE } from './dialect/dialect.ts'
import { catchUpViews, moveViews } from './kept/catch-up-views.ts'
import { dropAside } from './kept/kept-write.ts'
import { createLog, dropLog, prepareLogs, replaceTriggers } from './live/change-log.ts'
import { columnAffinity, toSqlite } from './representation.ts'
import * as retention from './retention/retention-changes.ts'
import { prepareCommitRecords } from './write/commit-records.ts'

/** SQLite names the indexes of keys itself, in a separate namespace. */
export const CATALOGUE: TableDialect = {
  identifier: SQLITE.identifier,
  truth: SQLITE.truth,
  keyFits: SQLITE.keyFits,
  schema: 'main',
  columnType: columnAffinity,
  placeholder: () => '?',
  bind: toSqlite,
  selectTimestamp: (column) => column,
  textKeyOptions: ' WITHOUT ROWID',
  indexOn: (index, table) => `main.${index} ON ${table}`,
  constraint: () => '',
}

function createCatalogue(database: Database): CatalogueDialect {
  const dialect: CatalogueDialect = {
    ...CATALOGUE,
    addColumn(table, { name, type, nullable, isUnique }, fill) {
      const required = nullable ? '' : ' NOT NULL'
      const value = fill === null ? '' : ` DEFAULT ${database.prepare('SELECT quote(?)').pluck().get(fill)}`
      const column = `${dialect.identifier(name)} ${columnAffinity(type)}${required}${value}`
      const add = plain(`ALTER TABLE ${tableName(table, dialect)} ADD COLUMN ${column}`)
      return isUnique ? [add, createUniqueIndex(table, name, dialect)] : [add]
    },
  }
  return dialect
}

export function prepareCatalogue(database: Database): void {
  const dialect = createCatalogue(database)
  for (const sql of createSystemTables(dialect)) database.exec(sql)
  prepareCommitRecords(database)
  database
    .transaction(() => {
      if (!hasIds(database)) database.exec(addIdColumn(dialect))
      database.exec(numberEntries(dialect))
      for (const table of systemDefinitions()) run(database, storeEntry(table, true, dialect))
      const tables = readCatalogue(database).map(readDefinition)
      prepareCopies(database, tables, CATALOGUE)
      const renewed = prepareLogs(database, [...tables, ...listCopies(tables).map(({ definition }) => definition)])
      beginCopies(database, tables, renewed)
      columns.prepareColumns(database, tables)
      retention.prepareRetention(database, tables)
    })
    .immediate()
}

function hasIds(database: Database): boolean {
  const find = `SELECT 1 FROM pragma_table_info('${ENTRIES}') WHERE name = ?`
  return database.prepare(find).get(ID_COLUMN) !== undefined
}

/** Call in a transaction. */
export function applyChanges(database: Database, steps: readonly ChangeStep[], kept: readonly KeptPlan[] = []): void {
  if (steps.some(({ change }) => concernsViews(change)))
    new ViewGuard(readCatalogue(database).map(readDefinition)).accept(steps.map(({ change }) => change))
  for (const step of steps) applyChange(database, step, kept)
}

function applyChange(database: Database, step: ChangeStep, kept: readonly KeptPlan[]): void {
  const dialect = createCatalogue(database)
  const { sql, parameters } = selectEntry(step.change, dialect)
  const entry = database
    .prepare<unknown[], CatalogueRow>(sql)
    .safeIntegers(true)
    .get(...parameters)
  const statements = changeStatements(step, entry, dialect)
  const log = toLogChange(step.change)
  const views = log.drop === undefined ? [] : catchUpViews(database, log.drop, kept)
  if (log.drop !== undefined) dropLog(database, log.drop)
  if (step.change.kind === 'drop') database.exec(dropAside(step.change.name))
  columns.beforeChange(database, step.change)
  retention.beforeChange(database, step.change)
  for (const statement of statements) run(database, statement)
  if (log.create !== undefined) createLog(database, log.create, keptColumns(database, log.create.name))
  if (log.create !== undefined) moveViews(database, log.create.name, views)
  const base = keptBase(step.change, entry)
  if (base !== undefined) replaceLogged(database, base, dialect)
  columns.afterChange(database, step.change)
  retention.afterChange(database, step.change)
  changeCopies(database, step.change, entry && readDefinition(entry), CATALOGUE)
}

/** The table whose log must have other columns, because a materialized view of it is new or gone. */
function keptBase(change: CatalogueChange, entry: CatalogueRow | undefined): string | undefined {
  if (change.kind === 'create') return change.table.kept?.uses[0]
  return change.kind === 'drop' && entry !== undefined ? readDefinition(entry).kept?.uses[0] : undefined
}

function replaceLogged(database: Database, base: string, dialect: CatalogueDialect): void {
  const { sql, parameters } = selectEntry({ kind: 'drop', name: base, isView: false }, dialect)
  const row = database
    .prepare<unknown[], CatalogueRow>(sql)
    .safeIntegers(true)
    .get(...parameters)
  const table = row && readDefinition(row)
  if (table !== undefined && hasLog(table)) replaceTriggers(database, table, keptColumns(database, table.name))
}

/** The columns that the views of the table need in its log. */
function keptColumns(database: Database, table: string): ReadonlySet<string> | undefined {
  const find = `SELECT definition FROM main.${ENTRIES} WHERE instr(definition, '"kept":') > 0`
  const texts = database.prepare<[], string>(find).pluck().all()
  const views = texts.map((text) => JSON.parse(text) as Pick<TableDefinition, 'kept'>)
  return alwaysLogged(views).get(table.toLowerCase())
}

export function readCatalogue(database: Database, select = selectEntries): CatalogueRow[] {
  return database
    .prepare<[], CatalogueRow>(select(createCatalogue(database)))
    .safeIntegers(true)
    .all()
}

/** Empty in a file that the service has not prepared yet. */
export function readStoredCatalogue(path: string): CatalogueRow[] {
  const database = new Sqlite(path, { readonly: true, timeout: 5000 })
  try {
    const isPrepared = database.prepare(`SELECT 1 FROM sqlite_master WHERE name = ?`).get(ENTRIES) !== undefined
    return isPrepared ? readCatalogue(database, selectStoredEntries) : []
  } finally {
    database.close()
  }
}

/** The most rows that a change may read on the event loop. */
const MAX_INLINE_ROWS = 10_000
/** The most changes × tables on the event loop: about 40 ms. */
const MAX_INLINE_WORK = 5_000

/**
 * Whether the changes would take long. SQLite reads its whole schema for each object that it creates or drops, and a table has
 * several objects.
 */
export function areLong(database: Database, steps: readonly ChangeStep[]): boolean {
  const work = steps.length * (countTables(database) + steps.length)
  return work > MAX_INLINE_WORK || steps.some(({ change }) => isLong(database, change))
}

/**
 * Every connection reads the whole schema again after any change of it, on the event loop too: 0.1 ms for each table. PostgreSQL has
 * no such limit.
 */
export function refuseTooMany(database: Database, steps: readonly ChangeStep[], maximum: number): void {
  const created = steps.filter(({ change }) => change.kind === 'create').length
  if (created > 0 && countTables(database) + created > maximum)
    throw refuse('Limit.Tables', `The embedded engine has at most ${maximum} tables`)
}

function countTables(database: Database): number {
  return Number(database.prepare(`SELECT count(*) FROM main.${ENTRIES} WHERE issystem = 0`).pluck().get())
}

/** Alterations that leave the rows as they are. */
const IMMEDIATE: ReadonlySet<AlterStep['kind']> = new Set<AlterStep['kind']>([
  'rights',
  'rename-column',
  'replace-view',
])

/** Whether the change goes through the rows of a large table. */
function isLong(database: Database, change: CatalogueChange): boolean {
  if (change.kind === 'create' || (change.kind === 'drop' && change.isView)) return false
  if (change.kind === 'alter' && IMMEDIATE.has(change.step.kind)) return false
  const dialect = createCatalogue(database)
  const { sql, parameters } = selectEntry(change, dialect)
  if (database.prepare(sql).get(...parameters) === undefined) return false
  const beyond = `SELECT 1 FROM ${tableName(change.name, dialect)} LIMIT 1 OFFSET ${MAX_INLINE_ROWS}`
  return database.prepare(beyond).get() !== undefined
}

function run(database: Database, { sql, parameters }: SqlStatement): void {
  const statement = database.prepare(sql)
  if (statement.reader) statement.all(...parameters)
  else statement.run(...parameters)
}
