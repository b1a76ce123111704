/**
 * The change log of a table: for each row that is inserted, updated or deleted its primary key, and the row as it was before.
 * What both engines share.
 */
import { createHash } from 'node:crypto'
import { type IqlType, isLongType } from 'gatehouse-iql'
import type { CatalogueChange, TableDefinition } from '../catalogue/definition.ts'
import { isDelayed } from './delayed-copies.ts'
import type { Sql } from './emit/dialect.ts'

/** Names that begin with _gh_ are reserved for the service. */
export const LOG_PREFIX = '_gh_log_'

/** The name of the log depends on that of the table alone. A digest, since names are case-insensitive and may be as long as the database allows. */
export function logName(table: string): string {
  return LOG_PREFIX + createHash('sha256').update(table.toLowerCase()).digest('hex').slice(0, 24)
}

/** What happened to the row with this key. */
export const LOG_OP = {
  /** No change: the first row of a log, so that a log always has a last row. */
  start: 0,
  insert: 1,
  update: 2,
  delete: 3,
  /** The row as it is now, where the entry of the change has it as it was (PostgreSQL). */
  became: 4,
} as const

export interface LogColumn {
  readonly name: string
  readonly type: IqlType
}

/** The columns of the primary key, in its order; none if the table has no key. They are k0, k1, … in the log. */
export function keyColumns({ columns, primaryKey }: LoggedTable): LogColumn[] {
  return primaryKey.flatMap((name) => columns.find((column) => column.name === name) ?? [])
}

interface LoggedTable {
  readonly columns: readonly LogColumn[]
  readonly primaryKey: readonly string[]
}

/** The other columns of a table with a key. They are o0, o1, … in the log, and hold the row before an update or a deletion. */
export function formerColumns({ columns, primaryKey }: LoggedTable): LogColumn[] {
  return primaryKey.length === 0 ? [] : columns.filter(({ name }) => !primaryKey.includes(name))
}

/** Those of a delayed table, as the row became. They are n0, n1, … in the log: its copies are moved by them. */
export function newColumns(table: LoggedTable & Pick<TableDefinition, 'delays'>): LogColumn[] {
  return isDelayed(table) ? formerColumns(table) : []
}

/** Longer rows are not kept in the log, because each update would add another copy. */
const MAX_FORMER_BYTES = 1024

/** A condition for keeping the values of a row; undefined if they are always kept. `columns` are those of `formerColumns`. */
export function isKept(columns: readonly LogColumn[], writeSql: (column: LogColumn) => Sql): Sql | undefined {
  const long = columns.filter(({ type }) => isLongType(type))
  if (long.length === 0) return undefined
  return `${long.map((column) => `coalesce(octet_length(${writeSql(column)}), 0)`).join(' + ')} <= ${MAX_FORMER_BYTES}`
}

/** The columns of the table by their names, from those of its log. */
export function formerOutputs(table: LoggedTable, identifier: (name: string) => Sql): Sql {
  const others = formerColumns(table)
  return table.columns
    .map((column) => {
      const key = table.primaryKey.indexOf(column.name)
      const logged = key >= 0 ? `k${key}` : `o${others.findIndex(({ name }) => name === column.name)}`
      return `${logged} AS ${identifier(column.name)}`
    })
    .join(', ')
}

/** What a change of the catalogue means for the log: the table whose log is dropped, and the one that then gets a new log. */
export interface LogChange {
  readonly drop: string | undefined
  readonly create: TableDefinition | undefined
}

/** Positions in the log of an altered table are lost, because it gets a new log. Rights and indexes leave the log as it is. */
export function toLogChange(change: CatalogueChange): LogChange {
  switch (change.kind) {
    case 'create':
      // That of a materialized view begins when its rows are complete.
      return { drop: undefined, create: change.table.kept === undefined ? logged(change.table) : undefined }
    case 'drop':
      return { drop: change.isView ? undefined : change.name, create: undefined }
    case 'alter': {
      const { from, table, step } = change
      const isKept =
        step.kind === 'create-index' ||
        step.kind === 'drop-index' ||
        step.kind === 'replace-view' ||
        (step.kind === 'rights' && from.isLive === table.isLive && isDelayed(from) === isDelayed(table))
      return isKept ? { drop: undefined, create: undefined } : { drop: change.name, create: logged(table) }
    }
  }
}

/**
 * The columns of each table, by its name in lower case, that its log always has, however long the row: its materialized views find the
 * groups of changed rows by them.
 */
export function alwaysLogged(
  tables: readonly Pick<TableDefinition, 'kept'>[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const columns = new Map<string, Set<string>>()
  for (const { kept } of tables) {
    if (kept === undefined) continue
    const key = kept.uses[0].toLowerCase()
    const known = columns.get(key) ?? new Set()
    columns.set(key, known)
    for (const name of kept.logged) known.add(name)
  }
  return columns
}

/** Whether a table has a log: a materialized view only when its rows are complete. */
export function hasLog({ isLive, keptState }: TableDefinition): boolean {
  return isLive && keptState?.isBuilt !== false
}

function logged(table: TableDefinition): TableDefinition | undefined {
  return table.isLive ? table : undefined
}
