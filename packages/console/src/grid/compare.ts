/** The order of the values of a column, as ORDER BY of IQL has it: numbers by value, texts by code point, NULL last. */
import { MICROS_PER_DAY, readInterval } from 'gatehouse-iql'

/**
 * A key is a double that never contradicts the order: where the keys of two values differ, so do the values, in the same
 * way. Only where they are equal the values themselves are compared, which is exact and slow.
 */
export interface ValueOrder {
  /** NaN for NULL and NaN, which are after all others. */
  key(value: unknown): number
  compare(a: unknown, b: unknown): number
}

export function valueOrder(type: string): ValueOrder {
  switch (typeKind(type)) {
    case 'Integer':
      return { key: Number, compare: nullsLast(compareIntegers) }
    case 'Decimal':
      return { key: Number, compare: nullsLast((a, b) => compareDecimals(String(a), String(b))) }
    case 'Double':
      return { key: Number, compare: nullsLast((a, b) => compareDoubles(Number(a), Number(b))) }
    case 'Boolean':
      return { key: Number, compare: nullsLast((a, b) => Number(a) - Number(b)) }
    case 'Timestamp':
      return { key: (value) => Date.parse(String(value)), compare: nullsLast(compareTimestamps) }
    case 'Interval':
      return { key: (value) => Number(intervalMicros(value)), compare: nullsLast(compareIntervals) }
    default:
      return {
        key: (value) => textKey(comparedText(value)),
        compare: nullsLast((a, b) => compareTexts(comparedText(a), comparedText(b))),
      }
  }
}

/** `Decimal(18, 4)` is a `Decimal`. */
export function typeKind(type: string): string {
  return type.split('(', 1)[0] ?? type
}

/** The server sends Json as what it is, and bytes as Base64, which the client decodes. */
function comparedText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value instanceof Uint8Array) return String.fromCharCode(...value.subarray(0, 1024))
  return typeof value === 'object' ? JSON.stringify(value, exact) : String(value)
}

function exact(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

function nullsLast(compare: (a: unknown, b: unknown) => number): (a: unknown, b: unknown) => number {
  return (a, b) => {
    if (a === b) return 0
    const [isNullA, isNullB] = [a === null || a === undefined, b === null || b === undefined]
    return isNullA || isNullB ? Number(isNullA) - Number(isNullB) : compare(a, b)
  }
}

/** Numbers and bigints of a column can be mixed; JavaScript compares both exactly. A text is one of `integer: 'text'`. */
function compareIntegers(a: unknown, b: unknown): number {
  const [x, y] = [typeof a === 'string' ? BigInt(a) : a, typeof b === 'string' ? BigInt(b) : b] as [bigint, bigint]
  return x < y ? -1 : x > y ? 1 : 0
}

function compareDoubles(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
  return a - b || 0
}

/** Texts such as `-12.50`, digit by digit: 1.10 equals 1.1. */
export function compareDecimals(a: string, b: string): number {
  const [x, y] = [splitDecimal(a), splitDecimal(b)]
  const scale = Math.max(x.fraction.length, y.fraction.length)
  const [unscaledX, unscaledY] = [unscale(x, scale), unscale(y, scale)]
  return unscaledX < unscaledY ? -1 : unscaledX > unscaledY ? 1 : 0
}

function splitDecimal(text: string): { readonly sign: string; readonly whole: string; readonly fraction: string } {
  const [, sign = '', whole = '0', fraction = ''] = /^([+-]?)(\d*)\.?(\d*)$/.exec(text) ?? []
  return { sign: sign === '-' ? '-' : '', whole, fraction }
}

function unscale({ sign, whole, fraction }: ReturnType<typeof splitDecimal>, scale: number): bigint {
  const digits = BigInt(whole + fraction.padEnd(scale, '0'))
  return sign === '-' ? -digits : digits
}

/** Within the same millisecond, the digits after it decide. */
function compareTimestamps(a: unknown, b: unknown): number {
  const [x, y] = [String(a), String(b)]
  const [millisecondsX, millisecondsY] = [Date.parse(x), Date.parse(y)]
  return millisecondsX - millisecondsY || compareTexts(paddedFraction(x), paddedFraction(y))
}

/** In microseconds; a month counts as 30 days, as in PostgreSQL. */
function intervalMicros(value: unknown): bigint {
  const { months, micros } = readInterval(String(value)) ?? { months: 0n, micros: 0n }
  return months * 30n * MICROS_PER_DAY + micros
}

function compareIntervals(a: unknown, b: unknown): number {
  return compareIntegers(intervalMicros(a), intervalMicros(b))
}

function paddedFraction(timestamp: string): string {
  return (/\.(\d+)/.exec(timestamp)?.[1] ?? '').padEnd(6, '0')
}

/** By code point; UTF-16 has surrogates below the last characters of the first plane. */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)]
    if (x !== y) return rank(x) - rank(y)
  }
  return a.length - b.length
}

function rank(unit: number): number {
  return unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

/** The first three characters: 48 of the 53 bits of a double. One is added so that the end of a text comes first. */
function textKey(text: string): number {
  let key = 0
  for (let at = 0; at < 3; at++) key = key * 0x10001 + (at < text.length ? rank(text.charCodeAt(at)) + 1 : 0)
  return key
}

/** Numbers and intervals stand at the right, so that their digits line up. */
export function isNumeric(type: string): boolean {
  return ['Integer', 'Decimal', 'Double', 'Interval'].includes(typeKind(type))
}
