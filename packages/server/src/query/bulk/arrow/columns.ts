/** Turns arrays of Arrow into columns of a table, exactly or not at all. Values that are the same bytes in both stay where they are. */
import { isUtf8 } from 'node:buffer'
import { type IqlType, MAX_DATE, MAX_TIMESTAMP, MIN_DATE, MIN_TIMESTAMP, typeName, writeDecimal } from 'gatehouse-iql'
import { builderOf, type Nulls, type Vector } from '../../columns/batch.ts'
import { badBody, badValue, type NamedColumn } from '../../columns/row-error.ts'
import { addValue } from '../values.ts'
import { columnIn, type Zone } from '../zone.ts'
import { type ArrowArray, aligned, isValid } from './arrays.ts'
import type { ArrowType } from './fields.ts'

/** Reads values as the column: `first` is the number of the row of the first value, for messages. */
export type ToVector = (array: ArrowArray, from: number, to: number, first: number) => Vector

export function toVector(source: ArrowType, column: NamedColumn, zone: Zone | undefined): ToVector {
  if (!canBecome(source, column.type))
    throw badBody(
      `The column ${column.name} is ${typeName(column.type)}, and the Arrow stream has ${nameOf(source)} for it`,
    )
  const whole = isMoved(source, zone) ? undefined : taker(source, column.type)
  const each = eachValue(source, column, zone)
  return (array, from, to, first) => whole?.(array, from, to) ?? each(array, from, to, first)
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
  binary: ['Binary', 'Text', 'Json'],
  fixed: ['Binary', 'Uuid'],
  date: ['Date', 'Timestamp'],
  time: ['Time'],
  timestamp: ['Timestamp', 'Date'],
}

function nameOf(type: ArrowType): string {
  return 'bits' in type ? `${type.kind}${type.bits}` : type.kind
}

/** Takes values that are the same bytes in both; undefined for a slice that has to be read value by value, if only for its error. */
function taker(
  source: ArrowType,
  type: IqlType,
): ((array: ArrowArray, from: number, to: number) => Vector | undefined) | undefined {
  if (source.kind === 'int' && source.bits === 64 && source.isSigned && type.kind === 'Integer')
    return (array, from, to) => ({ kind: 'integers', values: longs(array, from, to), nulls: nullsOf(array, from, to) })
  if (source.kind === 'int' && source.bits === 32 && source.isSigned && type.kind === 'Integer')
    return (array, from, to) => ({ kind: 'integers', values: ints(array, from, to), nulls: nullsOf(array, from, to) })
  if (source.kind === 'timestamp' && source.unit === 1_000_000n && type.kind === 'Timestamp')
    return (array, from, to) => {
      const values = longs(array, from, to)
      for (let index = 0; index < values.length; index++) {
        const value = values[index] ?? 0n
        if (value < MIN_TIMESTAMP || value > MAX_TIMESTAMP) return undefined
      }
      return { kind: 'integers', values, nulls: nullsOf(array, from, to) }
    }
  if (source.kind === 'float' && source.bits === 64 && type.kind === 'Double')
    return (array, from, to) => {
      const given = doubles(array, from, to)
      // There is no negative zero.
      const values = given.some((value) => Object.is(value, -0)) ? given.map((value) => value + 0) : given
      return { kind: 'doubles', values, nulls: nullsOf(array, from, to) }
    }
  return source.kind === 'utf8' && type.kind === 'Text' ? texts : undefined
}

function texts(array: ArrowArray, from: number, to: number): Vector | undefined {
  const { offsets, data } = array
  const start = Number(offsets[from] ?? 0)
  const region = data.subarray(start, Number(offsets[to] ?? 0))
  if (!isUtf8(region) || region.includes(0)) return undefined
  const lengths = new Int32Array(to - from)
  let last = start
  for (let index = 0; index < lengths.length; index++) {
    const next = Number(offsets[from + index + 1] ?? 0)
    // A value must not begin within a character.
    if (next > last && ((data[last] ?? 0) & 0xc0) === 0x80) return undefined
    lengths[index] = next - last
    last = next
  }
  return { kind: 'bytes', lengths, data: region, nulls: nullsOf(array, from, to) }
}

function longs({ data }: ArrowArray, from: number, to: number): BigInt64Array {
  const { buffer, byteOffset } = aligned(data)
  return new BigInt64Array(buffer, byteOffset + 8 * from, to - from)
}

function ints({ data }: ArrowArray, from: number, to: number): Int32Array {
  const { buffer, byteOffset } = aligned(data)
  return new Int32Array(buffer, byteOffset + 4 * from, to - from)
}

function doubles({ data }: ArrowArray, from: number, to: number): Float64Array {
  const { buffer, byteOffset } = aligned(data)
  return new Float64Array(buffer, byteOffset + 8 * from, to - from)
}

function nullsOf(array: ArrowArray, from: number, to: number): Nulls {
  if (array.validity === undefined) return undefined
  const nulls = new Uint8Array(to - from)
  for (let index = from; index < to; index++) nulls[index - from] = isValid(array, index) ? 0 : 1
  return nulls
}

