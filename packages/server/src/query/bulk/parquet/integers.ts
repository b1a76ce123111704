/** Integers in the encodings of Parquet (parquet-format, Encodings): run lengths and bit packing, and differences. Counts are bounded. */
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

  uint32(): number {
    return this.byte() + this.byte() * 0x100 + this.byte() * 0x1_0000 + this.byte() * 0x100_0000
  }
}

const MAX_INDEX_BITS = 32

/** The hybrid of run lengths and bit packing (RLE): `count` integers of `width` bits. */
export function readRuns(cursor: Cursor, width: number, count: number): Uint32Array {
  if (width > MAX_INDEX_BITS) throw damaged(`a page has integers of ${width} bits`)
  const values = new Uint32Array(count)
  if (width === 0) return values
  for (let at = 0; at < count; ) {
    const head = cursor.varint()
    if (head % 2 === 1) at = unpack(cursor, width, (head - 1) * 4, values, at)
    else {
      let value = 0
      for (let index = 0; index < Math.ceil(width / 8); index++) value += cursor.byte() * 256 ** index
      const end = Math.min(count, at + head / 2)
      values.fill(value, at, end)
      at = end
    }
  }
  return values
}

/** The lowest bits come first. What the last group has beyond the values is padding. Returns where the values end. */
function unpack(cursor: Cursor, width: number, packed: number, values: Uint32Array, from: number): number {
  const bytes = (packed / 8) * width
  const end = Math.min(values.length, from + packed)
  // A writer may leave out the padding after the last value.
  if (cursor.at + Math.ceil(((end - from) * width) / 8) > cursor.bytes.length) throw damaged('a page ends early')
  const start = cursor.at
  for (let at = from, bit = 0; at < end; at++, bit += width)
    values[at] = Number(bitsAt(cursor.bytes, start, bit, width))
  cursor.at = Math.min(cursor.bytes.length, start + bytes)
  return end
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
export function readDeltas(cursor: Cursor, count: number): BigInt64Array {
  const [block, miniblocks, total] = [cursor.varint(), cursor.varint(), cursor.varint()]
  const values = new BigInt64Array(count)
  let value = cursor.zigzag()
  if (total < count) throw damaged('a page has fewer values than its header says')
  if (miniblocks === 0 || block > MAX_BLOCK || block % (8 * miniblocks) !== 0)
    throw damaged('a page has blocks of an impossible size')
  if (count > 0) values[0] = value
  const perMiniblock = block / miniblocks
  for (let at = 1; at < count; ) {
    const least = cursor.zigzag()
    const widths = Array.from({ length: miniblocks }, () => cursor.byte())
    for (const width of widths) {
      if (at >= count) break
      if (width > 64) throw damaged(`a page has differences of ${width} bits`)
      const start = cursor.at
      cursor.at += (perMiniblock / 8) * width
      for (let index = 0; index < perMiniblock && at < count; index++, at++) {
        value = BigInt.asIntN(64, value + least + wideBitsAt(cursor.bytes, start, index * width, width))
        values[at] = value
      }
    }
  }
  if (cursor.at > cursor.bytes.length) throw damaged('a page ends early')
  return values
}

function wideBitsAt(bytes: Uint8Array, start: number, bit: number, width: number): bigint {
  const low = BigInt(bitsAt(bytes, start, bit, Math.min(width, HALF)))
  return width <= HALF ? low : low | (BigInt(bitsAt(bytes, start, bit + HALF, width - HALF)) << BigInt(HALF))
}
