/** Turns arrays of Arrow into columns of a table, exactly or not at all. Values that are the same bytes in both stay where they are. */
import { isUtf8 } from 'node:buffer'
import {
  type IqlType,
  MAX_DATE,
  MAX_TIMESTAMP,
  MIN_DATE,
  MIN_TIMESTAMP,
  typeName,
  writeDecimal,
  writeTime,
  writeTimestamp,
} from 'gatehouse-iql'
import { parseFloat16 } from 'hyparquet/src/convert.js'
import { createBuilder, type Nulls, type Vector } from '../../batches/batch.ts'
import { badBody, badValue, type NamedColumn } from '../../batches/row-error.ts'
import type { ArrowType } from '../../types/arrow-type.ts'
import { uuidText } from '../../types/uuid.ts'
import { addValue } from '../values.ts'
import { columnIn, type Zone } from '../zone.ts'
import { type ArrowArray, aligned, bitAt, isValid } from './arrays.ts'

/** Reads values as the column: `first` is the number of the row of the first value, for messages. */
export type ToVector = (array: ArrowArray, first: number) => Vector

export function toVector(source: ArrowType, column: NamedColumn, zone: Zone | undefined): ToVector {
  if (!canBecome(source, column.type))
    throw badBody(
      `The column ${column.name} is ${typeName(column.type)}, and the Arrow stream has ${typeLabel(source)} for it`,
    )
  const whole = isMoved(source, zone) ? undefined : taker(source, column.type)
  const each = eachValue(source, column, zone)
  return (array, first) => whole?.(array) ?? each(array, first)
}

/** Whether values are times of clocks in the zone. */
function isMoved(source: ArrowType, zone: Zone | undefined): boolean {
  return zone !== undefined && (source.kind === 'date' || (source.kind === 'timestamp' && source.isLocal))
}

function canBecome({ kind }: ArrowType, { kind: to }: IqlType): boolean {
  if (kind === 'null' || kind === 'utf8') return true
  return (TARGETS[kind] ?? []).includes(to)
}

const NUMBERS = ['Integer', 'Decimal', 'Double']
const TARGETS: Readonly<Record<Exclude<ArrowType['kind'], 'null' | 'utf8'>, readonly string[]>> = {
  int: NUMBERS,
  float: NUMBERS,
  decimal: NUMBERS,
  bool: ['Boolean'],
  binary: ['Binary', 'Uuid', 'Text', 'Json'],
  fixed: ['Binary', 'Uuid'],
  date: ['Date', 'Timestamp'],
  time: ['Time'],
  timestamp: ['Timestamp', 'Date'],
}

function typeLabel(type: ArrowType): string {
  return 'bits' in type ? `${type.kind}${type.bits}` : type.kind
}

/** Takes values that are the same bytes in both; undefined for a slice that has to be read value by value, if only for its error. */
function taker(source: ArrowType, type: IqlType): ((array: ArrowArray) => Vector | undefined) | undefined {
  if (source.kind === 'int' && source.bits === 64 && source.isSigned && type.kind === 'Integer')
    return (array) => ({ kind: 'integers', values: longs(array), nulls: readNulls(array) })
  if (source.kind === 'int' && source.bits === 32 && source.isSigned && type.kind === 'Integer')
    return (array) => ({ kind: 'integers', values: ints(array), nulls: readNulls(array) })
  if (source.kind === 'timestamp' && source.unit === 1_000_000n && type.kind === 'Timestamp')
    return (array) => {
      const values = longs(array)
      for (let index = 0; index < values.length; index++) {
        const value = values[index] ?? 0n
        if (value < MIN_TIMESTAMP || value > MAX_TIMESTAMP) return undefined
      }
      return { kind: 'integers', values, nulls: readNulls(array) }
    }
  if (source.kind === 'float' && source.bits === 64 && type.kind === 'Double')
    return (array) => {
      const given = doubles(array)
      // There is no negative zero.
      const values = given.some((value) => Object.is(value, -0)) ? given.map((value) => value + 0) : given
      return { kind: 'doubles', values, nulls: readNulls(array) }
    }
  return source.kind === 'utf8' && type.kind === 'Text' ? texts : undefined
}

function texts(array: ArrowArray): Vector | undefined {
  const { offsets, data, length } = array
  if (!isUtf8(data) || data.includes(0)) return undefined
  const lengths = new Int32Array(length)
  let last = 0
  for (let index = 0; index < length; index++) {
    const next = offsets[index + 1] ?? 0
    // A value must not begin within a character.
    if (next > last && ((data[last] ?? 0) & 0xc0) === 0x80) return undefined
    lengths[index] = next - last
    last = next
  }
  return { kind: 'bytes', lengths, data, nulls: readNulls(array) }
}

