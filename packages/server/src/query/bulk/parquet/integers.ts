/** Integers in the encodings of Parquet (parquet-format, Encodings): run lengths and bit packing, and differences. Decoded part by part. */
import { damaged } from './error.ts'

/** A position in bytes. */
export class Cursor {
  readonly bytes: Uint8Array
  at: number

  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  byte(): number {
    const byte = this.bytes[this.at++]
    if (byte === undefined) throw damaged('a page ends early')
    return byte
  }

  /** An unsigned integer of at most 32 bits. */
  varint(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte()
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    throw damaged('a number in a page has too many bytes')
  }

  zigzag(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n))
    }
    throw damaged('a number in a page has too many bytes')
  }

  skipZigzag(): void {
    for (let count = 0; count < 10; count++) if (this.byte() < 0x80) return
    throw damaged('a number in a page has too many bytes')
  }

  uint32(): number {
    const { bytes, at } = this
    this.at += 4
    if (this.at > bytes.length) throw damaged('a page ends early')
    return (
      (bytes[at] ?? 0) +
      (bytes[at + 1] ?? 0) * 0x100 +
      (bytes[at + 2] ?? 0) * 0x1_0000 +
      (bytes[at + 3] ?? 0) * 0x100_0000
    )
  }
}

const MAX_INDEX_BITS = 32

/** The hybrid of run lengths and bit packing (RLE): integers of `width` bits. */
export class RunReader {
  readonly #cursor: Cursor
  readonly #width: number
  /** Of the current run. */
  #left = 0
  #value = 0
  #isPacked = false
  #start = 0
  #bit = 0
  #values = new Uint32Array(0)

  constructor(cursor: Cursor, width: number) {
    if (width > MAX_INDEX_BITS) throw damaged(`a page has integers of ${width} bits`)
    this.#cursor = cursor
    this.#width = width
  }

