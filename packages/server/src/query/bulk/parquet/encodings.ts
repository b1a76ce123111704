/**
 * The values of a page, decoded part by part (parquet-format, Encodings). Few bytes can stand for many values, and for long ones, so no
 * value is created before the caller knows how long it is.
 */
import type { Encodings } from 'hyparquet/src/constants.js'
import { readPlain } from 'hyparquet/src/plain.js'
import { damaged } from './error.ts'
import type { Field, PhysicalType } from './footer.ts'
import { Cursor, DeltaReader, RunReader } from './integers.ts'

/** A value as Parquet stores it. INT96 is the nanoseconds in its form. */
export type Stored = number | bigint | boolean | Uint8Array

export interface ValueReader {
  next(count: number): Decoded
}

/** Some of the values of a page, valid until the next ones are decoded. */
export interface Decoded {
  /** The bytes that a value takes; undefined if all take a few. */
  readonly bytesAt: ((index: number) => number) | undefined
  /** Called for each value in turn. */
  readonly valueAt: (index: number) => Stored
}

export type Encoding = (typeof Encodings)[number] | undefined

/** Undefined for an encoding that the type does not have. `count`: the most values that the page has. */
export function createReader(encoding: Encoding, cursor: Cursor, count: number, field: Field): ValueReader | undefined {
  const { physical } = field
  switch (encoding) {
    case 'PLAIN':
      return plainReader(cursor, field)
    case 'RLE':
      if (physical !== 'BOOLEAN') return undefined
      // After the length of what follows.
      cursor.at += 4
      return booleans(new RunReader(cursor, 1))
    case 'DELTA_BINARY_PACKED':
      if (physical !== 'INT32' && physical !== 'INT64') return undefined
      return differences(new DeltaReader(cursor, count), physical)
    case 'DELTA_LENGTH_BYTE_ARRAY':
      return physical === 'BYTE_ARRAY' ? new LengthsReader(cursor, count) : undefined
    case 'DELTA_BYTE_ARRAY':
      return physical === 'BYTE_ARRAY' || physical === 'FIXED_LEN_BYTE_ARRAY'
        ? new PrefixesReader(cursor, count)
        : undefined
    case 'BYTE_STREAM_SPLIT':
      return physical === 'BOOLEAN' || physical === 'BYTE_ARRAY' ? undefined : new SplitReader(cursor, field)
    default:
      return undefined
  }
}

export function plainReader(cursor: Cursor, field: Field): ValueReader {
  if (field.physical === 'BYTE_ARRAY') {
    const places = new Places()
    return { next: (count) => byteArrays(cursor, places.begin(count)) }
  }
  if (field.physical === 'BOOLEAN') return plainBits(cursor, field)
  const width = valueWidth(field)
  return {
    next: (count) => {
      checkLength(cursor, count * width, field)
      const values = readPlain(viewAt(cursor.bytes, cursor.at), field.physical, count, field.length)
      cursor.at += count * width
      return decoded(values, field)
    },
  }
}

function decoded(values: ArrayLike<Stored>, { physical, length }: Field): Decoded {
  const bytesAt = physical === 'FIXED_LEN_BYTE_ARRAY' ? () => length : undefined
  return { bytesAt, valueAt: (index) => valueIn(values, index) }
}

function plainBits(cursor: Cursor, field: Field): ValueReader {
  const { bytes, at: start } = cursor
  let bit = 0
  return {
    next: (count) => {
      const from = bit
      checkLength(cursor, Math.ceil((bit + count) / 8), field)
      bit += count
      const isSet = (place: number): boolean => ((bytes[start + (place >> 3)] ?? 0) & (1 << (place & 7))) !== 0
      return { bytesAt: undefined, valueAt: (index) => isSet(from + index) }
    },
  }
}

function booleans(runs: RunReader): ValueReader {
  return {
    next: (count) => {
      const bits = runs.next(count)
      return { bytesAt: undefined, valueAt: (index) => bits[index] === 1 }
    },
  }
}

