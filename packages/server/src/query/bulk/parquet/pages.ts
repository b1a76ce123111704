/** The pages of a column in a row group, one by one; large ones in parts. */
import { setImmediate as immediate } from 'node:timers/promises'
import { Encodings } from 'hyparquet/src/constants.js'
import { release } from '../../../lib/release.ts'
import type { BodyMemory } from '../reader-memory.ts'
import { decompress } from './decompress.ts'
import { createReader, Dictionary, type ValueReader } from './encodings.ts'
import { damaged, ParquetError } from './error.ts'
import type { Chunk, Codec, Field, FileBytes } from './footer.ts'
import { Cursor, RunReader } from './integers.ts'
import type { Page } from './page.ts'
import { type PageParts, type PageSpool, tooLarge } from './page-spool.ts'
import { countIn, structIn, ThriftReader, type ThriftStruct, TruncatedError } from './thrift.ts'

const MAX_PAGE_VALUES = 4 * 1024 * 1024
const MAX_DICTIONARY_VALUES = 1024 * 1024
/** Most headers have less. */
const HEADER_BYTES = 4 * 1024
const MAX_HEADER_BYTES = 1024 * 1024
const MAX_HEADER_VALUES = 1000
/** What has as much shares its memory with nothing else. */
const UNPOOLED_BYTES = 1024 * 1024

const [DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2] = [0, 1, 2, 3]

export class PageReader {
  readonly #file: FileBytes
  readonly #field: Field
  readonly #chunk: Chunk
  readonly #memory: BodyMemory
  readonly #spool: PageSpool
  #at: number
  #window: Uint8Array = new Uint8Array(0)
  #windowStart = 0
  /** The bytes of the current page, which are held until the next. */
  #held = 0
  #heldByDictionary = 0
  #decompressed: Uint8Array | undefined
  /** Of the current page, if it is not held. */
  #parts: PageParts | undefined
  dictionary: Dictionary | undefined

  constructor(file: FileBytes, field: Field, chunk: Chunk, memory: BodyMemory, spool: PageSpool) {
    this.#file = file
    this.#field = field
    this.#chunk = chunk
    this.#memory = memory
    this.#spool = spool
    this.#at = chunk.start
  }

  /** The next page with values, instead of the last one; undefined after the last of the column. */
  async next(): Promise<Page | undefined> {
    for (;;) {
      const part = await this.#parts?.next()
      if (part !== undefined) return part
      this.#parts = undefined
      const page = await this.#nextWhole()
      if (this.#parts === undefined) return page
    }
  }

  /** Undefined also for a page that is not held. */
  async #nextWhole(): Promise<Page | undefined> {
    this.#memory.give(this.#held)
    this.#held = 0
    while (this.#at < this.#chunk.end) {
      // A column may have any number of pages without values.
      await immediate()
      const header = await this.#header()
      const kind = countIn(header, 1)
      const size = countIn(header, 3)
      const plainSize = countIn(header, 2)
      if (size === undefined || plainSize === undefined) throw damaged('a page does not say how long it is')
      if (this.#at + size > this.#chunk.end) throw damaged('a page ends beyond its column')
      if (kind === INDEX_PAGE) {
        this.#at += size
        continue
      }
      // A compressed page exists in both forms for a while.
      const passing = this.#chunk.codec === 'UNCOMPRESSED' ? 0 : size
      if (!this.#hold(kind, plainSize, plainSize + passing)) {
        this.#parts = await this.#spool.add(this.#field, [size, plainSize], async () => {
          const body = await this.#bytes(size)
          const page = await this.#readPage(kind, header, body, plainSize)
          if (page === undefined) throw new Error('A dictionary is not spooled')
          return { page, free: () => this.#free(body) }
        })
        return undefined
      }
      const page = await this.#readPage(kind, header, await this.#bytes(size), plainSize)
      this.#memory.give(passing)
      if (page === undefined) this.#heldByDictionary += plainSize
      else if (page.rows === 0) this.#memory.give(plainSize)
      else {
        this.#held = plainSize
        return page
      }
    }
    return undefined
  }

  /** The column is not read any more. */
  end(): void {
    this.#parts?.end()
    this.#memory.give(this.#held + this.#heldByDictionary)
    this.#held = 0
    this.#heldByDictionary = 0
  }

