/**
 * Pages for which there is no memory. Such a page is decompressed and decoded once, while no other one is, and written to a spool file in
 * parts: small pages of plain values, which are read one by one.
 */
import { setImmediate as immediate } from 'node:timers/promises'
import { MAX_RESULT_ROW_BYTES } from 'gatehouse-iql'
import { BATCH_ROWS } from '../reader.ts'
import type { BodyMemory } from '../reader-memory.ts'
import type { Spool } from '../spools.ts'
import { type Decoded, plainReader, type Stored, valueWidth } from './encodings.ts'
import { ParquetError } from './error.ts'
import type { Field } from './footer.ts'
import { Cursor, RunReader } from './integers.ts'
import type { Page } from './page.ts'

export interface Scratch {
  readonly memory: BodyMemory
  openFile(): Promise<Spool>
  readonly signal: AbortSignal
}

interface ReadPage {
  readonly page: Page
  /** The page is not used any more. */
  free(): void
}

/** A page of more is refused. It is in memory once as it was sent and once decompressed. */
const MAX_PAGE_BYTES = 64 * 1024 * 1024
const MAX_PART_BYTES = 1024 * 1024
/** The parts of all columns may take this part of a body's memory. */
const MEMORY_SHARE = 8
/** The rows of a part, the bytes of its levels, and those of its values. */
const HEAD_BYTES = 12
const LENGTH_BYTES = 4
/** At most. */
const RUN_HEAD_BYTES = 4
/** The widths, in bits, of levels and indexes in a part. */
const LEVEL_BITS = 8
const INDEX_BITS = 32

export class PageSpool {
  readonly #scratch: Scratch
  readonly #batchRows: number
  /** A part has at most this, or one value. Smaller pages need not be spooled. */
  readonly partBytes: number
  #file: Spool | undefined
  #buffer = Buffer.alloc(0)

  /** `batchRows`: parts end where batches of this many rows do, if they can, as a batch has no rows of two parts. */
  constructor(scratch: Scratch, columns: number, batchRows: number) {
    this.#scratch = scratch
    this.#batchRows = batchRows
    const share = Math.floor(scratch.memory.most / MEMORY_SHARE / Math.max(1, columns))
    this.partBytes = Math.min(MAX_PART_BYTES, share)
  }

  /** `sizes`: of the page as it was sent, and decompressed. */
  async add(field: Field, sizes: readonly number[], read: () => Promise<ReadPage>): Promise<PageParts> {
    const size = Math.max(...sizes)
    if (size > MAX_PAGE_BYTES)
      throw new ParquetError(
        `A page of ${JSON.stringify(field.name)} has ${size} bytes, at most ${MAX_PAGE_BYTES} are read: ${SMALLER_PAGES}`,
      )
    const { memory, signal } = this.#scratch
    this.#file ??= await this.#scratch.openFile()
    const file = this.#file
    return memory.runAlone(signal, async () => {
      const start = file.length
      const { page, free } = await read()
      const most = this.#batchRows * Math.max(1, Math.floor(BATCH_ROWS / this.#batchRows))
      for (let left = page.rows; left > 0; left -= most) {
        signal.throwIfAborted()
        await this.#write(file, page, Math.min(left, most), field)
        await immediate()
      }
      free()
      return new PageParts(file, start, page.values.kind, field, memory)
    })
  }

  /** No page that was added is read any more. */
  async clear(): Promise<void> {
    await this.#file?.clear()
  }

  async #write(file: Spool, { levels: runs, values }: Page, rows: number, field: Field): Promise<void> {
    const levels = runs?.next(rows)
    const count = levels === undefined ? rows : countOnes(levels)
    const decoded = values.kind === 'plain' ? values.reader.next(count) : indexed(values.indexes.next(count))
    const sizeAt = sizes(values.kind, decoded, field)
    for (let [from, first] = [0, 0]; from < rows; ) {
      const part = this.#cut({ from, first, rows, levels, sizeAt })
      await file.write(...this.#encode(part, { from, first, levels, decoded, kind: values.kind, field }))
      from = part.to
      first = part.last
    }
  }

