/** Parses text as a value of a type, exactly or not at all, and writes values as text. */
import { readBase64, writeBase64 } from './base64.ts'
import { isJson } from './json-text.ts'
import {
  type Fraction,
  readDate,
  readInterval,
  readLocalTimestamp,
  readTime,
  readTimestamp,
  writeDate,
  writeInterval,
  writeLocalTimestamp,
  writeTime,
  writeTimestamp,
} from './time-values.ts'
import { type DecimalType, FORMS, type IqlType, type IqlValue, MAX_INTEGER, MIN_INTEGER, typeName } from './types.ts'

export type Read = { readonly value: Exclude<IqlValue, null> } | { readonly problem: string }

/** Never rounds or truncates. The problem is worded so that it can follow the value in a message. */
export function readValue(type: IqlType, text: string): Read {
  return readAs(type, text, 'exact')
}

/** Rounds a time to microseconds as PostgreSQL does, for its clients and for literals. All else is as exact as `readValue`. */
export function readRoundedValue(type: IqlType, text: string): Read {
  return readAs(type, text, 'rounded')
}

function readAs(type: IqlType, text: string, fraction: Fraction): Read {
  switch (type.kind) {
    case 'Text':
      return readText(text)
    case 'Integer':
      return readInteger(text)
    case 'Decimal':
      return readDecimal(type, text)
    case 'Double':
      return readDouble(text)
    case 'Interval':
      return readIntervalValue(type.months, text)
    case 'Null':
      return { problem: 'has no type' }
    case 'Timestamp':
    case 'LocalTimestamp':
    case 'Time':
      return readTimeValue(type.kind, text, fraction)
    default: {
      const value = READERS[type.kind](text)
      return value === undefined ? { problem: `is not ${FORMS[type.kind]}` } : { value }
    }
  }
}

const TIME_READERS = { Timestamp: readTimestamp, LocalTimestamp: readLocalTimestamp, Time: readTime } as const

function readTimeValue(kind: keyof typeof TIME_READERS, text: string, fraction: Fraction): Read {
  const value = TIME_READERS[kind](text, fraction)
  if (value !== undefined) return { value }
  const isTooExact = fraction === 'exact' && TIME_READERS[kind](text, 'rounded') !== undefined
  return {
    problem: isTooExact
      ? `has more than 6 digits after the point of its seconds; a ${kind} has microseconds`
      : `is not ${FORMS[kind]}`,
  }
}

const READERS: Readonly<
  Record<'Boolean' | 'Date' | 'Uuid' | 'Json' | 'Binary', (text: string) => Exclude<IqlValue, null> | undefined>
> = {
  Boolean: readBoolean,
  Date: readDate,
  Uuid: readUuid,
  Json: readJson,
  Binary: readBinary,
}

function readText(text: string): Read {
  if (text.includes('\0')) return { problem: 'contains NUL, which a Text cannot' }
  return text.isWellFormed() ? { value: text } : { problem: 'contains a lone surrogate' }
}

function readInteger(text: string): Read {
  if (!/^[+-]?\d{1,40}$/.test(text)) return { problem: 'is not a whole number' }
  const value = BigInt(text.replace('+', ''))
  return value >= MIN_INTEGER && value <= MAX_INTEGER ? { value } : { problem: 'does not fit in 64 bits' }
}

/** Digits with an optional point and an optional exponent. Trailing zeros do not count as digits. */
function readDecimal(type: DecimalType, text: string): Read {
  const match = /^([+-]?)(\d{0,80})(?:\.(\d{0,80}))?(?:[eE]([+-]?\d{1,2}))?$/.exec(text)
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match ?? []
  if (match === null || whole + fraction === '') return { problem: 'is not a number' }
  const digits = BigInt(whole + fraction)
  const shift = type.scale - fraction.length + Number(exponent)
  const unscaled = shift >= 0 ? digits * powerOfTen(shift) : digits / powerOfTen(-shift)
  if (shift < 0 && unscaled * powerOfTen(-shift) !== digits) {
    return { problem: `has more than ${type.scale} digits after the point, the scale of ${typeName(type)}` }
  }
  if (unscaled >= powerOfTen(type.precision)) return { problem: `has too many digits for ${typeName(type)}` }
  return { value: sign === '-' ? -unscaled : unscaled }
}

