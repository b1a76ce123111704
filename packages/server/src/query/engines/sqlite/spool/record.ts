/** The values of a batch in SQLite's record format (sqlite.org/fileformat2.html §2.1). */
import type { IqlType } from 'gatehouse-iql'
import type { Nulls, Vector } from '../../../columns/batch.ts'
import { toWide } from '../representation.ts'

/** The values of one column, ready to be written into records. */
export interface RecordColumn {
  /** The serial type of each value. */
  readonly serials: Int32Array
  /** Writes the value of a row and returns where it ends. */
  write(target: Buffer, at: number, row: number): number
}

/** Serial types. A text or blob has that of an empty one and twice its bytes. */
const NULL = 0
const REAL = 7
const ZERO = 8
const ONE = 9
const BLOB = 12
const TEXT = 13

/** As SQLite stores them: see representation.ts. */
export function recordColumn(vector: Vector, type: IqlType): RecordColumn {
  switch (vector.kind) {
    case 'integers':
      return new Integers(vector.values, vector.nulls)
    case 'doubles':
      return new Doubles(vector.values, vector.nulls)
    case 'bytes':
      return type.kind === 'Decimal' ? wideDecimals(vector) : new Bytes(vector, type.kind === 'Binary' ? BLOB : TEXT)
  }
}

/** The bytes of a value. */
export function valueBytes(serial: number): number {
  return serial >= BLOB ? (serial - BLOB) >>> 1 : (BYTES_OF[serial] ?? 0)
}

const BYTES_OF = Uint8Array.of(0, 1, 2, 3, 4, 6, 8, 8, 0, 0)

class Integers implements RecordColumn {
  readonly serials: Int32Array
  /** 32 bits, or 64 as two halves: a bigint for each value would take several times as long. */
  readonly #words: Int32Array
  readonly #step: 1 | 2

  constructor(values: BigInt64Array | Int32Array, nulls: Nulls) {
    const { length } = values
    const isNarrow = values instanceof Int32Array
    this.#step = isNarrow ? 1 : 2
    this.#words = isNarrow ? values : new Int32Array(values.buffer, values.byteOffset, 2 * length)
    this.serials = new Int32Array(length)
    for (let row = 0; row < length; row++) {
      const low = this.#words[this.#step * row] ?? 0
      const high = isNarrow ? low >> 31 : (this.#words[2 * row + 1] ?? 0)
      this.serials[row] = nulls?.[row] === 1 ? NULL : high === low >> 31 ? narrowSerial(low) : wideSerial(high)
    }
  }

  write(target: Buffer, at: number, row: number): number {
    const end = at + valueBytes(this.serials[row] ?? 0)
    let rest = this.#words[this.#step * row] ?? 0
    for (let index = end - 1; index >= at; index--) {
      if (end - index === 5) rest = this.#words[2 * row + 1] ?? 0
      target[index] = rest
      rest >>= 8
    }
    return end
  }
}

function narrowSerial(value: number): number {
  if (value === 0) return ZERO
  if (value === 1) return ONE
  if (value === (value << 24) >> 24) return 1
  if (value === (value << 16) >> 16) return 2
  return value === (value << 8) >> 8 ? 3 : 4
}

function wideSerial(high: number): number {
  return high === (high << 16) >> 16 ? 5 : 6
}

const NAN = 'NaN'

class Doubles implements RecordColumn {
  readonly serials: Int32Array
  readonly #values: Float64Array

  constructor(values: Float64Array, nulls: Nulls) {
    this.#values = values
    this.serials = new Int32Array(values.length)
    for (let row = 0; row < values.length; row++)
      this.serials[row] = nulls?.[row] === 1 ? NULL : Number.isNaN(values[row]) ? TEXT + 2 * NAN.length : REAL
  }

  write(target: Buffer, at: number, row: number): number {
    const serial = this.serials[row]
    if (serial === REAL) return target.writeDoubleBE(this.#values[row] ?? 0, at)
    return serial === NULL ? at : at + target.write(NAN, at, 'latin1')
  }
}

type BytesVector = Extract<Vector, { readonly kind: 'bytes' }>

class Bytes implements RecordColumn {
  readonly serials: Int32Array
  readonly #data: Buffer
  readonly #starts: Int32Array

  constructor({ lengths, data, nulls }: BytesVector, empty: typeof TEXT | typeof BLOB) {
    this.#data = data
    this.#starts = new Int32Array(lengths.length)
    this.serials = new Int32Array(lengths.length)
    let start = 0
    for (let row = 0; row < lengths.length; row++) {
      const length = lengths[row] ?? 0
      this.serials[row] = nulls?.[row] === 1 ? NULL : empty + 2 * length
      this.#starts[row] = start
      start += length
    }
  }

  write(target: Buffer, at: number, row: number): number {
    const length = valueBytes(this.serials[row] ?? 0)
    const start = this.#starts[row] ?? 0
    // A loop is faster than a copy by the runtime for short values.
    if (length >= 24) this.#data.copy(target, at, start, start + length)
    else for (let index = 0; index < length; index++) target[at + index] = this.#data[start + index] ?? 0
    return at + length
  }
}

/** Decimals of more than 18 digits, from their digits as text. */
function wideDecimals({ lengths, data, nulls }: BytesVector): Bytes {
  const wide = lengths.slice().fill(WIDE_BYTES)
  const bytes = Buffer.alloc(WIDE_BYTES * lengths.length)
  const missing = nulls?.slice() ?? new Uint8Array(lengths.length)
  let at = 0
  for (let row = 0; row < lengths.length; row++) {
    const end = at + (lengths[row] ?? 0)
    if (end === at) missing[row] = 1
    else bytes.set(toWide(BigInt(data.toString('latin1', at, end))), WIDE_BYTES * row)
    at = end
  }
  return new Bytes({ kind: 'bytes', lengths: wide, data: bytes, nulls: missing }, BLOB)
}

const WIDE_BYTES = 16

/** Varints have seven bits in a byte, the highest first. */
export function varintBytes(value: number): number {
  let bytes = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes++
  return bytes
}

/** Returns where it ends. `value` is at most 2⁵³. */
export function writeVarint(target: Buffer, at: number, value: number): number {
  if (value < 0x80) {
    target[at] = value
    return at + 1
  }
  const end = at + varintBytes(value)
  let rest = value
  for (let index = end - 1; index >= at; index--) {
    target[index] = (rest % 0x80) | (index === end - 1 ? 0 : 0x80)
    rest = Math.floor(rest / 0x80)
  }
  return end
}
