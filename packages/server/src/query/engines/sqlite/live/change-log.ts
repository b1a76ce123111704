/** The change logs of SQLite: one log table for each table, written by triggers, so that every program that writes is seen. */
import type { Database } from 'better-sqlite3'
import { isLongType } from 'gatehouse-iql'
import type { TableDefinition } from '../../../catalogue/definition.ts'
import {
  alwaysLogged,
  formerColumns,
  hasLog,
  isKept,
  keyColumns,
  LOG_OP,
  LOG_PREFIX,
  logName,
  newColumns,
} from '../../change-log.ts'
import type { Sql } from '../../emit/dialect.ts'
import { SQLITE } from '../dialect/dialect.ts'
import { columnAffinity } from '../representation.ts'

/**
 * `seq` grows by one, since the last row is never deleted. `tag` is random: a position names a row by both, and does not fit a
 * database that was restored or has lost a commit.
 */
const TAG = 'random() & 0x7fffffffffff'

/** In a transaction. `always` are the columns that the log has however long the row. */
export function createLog(database: Database, table: TableDefinition, always?: ReadonlySet<string>): void {
  for (const sql of createLogSql(table, always)) database.exec(sql)
}

/** The statements that create the log of a table. */
export function createLogSql(table: TableDefinition, always?: ReadonlySet<string>): Sql[] {
  const first = `INSERT INTO main.${logName(table.name)} (tag, op) VALUES (${TAG}, ${LOG_OP.start})`
  return [...schemaObjects(table, always).map(({ sql }) => sql), first]
}

/** In a transaction. */
export function dropLog(database: Database, table: string): void {
  for (const sql of dropLogSql(table)) database.exec(sql)
}

export function dropLogSql(table: string): Sql[] {
  return [...dropTriggersSql(table), `DROP TABLE IF EXISTS main.${logName(table)}`]
}

/** In a transaction. The log goes on, with other columns for long rows. */
export function replaceTriggers(database: Database, table: TableDefinition, always?: ReadonlySet<string>): void {
  for (const sql of dropTriggersSql(table.name)) database.exec(sql)
  for (const { name, sql } of schemaObjects(table, always)) if (name !== logName(table.name)) database.exec(sql)
}

function dropTriggersSql(table: string): Sql[] {
  return TRIGGERS.map((suffix) => `DROP TRIGGER IF EXISTS main.${logName(table)}_${suffix}`)
}

const TRIGGERS = ['insert', 'update', 'rekey', 'delete'] as const

interface SchemaObject {
  readonly name: string
  readonly sql: Sql
}

/** The texts are compared with those in the database, which stores them without a schema. */
function schemaObjects(table: TableDefinition, always?: ReadonlySet<string>): SchemaObject[] {
  const log = logName(table.name)
  const target = SQLITE.identifier(table.name)
  const keys = keyColumns(table)
  const names = keys.map(({ name }) => SQLITE.identifier(name))
  const others = formerColumns(table)
  const columns = [
    ...keys.map(({ type }, index) => `, k${index} ${columnAffinity(type)}`),
    ...(keys.length === 0 ? [] : [', kept INTEGER']),
    ...others.map(({ type }, index) => `, o${index} ${columnAffinity(type)}`),
    ...newColumns(table).map(({ type }, index) => `, n${index} ${columnAffinity(type)}`),
  ].join('')
  const kept = isKept(others, ({ name }) => `OLD.${SQLITE.identifier(name)}`)
  const former = others.map(({ name, type }) => {
    const value = `OLD.${SQLITE.identifier(name)}`
    const isAlways = kept === undefined || !isLongType(type) || always?.has(name)
    return isAlways ? value : `iif(${kept}, ${value}, NULL)`
  })
  const record = (op: number, row: 'NEW' | 'OLD'): Sql => {
    const hasFormer = keys.length > 0 && op !== LOG_OP.insert
    const logged = keys.map((_key, index) => `k${index}`)
    const values = names.map((name) => `${row}.${name}`)
    if (hasFormer) logged.push('kept', ...others.map((_column, index) => `o${index}`))
    if (hasFormer) values.push(kept ?? '1', ...former)
    if (row === 'NEW') {
      logged.push(...newColumns(table).map((_column, index) => `n${index}`))
      values.push(...newColumns(table).map(({ name }) => `NEW.${SQLITE.identifier(name)}`))
    }
    return `INSERT INTO ${log} (${['tag', 'op', ...logged].join(', ')}) VALUES (${[TAG, op, ...values].join(', ')});`
  }
  const trigger = (suffix: (typeof TRIGGERS)[number], event: Sql, actions: Sql): SchemaObject => ({
    name: `${log}_${suffix}`,
    sql: `CREATE TRIGGER ${log}_${suffix} AFTER ${event} BEGIN ${actions} END`,
  })
  const isSame = names.map((name) => `NEW.${name} IS OLD.${name}`).join(' AND ')
  const updated = keys.length === 0 ? '' : ` WHEN ${isSame}`
  return [
    {
      name: log,
      sql: `CREATE TABLE ${log} (seq INTEGER PRIMARY KEY, tag INTEGER NOT NULL, op INTEGER NOT NULL${columns})`,
    },
    trigger('insert', `INSERT ON ${target}`, record(LOG_OP.insert, 'NEW')),
    trigger('update', `UPDATE ON ${target}${updated}`, record(LOG_OP.update, 'NEW')),
    trigger('delete', `DELETE ON ${target}`, record(LOG_OP.delete, 'OLD')),
    ...(keys.length === 0
      ? []
      : [
          trigger(
            'rekey',
            `UPDATE OF ${names.join(', ')} ON ${target} WHEN NOT (${isSame})`,
            `${record(LOG_OP.delete, 'OLD')} ${record(LOG_OP.insert, 'NEW')}`,
          ),
        ]),
  ]
}

/** Tables of earlier versions get a log; the log of a dropped table is removed. In a transaction. Returns the tables with a new log, in lower case. */
export function prepareLogs(database: Database, tables: readonly TableDefinition[]): ReadonlySet<string> {
  const renewed = new Set<string>()
  const stored = new Map(
    database
      .prepare<[number, string], [string, string]>(
        'SELECT name, sql FROM main.sqlite_schema WHERE substr(name, 1, ?) = ?',
      )
      .raw(true)
      .all(LOG_PREFIX.length, LOG_PREFIX),
  )
  const wanted = new Set<string>()
  const always = alwaysLogged(tables)
  for (const table of tables) {
    if (!hasLog(table)) continue
    const objects = schemaObjects(table, always.get(table.name.toLowerCase()))
    for (const { name } of objects) wanted.add(name)
    if (objects.every(({ name, sql }) => stored.get(name) === sql)) continue
    dropLog(database, table.name)
    createLog(database, table, always.get(table.name.toLowerCase()))
    renewed.add(table.name.toLowerCase())
  }
  for (const [name, sql] of stored) {
    if (!wanted.has(name))
      database.exec(`DROP ${sql.startsWith('CREATE TABLE') ? 'TABLE' : 'TRIGGER'} IF EXISTS main.${name}`)
  }
  return renewed
}