  /** Where a part ends: its rows and its values. */
  #cut(given: Readonly<Rows & { rows: number; sizeAt: (index: number) => number }>): Part {
    const { from, first, rows, levels, sizeAt } = given
    let aligned: Part | undefined
    let [bytes, last] = [0, first]
    for (let row = from; row < rows; row++) {
      if (row > from && row % this.#batchRows === 0) aligned = { to: row, last, bytes }
      const isNull = levels !== undefined && levels[row] === 0
      const size = (levels === undefined ? 0 : 1) + (isNull ? 0 : sizeAt(last))
      if (row > from && bytes + size > this.partBytes) return aligned ?? { to: row, last, bytes }
      bytes += size
      if (!isNull) last++
    }
    return { to: rows, last, bytes }
  }

  /** The result is valid until the next call. */
  #encode(
    { to, last, bytes }: Part,
    { from, first, levels, decoded, kind, field }: Readonly<Rows & { decoded: Decoded; kind: Kind; field: Field }>,
  ): readonly Uint8Array[] {
    // A long value is alone in its part, and not copied.
    const long = last - first === 1 && bytes > this.partBytes ? decoded.valueAt(first) : undefined
    const longBytes = long instanceof Uint8Array ? long.length : 0
    const most = HEAD_BYTES + Math.ceil(bytes) - longBytes + 2 * RUN_HEAD_BYTES
    if (this.#buffer.length < most) this.#buffer = Buffer.allocUnsafeSlow(most)
    const out = this.#buffer
    let at = HEAD_BYTES
    if (levels !== undefined) {
      at = writeRunHead(out, at, to - from)
      for (let row = from; row < to; row++) out[at++] = levels[row] ?? 0
    }
    const valuesStart = at
    if (long instanceof Uint8Array) {
      if (field.physical === 'BYTE_ARRAY') at = out.writeUInt32LE(long.length, at)
    } else if (kind === 'indexed') {
      at = writeRunHead(out, at, last - first)
      for (let index = first; index < last; index++) at = out.writeUInt32LE(Number(decoded.valueAt(index)), at)
    } else if (field.physical === 'BOOLEAN') {
      out.fill(0, at, at + Math.ceil((last - first) / 8))
      for (let bit = 0; bit < last - first; bit++)
        if (decoded.valueAt(first + bit) === true) out[at + (bit >> 3)] = (out[at + (bit >> 3)] ?? 0) | (1 << (bit & 7))
      at += Math.ceil((last - first) / 8)
    } else for (let index = first; index < last; index++) at = writePlain(out, at, decoded.valueAt(index), field)
    out.writeUInt32LE(to - from, 0)
    out.writeUInt32LE(valuesStart - HEAD_BYTES, 4)
    out.writeUInt32LE(at - valuesStart + longBytes, 8)
    return long instanceof Uint8Array ? [out.subarray(0, at), long] : [out.subarray(0, at)]
  }
}

type Kind = Page['values']['kind']

interface Rows {
  readonly from: number
  /** The first value. */
  readonly first: number
  readonly levels: Uint32Array | undefined
}

interface Part {
  readonly to: number
  /** After the last value. */
  readonly last: number
  readonly bytes: number
}

/** The parts of a page, as pages. */
export class PageParts {
  readonly #file: Spool
  readonly #end: number
  readonly #kind: Kind
  readonly #field: Field
  readonly #memory: BodyMemory
  #at: number
  /** Of the next part, if it has been read with the last one. */
  #head: Uint8Array | undefined
  #held = 0

  constructor(file: Spool, start: number, kind: Kind, field: Field, memory: BodyMemory) {
    this.#file = file
    this.#at = start
    this.#end = file.length
    this.#kind = kind
    this.#field = field
    this.#memory = memory
  }

