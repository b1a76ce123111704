/** Bounds the texts of a statement: of the rows that it returns or reads, and of values in keys and indexes, which the databases hold. */
import {
  type BoundExpression,
  type ColumnView,
  type IqlType,
  isLongType,
  MAX_CREATED_BYTES,
  MAX_HELD_BYTES,
  MAX_HELD_TEXTS,
  MAX_RESULT_ROW_BYTES,
} from 'gatehouse-iql'
import { keyTooLongError } from '../runtime-error.ts'
import type { Dialect, Sql } from './dialect.ts'
import type { Emission } from './emission.ts'
import { isLonger, total } from './value-lengths.ts'

export interface Output {
  readonly sql: Sql
  readonly type: IqlType
}

/** This number of values of any length cannot exceed the limit together. */
const HARMLESS = Math.floor(MAX_RESULT_ROW_BYTES / MAX_CREATED_BYTES)

/** A condition that fails the statement for a returned row that is too long; undefined where no row can be. */
export function rowLengthCheck(outputs: readonly Output[], dialect: Pick<Dialect, 'rowFits'>): Sql | undefined {
  const uses = new Map<Sql, number>()
  for (const { sql, type } of outputs) if (isLongType(type)) uses.set(sql, (uses.get(sql) ?? 0) + 1)
  if (total([...uses.values()]) <= HARMLESS) return undefined
  // The constant makes PostgreSQL add 64-bit integers.
  const lengths = Array.from(uses, ([sql, times]) => `${times} * coalesce(octet_length(${sql}), 0)`)
  return dialect.rowFits(`(CAST(0 AS bigint) + ${lengths.join(' + ')})`, MAX_RESULT_ROW_BYTES)
}

/** The same for a row that is read from the source, by how often the statement holds its texts at once. */
export function emitTextsFit(source: number, { weight, dialect: { textFits }, sources }: Emission): Sql | undefined {
  const columns = textFits === undefined ? undefined : weight()?.columns
  const uses = columns?.get(source)
  const findColumn = sources.get(source)
  if (textFits === undefined || columns === undefined || uses === undefined || findColumn === undefined)
    return undefined
  const all = [...columns.values()].flatMap((times) => [...times.values()])
  if (total(all) <= MAX_HELD_TEXTS) return undefined
  const textLimit = (times: number): number => Math.floor(MAX_HELD_BYTES / all.length / times)
  return Array.from(uses, ([name, times]) => textFits(findColumn(0, name), textLimit(times))).join(' AND ')
}

/** The value of a column in a key or an index, checked against its limit: a literal now, a parameter when it is bound, and everything else when it is written. */
export function limitedValue(
  sql: Sql,
  expression: BoundExpression | undefined,
  { name, type }: ColumnView,
  limit: number | undefined,
  { dialect, placeholders, bulk }: Emission,
): Sql {
  if (limit === undefined) return sql
  // Those of a bulk insert are checked when they are spooled.
  if (bulk !== undefined && expression?.kind === 'parameter') return sql
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