  /** The result is valid until the next call. */
  next(count: number): Uint32Array {
    if (count > this.#values.length) this.#values = new Uint32Array(count)
    const values = this.#values.subarray(0, count)
    if (this.#width === 0) return values
    for (let at = 0; at < count; ) {
      if (this.#left === 0) this.#begin()
      const end = Math.min(count, at + this.#left)
      this.#left -= end - at
      if (this.#isPacked) this.#unpack(values, at, end)
      else values.fill(this.#value, at, end)
      at = end
    }
    return values
  }

  #begin(): void {
    const cursor = this.#cursor
    const head = cursor.varint()
    this.#isPacked = head % 2 === 1
    this.#left = this.#isPacked ? (head - 1) * 4 : head / 2
    if (this.#left === 0) throw damaged('a page has a run without values')
    if (this.#isPacked) {
      this.#start = cursor.at
      this.#bit = 0
      // A writer may leave out the padding after the last value.
      cursor.at = Math.min(cursor.bytes.length, cursor.at + (this.#left / 8) * this.#width)
      return
    }
    this.#value = 0
    for (let index = 0; index < Math.ceil(this.#width / 8); index++) this.#value += cursor.byte() * 256 ** index
  }

  /** The lowest bits come first. What the last group has beyond the values is padding. */
  #unpack(values: Uint32Array, from: number, end: number): void {
    const { bytes } = this.#cursor
    const width = this.#width
    if (this.#start + Math.ceil((this.#bit + (end - from) * width) / 8) > bytes.length)
      throw damaged('a page ends early')
    for (let at = from; at < end; at++, this.#bit += width) values[at] = bitsAt(bytes, this.#start, this.#bit, width)
  }
}

/** At most 32 bits, as a double. */
function bitsAt(bytes: Uint8Array, start: number, bit: number, width: number): number {
  let value = 0
  let index = start + Math.floor(bit / 8)
  let skipped = bit % 8
  for (let have = 0; have < width; ) {
    const taken = Math.min(8 - skipped, width - have)
    value += (((bytes[index++] ?? 0) >> skipped) & ((1 << taken) - 1)) * 2 ** have
    have += taken
    skipped = 0
  }
  return value
}

const MAX_BLOCK = 65_536
const HALF = 32

/** DELTA_BINARY_PACKED: the first value, then blocks of differences. */
export class DeltaReader {
  readonly #cursor: Cursor
  readonly #block: number
  readonly #miniblocks: number
  /** Of the page. */
  readonly #total: number
  #read = 0
  #value: bigint
  #least = 0n
  #widths: number[] = []
  /** The miniblock of `#widths` that is read, and where its bits are. */
  #miniblock = 0
  #start = 0
  /** The next value of the miniblock. */
  #index = 0
  #values = new BigInt64Array(0)

  constructor(cursor: Cursor, maxValues: number) {
    const [block, miniblocks, total] = [cursor.varint(), cursor.varint(), cursor.varint()]
    if (miniblocks === 0 || block === 0 || block > MAX_BLOCK || block % (8 * miniblocks) !== 0)
      throw damaged('a page has blocks of an impossible size')
    if (total > maxValues) throw damaged('a page has more values than its header says')
    this.#cursor = cursor
    this.#block = block
    this.#miniblocks = miniblocks
    this.#total = total
    this.#value = cursor.zigzag()
  }

  /** The result is valid until the next call. */
  next(count: number): BigInt64Array {
    if (this.#read + count > this.#total) throw damaged('a page has fewer values than its header says')
    if (count > this.#values.length) this.#values = new BigInt64Array(count)
    const values = this.#values.subarray(0, count)
    const perMiniblock = this.#block / this.#miniblocks
    const { bytes } = this.#cursor
    let at = 0
    if (this.#read === 0 && count > 0) values[at++] = this.#value
    while (at < count) {
      if (this.#miniblock >= this.#widths.length) this.#beginBlock()
      if (this.#index === 0) this.#beginMiniblock()
      const width = this.#widths[this.#miniblock] ?? 0
      for (; this.#index < perMiniblock && at < count; this.#index++, at++) {
        const bits = wideBitsAt(bytes, this.#start, this.#index * width, width)
        this.#value = BigInt.asIntN(64, this.#value + this.#least + bits)
        values[at] = this.#value
      }
      if (this.#index < perMiniblock) break
      this.#index = 0
      this.#miniblock++
    }
    this.#read += count
    return values
  }

  #beginBlock(): void {
    this.#least = this.#cursor.zigzag()
    this.#widths = Array.from({ length: this.#miniblocks }, () => this.#cursor.byte())
    this.#miniblock = 0
  }

  #beginMiniblock(): void {
    const width = this.#widths[this.#miniblock] ?? 0
    if (width > 64) throw damaged(`a page has differences of ${width} bits`)
    const bytes = (this.#block / this.#miniblocks / 8) * width
    this.#start = this.#cursor.at
    this.#cursor.at += bytes
    if (this.#cursor.at > this.#cursor.bytes.length) throw damaged('a page ends early')
  }

  /** Where the values end, before any of them is read. */
  findEnd(): number {
    const cursor = new Cursor(this.#cursor.bytes, this.#cursor.at)
    const perMiniblock = this.#block / this.#miniblocks
    for (let left = this.#total - 1; left > 0; ) {
      cursor.skipZigzag()
      const widths = cursor.at
      cursor.at += this.#miniblocks
      for (let index = 0; index < this.#miniblocks && left > 0; index++, left -= perMiniblock)
        cursor.at += (perMiniblock / 8) * (cursor.bytes[widths + index] ?? 0)
    }
    if (cursor.at > cursor.bytes.length) throw damaged('a page ends early')
    return cursor.at
  }
}

function wideBitsAt(bytes: Uint8Array, start: number, bit: number, width: number): bigint {
  if (width === 0) return 0n
  const low = BigInt(bitsAt(bytes, start, bit, Math.min(width, HALF)))
  return width <= HALF ? low : low | (BigInt(bitsAt(bytes, start, bit + HALF, width - HALF)) << BigInt(HALF))
}
