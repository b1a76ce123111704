/** Reads texts as values of a column, exactly as IQL does: the usual forms from their bytes, all others by `readValue`. */
import { type IqlType, type IqlValue, isWide, type Read, readValue } from 'gatehouse-iql'
import { BytesBuilder, type ColumnBuilder, createBuilder, DoubleBuilder, IntegerBuilder } from '../batches/batch.ts'
import { findLimitProblem } from '../json.ts'

/** What is wrong with a value, worded to follow it in a message; undefined for a value that was added. */
export type Problem = string | undefined

export interface TextColumn {
  readonly builder: ColumnBuilder
  /** UTF-8 without NUL. */
  addBytes(bytes: Buffer, start: number, end: number): Problem
  addText(text: string): Problem
}

/** `read`: for texts that are not a usual form of the type. */
export function textColumn(type: IqlType, read: (text: string) => Read = (text) => readValue(type, text)): TextColumn {
  const builder = createBuilder(type)
  const addText = (text: string): Problem => {
    const beyond = type.kind === 'Json' ? findLimitProblem(text) : undefined
    if (beyond !== undefined) return beyond
    const value = read(text)
    if ('problem' in value) return value.problem
    addValue(builder, value.value, type)
    return undefined
  }
  const most = LONG_KINDS.has(type.kind) ? Number.POSITIVE_INFINITY : MAX_SHORT_BYTES
  const slowly = (bytes: Buffer, start: number, end: number): Problem =>
    end - start > most ? `has more than ${most} bytes` : addText(bytes.toString('utf8', start, end))
  const addBytes = fastReader(type, builder, slowly) ?? slowly
  return { builder, addBytes, addText }
}

const LONG_KINDS: ReadonlySet<IqlType['kind']> = new Set(['Text', 'Json', 'Binary'])
/** No number, time or Uuid has as many. */
const MAX_SHORT_BYTES = 4096

export function addValue(builder: ColumnBuilder, value: IqlValue, type: IqlType): void {
  if (value === null) builder.addNull()
  else if (builder instanceof DoubleBuilder) builder.add(Number(value))
  else if (builder instanceof IntegerBuilder) addInteger(builder, value)
  else if (builder instanceof BytesBuilder) {
    if (value instanceof Uint8Array) builder.add(value, 0, value.length)
    else if (typeof value === 'string' || typeof value === 'bigint') builder.addText(String(value))
    else throw new Error(`A value that does not fit ${type.kind}`)
  }
}

function addInteger(builder: IntegerBuilder, value: Exclude<IqlValue, null>): void {
  if (typeof value === 'bigint') builder.addBigint(value)
  else builder.addNumber(value === true ? 1 : 0)
}

type ReadBytes = TextColumn['addBytes']

function fastReader(type: IqlType, builder: ColumnBuilder, slowly: ReadBytes): ReadBytes | undefined {
  if (builder instanceof BytesBuilder) {
    return type.kind === 'Text'
      ? (bytes, start, end) => {
          builder.add(bytes, start, end)
          return undefined
        }
      : undefined
  }
  if (builder instanceof DoubleBuilder) return doubleReader(builder, slowly)
  if (!(builder instanceof IntegerBuilder)) return undefined
  if (type.kind === 'Integer') return scaledReader(builder, 0, MAX_EXACT, slowly)
  if (type.kind === 'Decimal' && !isWide(type))
    return scaledReader(builder, type.scale, Math.min(MAX_EXACT, 10 ** type.precision), slowly)
  if (type.kind === 'Timestamp') return timestampReader(builder, slowly)
  return type.kind === 'Date' ? dateReader(builder, slowly) : undefined
}

/** All digits of such a number, and all powers of ten below it, are exact in a double. */
const MAX_EXACT = 1e15
const MAX_DIGITS = 15
const POWERS = Array.from({ length: 23 }, (_power, exponent) => 10 ** exponent)
const [MINUS, POINT, ZERO, NINE, COLON, LETTER_T, SPACE, LETTER_Z] = [45, 46, 48, 57, 58, 84, 32, 90]

/** The number of digits after the point of what `readDigits` has read; -1 if it is not a plain number of at most 15 digits. */
let fraction = 0
let mantissa = 0
let isNegative = false

function readDigits(bytes: Buffer, start: number, end: number): boolean {
  let at = start
  isNegative = bytes[at] === MINUS
  if (isNegative) at++
  if (end - at > MAX_DIGITS + 1 || at === end) return false
  mantissa = 0
  fraction = 0
  let digits = 0
  let isAfterPoint = false
  for (; at < end; at++) {
    const byte = bytes[at] ?? 0
    if (byte >= ZERO && byte <= NINE) {
      mantissa = 10 * mantissa + byte - ZERO
      digits++
      if (isAfterPoint) fraction++
    } else if (byte === POINT && !isAfterPoint && digits > 0) isAfterPoint = true
    else return false
  }
  return digits > 0 && digits <= MAX_DIGITS && !(isAfterPoint && fraction === 0)
}