  /** Undefined after the last. */
  async next(): Promise<Page | undefined> {
    this.end()
    if (this.#at >= this.#end) return undefined
    const head = new Cursor(this.#head ?? (await this.#file.read(this.#at, this.#at + HEAD_BYTES)))
    const [rows, levelBytes, valueBytes] = [head.uint32(), head.uint32(), head.uint32()]
    const size = levelBytes + valueBytes
    this.#memory.take(size, (most) => tooLarge(most, this.#field, size))
    this.#held = size
    const start = this.#at + HEAD_BYTES
    this.#at = start + size
    const bytes = await this.#file.read(start, Math.min(this.#at + HEAD_BYTES, this.#end))
    this.#head = bytes.slice(size)
    const levels =
      levelBytes === 0 ? undefined : new RunReader(new Cursor(bytes.subarray(0, levelBytes), 0), LEVEL_BITS)
    const cursor = new Cursor(bytes.subarray(0, size), levelBytes)
    if (this.#kind === 'indexed')
      return { rows, levels, values: { kind: 'indexed', indexes: new RunReader(cursor, INDEX_BITS) } }
    return { rows, levels, values: { kind: 'plain', reader: plainReader(cursor, this.#field) } }
  }

  /** Nothing is read any more. */
  end(): void {
    this.#memory.give(this.#held)
    this.#held = 0
  }
}

const SMALLER_PAGES =
  'write smaller row groups or pages (row_group_size=10_000 in pyarrow and Polars, ROW_GROUP_SIZE 10_000 in DuckDB)'

export function tooLarge(most: number, { name }: Field, size: number): ParquetError {
  return new ParquetError(
    `The dictionaries and values of all columns that are read together have more than ${most} bytes (${size} of ${JSON.stringify(name)}): ${SMALLER_PAGES}`,
  )
}

export function countOnes(levels: Uint32Array): number {
  let count = 0
  for (const level of levels) count += level
  return count
}

function indexed(indexes: Uint32Array): Decoded {
  return { bytesAt: undefined, valueAt: (index) => indexes[index] ?? 0 }
}

/** What the plain form of each value has. */
function sizes(kind: Kind, { bytesAt }: Decoded, field: Field): (index: number) => number {
  if (kind === 'indexed') return () => INDEX_BITS / 8
  if (field.physical !== 'BYTE_ARRAY' || bytesAt === undefined) {
    const width = valueWidth(field)
    return () => width
  }
  return (index) => {
    const size = bytesAt(index)
    // A value can begin like the one before it, and have more than the page.
    if (size > MAX_RESULT_ROW_BYTES)
      throw new ParquetError(
        `A value of ${JSON.stringify(field.name)} has ${size} bytes, at most ${MAX_RESULT_ROW_BYTES} are read`,
      )
    return LENGTH_BYTES + size
  }
}

/** Bit-packed values (parquet-format, Encodings, RLE), the padding of which is left out. */
function writeRunHead(out: Buffer, start: number, count: number): number {
  let at = start
  let head = 2 * Math.ceil(count / 8) + 1
  for (; head >= 0x80; head >>>= 7) out[at++] = (head & 0x7f) | 0x80
  out[at++] = head
  return at
}

/** Returns where the value ends. */
function writePlain(out: Buffer, at: number, value: Stored, { physical }: Field): number {
  if (value instanceof Uint8Array) {
    const start = physical === 'BYTE_ARRAY' ? out.writeUInt32LE(value.length, at) : at
    out.set(value, start)
    return start + value.length
  }
  if (typeof value === 'bigint') {
    const end = out.writeBigInt64LE(BigInt.asIntN(64, value), at)
    return physical === 'INT96' ? out.writeInt32LE(Number(BigInt.asIntN(32, value >> 64n)), end) : end
  }
  if (physical === 'INT32') return out.writeInt32LE(Number(value), at)
  return physical === 'FLOAT' ? out.writeFloatLE(Number(value), at) : out.writeDoubleLE(Number(value), at)
}
