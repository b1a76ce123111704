/** The pages of a column in a row group, read and decoded one by one: values as Parquet stores them, and which of them are NULL. */
import { constants, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { Encodings } from 'hyparquet/src/constants.js'
import { byteStreamSplit } from 'hyparquet/src/encoding.js'
import { readPlain } from 'hyparquet/src/plain.js'
import { snappyUncompress } from 'hyparquet/src/snappy.js'
import { damaged, ParquetError } from './error.ts'
import type { Chunk, Codec, Field, FileBytes, PhysicalType } from './footer.ts'
import { Cursor, readDeltas, readRuns } from './integers.ts'
import { countIn, structIn, ThriftReader, type ThriftStruct, TruncatedError } from './thrift.ts'

/** Values as Parquet stores them: numbers, bigints, booleans or bytes. INT96 are the nanoseconds in its form. */
export type Stored = ArrayLike<number | bigint | boolean | Uint8Array>

export interface Page {
  readonly rows: number
  /** Undefined if no value is NULL; otherwise 1 for a value and 0 for NULL. */
  readonly levels: Uint32Array | undefined
  /** Without those that are NULL. With a dictionary, indexes of it. */
  readonly values: Stored
  readonly isIndexed: boolean
}

/** Larger pages are refused before memory is reserved for them. Writers make pages of about a megabyte. */
const MAX_PAGE_BYTES = 64 * 1024 * 1024
const MAX_PAGE_VALUES = 4 * 1024 * 1024
const WINDOW_BYTES = 64 * 1024
const MAX_HEADER_BYTES = 1024 * 1024
const MAX_HEADER_VALUES = 1000

const [DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2] = [0, 1, 2, 3]

export class PageReader {
  readonly #file: FileBytes
  readonly #field: Field
  readonly #chunk: Chunk
  readonly #setDictionary: (values: Stored) => void
  #at: number
  #window: Uint8Array = new Uint8Array(0)
  #windowStart = 0

  constructor(file: FileBytes, field: Field, chunk: Chunk, setDictionary: (values: Stored) => void) {
    this.#file = file
    this.#field = field
    this.#chunk = chunk
    this.#setDictionary = setDictionary
    this.#at = chunk.start
  }

  /** The next page with values; undefined after the last. */
  async next(): Promise<Page | undefined> {
    while (this.#at < this.#chunk.end) {
      const header = await this.#header()
      const size = countIn(header, 3)
      const plainSize = countIn(header, 2)
      if (size === undefined || plainSize === undefined) throw damaged('a page does not say how long it is')
      if (plainSize > MAX_PAGE_BYTES)
        throw new ParquetError(`A page has ${plainSize} bytes, at most ${MAX_PAGE_BYTES} are read: write smaller pages`)
      const body = await this.#bytes(size)
      switch (countIn(header, 1)) {
        case DATA_PAGE:
          return this.#dataPage(required(structIn(header, 5)), this.#decompressed(body, plainSize))
        case DATA_PAGE_V2:
          return this.#dataPageV2(required(structIn(header, 8)), body, plainSize)
        case DICTIONARY_PAGE: {
          const count = valuesIn(structIn(header, 7), 1)
          this.#setDictionary(this.#plain(new Cursor(this.#decompressed(body, plainSize)), count))
          break
        }
        case INDEX_PAGE:
          break
        default:
          throw damaged('it has a page of an unknown kind')
      }
    }
    return undefined
  }

  async #header(): Promise<ThriftStruct> {
    for (let size = WINDOW_BYTES; ; size *= 4) {
      const bytes = await this.#peek(size)
      const reader = new ThriftReader(bytes, MAX_HEADER_VALUES)
      try {
        const header = reader.struct()
        this.#at += reader.at
        return header
      } catch (error) {
        if (!(error instanceof TruncatedError)) throw error
        if (bytes.length < size || size > MAX_HEADER_BYTES) throw damaged('the header of a page ends early')
      }
    }
  }

  async #bytes(size: number): Promise<Uint8Array> {
    if (this.#at + size > this.#chunk.end) throw damaged('a page ends beyond its column')
    const bytes = (await this.#peek(size)).subarray(0, size)
    this.#at += size
    return bytes
  }

  /** At least these bytes from here, or all that the column has. */
  async #peek(size: number): Promise<Uint8Array> {
    const end = Math.min(this.#at + size, this.#chunk.end)
    if (this.#at < this.#windowStart || end > this.#windowStart + this.#window.length) {
      this.#windowStart = this.#at
      this.#window = await this.#file.read(this.#at, Math.min(Math.max(end, this.#at + WINDOW_BYTES), this.#chunk.end))
    }
    return this.#window.subarray(this.#at - this.#windowStart)
  }

  #dataPage(header: ThriftStruct, bytes: Uint8Array): Page {
    const rows = valuesIn(header, 1)
    const cursor = new Cursor(bytes)
    let levels: Uint32Array | undefined
    if (this.#field.isOptional) {
      if (Encodings[countIn(header, 3) ?? -1] !== 'RLE') throw unsupported('levels that are only bit-packed')
      const end = cursor.uint32() + cursor.at
      levels = withNulls(readRuns(new Cursor(bytes.subarray(0, end), cursor.at), 1, rows))
      cursor.at = end
    }
    return this.#page(rows, levels, countIn(header, 2), cursor)
  }

  /** The levels stand before the values and are not compressed. */
  #dataPageV2(header: ThriftStruct, body: Uint8Array, plainSize: number): Page {
    const rows = valuesIn(header, 1)
    const [levelBytes, repetitionBytes] = [countIn(header, 5) ?? 0, countIn(header, 6) ?? 0]
    const start = levelBytes + repetitionBytes
    if (start > body.length || start > plainSize) throw damaged('the levels of a page are longer than the page')
    const levels = this.#field.isOptional
      ? withNulls(readRuns(new Cursor(body.subarray(repetitionBytes, start)), 1, rows))
      : undefined
    const packed = body.subarray(start)
    const bytes = header.get(7) === false ? packed : this.#decompressed(packed, plainSize - start)
    return this.#page(rows, levels, countIn(header, 4), new Cursor(bytes))
  }

  #page(rows: number, levels: Uint32Array | undefined, code: number | undefined, cursor: Cursor): Page {
    const encoding = Encodings[code ?? -1]
    let count = rows
    if (levels !== undefined) {
      count = 0
      for (const level of levels) count += level
    }
    const isIndexed = encoding === 'PLAIN_DICTIONARY' || encoding === 'RLE_DICTIONARY'
    return { rows, levels, values: this.#values(encoding, count, cursor), isIndexed }
  }

  #values(encoding: (typeof Encodings)[number] | undefined, count: number, cursor: Cursor): Stored {
    if (count === 0) return []
    const { physical } = this.#field
    switch (encoding) {
      case 'PLAIN':
        return this.#plain(cursor, count)
      case 'PLAIN_DICTIONARY':
      case 'RLE_DICTIONARY':
        return readRuns(cursor, cursor.byte(), count)
      case 'RLE':
        if (physical !== 'BOOLEAN') break
        // After the length of what follows.
        cursor.at += 4
        return Array.from(readRuns(cursor, 1, count), (bit) => bit === 1)
      case 'DELTA_BINARY_PACKED': {
        if (physical !== 'INT32' && physical !== 'INT64') break
        const values = readDeltas(cursor, count)
        return physical === 'INT64' ? values : Int32Array.from(values, (value) => Number(BigInt.asIntN(32, value)))
      }
      case 'DELTA_LENGTH_BYTE_ARRAY':
        return byLengths(cursor, readDeltas(cursor, count))
      case 'DELTA_BYTE_ARRAY':
        return withPrefixes(cursor, count)
      case 'BYTE_STREAM_SPLIT':
        this.#checkLength(cursor, count)
        return byteStreamSplit(readerOf(cursor), count, physical, this.#field.length)
      default:
    }
    throw unsupported(`the encoding ${encoding ?? 'of an unknown number'} for ${physical}`)
  }

  #plain(cursor: Cursor, count: number): Stored {
    if (count === 0) return []
    this.#checkLength(cursor, count)
    if (this.#field.physical === 'BYTE_ARRAY') return byteArrays(cursor, count)
    return readPlain(readerOf(cursor), this.#field.physical, count, this.#field.length)
  }

  /** The library reads beyond a page that has fewer bytes than its values need. */
  #checkLength({ bytes, at }: Cursor, count: number): void {
    const needed = count * widthOf(this.#field.physical, this.#field.length)
    if (needed > bytes.length - at)
      throw damaged(`the column ${JSON.stringify(this.#field.name)} has a page that ends early`)
  }

  #decompressed(bytes: Uint8Array, size: number): Uint8Array {
    const plain = decompress(bytes, this.#chunk.codec, size)
    if (plain.length !== size) throw damaged('a page has another length than its header says')
    return plain
  }
}