function longs({ data, length }: ArrowArray): BigInt64Array {
  const { buffer, byteOffset } = aligned(data)
  return new BigInt64Array(buffer, byteOffset, length)
}

function ints({ data, length }: ArrowArray): Int32Array {
  const { buffer, byteOffset } = aligned(data)
  return new Int32Array(buffer, byteOffset, length)
}

function doubles({ data, length }: ArrowArray): Float64Array {
  const { buffer, byteOffset } = aligned(data)
  return new Float64Array(buffer, byteOffset, length)
}

function readNulls(array: ArrowArray): Nulls {
  if (array.validity === undefined) return undefined
  const nulls = new Uint8Array(array.length)
  for (let index = 0; index < nulls.length; index++) nulls[index] = isValid(array, index) ? 0 : 1
  return nulls
}

/** What a value is; a text is read as the type. */
type Cell =
  | { readonly text: string }
  | { readonly value: bigint | string | Uint8Array | boolean }
  | { readonly bad: string; readonly text: string }

function eachValue(source: ArrowType, column: NamedColumn, zone: Zone | undefined): ToVector {
  const read = cellReader(source, column.type, isMoved(source, zone) ? zone : undefined)
  return (array, first) => {
    const builder = createBuilder(column.type)
    const { builder: byText, addText } = columnIn(zone)(column)
    const target = isReadAsText(source, column.type) ? byText : builder
    for (let index = 0; index < array.length; index++) {
      if (source.kind === 'null' || !isValid(array, index)) {
        target.addNull()
        continue
      }
      const cell = read(array, index)
      const row = { row: first + index }
      if ('bad' in cell) throw badValue(row, column, cell.text, cell.bad)
      if ('value' in cell) addValue(builder, cell.value, column.type)
      else {
        const problem = addText(cell.text)
        if (problem !== undefined) throw badValue(row, column, cell.text, problem)
      }
    }
    return target.take()
  }
}

function isReadAsText({ kind }: ArrowType, type: IqlType): boolean {
  if (kind === 'binary') return type.kind !== 'Binary' && type.kind !== 'Uuid'
  return kind === 'int' || kind === 'float' || kind === 'decimal' || kind === 'utf8'
}

type ReadCell = (array: ArrowArray, index: number) => Cell

function cellReader(source: ArrowType, type: IqlType, zone: Zone | undefined): ReadCell {
  switch (source.kind) {
    case 'null':
      return () => ({ text: '' })
    case 'int':
      return ({ data }, index) => ({ text: String(integerAt(data, index, source)) })
    case 'float':
      // By its shortest decimal.
      return ({ data }, index) => ({ text: floatText(floatAt(data, index, source.bits)) })
    case 'decimal':
      return ({ data }, index) => {
        const value = signedAt(data, index, source.bits)
        return { text: source.scale >= 0 ? writeDecimal(value, source.scale) : `${value}e${-source.scale}` }
      }
    case 'bool':
      return ({ data, bit }, index) => ({ value: bitAt(data, bit + index) })
    case 'utf8':
      return textAt
    case 'binary':
      if (type.kind === 'Uuid') return (array, index) => uuidCell(bytesAt(array, index))
      return type.kind === 'Binary' ? (array, index) => ({ value: bytesAt(array, index) }) : textAt
    case 'fixed':
      return ({ data }, index) => {
        const bytes = data.subarray(source.length * index, source.length * (index + 1))
        return type.kind === 'Binary' ? { value: bytes } : uuidCell(bytes)
      }
    case 'date':
      return ({ data }, index) => {
        if (source.unit === 'day') return timeCell(BigInt(data.readInt32LE(4 * index)), type, 'Date', zone)
        const time = data.readBigInt64LE(8 * index)
        const days = divided(time, 86_400_000n)
        return days === undefined
          ? { bad: 'is a date with a time of the day', text: `${time} ms` }
          : timeCell(days, type, 'Date', zone)
      }
    case 'time':
      return ({ data }, index) => {
        const value = source.bits === 64 ? data.readBigInt64LE(8 * index) : BigInt(data.readInt32LE(4 * index))
        const time = micros(value, source.unit)
        return time === undefined ? tooFine(value, 'Time') : timeCell(time, type, 'Time')
      }
    case 'timestamp':
      return ({ data }, index) => {
        const value = data.readBigInt64LE(8 * index)
        const time = micros(value, source.unit)
        return time === undefined ? tooFine(value, 'Timestamp') : timeCell(time, type, 'Timestamp', zone)
      }
  }
}

