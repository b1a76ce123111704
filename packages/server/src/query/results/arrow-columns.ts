/**
 * Columns of an Arrow record batch, written as bytes (Arrow columnar format, physical memory layout). With the builders of
 * `apache-arrow` a result of a million rows takes 2.4 times the processor time (2.4 s, not 1.0 s). Buffers are reused from batch
 * to batch.
 */
import { type IqlType, MICROS_PER_DAY, readDate, readInterval, readTime, readTimestamp } from 'gatehouse-iql'
import type { Cell } from '../model/result.ts'

export interface ArrowColumn {
  add(cell: Cell): void
  /** The values since the last call, valid until the next `add`. */
  take(): ColumnData
}

export interface ColumnData {
  readonly length: number
  readonly nulls: number
  /** Which values are valid (empty if all are), the offsets of texts, the values. */
  readonly buffers: readonly Uint8Array[]
}

export function arrowColumn(type: IqlType): ArrowColumn {
  switch (type.kind) {
    case 'Integer':
      return new WordColumn(2, putInteger)
    case 'Decimal':
      return new WordColumn(4, putDecimal)
    case 'Timestamp':
    case 'LocalTimestamp':
      return new WordColumn(2, putTimestamp)
    case 'Time':
      return new WordColumn(2, putTime)
    case 'Date':
      return new WordColumn(1, putDate)
    case 'Double':
      return new WordColumn(2, putDouble)
    case 'Interval':
      return type.months ? new WordColumn(4, putMonths) : new WordColumn(2, putDuration)
    case 'Boolean':
      return new BooleanColumn()
    default:
      return new BytesColumn()
  }
}

const FIRST_ROWS = 1024
/** Longer texts are written faster by Node than here. */
const SHORT_TEXT = 40

/** Which values are not null, one bit each. The bits are those of the nulls, which are few, until they are taken. */
class Validity {
  length = 0
  nulls = 0
  #nullBits = new Uint8Array(FIRST_ROWS / 8)

  add(isValid: boolean): void {
    const index = this.length++
    if (!isValid) this.#addNull(index)
  }

  #addNull(index: number): void {
    while (index >> 3 >= this.#nullBits.length) this.#nullBits = grown(this.#nullBits)
    this.#nullBits[index >> 3] = (this.#nullBits[index >> 3] ?? 0) | (1 << (index & 7))
    this.nulls++
  }

  take(...buffers: readonly Uint8Array[]): ColumnData {
    const { length, nulls } = this
    const valid = nulls === 0 ? EMPTY : this.#validBits()
    if (nulls > 0) this.#nullBits.fill(0)
    this.length = 0
    this.nulls = 0
    return { length, nulls, buffers: [valid, ...buffers] }
  }

  #validBits(): Uint8Array {
    const bits = new Uint8Array((this.length + 7) >> 3)
    for (let index = 0; index < bits.length; index++) bits[index] = ~(this.#nullBits[index] ?? 0)
    const used = this.length & 7
    // What follows the last value is zero.
    if (used > 0) bits[bits.length - 1] = (bits[bits.length - 1] ?? 0) & ((1 << used) - 1)
    return bits
  }
}

const EMPTY = new Uint8Array(0)

/** Writes a value at a word; false where it is none and becomes NULL. */
type Put = (words: Words, at: number, cell: NonNullable<Cell>) => boolean

/** The same bytes as 32-bit words, 64-bit words and doubles. */
interface Words {
  readonly int32: Int32Array
  readonly int64: BigInt64Array
  readonly float64: Float64Array
}

/** Values of one, two or four 32-bit words. */
class WordColumn implements ArrowColumn {
  readonly #width: number
  readonly #put: Put
  readonly #validity = new Validity()
  #words: Words
  #at = 0

  constructor(width: number, put: Put) {
    this.#width = width
    this.#put = put
    this.#words = wordsOf(new ArrayBuffer(FIRST_ROWS * width * 4))
  }

