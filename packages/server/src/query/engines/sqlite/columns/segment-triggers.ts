/**
 * The triggers that mark the segment of a changed row. They run in the transaction of the change, whichever program makes it, so that a
 * reader's snapshot has the marks of all its rows.
 */
import { createHash } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import type { TableDefinition } from '../../../catalogue/definition.ts'
import type { Sql } from '../../emit/dialect.ts'
import { SQLITE } from '../dialect/dialect.ts'
import { rowId } from '../dialect/row-id.ts'
import { columnAffinity } from '../representation.ts'
import {
  beforeRekeying,
  createAll,
  defineTrigger,
  dropAll,
  hasAll,
  isReplaced,
  listUniqueKeys,
  storedTriggers,
  type Trigger,
} from '../triggers.ts'
import { COLUMN_TABLES, MARKS, SEGMENTS } from './segment-tables.ts'

const PREFIX = '_gh_columns_'

/** In a transaction. */
export function createTriggers(database: Database, table: TableDefinition): void {
  dropTriggers(database, table.name)
  createAll(database, listTriggers(table))
}

/** In a transaction. */
export function dropTriggers(database: Database, table: string): void {
  dropAll(database, triggerPrefix(table))
}

/** Says whether a table has the triggers that it should have. */
export function triggerCheck(database: Database): (table: TableDefinition) => boolean {
  const stored = storedTriggers(database, PREFIX)
  return (table) => hasAll(stored, listTriggers(table))
}

function triggerPrefix(table: string): string {
  return `${PREFIX}${createHash('sha256').update(table.toLowerCase()).digest('hex').slice(0, 24)}_`
}

function listTriggers(table: TableDefinition): Trigger[] {
  const id = rowId(table.columns.map(({ name }) => name))
  if (id === undefined) return []
  const target = SQLITE.identifier(table.name)
  const key = `'${table.name.toLowerCase().replaceAll("'", "''")}'`
  const sealed = `(SELECT sealed FROM ${COLUMN_TABLES} WHERE name = ${key})`
  const mark = (row: Sql): Sql => {
    const first = `(SELECT max(first) FROM ${SEGMENTS} WHERE name = ${key} AND first <= ${row})`
    return `${insertMark(`${SEGMENTS} AS s`)} s.name = ${key} AND s.first = ${first} AND s.last >= ${row} AND ${IS_UNMARKED};`
  }
  const trigger = (name: string, event: Sql, condition: Sql, actions: readonly Sql[]): Trigger =>
    defineTrigger(triggerPrefix(table.name) + name, event, target, condition, actions)
  const [before, after] = [`OLD.${id}`, `NEW.${id}`]
  const keys = listUniqueKeys(table).filter((columns) => !isRowId(table, columns))
  const replaced = keys.map((columns) => {
    const from = `${target} AS r JOIN ${SEGMENTS} AS s ON s.name = ${key} AND s.first <= r.${id} AND s.last >= r.${id}`
    return `${insertMark(from)} ${isReplaced(columns)} AND ${IS_UNMARKED};`
  })
  return [
    trigger('insert', 'AFTER INSERT', `${after} <= ${sealed}`, [mark(after)]),
    trigger('update', 'AFTER UPDATE', `${before} <= ${sealed} OR ${after} <= ${sealed}`, [mark(before), mark(after)]),
    trigger('delete', 'AFTER DELETE', `${before} <= ${sealed}`, [mark(before)]),
    ...(replaced.length === 0
      ? []
      : [
          trigger('replace', 'BEFORE INSERT', `${sealed} IS NOT NULL`, replaced),
          trigger('rekey', beforeRekeying(keys), `${sealed} IS NOT NULL`, replaced),
        ]),
  ]
}

/** The conflict clause of the statement that fires a trigger replaces that of an INSERT in it, so this one cannot meet a conflict. */
const IS_UNMARKED = `NOT EXISTS (SELECT 1 FROM ${MARKS} AS m WHERE m.segment = s.segment)`

function insertMark(from: Sql): Sql {
  return `INSERT INTO ${MARKS} (segment, marked) SELECT DISTINCT s.segment, unixepoch() FROM ${from} WHERE`
}

/** Whether the columns are another name of the row identifier. */
function isRowId({ columns, primaryKey }: TableDefinition, [name, ...others]: readonly string[]): boolean {
  const type = columns.find((column) => column.name === name)?.type
  const isKey = primaryKey.length === 1 && primaryKey[0] === name && others.length === 0
  return isKey && type !== undefined && columnAffinity(type) === 'INTEGER'
}