const INTEGERS: Readonly<Record<number, (data: Buffer, at: number) => number | bigint>> = {
  8: (data, at) => data.readInt8(at),
  16: (data, at) => data.readInt16LE(at),
  32: (data, at) => data.readInt32LE(at),
  64: (data, at) => data.readBigInt64LE(at),
}
const UNSIGNED: typeof INTEGERS = {
  8: (data, at) => data.readUInt8(at),
  16: (data, at) => data.readUInt16LE(at),
  32: (data, at) => data.readUInt32LE(at),
  64: (data, at) => data.readBigUInt64LE(at),
}

export function integerAt(
  data: Buffer,
  index: number,
  { bits, isSigned }: Extract<ArrowType, { kind: 'int' }>,
): number | bigint {
  return (isSigned ? INTEGERS : UNSIGNED)[bits]?.(data, (index * bits) / 8) ?? 0
}

function floatAt(data: Buffer, index: number, bits: 16 | 32 | 64): number {
  if (bits === 64) return data.readDoubleLE(8 * index)
  return bits === 32
    ? data.readFloatLE(4 * index)
    : (parseFloat16(data.subarray(2 * index, 2 * index + 2)) ?? Number.NaN)
}

/** Two's complement, the lowest word first. */
function signedAt(data: Buffer, index: number, bits: 32 | 64 | 128 | 256): bigint {
  if (bits === 32) return BigInt(data.readInt32LE(4 * index))
  const words = bits / 64
  const start = 8 * words * index
  let value = data.readBigInt64LE(start + 8 * (words - 1))
  for (let word = words - 2; word >= 0; word--) value = (value << 64n) | data.readBigUInt64LE(start + 8 * word)
  return value
}

function floatText(value: number): string {
  // 1e21 and above have an exponent with a sign, which a Decimal reads too.
  return Object.is(value, -0) ? '0' : String(value)
}

function bytesAt({ offsets, data }: ArrowArray, index: number): Buffer {
  return data.subarray(offsets[index] ?? 0, offsets[index + 1] ?? 0)
}

function textAt(array: ArrowArray, index: number): Cell {
  const bytes = bytesAt(array, index)
  const text = bytes.toString('utf8')
  return isUtf8(bytes) ? { text } : { bad: 'is not UTF-8', text }
}

function uuidCell(bytes: Buffer): Cell {
  const text = uuidText(bytes)
  return text === undefined
    ? { bad: 'does not have the 16 bytes of a Uuid', text: bytes.toString('hex', 0, 20) }
    : { value: text }
}

/** Undefined where the value is no whole number of microseconds. */
function micros(value: bigint, unit: bigint): bigint | undefined {
  return unit <= 1_000_000n ? value * (1_000_000n / unit) : divided(value, unit / 1_000_000n)
}

function divided(value: bigint, by: bigint): bigint | undefined {
  return value % by === 0n ? value / by : undefined
}

const MICROS_PER_DAY = 86_400_000_000n

/** A number of nanoseconds. */
function tooFine(value: bigint, kind: 'Time' | 'Timestamp'): Cell {
  const fraction = ((value % NANOS) + NANOS) % NANOS
  const seconds = ((value - fraction) / NANOS) * 1_000_000n
  const isShown = kind === 'Time' ? seconds >= 0n && seconds < MICROS_PER_DAY : isTimestamp(seconds)
  const digits = `.${String(fraction).padStart(9, '0')}`
  const whole = kind === 'Time' ? writeTime : (time: bigint) => writeTimestamp(time).replace('Z', '')
  const text = isShown ? `${whole(seconds)}${digits}${kind === 'Time' ? '' : 'Z'}` : `${value} ns`
  return { bad: 'has digits below a microsecond: round it to microseconds', text }
}

const NANOS = 1_000_000_000n

function isTimestamp(micros: bigint): boolean {
  return micros >= MIN_TIMESTAMP && micros <= MAX_TIMESTAMP
}

function timeCell(value: bigint, type: IqlType, from: 'Date' | 'Time' | 'Timestamp', zone?: Zone | undefined): Cell {
  const same =
    from === type.kind ? value : type.kind === 'Timestamp' ? value * MICROS_PER_DAY : divided(value, MICROS_PER_DAY)
  if (same === undefined) return { bad: 'has a time, and the column a date only', text: String(value) }
  const converted = zone !== undefined && type.kind === 'Timestamp' ? inUtc(same, zone) : same
  const [least, most] = RANGES[type.kind === 'Date' || type.kind === 'Time' ? type.kind : 'Timestamp']
  return converted < least || converted > most ? { bad: 'is out of range', text: String(value) } : { value: converted }
}

/** A time that is out of range stays so. */
function inUtc(local: bigint, zone: Zone): bigint {
  return isTimestamp(local) ? zone.utc(local) : local
}

const RANGES = {
  Date: [MIN_DATE, MAX_DATE],
  Time: [0n, MICROS_PER_DAY - 1n],
  Timestamp: [MIN_TIMESTAMP, MAX_TIMESTAMP],
} as const