function differences(deltas: DeltaReader, physical: PhysicalType): ValueReader {
  return {
    next: (count) => {
      const values = deltas.next(count)
      const narrow = physical === 'INT64' ? values : Int32Array.from(values, (one) => Number(BigInt.asIntN(32, one)))
      return { bytesAt: undefined, valueAt: (index) => valueIn(narrow, index) }
    },
  }
}

function byteArrays(cursor: Cursor, places: Int32Array): Decoded {
  for (let at = 0; at < places.length; at += 2) {
    const length = cursor.uint32()
    places[at] = cursor.at
    places[at + 1] = skip(cursor, length)
  }
  return placed(cursor.bytes, places)
}

/** Starts and ends in turn: one array for all parts of a page, as garbage of arrays is collected late. */
class Places {
  #all = new Int32Array(0)

  begin(count: number): Int32Array {
    if (2 * count > this.#all.length) this.#all = new Int32Array(2 * count)
    return this.#all.subarray(0, 2 * count)
  }
}

function placed(bytes: Uint8Array, places: Int32Array): Decoded {
  return {
    bytesAt: (index) => (places[2 * index + 1] ?? 0) - (places[2 * index] ?? 0),
    valueAt: (index) => bytes.subarray(places[2 * index], places[2 * index + 1]),
  }
}

/** The lengths of all values stand before the values. */
class LengthsReader implements ValueReader {
  readonly #lengths: DeltaReader
  readonly #data: Cursor
  readonly #places = new Places()

  constructor(cursor: Cursor, count: number) {
    this.#lengths = new DeltaReader(cursor, count)
    this.#data = new Cursor(cursor.bytes, this.#lengths.findEnd())
  }

