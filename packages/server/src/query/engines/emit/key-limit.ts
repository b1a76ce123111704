/** Bounds the texts in keys and indexes, where both databases have to hold them. */
import {
  type BoundExpression,
  type ColumnView,
  type IqlType,
  isLongType,
  MAX_KEY_BYTES,
  type TableView,
} from 'gatehouse-iql'
import { keyTooLongError } from '../runtime-error.ts'
import type { Sql } from './dialect.ts'
import type { Emission } from './expression.ts'
import { isLonger } from './long-values.ts'

interface KeyedTable extends Pick<TableView, 'primaryKey' | 'uniques'> {
  readonly columns: readonly { readonly name: string; readonly type: IqlType }[]
}

/** The most bytes of a value in the column; undefined if it is in no key and no index, or never long. The long columns of a key share its limit. */
export function keyLimitOf(
  { columns, primaryKey, uniques }: KeyedTable,
  indexes: readonly (readonly string[])[],
  column: string,
): number | undefined {
  const long = new Set(columns.filter(({ type }) => isLongType(type)).map(({ name }) => name))
  if (!long.has(column)) return undefined
  const counts = [primaryKey, ...uniques, ...indexes]
    .filter((key) => key.includes(column))
    .map((key) => key.filter((name) => long.has(name)).length)
  return counts.length === 0 ? undefined : Math.floor(MAX_KEY_BYTES / Math.max(...counts))
}

/** The value, checked against the limit: a literal now, a parameter when it is bound, and everything else when it is written. */
export function limitedValue(
  sql: Sql,
  expression: BoundExpression | undefined,
  { name, type }: ColumnView,
  limit: number | undefined,
  { dialect, slots }: Emission,
): Sql {
  if (limit === undefined) return sql
  if (expression?.kind === 'literal') {
    if (isLonger(expression.value, limit)) throw keyTooLongError(name, limit)
    return sql
  }
  if (expression?.kind === 'parameter') {
    slots.limitParameter(expression.index, expression.type, { column: name, bytes: limit })
    return sql
  }
  return dialect.keyFits(sql, type, name, limit)
}
