/** How IQL's values are stored in PostgreSQL and sent as text in its protocol. */

import {
  type IqlType,
  type IqlValue,
  type ResultColumn,
  writeDate,
  writeDecimal,
  writeTime,
  writeTimestamp,
} from 'gatehouse-iql'
import type { Cell } from '../../model/result.ts'
import type { RowReader } from '../bounded-rows.ts'
import type { ScalarBindable } from '../emit/parameters.ts'
import type { RawRow } from './protocol/protocol.ts'

/** The schema of the query service; the identity server's tables are in another. */
export const SCHEMA = 'gatehouse_data'
/** The role that queries run as: see setup/role.ts. */
export const ROLE = 'gatehouse_query'

/** A collation under which upper and lower follow Unicode's case rules; created with the schema. */
export function unicode(text: string): string {
  return `(${text} COLLATE ${SCHEMA}.gh_unicode)`
}

/** The type of an expression. Timestamps are in UTC and have no zone; Json is stored as its text. */
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

export function toPostgres(value: IqlValue, type: IqlType): ScalarBindable {
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
      // The driver accepts bytes only as a Buffer.
      if (value instanceof Uint8Array) return Buffer.from(value)
      return type.kind === 'Interval' && type.months
        ? `${value.months} months ${value.micros} microseconds`
        : String(value.micros)
  }
}

type CellReader = (raw: string) => Cell

/** Reads rows in PostgreSQL's text format with DateStyle ISO. Values are replaced in place. */
export function rowReader(columns: readonly ResultColumn[]): RowReader<RawRow> {
  const readers = columns.flatMap((column, index) => {
    const read = cellReader(column)
    return read === undefined ? [] : [{ index, read }]
  })
  return (raw) => {
    const cells: Cell[] = raw
    for (const { index, read } of readers) {
      const cell = raw[index]
      if (typeof cell === 'string') cells[index] = read(cell)
    }
    return cells
  }
}

/** Undefined when the text is the value. */
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
