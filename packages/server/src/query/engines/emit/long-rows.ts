/** Bounds the length of the rows that a statement returns. */
import { type IqlType, isLongType, MAX_CREATED_BYTES, MAX_RESULT_ROW_BYTES } from 'gatehouse-iql'
import type { Dialect, Sql } from './dialect.ts'

export interface Output {
  readonly sql: Sql
  readonly type: IqlType
}

/** This number of values of any length cannot exceed the limit together. */
const HARMLESS = Math.floor(MAX_RESULT_ROW_BYTES / MAX_CREATED_BYTES)

/** A condition that fails the statement for a row that is too long; undefined where no row can be. */
export function rowLengthCheck(outputs: readonly Output[], dialect: Pick<Dialect, 'rowFits'>): Sql | undefined {
  const uses = new Map<Sql, number>()
  for (const { sql, type } of outputs) if (isLongType(type)) uses.set(sql, (uses.get(sql) ?? 0) + 1)
  const count = [...uses.values()].reduce((sum, times) => sum + times, 0)
  if (count <= HARMLESS) return undefined
  // The constant makes PostgreSQL add 64-bit integers.
  const lengths = Array.from(uses, ([sql, times]) => `${times} * coalesce(octet_length(${sql}), 0)`)
  return dialect.rowFits(`(CAST(0 AS bigint) + ${lengths.join(' + ')})`, MAX_RESULT_ROW_BYTES)
}