  /** Undefined for a dictionary. */
  async #readPage(
    kind: number | undefined,
    header: ThriftStruct,
    body: Uint8Array,
    plainSize: number,
  ): Promise<Page | undefined> {
    const { codec } = this.#chunk
    switch (kind) {
      case DATA_PAGE:
        return this.#dataPage(required(structIn(header, 5)), await this.#decompress(body, codec, plainSize))
      case DATA_PAGE_V2:
        return this.#dataPageV2(required(structIn(header, 8)), body, plainSize)
      case DICTIONARY_PAGE:
        this.#setDictionary(
          await this.#decompress(body, codec, plainSize),
          valuesIn(structIn(header, 7), 1, MAX_DICTIONARY_VALUES),
        )
        return undefined
      default:
        throw damaged('it has a page of an unknown kind')
    }
  }

  async #decompress(bytes: Uint8Array, codec: Codec, size: number): Promise<Uint8Array> {
    const plain = await decompress(bytes, codec, size)
    this.#decompressed = plain === bytes ? undefined : plain
    return plain
  }

  /** Frees the current page. The garbage collector would do so after many more pages. */
  #free(body: Uint8Array): void {
    release(body)
    // It may have been given a few bytes more than it needed.
    const plain = this.#decompressed
    if (plain !== undefined && plain.length >= UNPOOLED_BYTES) release(new Uint8Array(plain.buffer))
    this.#decompressed = undefined
  }

  #setDictionary(bytes: Uint8Array, count: number): void {
    if (this.dictionary !== undefined) throw damaged('a column has two dictionaries')
    const places = Dictionary.extraBytes(count, this.#field)
    this.#take(places, bytes.length)
    this.#heldByDictionary = places
    this.dictionary = new Dictionary(bytes, count, this.#field)
  }

  /** Whether there is memory for a page. Dictionaries have to be held, and short pages take no more than their parts would. */
  #hold(kind: number | undefined, plainSize: number, needed: number): boolean {
    if (kind !== DICTIONARY_PAGE && plainSize > this.#spool.partBytes) return this.#memory.tryTake(needed)
    this.#take(needed, plainSize)
    return true
  }

  #take(bytes: number, shown: number): void {
    this.#memory.take(bytes, (most) => tooLarge(most, this.#field, shown))
  }

  async #header(): Promise<ThriftStruct> {
    for (let size = HEADER_BYTES; ; size *= 4) {
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
    const end = this.#at + size
    const start = this.#at - this.#windowStart
    const isInWindow = start >= 0 && end <= this.#windowStart + this.#window.length
    const bytes = isInWindow ? this.#window.subarray(start, start + size) : await this.#file.read(this.#at, end)
    this.#at = end
    return bytes
  }

  /** These bytes from here, or all that the column has. */
  async #peek(size: number): Promise<Uint8Array> {
    const end = Math.min(this.#at + size, this.#chunk.end)
    if (this.#at < this.#windowStart || end > this.#windowStart + this.#window.length) {
      const bytes = await this.#file.read(this.#at, end)
      // Every column has a window: only a short one is kept.
      if (size > HEADER_BYTES) return bytes
      this.#windowStart = this.#at
      this.#window = bytes
    }
    return this.#window.subarray(this.#at - this.#windowStart, end - this.#windowStart)
  }

  #dataPage(header: ThriftStruct, bytes: Uint8Array): Page {
    const rows = valuesIn(header, 1)
    const cursor = new Cursor(bytes)
    if (!this.#field.isOptional) return this.#page(rows, undefined, countIn(header, 2), cursor)
    if (Encodings[countIn(header, 3) ?? -1] !== 'RLE') throw unsupported('levels that are only bit-packed')
    const end = cursor.uint32() + cursor.at
    const levels = new RunReader(new Cursor(bytes.subarray(0, end), cursor.at), 1)
    cursor.at = end
    return this.#page(rows, levels, countIn(header, 2), cursor)
  }

  /** The levels stand before the values and are not compressed. */
  async #dataPageV2(header: ThriftStruct, body: Uint8Array, plainSize: number): Promise<Page> {
    const rows = valuesIn(header, 1)
    const [levelBytes, repetitionBytes] = [countIn(header, 5) ?? 0, countIn(header, 6) ?? 0]
    const start = levelBytes + repetitionBytes
    if (start > body.length || start > plainSize) throw damaged('the levels of a page are longer than the page')
    const levels = this.#field.isOptional ? new RunReader(new Cursor(body.slice(repetitionBytes, start)), 1) : undefined
    const packed = body.subarray(start)
    const codec = header.get(7) === false ? 'UNCOMPRESSED' : this.#chunk.codec
    const bytes = await this.#decompress(packed, codec, plainSize - start)
    return this.#page(rows, levels, countIn(header, 4), new Cursor(bytes))
  }

  #page(rows: number, levels: RunReader | undefined, code: number | undefined, cursor: Cursor): Page {
    const encoding = Encodings[code ?? -1]
    // A page of NULLs may have no bytes, not even the width of its indexes.
    const isEmpty = cursor.at >= cursor.bytes.length && levels !== undefined
    if (isEmpty) return { rows, levels, values: { kind: 'plain', reader: NO_VALUES } }
    if (encoding === 'PLAIN_DICTIONARY' || encoding === 'RLE_DICTIONARY')
      return { rows, levels, values: { kind: 'indexed', indexes: new RunReader(cursor, cursor.byte()) } }
    const reader = createReader(encoding, cursor, rows, this.#field)
    if (reader === undefined)
      throw unsupported(`the encoding ${encoding ?? 'of an unknown number'} for ${this.#field.physical}`)
    return { rows, levels, values: { kind: 'plain', reader } }
  }
}

const NO_VALUES: ValueReader = {
  next: (count) => {
    if (count > 0) throw damaged('a page has fewer values than its header says')
    return { bytesAt: undefined, valueAt: () => 0 }
  },
}

function valuesIn(header: ThriftStruct | undefined, field: number, most = MAX_PAGE_VALUES): number {
  const count = countIn(header, field) ?? 0
  if (count > most) throw new ParquetError(`A page has ${count} values, at most ${most} are read: write smaller pages`)
  return count
}

function required(header: ThriftStruct | undefined): ThriftStruct {
  if (header === undefined) throw damaged('a page has no header of its kind')
  return header
}

function unsupported(what: string): ParquetError {
  return new ParquetError(`The Parquet file has ${what}, which is not supported: write it with another setting`)
}
