/** How IQL's values are stored in PostgreSQL and sent as text in its protocol. */

import {
  type IqlType,
  type IqlValue,
  type ResultColumn,
  readInterval,
  writeDate,
  writeDecimal,
  writeInterval,
  writeLocalTimestamp,
  writeTime,
} from 'gatehouse-iql'
import type { Cell } from '../../model/result.ts'
import type { RowDecoder } from '../bounded-rows.ts'
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
  if (type.kind === 'Decimal') return `numeric(${type.precision},${type.scale})`
  return type.kind === 'Interval' && !type.months ? 'bigint' : SQL_TYPES[type.kind]
}

const SQL_TYPES: Readonly<Record<Exclude<IqlType['kind'], 'Decimal'>, string>> = {
  Text: 'text',
  Json: 'text',
  Null: 'text',
  Integer: 'bigint',
  Double: 'float8',
  Boolean: 'boolean',
  Timestamp: 'timestamp',
  LocalTimestamp: 'timestamp',
  Date: 'date',
  Time: 'time',
  Uuid: 'uuid',
  Binary: 'bytea',
  Interval: 'interval',
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
    case 'LocalTimestamp':
      return typeof value === 'bigint' ? writeLocalTimestamp(value) : null
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

type CellDecoder = (raw: string) => Cell

/** Reads rows in PostgreSQL's text format with DateStyle ISO. Values are replaced in place. */
export function rowDecoder(columns: readonly ResultColumn[]): RowDecoder<RawRow> {
  const decoders = columns.flatMap((column, index) => {
    const decode = cellDecoder(column)
    return decode === undefined ? [] : [{ index, decode }]
  })
  return (raw) => {
    const cells: Cell[] = raw
    for (const { index, decode } of decoders) {
      const cell = raw[index]
      if (typeof cell === 'string') cells[index] = decode(cell)
    }
    return cells
  }
}

function decodeMicros(raw: string): Cell {
  return writeInterval({ months: 0n, micros: BigInt(raw) })
}

/** PostgreSQL keeps days and hours apart. */
function decodeInterval(raw: string): Cell {
  const interval = readInterval(raw)
  return interval === undefined ? raw : writeInterval(interval)
}

/** Undefined when the text is the value. */
function cellDecoder(column: ResultColumn): CellDecoder | undefined {
  switch (column.type.kind) {
    case 'Double':
      return Number
    case 'Boolean':
      return (raw) => raw === 't'
    case 'Timestamp':
      return (raw) => `${raw.replace(' ', 'T')}Z`
    case 'Interval':
      return column.type.months ? decodeInterval : decodeMicros
    case 'LocalTimestamp':
      return (raw) => raw.replace(' ', 'T')
    case 'Binary':
      return (raw) => Buffer.from(raw.slice(2), 'hex')
    default:
      return undefined
  }
}
