/**
 * Text as UTF-8 in one buffer, to which values are added. Short texts and numbers are written byte by byte: building strings and then
 * encoding them takes twice as long for a row (bench: query-stream).
 */
import { dateDigits } from 'gatehouse-iql'

const FIRST_BYTES = 16 * 1024
/** A larger buffer is not kept for the next rows. */
const MAX_KEPT_BYTES = 1024 * 1024
/** Longer texts are written faster by Node than here. */
const SHORT_TEXT = 64
/** The most bytes of a UTF-16 code unit. */
const UNIT_BYTES = 3
/** The most bytes of an integer that a double holds exactly, with its sign; and of a double with few digits after the point. */
const INTEGER_BYTES = 17
const DOUBLE_BYTES = INTEGER_BYTES + 5

/** The most bytes of a date, and of a time. */
const TIME_BYTES = 15

const MAX_ASCII = 0x7f
const [ZERO, MINUS, POINT, COLON] = [0x30, 0x2d, 0x2e, 0x3a]
/** Doubles that are a whole number of these have at most four digits after the point. */
const FRACTION_DIGITS = 4
const FRACTION = 10 ** FRACTION_DIGITS
/** Digits that a double always keeps. */
const MAX_KEPT = 1e15
const BILLION = 1e9
const TWO_TO_32 = 2 ** 32

/** The ASCII characters that a format writes as they are. */
export type PlainCharacters = Uint8Array

export function plainCharacters(pattern: RegExp): PlainCharacters {
  return Uint8Array.from({ length: 128 }, (_, code) => (pattern.test(String.fromCharCode(code)) ? 1 : 0))
}

const ASCII = new Uint8Array(128).fill(1)

export class TextBytes {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  /** Of the same bytes. */
  #view = new DataView(this.#bytes.buffer)
  #end = 0

  get length(): number {
    return this.#end
  }

  addBytes(added: Uint8Array): void {
    this.#reserve(added.length)
    const bytes = this.#bytes
    let end = this.#end
    // Faster than set() for few bytes.
    for (let index = 0; index < added.length; index++) bytes[end++] = added[index] as number
    this.#end = end
  }

  addText(text: string): void {
    if (this.addPlain(text, ASCII)) return
    this.#reserve(text.length <= SHORT_TEXT ? text.length * UNIT_BYTES : Buffer.byteLength(text))
    this.#end += this.#bytes.write(text, this.#end)
  }

  /** Adds a short text of these characters only, with `around` before and after it. Otherwise adds nothing and returns false. */
  addPlain(text: string, plain: PlainCharacters, around?: number): boolean {
    const { length } = text
    if (length > SHORT_TEXT) return false
    this.#reserve(length + 2)
    const bytes = this.#bytes
    let end = this.#end
    if (around !== undefined) bytes[end++] = around
    for (let index = 0; index < length; index++) {
      const code = text.charCodeAt(index)
      if (plain[code] !== 1) return false
      bytes[end++] = code
    }
    if (around !== undefined) bytes[end++] = around
    this.#end = end
    return true
  }

  /** A safe integer. */
  addInteger(value: number): void {
    this.#reserve(INTEGER_BYTES)
    this.#addSigned(value)
  }

