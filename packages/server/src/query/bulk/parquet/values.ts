/** What the columns of a Parquet file hold in IQL (parquet-format, LogicalTypes): exactly, or an error that names the column. */
import { type DecimalType, type IqlType, type IqlValue, MAX_DATE, MICROS_PER_DAY, MIN_DATE } from 'gatehouse-iql'
import { parseFloat16 } from 'hyparquet/src/convert.js'
import { uuidText } from '../../types/uuid.ts'
import { damaged, ParquetError, ValueError } from './error.ts'
import type { Field } from './footer.ts'
import { countIn, structIn } from './thrift.ts'

export interface ColumnType {
  readonly type: IqlType
  /** A value as the file stores it. */
  read(stored: number | bigint | boolean | Uint8Array): IqlValue
}

/** The numbers of annotations: ConvertedType. */
const CONVERTED = {
  utf8: 0,
  enum: 4,
  decimal: 5,
  date: 6,
  timeMillis: 7,
  timeMicros: 8,
  timestampMillis: 9,
  timestampMicros: 10,
  uint32: 13,
  uint64: 14,
  json: 19,
  bson: 20,
  interval: 21,
} as const
/** And LogicalType. */
const LOGICAL = {
  string: 1,
  enum: 4,
  decimal: 5,
  date: 6,
  time: 7,
  timestamp: 8,
  integer: 10,
  unknown: 11,
  json: 12,
  bson: 13,
  uuid: 14,
  float16: 15,
} as const

export function readColumnType(field: Field): ColumnType {
  const { logical, converted, physical } = field
  const is = (kind: 'enum' | 'decimal' | 'date' | 'json' | 'bson'): boolean =>
    logical === LOGICAL[kind] || (logical === undefined && converted === CONVERTED[kind])
  if (is('decimal')) return decimalType(field)
  if (is('date')) return { type: { kind: 'Date' }, read: (days) => day(field, BigInt(whole(days))) }
  if (is('json')) return { type: { kind: 'Json' }, read: (bytes) => text(field, bytes) }
  if (is('bson') || converted === CONVERTED.interval) throw unsupported(field, is('bson') ? 'BSON' : 'INTERVAL')
  const time = readTimeType(field)
  if (time !== undefined) return time
  if (logical === LOGICAL.unknown) return { type: { kind: 'Null' }, read: () => null }
  if (logical === LOGICAL.uuid && field.length === UUID_BYTES) return { type: { kind: 'Uuid' }, read: uuid }
  if (logical === LOGICAL.float16)
    return { type: { kind: 'Double' }, read: (bytes) => (isBytes(bytes) ? (parseFloat16(bytes) ?? null) : null) }
  if (physical === 'BYTE_ARRAY' && (logical === LOGICAL.string || converted === CONVERTED.utf8 || is('enum')))
    return { type: { kind: 'Text' }, read: (bytes) => text(field, bytes) }
  return plainType(field)
}

function plainType(field: Field): ColumnType {
  switch (field.physical) {
    case 'BOOLEAN':
      return { type: { kind: 'Boolean' }, read: (value) => value === true }
    case 'INT32':
    case 'INT64':
      return integerType(field)
    case 'INT96':
      return {
        type: { kind: 'Timestamp' },
        // Days of the Julian calendar above nanoseconds; what Spark and Impala once wrote.
        read: (value) => {
          const bits = BigInt(whole(value))
          const nanos = ((bits >> 64n) - JULIAN_EPOCH) * MICROS_PER_DAY * 1000n + (bits & LOW_BITS)
          return timestamp(field, exactly(field, nanos, 1000n))
        },
      }
    case 'FLOAT':
    case 'DOUBLE':
      return { type: { kind: 'Double' }, read: Number }
    default:
      return { type: { kind: 'Binary' }, read: (bytes) => (isBytes(bytes) ? bytes : null) }
  }
}

const JULIAN_EPOCH = 2_440_588n
const LOW_BITS = (1n << 64n) - 1n
const MAX_INTEGER = (1n << 63n) - 1n

function integerType(field: Field): ColumnType {
  const { logical, logicalMembers, converted } = field
  const isUnsigned =
    logical === LOGICAL.integer
      ? logicalMembers?.get(2) === false
      : converted === CONVERTED.uint32 || converted === CONVERTED.uint64
  const bits = field.physical === 'INT32' ? 32 : 64
  const read = (value: number | bigint): bigint => {
    const integer = isUnsigned ? BigInt.asUintN(bits, BigInt(value)) : BigInt(value)
    if (integer > MAX_INTEGER) throw badValue(field, `${integer} is larger than an Integer`)
    return integer
  }
  return { type: { kind: 'Integer' }, read: (value) => read(whole(value)) }
}

const MAX_PRECISION = 38