/** Computed once: a power of bigints takes as long as reading a number. */
export function powerOfTen(exponent: number): bigint {
  const known = POWERS_OF_TEN.get(exponent)
  if (known !== undefined) return known
  const power = 10n ** BigInt(exponent)
  POWERS_OF_TEN.set(exponent, power)
  return power
}

const POWERS_OF_TEN = new Map<number, bigint>()

/** More digits than any double needs; matching millions of them would take long. */
const MAX_DOUBLE_LENGTH = 1500

function readDouble(text: string): Read {
  if (/^(?:NaN|[+-]?Infinity)$/.test(text)) return { value: Number(text) }
  if (text.length > MAX_DOUBLE_LENGTH || !/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(text))
    return { problem: `is not ${FORMS.Double}` }
  const value = Number(text)
  if (!Number.isFinite(value)) return { problem: 'is too large for a Double' }
  return value === 0 && /[1-9]/.test(text.replace(/e.*/i, '')) ? { problem: 'is too small for a Double' } : { value }
}

function readIntervalValue(months: boolean, text: string): Read {
  const value = readInterval(text)
  if (value === undefined) return { problem: `is not ${FORMS.Interval}` }
  if (!months && value.months !== 0n) return { problem: 'counts in months, whose length varies; use days or less' }
  return { value }
}

function readBoolean(text: string): boolean | undefined {
  const word = text.toLowerCase()
  return word === 'true' ? true : word === 'false' ? false : undefined
}

function readUuid(text: string): string | undefined {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) ? text.toLowerCase() : undefined
}

/** A Uuid without hyphens, as Python's drivers write it; other texts are unchanged. */
export function withHyphens(text: string): string {
  return text.replace(PLAIN_UUID, '$1-$2-$3-$4-$5')
}

const PLAIN_UUID = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/i

/** Kept as text, since parsing would round its numbers. */
function readJson(text: string): string | undefined {
  return isJson(text) && isStorableJson(text) ? text.trim() : undefined
}

/** PostgreSQL parses no JSON with a NUL or half of a surrogate pair, not even an escaped one. */
export function isStorableJson(text: string): boolean {
  return text.isWellFormed() && !(text.includes('\\u') && UNSTORABLE_ESCAPE.test(text.replaceAll('\\\\', '  ')))
}

/** Where no backslash is itself escaped. PostgreSQL reads it too. */
export const UNSTORABLE_ESCAPE = /\\u(?:0000|[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..\\u)[dD][c-fC-F]..)/

/** Node skips characters that are not Base-64, and so returns too few bytes. It also accepts `-` and `_`, and ignores the high byte of characters. */
function readBinary(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0 || text.includes('-') || text.includes('_') || NOT_ASCII.test(text)) return undefined
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const bytes = readBase64(text)
  return bytes.length === (text.length / 4) * 3 - padding ? new Uint8Array(bytes) : undefined
}

const NOT_ASCII = /[^ -~]/

/** The text that `readValue` parses as the same value. */
export function writeValue(type: IqlType, value: Exclude<IqlValue, null>): string {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  if (typeof value !== 'bigint') return 'months' in value ? writeInterval(value) : writeBase64(value)
  switch (type.kind) {
    case 'Decimal':
      return writeDecimal(value, type.scale)
    case 'Timestamp':
      return writeTimestamp(value)
    case 'LocalTimestamp':
      return writeLocalTimestamp(value)
    case 'Date':
      return writeDate(value)
    case 'Time':
      return writeTime(value)
    default:
      return value.toString()
  }
}

export function writeDecimal(unscaled: bigint, scale: number): string {
  if (scale === 0) return unscaled.toString()
  const negative = unscaled < 0n
  const digits = (negative ? -unscaled : unscaled).toString().padStart(scale + 1, '0')
  return `${negative ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

/** The shortest digits that parse as the same double, as ECMAScript writes them, but without a negative zero. */
export function doubleText(value: number): string {
  return Object.is(value, -0) ? '0' : String(value)
}

/** The digits without the point, and how many of them follow it (negative for 1e3). */
export function readDigits(text: string): { readonly unscaled: bigint; readonly scale: number } | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] = DIGITS.exec(text) ?? []
  if (sign === undefined || whole + fraction === '') return undefined
  const digits = BigInt(whole + fraction)
  return { unscaled: sign === '-' ? -digits : digits, scale: fraction.length - Number(exponent) }
}

const DIGITS = /^([+-]?)(\d{0,80})(?:\.(\d{0,80}))?(?:[eE]([+-]?\d{1,3}))?$/
