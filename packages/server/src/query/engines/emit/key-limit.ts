/** Bounds the texts in keys and indexes, where both databases have to hold them. */
import type { BoundExpression, ColumnView } from 'gatehouse-iql'
import { keyTooLongError } from '../runtime-error.ts'
import type { Sql } from './dialect.ts'
import type { Emission } from './expression.ts'
import { isLonger } from './long-values.ts'

/** The value, checked against the limit: a literal now, a parameter when it is bound, and everything else when it is written. */
export function limitedValue(
  sql: Sql,
  expression: BoundExpression | undefined,
  { name, type }: ColumnView,
  limit: number | undefined,
  { dialect, placeholders }: Emission,
): Sql {
  if (limit === undefined) return sql
  if (expression?.kind === 'literal') {
    if (isLonger(expression.value, limit)) throw keyTooLongError(name, limit)
    return sql
  }
  if (expression?.kind === 'parameter') {
    placeholders.limitParameter(expression.index, expression.type, { column: name, bytes: limit })
    return sql
  }
  return dialect.keyFits(sql, type, name, limit)
}
