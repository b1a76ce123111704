/** The change log of a table: for each row that is inserted, updated or deleted its primary key. What both engines share. */
import { createHash } from 'node:crypto'
import type { TableDefinition } from '../catalogue/definition.ts'
import type { IqlType } from '../iql/types.ts'

/** Names that begin with _gh_ are reserved for the service. */
export const LOG_PREFIX = '_gh_log_'

/** The name of the log depends on that of the table alone. A digest, since names are case-insensitive and may be as long as the database allows. */
export function logName(table: string): string {
  return LOG_PREFIX + createHash('sha256').update(table.toLowerCase()).digest('hex').slice(0, 24)
}

/** What happened to the row with this key. */
export const LOG_OP = {
  /** Nothing: the first row of a log, so that there always is a last one. */
  start: 0,
  insert: 1,
  update: 2,
  delete: 3,
} as const

export interface KeyColumn {
  readonly name: string
  readonly type: IqlType
}

/** The columns of the primary key, in its order; none if the table has no key. They are k0, k1, … in the log. */
export function keyColumnsOf({ columns, primaryKey }: Pick<TableDefinition, 'columns' | 'primaryKey'>): KeyColumn[] {
  return primaryKey.flatMap((name) => columns.find((column) => column.name === name) ?? [])
}