function decompress(bytes: Uint8Array, codec: Codec, size: number): Uint8Array {
  // Beyond the length that the header gives, decompression ends with an error.
  const most = { maxOutputLength: Math.max(size, 1) }
  try {
    switch (codec) {
      case 'UNCOMPRESSED':
        return bytes
      case 'ZSTD':
        return size === 0 ? EMPTY : zstdDecompressSync(bytes, { ...most, params: ZSTD_LIMITS })
      case 'GZIP':
        return size === 0 ? EMPTY : gunzipSync(bytes, most)
      case 'SNAPPY': {
        const plain = new Uint8Array(size)
        if (size > 0) snappyUncompress(bytes, plain)
        return plain
      }
      default:
    }
  } catch (error) {
    throw damaged(`a page cannot be decompressed (${error instanceof Error ? error.message : error})`)
  }
  throw unsupported(`the compression ${codec}`)
}

const EMPTY = new Uint8Array(0)
/** A window of 64 MiB: the page fits. */
const ZSTD_LIMITS = { [constants.ZSTD_d_windowLogMax]: 26 }

function withNulls(levels: Uint32Array): Uint32Array | undefined {
  return levels.includes(0) ? levels : undefined
}

function byteArrays(cursor: Cursor, count: number): Uint8Array[] {
  const values: Uint8Array[] = []
  for (let index = 0; index < count; index++) values.push(slice(cursor, cursor.uint32()))
  return values
}

