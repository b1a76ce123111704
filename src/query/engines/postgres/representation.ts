/** How IQL's values rest in PostgreSQL and cross its protocol as text. */

import { writeDate, writeTime, writeTimestamp } from '../../iql/time-values.ts'
import type { IqlType, IqlValue } from '../../iql/types.ts'
import { writeDecimal } from '../../iql/values.ts'
import type { Cell, ResultColumn } from '../../result/encoding.ts'
import type { Bindable } from '../engine.ts'

/** Everything of the query service stands in this schema, the tables of the identity server in another. */
export const SCHEMA = 'gatehouse_data'

/** A Unicode collation under which upper and lower follow Unicode; made with the schema. */
export function unicode(text: string): string {
  return `(${text} COLLATE ${SCHEMA}.gh_unicode)`
}

/** The type of an expression. Timestamps are in UTC and need no zone; Json is kept as its text. */
export function sqlType(type: IqlType): string {
  switch (type.kind) {
    case 'Text':
    case 'Json':
    case 'Null':
      return 'text'
    case 'Integer':
      return 'bigint'
    case 'Decimal':
      return `numeric(${type.precision},${type.scale})`
    case 'Double':
      return 'float8'
    case 'Boolean':
      return 'boolean'
    case 'Timestamp':
      return 'timestamp'
    case 'Date':
      return 'date'
    case 'Time':
      return 'time'
    case 'Uuid':
      return 'uuid'
    case 'Binary':
      return 'bytea'
    case 'Interval':
      return type.months ? 'interval' : 'bigint'
  }
}

export function columnType(type: IqlType): string {
  return type.kind === 'Text' || type.kind === 'Json' ? 'text COLLATE "C"' : sqlType(type)
}

export function toPostgres(value: IqlValue, type: IqlType): Bindable {
  if (value === null) return null
  switch (type.kind) {
    case 'Decimal':
      return typeof value === 'bigint' ? writeDecimal(value, type.scale) : null
    case 'Timestamp':
      return typeof value === 'bigint' ? writeTimestamp(value).slice(0, -1) : null
    case 'Date':
      return typeof value === 'bigint' ? writeDate(value) : null
    case 'Time':
      return typeof value === 'bigint' ? writeTime(value) : null
    default:
      if (typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean') return String(value)
      if (typeof value === 'string') return value
      // The driver knows bytes by Buffer alone.
      if (value instanceof Uint8Array) return Buffer.from(value)
      return type.kind === 'Interval' && type.months
        ? `${value.months} months ${value.micros} microseconds`
        : String(value.micros)
  }
}

type CellReader = (raw: string) => Cell
/** The row itself with its cells read: whoever has it keeps nothing of the raw one. */
export type RowReader = (raw: (string | null)[]) => Cell[]

/** The columns of a plan are the same object whenever it runs: what follows from them is made once. */
const READERS = new WeakMap<readonly ResultColumn[], RowReader>()

/** Reads the rows of a result, which come in PostgreSQL's text form with DateStyle ISO. */
export function rowReader(columns: readonly ResultColumn[], further: readonly ResultColumn[] = []): RowReader {
  const known = READERS.get(columns)
  if (known !== undefined) return known
  const readers = [...columns, ...further].flatMap((column, index) => {
    const read = cellReader(column)
    return read === undefined ? [] : [{ index, read }]
  })
  const readRow: RowReader = (raw) => {
    const cells: Cell[] = raw
    for (const { index, read } of readers) {
      const cell = raw[index]
      if (typeof cell === 'string') cells[index] = read(cell)
    }
    return cells
  }
  READERS.set(columns, readRow)
  return readRow
}

/** Undefined where the text is the cell. */
function cellReader(column: ResultColumn): CellReader | undefined {
  switch (column.type.kind) {
    case 'Double':
      return Number
    case 'Boolean':
      return (raw) => raw === 't'
    case 'Timestamp':
      return (raw) => `${raw.replace(' ', 'T')}Z`
    case 'Binary':
      return (raw) => Buffer.from(raw.slice(2), 'hex')
    default:
      return undefined
  }
}
