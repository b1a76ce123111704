/** Converts values between SQLite's form and PostgreSQL's text, exactly or not at all. */
import {
  type IqlType,
  isWide,
  MAX_DATE,
  MAX_TIMESTAMP,
  MIN_DATE,
  MIN_TIMESTAMP,
  readDate,
  readTime,
  readTimestamp,
  writeDate,
  writeDecimal,
  writeTime,
  writeTimestamp,
} from 'gatehouse-iql'
import { fromWide, toWide } from '../query/storage.ts'
import type { Value } from './table.ts'

type Stored = Exclude<Value, null>

/** A value of SQLite as PostgreSQL reads it. Only for values without a problem. */
export function toPostgresText(type: IqlType): (value: Stored) => string {
  switch (type.kind) {
    case 'Decimal':
      return (value) => writeDecimal(toUnscaled(value), type.scale)
    case 'Double':
      return (value) => (Object.is(value, -0) ? '-0' : String(value))
    case 'Boolean':
      return (value) => (value === 1n ? 't' : 'f')
    case 'Timestamp':
      return (value) => writeTimestamp(toInteger(value)).slice(0, -1)
    case 'Date':
      return (value) => writeDate(toInteger(value))
    case 'Time':
      return (value) => writeTime(toInteger(value))
    case 'Binary':
      return (value) => (value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : '')
    default:
      return String
  }
}

/** PostgreSQL's text as SQLite stores the value; undefined if it cannot. */
export function fromPostgresText(type: IqlType): (text: string) => Stored | undefined {
  switch (type.kind) {
    case 'Integer':
      return BigInt
    case 'Decimal':
      return decimalReader(type.scale, isWide(type))
    case 'Double':
      // NaN is a text in SQLite. A negative zero becomes zero there.
      return (text) => (text === 'NaN' ? text : Number(text))
    case 'Boolean':
      return (text) => (text === 't' ? 1n : 0n)
    case 'Timestamp':
      return readTimestamp
    case 'Date':
      return readDate
    case 'Time':
      return readTime
    case 'Binary':
      return (text) => Buffer.from(text.slice(2), 'hex')
    default:
      return (text) => text
  }
}

function decimalReader(scale: number, wide: boolean): (text: string) => Stored | undefined {
  return (text) => {
    const point = scale === 0 ? text.length : text.length - scale - 1
    const digits = scale === 0 ? text : text.slice(0, point) + text.slice(point + 1)
    if (!/^-?\d+$/.test(digits)) return undefined
    return wide ? toWide(BigInt(digits)) : BigInt(digits)
  }
}

/** Why PostgreSQL cannot hold a value of SQLite; undefined if it can. */
export function problemFinder(type: IqlType): (value: Stored) => string | undefined {
  const is = (isValid: (value: Stored) => boolean): ((value: Stored) => string | undefined) => {
    return (value) => (isValid(value) ? undefined : `is not a valid ${type.kind}`)
  }
  switch (type.kind) {
    case 'Text':
    case 'Json':
      return problemOfText
    case 'Uuid':
      return is((value) => typeof value === 'string' && UUID.test(value))
    case 'Binary':
      return is((value) => value instanceof Uint8Array)
    case 'Double':
      return is((value) => typeof value === 'number' || value === 'NaN')
    case 'Boolean':
      return is((value) => value === 0n || value === 1n)
    case 'Timestamp':
      return is(isBetween(MIN_TIMESTAMP, MAX_TIMESTAMP))
    case 'Date':
      return is(isBetween(MIN_DATE, MAX_DATE))
    case 'Time':
      return is(isBetween(0n, MICROS_PER_DAY - 1n))
    case 'Decimal': {
      const most = 10n ** BigInt(type.precision) - 1n
      const isInRange = isBetween(-most, most)
      return isWide(type)
        ? is((value) => value instanceof Uint8Array && value.length === WIDE_BYTES && isInRange(fromWide(value)))
        : is(isInRange)
    }
    default:
      return is((value) => typeof value === 'bigint')
  }
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const MICROS_PER_DAY = 86_400_000_000n
const WIDE_BYTES = 16

function problemOfText(value: Stored): string | undefined {
  if (typeof value !== 'string') return 'is not a valid Text'
  return value.includes('\0') ? 'contains the character NUL (U+0000), which PostgreSQL cannot hold' : undefined
}

function isBetween(least: bigint, most: bigint): (value: Stored) => boolean {
  return (value) => typeof value === 'bigint' && value >= least && value <= most
}

function toInteger(value: Stored): bigint {
  return typeof value === 'bigint' ? value : 0n
}

function toUnscaled(value: Stored): bigint {
  return value instanceof Uint8Array ? fromWide(value) : toInteger(value)
}

/** Whether both databases hold the same value. IQL does not distinguish the two zeros of a Double, nor can SQLite. */
export function isSame(a: Value, b: Value): boolean {
  return a === b || (a instanceof Uint8Array && b instanceof Uint8Array && Buffer.compare(a, b) === 0)
}