function byLengths(cursor: Cursor, lengths: BigInt64Array): Uint8Array[] {
  return Array.from(lengths, (length) => slice(cursor, Number(length)))
}

/** DELTA_BYTE_ARRAY: each value begins like the one before it. Few bytes can mean many, so their sum is bounded first. */
function withPrefixes(cursor: Cursor, count: number): Uint8Array[] {
  const prefixes = readDeltas(cursor, count)
  const suffixes = byLengths(cursor, readDeltas(cursor, count))
  const sum = prefixes.reduce((bytes, prefix) => bytes + prefix, 0n)
  if (sum > MAX_PAGE_BYTES) throw new ParquetError('A page has too many bytes: write smaller pages')
  let last: Uint8Array = EMPTY
  return suffixes.map((suffix, index) => {
    const prefix = Number(prefixes[index])
    if (prefix < 0 || prefix > last.length) throw damaged('a value begins with more than the value before it has')
    last = prefix === 0 ? suffix : Buffer.concat([last.subarray(0, prefix), suffix])
    return last
  })
}

function slice(cursor: Cursor, length: number): Uint8Array {
  const start = cursor.at
  if (length < 0 || start + length > cursor.bytes.length) throw damaged('a value is longer than its page')
  cursor.at = start + length
  return cursor.bytes.subarray(start, cursor.at)
}

function readerOf({ bytes, at }: Cursor) {
  return { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: at }
}

/** The least bytes of a value. */
function widthOf(physical: PhysicalType, length: number): number {
  switch (physical) {
    case 'BOOLEAN':
      return 1 / 8
    case 'INT32':
    case 'FLOAT':
    case 'BYTE_ARRAY':
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

function valuesIn(header: ThriftStruct | undefined, field: number): number {
  const count = countIn(header, field) ?? 0
  if (count > MAX_PAGE_VALUES)
    throw new ParquetError(`A page has ${count} values, at most ${MAX_PAGE_VALUES} are read: write smaller pages`)
  return count
}

function required(header: ThriftStruct | undefined): ThriftStruct {
  if (header === undefined) throw damaged('a page has no header of its kind')
  return header
}

function unsupported(what: string): ParquetError {
  return new ParquetError(`The Parquet file has ${what}, which is not supported: write it with another setting`)
}