function decimalType(field: Field): ColumnType {
  const precision = countIn(field.logicalMembers, 2) ?? field.precision ?? 0
  const scale = countIn(field.logicalMembers, 1) ?? field.scale ?? 0
  if (precision < 1 || precision > MAX_PRECISION || scale > precision)
    throw refused(field, `a Decimal has up to ${MAX_PRECISION} digits, not (${precision}, ${scale})`)
  const type: DecimalType = { kind: 'Decimal', precision, scale }
  const limit = 10n ** BigInt(precision)
  return {
    type,
    read: (value) => {
      const unscaled = isBytes(value) ? signed(value) : BigInt(whole(value))
      if (unscaled >= limit || unscaled <= -limit) throw badValue(field, `a value has more than ${precision} digits`)
      return unscaled
    },
  }
}

/** Two's complement, big-endian. */
function signed(bytes: Uint8Array): bigint {
  if (bytes.length === 0) return 0n
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
  return BigInt.asIntN(8 * bytes.length, BigInt(`0x${hex}`))
}

type TimeUnit = 'millis' | 'micros' | 'nanos'
const UNITS: readonly (TimeUnit | undefined)[] = [undefined, 'millis', 'micros', 'nanos']

function readTimeType(field: Field): ColumnType | undefined {
  const { logical, logicalMembers, converted } = field
  if (logical === LOGICAL.timestamp || logical === LOGICAL.time) {
    const unit = UNITS[[...(structIn(logicalMembers, 2)?.keys() ?? [])][0] ?? 0]
    if (unit === undefined) throw unsupported(field, 'a time of an unknown unit')
    const isLocal = logicalMembers?.get(1) === false
    return logical === LOGICAL.time ? timeType(field, unit) : timestampType(field, unit, isLocal)
  }
  switch (converted) {
    case CONVERTED.timeMillis:
      return timeType(field, 'millis')
    case CONVERTED.timeMicros:
      return timeType(field, 'micros')
    case CONVERTED.timestampMillis:
      return timestampType(field, 'millis', false)
    case CONVERTED.timestampMicros:
      return timestampType(field, 'micros', false)
    default:
      return undefined
  }
}

function timestampType(field: Field, unit: TimeUnit, isLocal: boolean): ColumnType {
  return {
    type: { kind: isLocal ? 'LocalTimestamp' : 'Timestamp' },
    read: (value) => timestamp(field, micros(field, whole(value), unit)),
  }
}

function timeType(field: Field, unit: TimeUnit): ColumnType {
  return {
    type: { kind: 'Time' },
    read: (value) => {
      const time = micros(field, whole(value), unit)
      if (time < 0n || time >= MICROS_PER_DAY) throw badValue(field, `${time} microseconds are no time of a day`)
      return time
    },
  }
}

function micros(field: Field, value: number | bigint, unit: TimeUnit): bigint {
  const integer = BigInt(value)
  if (unit === 'micros') return integer
  return unit === 'millis' ? integer * 1000n : exactly(field, integer, 1000n)
}

function exactly(field: Field, nanos: bigint, divisor: bigint): bigint {
  if (nanos % divisor !== 0n) throw badValue(field, 'a time has nanoseconds: round it to microseconds')
  return nanos / divisor
}

function timestamp(field: Field, value: bigint): bigint {
  if (value < MIN_DATE * MICROS_PER_DAY || value >= (MAX_DATE + 1n) * MICROS_PER_DAY)
    throw badValue(field, 'a time is not in the years 1 to 9999')
  return value
}

function day(field: Field, days: bigint): bigint {
  if (days < MIN_DATE || days > MAX_DATE) throw badValue(field, 'a date is not in the years 1 to 9999')
  return days
}

const UUID_BYTES = 16

function uuid(bytes: number | bigint | boolean | Uint8Array): IqlValue {
  return isBytes(bytes) ? (uuidText(bytes) ?? null) : null
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function text(field: Field, bytes: number | bigint | boolean | Uint8Array): string {
  try {
    return isBytes(bytes) ? UTF8.decode(bytes) : String(bytes)
  } catch {
    throw badValue(field, 'a text is not UTF-8')
  }
}

function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array
}

/** The annotation of a column says what it holds, its pages could hold something else. */
function whole(value: number | bigint | boolean | Uint8Array): number | bigint {
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value))) return value
  throw damaged('a column does not have the values that its type announces')
}

function badValue({ name }: Field, reason: string): ValueError {
  return new ValueError(name, reason)
}

function refused({ name }: Field, reason: string): ParquetError {
  return new ParquetError(`Column ${JSON.stringify(name)}: ${reason}`)
}

function unsupported(field: Field, type: string): ParquetError {
  return refused(field, `the type ${type} is not supported: write it as a text`)
}