  add(cell: Cell): void {
    if (this.#at + this.#width > this.#words.int32.length)
      this.#words = wordsOf(grown(new Uint8Array(this.#words.int32.buffer)).buffer)
    const isValid = cell !== null && this.#put(this.#words, this.#at, cell)
    if (!isValid) this.#words.int32.fill(0, this.#at, this.#at + this.#width)
    this.#validity.add(isValid)
    this.#at += this.#width
  }

  take(): ColumnData {
    const values = new Uint8Array(this.#words.int32.buffer, 0, this.#at * 4)
    this.#at = 0
    return this.#validity.take(values)
  }
}

class BooleanColumn implements ArrowColumn {
  readonly #validity = new Validity()
  #bits = new Uint8Array(FIRST_ROWS / 8)

  add(cell: Cell): void {
    const index = this.#validity.length
    if (index >> 3 >= this.#bits.length) this.#bits = grown(this.#bits)
    if (cell === true) this.#bits[index >> 3] = (this.#bits[index >> 3] ?? 0) | (1 << (index & 7))
    this.#validity.add(cell !== null)
  }

  take(): ColumnData {
    // A copy, as the bits are cleared for the next batch.
    const bits = this.#bits.slice(0, (this.#validity.length + 7) >> 3)
    this.#bits.fill(0)
    return this.#validity.take(bits)
  }
}

/** Texts as UTF-8, and bytes. */
class BytesColumn implements ArrowColumn {
  readonly #validity = new Validity()
  #bytes = Buffer.alloc(16 * FIRST_ROWS)
  #offsets = new Int32Array(FIRST_ROWS + 1)
  #end = 0

  add(cell: Cell): void {
    if (typeof cell === 'string') this.#addText(cell)
    else if (cell instanceof Uint8Array) {
      this.#reserve(cell.length)
      this.#bytes.set(cell, this.#end)
      this.#end += cell.length
    } else if (cell !== null) this.#addText(String(cell))
    this.#validity.add(cell !== null)
    const { length } = this.#validity
    if (length >= this.#offsets.length) {
      const offsets = new Int32Array(this.#offsets.length * 2)
      offsets.set(this.#offsets)
      this.#offsets = offsets
    }
    this.#offsets[length] = this.#end
  }

  #addText(text: string): void {
    this.#reserve(text.length * 3)
    const bytes = this.#bytes
    let at = 0
    if (text.length <= SHORT_TEXT) {
      for (; at < text.length; at++) {
        const code = text.charCodeAt(at)
        if (code > 127) break
        bytes[this.#end + at] = code
      }
    }
    this.#end += at === text.length ? at : bytes.write(text, this.#end)
  }

  #reserve(more: number): void {
    while (this.#end + more > this.#bytes.length) this.#bytes = Buffer.from(grown(this.#bytes).buffer)
  }

  take(): ColumnData {
    const offsets = new Uint8Array(this.#offsets.buffer, 0, (this.#validity.length + 1) * 4)
    const bytes = this.#bytes.subarray(0, this.#end)
    this.#end = 0
    return this.#validity.take(offsets, bytes)
  }
}

function wordsOf(buffer: ArrayBufferLike): Words {
  return {
    int32: new Int32Array(buffer),
    // Dates have one word each, always an even number of them in the buffer.
    int64: new BigInt64Array(buffer),
    float64: new Float64Array(buffer),
  }
}

function grown(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(bytes.length * 2)
  larger.set(bytes)
  return larger
}

/** Little-endian two's complement. A safe integer needs no bigint, which would cost an allocation. */
function putSafe({ int32 }: Words, at: number, value: number): void {
  int32[at] = value
  int32[at + 1] = Math.floor(value / 0x1_0000_0000)
}

function putInteger(words: Words, at: number, cell: NonNullable<Cell>): boolean {
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

function putDecimal(words: Words, at: number, cell: NonNullable<Cell>): boolean {
  const text = String(cell)
  if (text.length > SAFE_DIGITS) {
    const unscaled = BigInt(text.replace('.', ''))
    words.int64[at >> 1] = BigInt.asIntN(64, unscaled)
    words.int64[(at >> 1) + 1] = BigInt.asIntN(64, unscaled >> 64n)
    return true
  }
  let unscaled = 0
  const isNegative = text.charCodeAt(0) === MINUS
  for (let index = isNegative ? 1 : 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code !== POINT) unscaled = unscaled * 10 + code - ZERO
  }
  putSafe(words, at, isNegative ? -unscaled : unscaled)
  const sign = isNegative && unscaled > 0 ? -1 : 0
  words.int32[at + 2] = sign
  words.int32[at + 3] = sign
  return true
}

function putDouble({ float64 }: Words, at: number, cell: NonNullable<Cell>): boolean {
  float64[at >> 1] = Number(cell)
  return true
}

function putTimestamp(words: Words, at: number, cell: NonNullable<Cell>): boolean {
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

function putTime(words: Words, at: number, cell: NonNullable<Cell>): boolean {
  if (typeof cell === 'bigint') {
    putBigint(words, at, cell)
    return true
  }
  const text = String(cell)
  if (text.length < 8) return putRead(words, at, readTime(text))
  putSafe(words, at, microsOf(text, 0, text.length))
  return true
}

function putDate({ int32 }: Words, at: number, cell: NonNullable<Cell>): boolean {
  const text = String(cell)
  if (typeof cell === 'bigint') int32[at] = Number(cell)
  else int32[at] = text.length === 10 ? daysOf(text) : Number(readDate(text) ?? 0n)
  return true
}

function putDuration(words: Words, at: number, cell: NonNullable<Cell>): boolean {
  return putRead(words, at, readInterval(String(cell))?.micros)
}

/** Months, days and nanoseconds. */
function putMonths({ int32, int64 }: Words, at: number, cell: NonNullable<Cell>): boolean {
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
