/** Binds retention = 'interval' ON column. Whether an index begins with the column is for the catalogue to say. */
import type * as Bound from '../bound/bound.ts'
import type { Binding } from '../scope/binding.ts'
import type { RetentionClause } from '../syntax/ast.ts'
import { sameName } from '../syntax/names.ts'
import { MICROS_PER_DAY, readInterval } from '../types/time-values.ts'
import { type Interval, type IqlType, typeName } from '../types/types.ts'

interface RetentionColumn {
  readonly name: string
  readonly type: IqlType
  readonly nullable: boolean
}

export function bindRetention(
  binding: Binding,
  columns: readonly RetentionColumn[],
  written: RetentionClause | null | undefined,
): Bound.RetentionChange | null | undefined {
  if (written === null || written === undefined) return written
  const { on } = written
  const column = columns.find(({ name }) => sameName(name, on.text))
  if (column === undefined) throw binding.fail('UnknownColumn', on.at, `There is no column ${on.text}`)
  const { name, type, nullable } = column
  if (type.kind !== 'Timestamp' && type.kind !== 'Date')
    throw binding.fail('BadDefinition', on.at, `A retention is on a Timestamp or a Date: ${name} is ${typeName(type)}`)
  if (nullable)
    throw binding.fail('BadDefinition', on.at, `A retention is on a column that is NOT NULL: ${name} is not`)
  return { time: readTime(binding, written), on: name }
}

const SHORTEST = 60_000_000n
/** A hundred years. */
const LONGEST = 36_525n * MICROS_PER_DAY

function readTime(binding: Binding, { time, at }: RetentionClause): Interval {
  const interval = readInterval(time)
  if (interval === undefined)
    throw binding.fail('BadDefinition', at, `${JSON.stringify(time)} is not an interval`, { hint: "write '30 days'" })
  const { months, micros } = interval
  const length = (months * 365n * MICROS_PER_DAY) / 12n + micros
  if (months >= 0n && micros >= 0n && length >= SHORTEST && length <= LONGEST) return interval
  throw binding.fail('BadDefinition', at, 'A retention is from 1 minute to 100 years')
}