/** Numbers without a point are those of scale 0. */
function scaledReader(builder: IntegerBuilder, scale: number, limit: number, slowly: ReadBytes): ReadBytes {
  return (bytes, start, end) => {
    if (!readDigits(bytes, start, end) || fraction > scale) return slowly(bytes, start, end)
    const value = mantissa * (POWERS[scale - fraction] ?? Number.NaN)
    if (!(value < limit)) return slowly(bytes, start, end)
    builder.addNumber(isNegative ? -value : value)
    return undefined
  }
}

/** The quotient of two exact doubles is rounded once, as the number itself would be. */
function doubleReader(builder: DoubleBuilder, slowly: ReadBytes): ReadBytes {
  return (bytes, start, end) => {
    if (!readDigits(bytes, start, end)) return slowly(bytes, start, end)
    const value = mantissa / (POWERS[fraction] ?? Number.NaN)
    builder.add(isNegative ? -value : value)
    return undefined
  }
}

/** Days of the dates that were read last: those of a file repeat. */
class DayCache {
  readonly #days = new Map<number, number>()

  /** Of YYYY-MM-DD; undefined if it is none. */
  find(bytes: Buffer, start: number): number | undefined {
    const key = dateKey(bytes, start)
    if (key < 0) return undefined
    const known = this.#days.get(key)
    if (known !== undefined) return known
    const read = readValue({ kind: 'Date' }, bytes.toString('latin1', start, start + 10))
    if (!('value' in read)) return undefined
    if (this.#days.size > 5000) this.#days.clear()
    const days = Number(read.value)
    this.#days.set(key, days)
    return days
  }
}

/** The digits of YYYY-MM-DD as a number. */
function dateKey(bytes: Buffer, start: number): number {
  let key = 0
  for (let index = 0; index < 10; index++) {
    const byte = bytes[start + index] ?? 0
    if (index === 4 || index === 7) {
      if (byte !== MINUS) return -1
    } else if (byte < ZERO || byte > NINE) return -1
    else key = 10 * key + byte - ZERO
  }
  return key
}

function dateReader(builder: IntegerBuilder, slowly: ReadBytes): ReadBytes {
  const cache = new DayCache()
  return (bytes, start, end) => {
    const days = end - start === 10 ? cache.find(bytes, start) : undefined
    if (days === undefined) return slowly(bytes, start, end)
    builder.addNumber(days)
    return undefined
  }
}

const MICROS_PER_DAY = 86_400_000_000

/** YYYY-MM-DDTHH:MM:SS with up to six digits of a fraction, and Z. */
function timestampReader(builder: IntegerBuilder, slowly: ReadBytes): ReadBytes {
  const cache = new DayCache()
  const two = (bytes: Buffer, at: number): number => {
    const [high, low] = [(bytes[at] ?? 0) - ZERO, (bytes[at + 1] ?? 0) - ZERO]
    return high >= 0 && high <= 9 && low >= 0 && low <= 9 ? 10 * high + low : Number.NaN
  }
  const microsAt = (bytes: Buffer, start: number, end: number): number => {
    const length = end - start
    const divider = bytes[start + 10]
    if (length < 20 || length > 27 || (divider !== LETTER_T && divider !== SPACE)) return Number.NaN
    if (bytes[end - 1] !== LETTER_Z || bytes[start + 13] !== COLON || bytes[start + 16] !== COLON) return Number.NaN
    const days = cache.find(bytes, start)
    const [hour, minute, second] = [two(bytes, start + 11), two(bytes, start + 14), two(bytes, start + 17)]
    if (days === undefined || !(hour < 24 && minute < 60 && second < 60)) return Number.NaN
    let micros = 0
    if (length > 20) {
      if (length === 21 || bytes[start + 19] !== POINT) return Number.NaN
      for (let at = start + 20; at < end - 1; at++) {
        const digit = (bytes[at] ?? 0) - ZERO
        if (digit < 0 || digit > 9) return Number.NaN
        micros = 10 * micros + digit
      }
      micros *= POWERS[27 - length] ?? Number.NaN
    }
    return days * MICROS_PER_DAY + ((hour * 60 + minute) * 60 + second) * 1e6 + micros
  }
  return (bytes, start, end) => {
    const micros = microsAt(bytes, start, end)
    if (!Number.isSafeInteger(micros)) return slowly(bytes, start, end)
    builder.addNumber(micros)
    return undefined
  }
}
