/** How IQL's values are stored in SQLite, so that SQLite's own order and equality are IQL's. */

import {
  type IqlType,
  type IqlValue,
  isExtraWide,
  isWide,
  type ResultColumn,
  writeDate,
  writeDecimal,
  writeInterval,
  writeLocalTimestamp,
  writeTime,
  writeTimestamp,
} from 'gatehouse-iql'
import type { Cell } from '../../model/result.ts'
import type { RowDecoder } from '../bounded-rows.ts'
import type { ScalarBindable } from '../emit/parameters.ts'

/**
 * Decimal: an integer scaled by the type's digits; beyond 18 digits, 16 bytes whose order is the number's.
 * Timestamp, Date, Time: integers. Boolean: 0 or 1. Uuid, Json: text.
 * Interval: its microseconds, or the text 'months:micros' if the type has months.
 * Double: a real; NaN is the text 'NaN', which SQLite sorts after every number and considers equal to itself, as IQL does.
 */
export function toSqlite(value: IqlValue, type: IqlType): ScalarBindable {
  if (value === null) return null
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (typeof value === 'number') return Number.isNaN(value) ? 'NaN' : value
  if (typeof value === 'bigint') return isExtraWide(type) ? toExtraWide(value) : isWide(type) ? toWide(value) : value
  if (typeof value === 'string' || value instanceof Uint8Array) return value
  return type.kind === 'Interval' && type.months ? `${value.months}:${value.micros}` : value.micros
}

const WIDE_BIAS = 1n << 127n
const LOW_BITS = (1n << 64n) - 1n

export const WIDE_BYTES = 16

/** Offset binary, big-endian: comparing the bytes compares the numbers. */
export function toWide(unscaled: bigint): Buffer {
  const biased = unscaled + WIDE_BIAS
  const bytes = Buffer.allocUnsafe(WIDE_BYTES)
  bytes.writeBigUInt64BE(biased >> 64n, 0)
  bytes.writeBigUInt64BE(biased & LOW_BITS, 8)
  return bytes
}

const EXTRA_WIDE_BYTES = 40
const EXTRA_WIDE_BIAS = 1n << BigInt(8 * EXTRA_WIDE_BYTES - 1)

/** The same for the digits of two Decimals of different scales. Such values are only compared. */
export function toExtraWide(unscaled: bigint): Buffer {
  return Buffer.from((unscaled + EXTRA_WIDE_BIAS).toString(16).padStart(2 * EXTRA_WIDE_BYTES, '0'), 'hex')
}

export function fromWide(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return ((view.getBigUint64(0) << 64n) | view.getBigUint64(8)) - WIDE_BIAS
}

/** The declared type of a column. STRICT is not used, because a REAL column must hold the text 'NaN'. */
export function columnAffinity(type: IqlType): string {
  switch (type.kind) {
    case 'Text':
    case 'Uuid':
    case 'Json':
      return 'TEXT'
    case 'Double':
      return 'REAL'
    case 'Binary':
      return 'BLOB'
    default:
      return isWide(type) ? 'BLOB' : 'INTEGER'
  }
}

function decodeInterval(raw: unknown): Cell {
  if (typeof raw === 'bigint') return writeInterval({ months: 0n, micros: raw })
  if (typeof raw !== 'string') return null
  const [months = '0', micros = '0'] = raw.split(':')
  return writeInterval({ months: BigInt(months), micros: BigInt(micros) })
}

export type RawRow = readonly unknown[]

/** The array is reused: it holds the next row after the next call. */
export function rowDecoder(columns: readonly ResultColumn[]): RowDecoder<RawRow> {
  const decoders = columns.map(cellDecoder)
  const row: Cell[] = []
  return (raw) => {
    for (let index = 0; index < decoders.length; index++) row[index] = decoders[index]?.(raw[index]) ?? null
    return row
  }
}

/**
 * The same for a long result, whose encoder writes dates and times from their numbers. Those of the key become part of a cursor.
 * The row itself is changed: an array that lives longer would need a write barrier of the garbage collector for each value.
 */
export function longRowDecoder(
  columns: readonly ResultColumn[],
  keyColumns: readonly ResultColumn[],
): RowDecoder<unknown[]> {
  const decoders = [...columns.map(longCellDecoder), ...keyColumns.map(cellDecoder)]
  return (raw) => {
    const row = raw as Cell[]
    for (let index = 0; index < decoders.length; index++) row[index] = decoders[index]?.(row[index]) ?? null
    return row
  }
}

export function longCellDecoder(column: ResultColumn): (raw: unknown) => Cell {
  return isTime(column.type) ? decodeBigint : cellDecoder(column)
}

function isTime({ kind }: IqlType): boolean {
  return kind === 'Timestamp' || kind === 'LocalTimestamp' || kind === 'Date' || kind === 'Time'
}

function decodeBigint(raw: unknown): Cell {
  return typeof raw === 'bigint' ? raw : null
}

/** Reads a value whose integers are bigint. */
export function cellDecoder({ type }: ResultColumn): (raw: unknown) => Cell {
  switch (type.kind) {
    case 'Decimal': {
      const { scale } = type
      return (raw) =>
        typeof raw === 'bigint'
          ? writeDecimal(raw, scale)
          : raw instanceof Uint8Array
            ? writeDecimal(fromWide(raw), scale)
            : null
    }
    case 'Boolean':
      return (raw) => (raw === null ? null : raw === 1n)
    case 'Double':
      return (raw) =>
        typeof raw === 'number' ? raw : raw === null ? null : typeof raw === 'bigint' ? Number(raw) : Number.NaN
    case 'Timestamp':
      return (raw) => (typeof raw === 'bigint' ? writeTimestamp(raw) : null)
    case 'LocalTimestamp':
      return (raw) => (typeof raw === 'bigint' ? writeLocalTimestamp(raw) : null)
    case 'Date':
      return (raw) => (typeof raw === 'bigint' ? writeDate(raw) : null)
    case 'Time':
      return (raw) => (typeof raw === 'bigint' ? writeTime(raw) : null)
    case 'Interval':
      return decodeInterval
    default:
      return (raw) => (typeof raw === 'string' || typeof raw === 'bigint' || raw instanceof Uint8Array ? raw : null)
  }
}