  /**
   * Adds a double with few digits as ECMAScript writes it, but without a negative zero. Otherwise adds nothing and returns false.
   * If a number of at most 15 digits rounds to the double, no other number of at most 15 digits does: these digits are the shortest.
   */
  addShortDouble(value: number): boolean {
    this.#reserve(DOUBLE_BYTES)
    if (Number.isSafeInteger(value)) {
      this.#addSigned(value)
      return true
    }
    const scaled = Math.round(value * FRACTION)
    if (!(scaled > -MAX_KEPT && scaled < MAX_KEPT) || scaled / FRACTION !== value) return false
    const positive = Math.abs(scaled)
    const whole = Math.floor(positive / FRACTION)
    if (scaled < 0) this.#bytes[this.#end++] = MINUS
    this.#addDigits(whole)
    this.#bytes[this.#end++] = POINT
    this.#addLow(positive - whole * FRACTION, FRACTION_DIGITS)
    while (this.#bytes[this.#end - 1] === ZERO) this.#end--
    return true
  }

  /** A day of the years 0001 to 9999, as days since 1970-01-01. */
  addDate(days: number): void {
    this.#reserve(TIME_BYTES)
    const date = dateDigits(days)
    const year = Math.floor(date / 10_000)
    const month = Math.floor(date / 100) - year * 100
    this.#addLow(year, 4)
    this.#bytes[this.#end++] = MINUS
    this.#addLow(month, 2)
    this.#bytes[this.#end++] = MINUS
    this.#addLow(date - year * 10_000 - month * 100, 2)
  }

  /** Microseconds since midnight. With a fraction only if it is not zero, without trailing zeros. */
  addTime(micros: number): void {
    this.#reserve(TIME_BYTES)
    const seconds = Math.floor(micros / 1e6)
    const minutes = Math.floor(seconds / 60)
    const hours = Math.floor(minutes / 60)
    const fraction = micros - seconds * 1e6
    this.#addLow(hours, 2)
    this.#bytes[this.#end++] = COLON
    this.#addLow(minutes - hours * 60, 2)
    this.#bytes[this.#end++] = COLON
    this.#addLow(seconds - minutes * 60, 2)
    if (fraction === 0) return
    this.#bytes[this.#end++] = POINT
    this.#addLow(fraction, 6)
    while (this.#bytes[this.#end - 1] === ZERO) this.#end--
  }

  addByte(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#end++] = value
  }

  addInt16(value: number): void {
    this.#reserve(2)
    this.#end = this.#bytes.writeInt16BE(value, this.#end)
  }

  addInt32(value: number): void {
    this.#reserve(4)
    const bytes = this.#bytes
    const end = this.#end
    bytes[end] = value >> 24
    bytes[end + 1] = value >> 16
    bytes[end + 2] = value >> 8
    bytes[end + 3] = value
    this.#end = end + 4
  }

  /** A safe integer in 64 bits. */
  addInt64(value: number): void {
    const high = Math.floor(value / TWO_TO_32)
    this.addInt32(high)
    this.addInt32(value - high * TWO_TO_32)
  }

  addBigInt64(value: bigint): void {
    this.#reserve(8)
    this.#end = this.#bytes.writeBigInt64BE(value, this.#end)
  }

  addFloat64(value: number): void {
    this.#reserve(8)
    this.#end = this.#bytes.writeDoubleBE(value, this.#end)
  }

  /** Bytes of any number; `addBytes` is for few. */
  addAll(added: Uint8Array): void {
    this.#reserve(added.length)
    this.#bytes.set(added, this.#end)
    this.#end += added.length
  }

  /** The beginning of a message of PostgreSQL's protocol that holds values. Returns where its length is to be. */
  beginMessage(type: number, values: number): number {
    this.#reserve(7)
    const end = this.#end
    this.#bytes[end] = type
    this.#view.setInt16(end + 5, values)
    this.#end = end + 7
    return end + 1
  }

  /** A safe integer as text, after its length in 32 bits. */
  addSizedInteger(value: number): void {
    this.#reserve(4 + INTEGER_BYTES)
    const start = this.#end
    this.#end = start + 4
    this.#addSigned(value)
    this.#view.setInt32(start, this.#end - start - 4)
  }

  /** A safe integer in 64 bits, after its length. */
  addSizedInt64(value: number): void {
    this.#reserve(12)
    const end = this.#end
    const high = Math.floor(value / TWO_TO_32)
    this.#view.setInt32(end, 8)
    this.#view.setInt32(end + 4, high)
    this.#view.setInt32(end + 8, value - high * TWO_TO_32)
    this.#end = end + 12
  }

  addSizedFloat64(value: number): void {
    this.#reserve(12)
    this.#view.setInt32(this.#end, 8)
    this.#view.setFloat64(this.#end + 4, value)
    this.#end += 12
  }

  /** Adds a part of bytes after its length if all are ASCII, and returns true. Otherwise adds nothing. */
  addSizedAscii(added: Uint8Array, from: number, to: number): boolean {
    if (to - from > SHORT_TEXT) return false
    this.#reserve(4 + to - from)
    const bytes = this.#bytes
    this.#view.setInt32(this.#end, to - from)
    let end = this.#end + 4
    for (let index = from; index < to; index++) {
      const code = added[index] as number
      if (code > MAX_ASCII) return false
      bytes[end++] = code
    }
    this.#end = end
    return true
  }

  /** Replaces four bytes that were added before. */
  setInt32(at: number, value: number): void {
    const bytes = this.#bytes
    bytes[at] = value >> 24
    bytes[at + 1] = value >> 16
    bytes[at + 2] = value >> 8
    bytes[at + 3] = value
  }

  /** Removes what was added after a length. */
  truncate(length: number): void {
    this.#end = length
  }

  /** What was added since the last call. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.#end)
    this.#end = 0
    if (this.#bytes.length <= MAX_KEPT_BYTES) return Buffer.copyBytesFrom(bytes)
    this.#use(Buffer.allocUnsafeSlow(FIRST_BYTES))
    return bytes
  }

  #addSigned(value: number): void {
    if (value < 0) this.#bytes[this.#end++] = MINUS
    this.#addDigits(Math.abs(value))
  }

  #addDigits(value: number): void {
    if (value < BILLION) {
      this.#addLow(value, countDigits(value))
      return
    }
    const high = Math.floor(value / BILLION)
    this.#addLow(high, countDigits(high))
    this.#addLow(value - high * BILLION, 9)
  }

  /** The last digits of a number that fits into 32 bits, which makes the division fast. */
  #addLow(value: number, digits: number): void {
    const bytes = this.#bytes
    const end = this.#end + digits
    let rest = value | 0
    for (let at = end - 1; at >= this.#end; at--) {
      const tenth = (rest / 10) | 0
      bytes[at] = ZERO + rest - tenth * 10
      rest = tenth
    }
    this.#end = end
  }

  #reserve(more: number): void {
    const needed = this.#end + more
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, Math.ceil(this.#bytes.length * 1.5)))
    this.#bytes.copy(larger, 0, 0, this.#end)
    this.#use(larger)
  }

  #use(bytes: Buffer<ArrayBuffer>): void {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer)
  }
}

/** How many digits a number below a billion has. */
function countDigits(value: number): number {
  if (value < 10_000) return value < 100 ? (value < 10 ? 1 : 2) : value < 1000 ? 3 : 4
  if (value < 1_000_000) return value < 100_000 ? 5 : 6
  return value < 10_000_000 ? 7 : value < 100_000_000 ? 8 : 9
}
