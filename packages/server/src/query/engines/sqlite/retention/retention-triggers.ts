/**
 * The triggers that keep closed rows as they are, and all rows of a held table. They judge in the transaction of the writer, whichever
 * program it is. RAISE has a text without the horizon: SQLite of other programs may not know RAISE with an expression.
 */
import type { Database } from 'better-sqlite3'
import type { TableDefinition } from '../../../catalogue/definition.ts'
import type { Sql } from '../../emit/dialect.ts'
import { CUTS, isGuarded, RETENTION, RETENTION_PREFIX, retentionName } from '../../retention.ts'
import { SQLITE } from '../dialect/dialect.ts'
import { rowId } from '../dialect/row-id.ts'
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

/** Has the one row (1, 0). */
export const MODE = '_gh_retention_mode'

export const TOO_OLD = 'gatehouse: Data.TooOld: '
export const HELD = 'gatehouse: Data.Held: '

/** In a transaction. */
export function createTriggers(database: Database, table: TableDefinition): void {
  if (isGuarded(table)) createAll(database, listTriggers(table))
}

/** In a transaction. */
export function dropTriggers(database: Database, table: string): void {
  dropAll(database, retentionName(table))
}

/** Says whether a table has the triggers that it should have. */
export function triggerCheck(database: Database): (table: TableDefinition) => boolean {
  const stored = storedTriggers(database, RETENTION_PREFIX)
  return (table) => hasAll(stored, listTriggers(table))
}

/** From now on, this transaction may delete closed rows of the table. */
export function allowClosed(database: Database, table: string): void {
  database.prepare(`INSERT INTO main.${CUTS} (name) VALUES (?)`).run(table.toLowerCase())
}

export function endAllowing(database: Database, table: string): void {
  database.prepare(`DELETE FROM main.${CUTS} WHERE name = ?`).run(table.toLowerCase())
}

function listTriggers(table: TableDefinition): Trigger[] {
  const { name, retention, isHeld = false } = table
  const key = quote(name.toLowerCase())
  const target = SQLITE.identifier(name)
  const trigger = (suffix: string, event: Sql, condition: Sql, actions: readonly Sql[]): Trigger =>
    defineTrigger(`${retentionName(name)}_${suffix}`, event, target, condition, actions)
  const tooOld = `SELECT RAISE(ABORT, ${quote(TOO_OLD + name)})`
  const held = `SELECT RAISE(ABORT, ${quote(HELD + name)})`
  const isClosed = (row: Sql): Sql => (retention === undefined ? 'FALSE' : isBefore(table, row))
  const closed =
    retention === undefined
      ? []
      : [
          trigger('insert', 'AFTER INSERT', isClosed('NEW'), [`${tooOld};`]),
          trigger('update', 'AFTER UPDATE', `${isClosed('OLD')} OR ${isClosed('NEW')}`, [`${tooOld};`]),
          trigger(
            'delete',
            'BEFORE DELETE',
            `${isClosed('OLD')} AND NOT EXISTS (SELECT 1 FROM ${CUTS} WHERE name = ${key})`,
            [`${tooOld};`],
          ),
        ]
  const hold = isHeld ? [trigger('hold', 'BEFORE DELETE', 'TRUE', [`${held};`])] : []
  return [...closed, ...hold, ...replacing(table, isHeld ? 'TRUE' : isClosed('r'), isHeld ? held : tooOld, trigger)]
}

/**
 * Another program may write INSERT OR REPLACE, which deletes rows without firing a trigger for them. The conflict clause of a statement
 * holds for the statements of its triggers too: only then the row of MODE is replaced.
 */
function replacing(
  table: TableDefinition,
  isKept: Sql,
  refusal: Sql,
  trigger: (suffix: string, event: Sql, condition: Sql, actions: readonly Sql[]) => Trigger,
): Trigger[] {
  const keys = listUniqueKeys(table)
  const id = rowId(table.columns.map(({ name }) => name))
  if (keys.length === 0 || id === undefined) return []
  const target = SQLITE.identifier(table.name)
  const equal = keys.map((columns) => `EXISTS (SELECT 1 FROM ${target} AS r WHERE ${isReplaced(columns)} AND ${isKept}`)
  const actions = [
    `INSERT OR IGNORE INTO ${MODE} (id, replaces) VALUES (1, 1);`,
    `${refusal} WHERE (SELECT replaces FROM ${MODE} WHERE id = 1) = 1;`,
  ]
  return [
    trigger('replace', 'BEFORE INSERT', equal.map((found) => `${found})`).join(' OR '), actions),
    trigger(
      'rekey',
      beforeRekeying(keys),
      equal.map((found) => `${found} AND r.${id} <> OLD.${id})`).join(' OR '),
      actions,
    ),
  ]
}

/** A Timestamp is stored in microseconds, a Date in days. */
function isBefore({ name, columns, retention }: TableDefinition, row: Sql): Sql {
  const column = columns.find((known) => known.name === retention?.on)
  if (column === undefined) return 'FALSE'
  const horizon = column.type.kind === 'Date' ? 'horizon / 86400000000' : 'horizon'
  const found = `(SELECT ${horizon} FROM ${RETENTION} WHERE name = ${quote(name.toLowerCase())})`
  return `${row}.${SQLITE.identifier(column.name)} < ${found}`
}

function quote(text: string): Sql {
  return `'${text.replaceAll("'", "''")}'`
}