  next(count: number): Decoded {
    const places = this.#places.begin(count)
    const lengths = this.#lengths.next(count)
    for (let index = 0; index < count; index++) {
      places[2 * index] = this.#data.at
      places[2 * index + 1] = skip(this.#data, Number(lengths[index]))
    }
    return placed(this.#data.bytes, places)
  }
}

/** DELTA_BYTE_ARRAY: each value begins like the one before it. */
class PrefixesReader implements ValueReader {
  readonly #prefixes: DeltaReader
  readonly #suffixes: LengthsReader
  #last: Uint8Array = new Uint8Array(0)
  /** The length of the last value that was decoded; it may not exist yet. */
  #lastLength = 0

  constructor(cursor: Cursor, count: number) {
    this.#prefixes = new DeltaReader(cursor, count)
    this.#suffixes = new LengthsReader(new Cursor(cursor.bytes, this.#prefixes.findEnd()), count)
  }

  next(count: number): Decoded {
    const prefixes = Float64Array.from(this.#prefixes.next(count), Number)
    const suffixes = this.#suffixes.next(count)
    const lengths = Float64Array.from(prefixes, (prefix, index) => {
      if (prefix < 0 || prefix > this.#lastLength)
        throw damaged('a value begins with more than the value before it has')
      this.#lastLength = prefix + (suffixes.bytesAt?.(index) ?? 0)
      return this.#lastLength
    })
    return {
      bytesAt: (index) => lengths[index] ?? 0,
      valueAt: (index) => {
        const suffix = suffixes.valueAt(index)
        if (!(suffix instanceof Uint8Array)) throw new Error('A suffix that is no bytes')
        const prefix = prefixes[index] ?? 0
        this.#last = prefix === 0 ? suffix : Buffer.concat([this.#last.subarray(0, prefix), suffix])
        return this.#last
      },
    }
  }
}

/** BYTE_STREAM_SPLIT: the first bytes of all values, then the second bytes, and so on. */
class SplitReader implements ValueReader {
  readonly #bytes: Uint8Array
  readonly #field: Field
  readonly #width: number
  readonly #total: number
  #read = 0

  constructor({ bytes, at }: Cursor, field: Field) {
    this.#bytes = bytes.subarray(at)
    this.#field = field
    this.#width = valueWidth(field)
    this.#total = Math.floor(this.#bytes.length / this.#width)
  }

  next(count: number): Decoded {
    if (this.#read + count > this.#total) throw endsEarly(this.#field)
    const joined = new Uint8Array(count * this.#width)
    for (let index = 0; index < count; index++)
      for (let part = 0; part < this.#width; part++)
        joined[index * this.#width + part] = this.#bytes[part * this.#total + this.#read + index] ?? 0
    this.#read += count
    const { physical, length } = this.#field
    return decoded(readPlain(viewAt(joined, 0), physical, count, length), this.#field)
  }
}

/** Values that pages refer to by their numbers. Only the places of those of different lengths are kept. */
export class Dictionary {
  readonly count: number
  readonly #field: Field
  readonly #bytes: Uint8Array
  readonly #width: number
  /** Where each value of a BYTE_ARRAY begins, and where the last one ends with the bytes of a length. */
  readonly #starts: Uint32Array | undefined
  readonly #view: ReturnType<typeof viewAt>

  constructor(bytes: Uint8Array, count: number, field: Field) {
    this.count = count
    this.#view = viewAt(bytes, 0)
    this.#field = field
    this.#bytes = bytes
    this.#width = field.physical === 'BYTE_ARRAY' ? 0 : valueWidth(field)
    const cursor = new Cursor(bytes)
    checkLength(cursor, count * (this.#width || LENGTH_BYTES), field)
    if (field.physical === 'BYTE_ARRAY') this.#starts = startsIn(cursor, count)
  }

  /** Of the page. */
  get byteLength(): number {
    return this.#bytes.length
  }

  /** The bytes that it takes besides those of the page. */
  static extraBytes(count: number, { physical }: Field): number {
    return physical === 'BYTE_ARRAY' ? 4 * count : 0
  }

  bytesAt(index: number): number {
    if (this.#starts === undefined) return this.#width
    return (this.#starts[index + 1] ?? 0) - (this.#starts[index] ?? 0) - LENGTH_BYTES
  }

  valueAt(index: number): Stored {
    if (this.#starts !== undefined) {
      const start = this.#starts[index] ?? 0
      return this.#bytes.subarray(start, start + this.bytesAt(index))
    }
    const { physical, length } = this.#field
    if (physical === 'BOOLEAN') return ((this.#bytes[index >> 3] ?? 0) & (1 << (index & 7))) !== 0
    this.#view.offset = index * this.#width
    return valueIn(readPlain(this.#view, physical, 1, length), 0)
  }
}

const LENGTH_BYTES = 4

function startsIn(cursor: Cursor, count: number): Uint32Array {
  const starts = new Uint32Array(count + 1)
  for (let index = 0; index < count; index++) {
    const length = cursor.uint32()
    starts[index] = cursor.at
    skip(cursor, length)
  }
  starts[count] = cursor.at + LENGTH_BYTES
  return starts
}

/** Returns where the bytes end. */
function skip(cursor: Cursor, length: number): number {
  if (length < 0 || cursor.at + length > cursor.bytes.length) throw damaged('a value is longer than its page')
  cursor.at += length
  return cursor.at
}

function valueIn(values: ArrayLike<Stored>, index: number): Stored {
  const value = values[index]
  if (value === undefined) throw damaged('a page has fewer values than its header says')
  return value
}

function viewAt(bytes: Uint8Array, at: number) {
  return { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: at }
}

/** The library reads beyond a page that has fewer bytes than its values need. */
function checkLength({ bytes, at }: Cursor, needed: number, field: Field): void {
  if (needed > bytes.length - at) throw endsEarly(field)
}

function endsEarly({ name }: Field): Error {
  return damaged(`the column ${JSON.stringify(name)} has a page that ends early`)
}

/** The bytes of a value of a fixed length. */
export function valueWidth({ physical, length }: Field): number {
  switch (physical) {
    case 'BOOLEAN':
      return 1 / 8
    case 'INT32':
    case 'FLOAT':
      return 4
    case 'INT64':
    case 'DOUBLE':
      return 8
    case 'INT96':
      return 12
    default:
      if (length < 1) throw damaged('a column of values of fixed length does not say which')
      return length
  }
}
