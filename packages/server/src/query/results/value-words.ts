/** Values of a result as 32-bit words, little-endian: what Arrow and Parquet store of numbers, dates and times. */
import { MICROS_PER_DAY, readDate, readInterval, readTime, readTimestamp } from 'gatehouse-iql'
import type { Cell } from '../model/result.ts'

/** Writes a value at a word; false where it is none and becomes NULL. */
export type Put = (words: Words, at: number, cell: NonNullable<Cell>) => boolean

/** The same bytes as 32-bit words, 64-bit words and doubles. */
export interface Words {
  readonly int32: Int32Array
  readonly int64: BigInt64Array
  readonly float64: Float64Array
}

export function wordsOf(buffer: ArrayBufferLike): Words {
  return {
    int32: new Int32Array(buffer),
    // Dates have one word each, always an even number of them in the buffer.
    int64: new BigInt64Array(buffer),
    float64: new Float64Array(buffer),
  }
}

export function grown(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(bytes.length * 2)
  larger.set(bytes)
  return larger
}

/** Little-endian two's complement. A safe integer needs no bigint, which would cost an allocation. */
function putSafe({ int32 }: Words, at: number, value: number): void {
  int32[at] = value
  int32[at + 1] = Math.floor(value / 0x1_0000_0000)
}

export function putInteger(words: Words, at: number, cell: NonNullable<Cell>): boolean {
  if (typeof cell === 'number') putSafe(words, at, cell)
  else if (typeof cell === 'bigint') putBigint(words, at, cell)
  else {
    const text = String(cell)
    if (text.length <= SAFE_DIGITS) putSafe(words, at, Number(text))
    else words.int64[at >> 1] = BigInt(text)
  }
  return true
}

/** Storing a bigint takes longer than converting it. With `asIntN` the conversion is compiled to a few instructions. */
function putBigint(words: Words, at: number, cell: bigint): void {
  const value = Number(BigInt.asIntN(64, cell))
  if (Number.isSafeInteger(value)) putSafe(words, at, value)
  else words.int64[at >> 1] = cell
}

const SAFE_DIGITS = 15
const ZERO = 48
const MINUS = 45
const POINT = 46

/** Of 38 digits, in 128 bits. */
export function putDecimal(words: Words, at: number, cell: NonNullable<Cell>): boolean {
  const text = String(cell)
  if (text.length > SAFE_DIGITS) {
    const unscaled = BigInt(text.replace('.', ''))
    words.int64[at >> 1] = BigInt.asIntN(64, unscaled)
    words.int64[(at >> 1) + 1] = BigInt.asIntN(64, unscaled >> 64n)
    return true
  }
  const unscaled = shortDigits(text)
  putSafe(words, at, unscaled)
  const sign = unscaled < 0 ? -1 : 0
  words.int32[at + 2] = sign
  words.int32[at + 3] = sign
  return true
}

/** Of 18 digits, in 64 bits. */
export function putShortDecimal(words: Words, at: number, cell: NonNullable<Cell>): boolean {
  const text = String(cell)
  if (text.length > SAFE_DIGITS) words.int64[at >> 1] = BigInt(text.replace('.', ''))
  else putSafe(words, at, shortDigits(text))
  return true
}

/** The digits of a short decimal as one number, without its point. */
function shortDigits(text: string): number {
  let unscaled = 0
  const isNegative = text.charCodeAt(0) === MINUS
  for (let index = isNegative ? 1 : 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code !== POINT) unscaled = unscaled * 10 + code - ZERO
  }
  return isNegative ? -unscaled : unscaled
}

export function putDouble({ float64 }: Words, at: number, cell: NonNullable<Cell>): boolean {
  float64[at >> 1] = Number(cell)
  return true
}

export function putTimestamp(words: Words, at: number, cell: NonNullable<Cell>): boolean {
  if (typeof cell === 'bigint') {
    putBigint(words, at, cell)
    return true
  }
  const text = String(cell)
  const length = text.length
  // As the engines write it: 2026-01-30T10:00:00.000001Z, with as many digits of the fraction as needed.
  if (length >= 20 && text[length - 1] === 'Z') {
    const micros = daysOf(text) * 86_400_000_000 + microsOf(text, 11, length - 1)
    if (Number.isSafeInteger(micros)) {
      putSafe(words, at, micros)
      return true
    }
  }
  return putRead(words, at, readTimestamp(text))
}

export function putTime(words: Words, at: number, cell: NonNullable<Cell>): boolean {
  if (typeof cell === 'bigint') {
    putBigint(words, at, cell)
    return true
  }
  const text = String(cell)
  if (text.length < 8) return putRead(words, at, readTime(text))
  putSafe(words, at, microsOf(text, 0, text.length))
  return true
}

export function putDate({ int32 }: Words, at: number, cell: NonNullable<Cell>): boolean {
  const text = String(cell)
  if (typeof cell === 'bigint') int32[at] = Number(cell)
  else int32[at] = text.length === 10 ? daysOf(text) : Number(readDate(text) ?? 0n)
  return true
}

export function putDuration(words: Words, at: number, cell: NonNullable<Cell>): boolean {
  return putRead(words, at, readInterval(String(cell))?.micros)
}

/** Months, days and nanoseconds. */
export function putMonths({ int32, int64 }: Words, at: number, cell: NonNullable<Cell>): boolean {
  const interval = readInterval(String(cell))
  if (interval === undefined) return false
  int32[at] = Number(interval.months)
  int32[at + 1] = Number(interval.micros / MICROS_PER_DAY)
  int64[(at >> 1) + 1] = (interval.micros % MICROS_PER_DAY) * 1000n
  return true
}

function putRead({ int64 }: Words, at: number, value: bigint | undefined): boolean {
  if (value !== undefined) int64[at >> 1] = value
  return value !== undefined
}

/** Days from 1970-01-01 to the date at the beginning of the text. */
function daysOf(text: string): number {
  const month = twoDigits(text, 5)
  // Counted from March, leap days are at the end of a year.
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2) - (month < 3 ? 1 : 0)
  const leapDays = Math.floor(year / 4) - Math.floor(year / 100) + Math.floor(year / 400)
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + twoDigits(text, 8) - 1
  return year * 365 + leapDays + dayOfYear - 719_468
}

/** Microseconds from midnight to HH:MM:SS[.f] in a part of the text. */
function microsOf(text: string, from: number, to: number): number {
  let micros = (twoDigits(text, from) * 3600 + twoDigits(text, from + 3) * 60 + twoDigits(text, from + 6)) * 1_000_000
  for (let index = from + 9, unit = 100_000; index < to; index++, unit /= 10)
    micros += (text.charCodeAt(index) - ZERO) * unit
  return micros
}

function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - ZERO) * 10 + text.charCodeAt(at + 1) - ZERO
}