/** What a value is; a text is read as the type. */
type Cell =
  | { readonly text: string }
  | { readonly value: bigint | string | Uint8Array | boolean }
  | { readonly bad: string; readonly text: string }

function eachValue(source: ArrowType, column: NamedColumn, zone: Zone | undefined): ToVector {
  const read = cellReader(source, column.type, isMoved(source, zone) ? zone : undefined)
  return (array, from, to, first) => {
    const builder = builderOf(column.type)
    const { builder: byText, addText } = columnIn(zone)(column)
    const target = isReadAsText(source, column.type) ? byText : builder
    for (let index = from; index < to; index++) {
      if (source.kind === 'null' || !isValid(array, index)) {
        target.addNull()
        continue
      }
      const cell = read(array, index)
      const row = { row: first + index - from }
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
  if (kind === 'binary') return type.kind !== 'Binary'
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
      return ({ data }, index) => ({
        text: floatText(source.bits === 64 ? data.readDoubleLE(8 * index) : data.readFloatLE(4 * index)),
      })
    case 'decimal':
      return ({ data }, index) => {
        const value = (data.readBigInt64LE(16 * index + 8) << 64n) | data.readBigUInt64LE(16 * index)
        return { text: source.scale >= 0 ? writeDecimal(value, source.scale) : `${value}e${-source.scale}` }
      }
    case 'bool':
      return ({ data }, index) => ({ value: ((data[index >> 3] ?? 0) & (1 << (index & 7))) !== 0 })
    case 'utf8':
    case 'binary':
      return source.kind === 'binary' && type.kind === 'Binary' ? bytesAt : textAt
    case 'fixed':
      return ({ data }, index) => {
        const bytes = data.subarray(source.length * index, source.length * (index + 1))
        if (type.kind === 'Binary') return { value: bytes }
        return bytes.length === 16
          ? { value: uuidText(bytes) }
          : { bad: 'does not have the 16 bytes of a Uuid', text: bytes.toString('hex', 0, 20) }
      }
    case 'date':
      return ({ data }, index) => {
        const days =
          source.unit === 'day'
            ? BigInt(data.readInt32LE(4 * index))
            : divided(data.readBigInt64LE(8 * index), 86_400_000n)
        return timeCell(days, type, 'Date', zone)
      }
    case 'time':
      return ({ data }, index) => {
        const value = source.bits === 64 ? data.readBigInt64LE(8 * index) : BigInt(data.readInt32LE(4 * index))
        return timeCell(micros(value, source.unit), type, 'Time')
      }
    case 'timestamp':
      return ({ data }, index) => timeCell(micros(data.readBigInt64LE(8 * index), source.unit), type, 'Timestamp', zone)
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

function floatText(value: number): string {
  // 1e21 and above have an exponent with a sign, which a Decimal reads too.
  return Object.is(value, -0) ? '0' : String(value)
}

function bytesAt({ offsets, data }: ArrowArray, index: number): Cell {
  return { value: data.subarray(Number(offsets[index] ?? 0), Number(offsets[index + 1] ?? 0)) }
}

function textAt({ offsets, data }: ArrowArray, index: number): Cell {
  const bytes = data.subarray(Number(offsets[index] ?? 0), Number(offsets[index + 1] ?? 0))
  const text = bytes.toString('utf8')
  return isUtf8(bytes) ? { text } : { bad: 'is not UTF-8', text }
}

function uuidText(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** Undefined where the value is no whole number of microseconds. */
function micros(value: bigint, unit: bigint): bigint | undefined {
  return unit <= 1_000_000n ? value * (1_000_000n / unit) : divided(value, unit / 1_000_000n)
}

function divided(value: bigint, by: bigint): bigint | undefined {
  return value % by === 0n ? value / by : undefined
}

const MICROS_PER_DAY = 86_400_000_000n

function timeCell(
  value: bigint | undefined,
  type: IqlType,
  from: 'Date' | 'Time' | 'Timestamp',
  zone?: Zone | undefined,
): Cell {
  if (value === undefined) return { bad: 'has digits below a microsecond', text: '' }
  const same =
    from === type.kind ? value : type.kind === 'Timestamp' ? value * MICROS_PER_DAY : divided(value, MICROS_PER_DAY)
  if (same === undefined) return { bad: 'has a time, and the column a date only', text: String(value) }
  const converted = zone !== undefined && type.kind === 'Timestamp' ? inUtc(same, zone) : same
  const [least, most] = RANGES[type.kind === 'Date' || type.kind === 'Time' ? type.kind : 'Timestamp']
  return converted < least || converted > most ? { bad: 'is out of range', text: String(value) } : { value: converted }
}

/** A time that is out of range stays so. */
function inUtc(local: bigint, zone: Zone): bigint {
  return local < MIN_TIMESTAMP || local > MAX_TIMESTAMP ? local : zone.utc(local)
}

const RANGES = {
  Date: [MIN_DATE, MAX_DATE],
  Time: [0n, MICROS_PER_DAY - 1n],
  Timestamp: [MIN_TIMESTAMP, MAX_TIMESTAMP],
} as const
