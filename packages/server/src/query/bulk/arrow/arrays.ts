/**
 * The arrays of an Arrow record batch (Arrow columnar format, physical memory layout), read from the body in slices: first what says how
 * long the values are, then these. Every length is checked: the bytes come from a client.
 */
import { badBody } from '../../batches/row-error.ts'
import type { ArrowType } from '../../types/arrow-type.ts'
import type { KeptBody } from '../reader.ts'
import type { Sizes } from '../row-sizes.ts'
import type { ArrowField } from './fields.ts'
import type { FlatTable } from './flatbuffer-reader.ts'
import type { ArrowMessage } from './messages.ts'

/** Some values of a column. */
export interface ArrowArray {
  readonly type: ArrowType
  readonly length: number
  /** A bit for each value, 1 where there is one; undefined if all values are there. */
  readonly validity: Buffer | undefined
  /** The bit of the first value, in `validity` and in the data of booleans. */
  readonly bit: number
  /** Where texts and bytes begin and end in the data; empty for other types. */
  readonly offsets: Int32Array
  readonly data: Buffer
}

/** A region of the body. */
interface Place {
  readonly start: number
  readonly length: number
}

export interface BatchColumns {
  readonly rows: number
  readonly columns: readonly BatchColumn[]
}

const MAX_ROWS = 2 ** 31 - 1

/** `header` is a RecordBatch of Message.fbs. */
export function requireUncompressed(header: FlatTable): void {
  if (header.table(3) !== undefined)
    throw badBody(
      'The record batches are compressed: write them without compression (in pyarrow and Polars that is the default, but for write_feather of pyarrow, which needs compression="uncompressed")',
    )
}

/** `header` is a RecordBatch of Message.fbs. */
export function readBatch(
  body: KeptBody,
  message: Pick<ArrowMessage, 'start' | 'length'>,
  header: FlatTable,
  fields: readonly Pick<ArrowField, 'type'>[],
): BatchColumns {
  requireUncompressed(header)
  const rows = header.long(0)
  const nodes = header.pairs(1)
  const places = header.pairs(2)
  if (rows > MAX_ROWS || nodes.length !== 2 * fields.length) throw damaged()
  const variadic = header.longs(4)
  let next = 0
  let nextCount = 0
  const take = (): Place => {
    const [offset, length] = [places[2 * next], places[2 * next + 1]]
    next++
    if (offset === undefined || length === undefined || offset + length > message.length) throw damaged()
    return { start: message.start + offset, length }
  }
  const columns = fields.map(({ type }, index) => {
    const [length, nulls] = [nodes[2 * index], nodes[2 * index + 1]]
    if (length !== rows) throw damaged()
    if (type.kind === 'null') return new NullColumn(type)
    const bits = take()
    const validity = nulls === 0 || bits.length === 0 ? undefined : needed(bits, Math.ceil(length / 8))
    const common = { body, type, validity }
    if (type.kind !== 'utf8' && type.kind !== 'binary')
      return new FixedColumn(common, needed(take(), Math.ceil(length * valueWidth(type))))
    if (type.width === 'view') {
      const views = needed(take(), length * VIEW_BYTES)
      return new ViewColumn(common, views, Array.from({ length: variadic[nextCount++] ?? 0 }, take))
    }
    const offsets = take()
    // An empty array may have no offsets.
    if (length > 0) needed(offsets, (length + 1) * type.width)
    return new OffsetColumn(common, offsets, type.width, take())
  })
  return { rows, columns }
}

export interface BatchColumn {
  readonly type: ArrowType
  /** Reads the rows, as far as that is needed to know how long their values are. */
  load(from: number, to: number): Promise<void>
  measure(sizes: Sizes): void
  /** The values of rows that were loaded, by their numbers among these. */
  take(from: number, to: number): Promise<ArrowArray>
}

const NO_OFFSETS = new Int32Array(0)
const NO_BYTES = Buffer.alloc(0)
const VIEW_BYTES = 16

class NullColumn implements BatchColumn {
  readonly type: ArrowType

  constructor(type: ArrowType) {
    this.type = type
  }

  async load(): Promise<void> {}

  measure(sizes: Sizes): void {
    sizes.addToEach(1)
  }

  async take(from: number, to: number): Promise<ArrowArray> {
    const { type } = this
    return { type, length: to - from, validity: undefined, bit: 0, offsets: NO_OFFSETS, data: NO_BYTES }
  }
}

interface CommonParts {
  readonly body: KeptBody
  readonly type: ArrowType
  readonly validity: Place | undefined
}

abstract class StoredColumn implements BatchColumn {
  readonly type: ArrowType
  protected readonly body: KeptBody
  readonly #place: Place | undefined
  protected validity: Buffer | undefined
  /** The bit of the first loaded row. */
  protected bit = 0
  protected count = 0

  constructor({ body, type, validity }: CommonParts) {
    this.body = body
    this.type = type
    this.#place = validity
  }

  async load(from: number, to: number): Promise<void> {
    this.bit = from % 8
    this.count = to - from
    if (this.#place !== undefined)
      this.validity = await readPlace(this.body, this.#place, Math.floor(from / 8), Math.ceil(to / 8))
    await this.loadValues(from, to)
  }

  protected abstract loadValues(from: number, to: number): Promise<void>
  abstract measure(sizes: Sizes): void
  abstract take(from: number, to: number): Promise<ArrowArray>

  protected array(from: number, to: number, offsets: Int32Array, data: Buffer): ArrowArray {
    return { type: this.type, length: to - from, validity: this.validity, bit: this.bit + from, offsets, data }
  }

  protected isNull(row: number): boolean {
    return this.validity !== undefined && !bitAt(this.validity, this.bit + row)
  }
}

class FixedColumn extends StoredColumn {
  readonly #place: Place
  /** Of the loaded rows; not of values of a fixed length. */
  #data: Buffer = NO_BYTES
  #from = 0

  constructor(common: CommonParts, place: Place) {
    super(common)
    this.#place = place
  }

  protected async loadValues(from: number, to: number): Promise<void> {
    this.#from = from
    if (this.type.kind === 'fixed') return
    const width = valueWidth(this.type)
    this.#data = await readPlace(this.body, this.#place, Math.floor(from * width), Math.ceil(to * width))
  }

  measure(sizes: Sizes): void {
    sizes.addToEach(Math.max(WORD_BYTES, valueWidth(this.type)))
  }

  async take(from: number, to: number): Promise<ArrowArray> {
    const width = valueWidth(this.type)
    // These may have any length.
    if (this.type.kind === 'fixed') {
      const start = this.#from * width
      const bytes = await readPlace(this.body, this.#place, start + from * width, start + to * width)
      return this.array(from, to, NO_OFFSETS, bytes)
    }
    // The bits of booleans are counted from the first loaded one.
    const data = width < 1 ? this.#data : this.#data.subarray(from * width, to * width)
    return this.array(from, to, NO_OFFSETS, data)
  }
}

const WORD_BYTES = 8

class OffsetColumn extends StoredColumn {
  readonly #offsetPlace: Place
  readonly #width: 4 | 8
  readonly #dataPlace: Place
  #offsets = new Float64Array(0)

  constructor(common: CommonParts, offsets: Place, width: 4 | 8, data: Place) {
    super(common)
    this.#offsetPlace = offsets
    this.#width = width
    this.#dataPlace = data
  }

  protected async loadValues(from: number, to: number): Promise<void> {
    const width = this.#width
    const bytes = await readPlace(this.body, this.#offsetPlace, from * width, (to + 1) * width)
    const offsets = new Float64Array(to - from + 1)
    let last = 0
    for (let index = 0; index < offsets.length; index++) {
      const offset = width === 4 ? bytes.readInt32LE(4 * index) : Number(bytes.readBigInt64LE(8 * index))
      if (offset < last || offset > this.#dataPlace.length) throw damaged()
      offsets[index] = offset
      last = offset
    }
    this.#offsets = offsets
  }

  measure(sizes: Sizes): void {
    sizes.addToEach(1)
    for (let row = 0; row < this.count; row++) sizes.add(row, (this.#offsets[row + 1] ?? 0) - (this.#offsets[row] ?? 0))
  }

  async take(from: number, to: number): Promise<ArrowArray> {
    const start = this.#offsets[from] ?? 0
    const data = await readPlace(this.body, this.#dataPlace, start, this.#offsets[to] ?? 0)
    const offsets = new Int32Array(to - from + 1)
    for (let index = 0; index < offsets.length; index++) offsets[index] = (this.#offsets[from + index] ?? 0) - start
    return this.array(from, to, offsets, data)
  }
}

const INLINE_BYTES = 12
/** Values that are near each other are read together, unless the bytes between them are more than this many times theirs. */
const SPREAD = 4
const MIN_SPREAD_BYTES = 64 * 1024

/** "Variable-size Binary View Layout": a view has the length and the value, or where the value is in one of several buffers. */
class ViewColumn extends StoredColumn {
  readonly #viewPlace: Place
  readonly #buffers: readonly Place[]
  #views: Buffer = NO_BYTES

  constructor(common: CommonParts, views: Place, buffers: readonly Place[]) {
    super(common)
    this.#viewPlace = views
    this.#buffers = buffers
  }

  protected async loadValues(from: number, to: number): Promise<void> {
    this.#views = await readPlace(this.body, this.#viewPlace, from * VIEW_BYTES, to * VIEW_BYTES)
    for (let row = 0; row < to - from; row++) this.#check(row)
  }

  /** Views of NULLs may have any bytes. */
  #check(row: number): void {
    const length = this.#lengthAt(row)
    if (length < 0) throw damaged()
    if (length <= INLINE_BYTES) return
    const buffer = this.#buffers[this.#views.readInt32LE(row * VIEW_BYTES + 8)]
    const offset = this.#views.readInt32LE(row * VIEW_BYTES + 12)
    if (buffer === undefined || offset < 0 || offset + length > buffer.length) throw damaged()
  }

  #lengthAt(row: number): number {
    return this.isNull(row) ? 0 : this.#views.readInt32LE(row * VIEW_BYTES)
  }

  measure(sizes: Sizes): void {
    sizes.addToEach(1)
    for (let row = 0; row < this.count; row++) sizes.add(row, this.#lengthAt(row))
  }

  async take(from: number, to: number): Promise<ArrowArray> {
    const offsets = new Int32Array(to - from + 1)
    for (let row = from; row < to; row++) offsets[row - from + 1] = (offsets[row - from] ?? 0) + this.#lengthAt(row)
    const data = Buffer.allocUnsafeSlow(offsets[to - from] ?? 0)
    const near = await this.#readNear(from, to)
    for (let row = from; row < to; row++) {
      const at = offsets[row - from] ?? 0
      const length = this.#lengthAt(row)
      const view = row * VIEW_BYTES
      if (length <= INLINE_BYTES) data.set(this.#views.subarray(view + 4, view + 4 + length), at)
      else {
        const [index, start] = [this.#views.readInt32LE(view + 8), this.#views.readInt32LE(view + 12)]
        const read = near.get(index)
        const part = read?.bytes.subarray(start - read.start, start - read.start + length)
        data.set(part ?? (await this.#readAt(index, start, start + length)), at)
      }
    }
    return this.array(from, to, offsets, data)
  }

  /** The parts of the buffers that the views refer to, by the numbers of the buffers; not those of which little is needed. */
  async #readNear(from: number, to: number): Promise<ReadonlyMap<number, { start: number; bytes: Buffer }>> {
    const ranges = new Map<number, { start: number; end: number; needed: number }>()
    for (let row = from; row < to; row++) {
      const length = this.#lengthAt(row)
      if (length <= INLINE_BYTES) continue
      const [index, start] = [
        this.#views.readInt32LE(row * VIEW_BYTES + 8),
        this.#views.readInt32LE(row * VIEW_BYTES + 12),
      ]
      const range = ranges.get(index) ?? { start, end: start, needed: 0 }
      range.start = Math.min(range.start, start)
      range.end = Math.max(range.end, start + length)
      range.needed += length
      ranges.set(index, range)
    }
    const read = new Map<number, { start: number; bytes: Buffer }>()
    for (const [index, { start, end, needed: bytes }] of ranges)
      if (end - start <= Math.max(SPREAD * bytes, MIN_SPREAD_BYTES))
        read.set(index, { start, bytes: await this.#readAt(index, start, end) })
    return read
  }

  #readAt(index: number, start: number, end: number): Promise<Buffer> {
    const buffer = this.#buffers[index]
    if (buffer === undefined) throw damaged()
    return readPlace(this.body, buffer, start, end)
  }
}

/** The bytes of a value; of a boolean, less than one. */
export function valueWidth(type: ArrowType): number {
  switch (type.kind) {
    case 'int':
    case 'float':
    case 'decimal':
    case 'time':
      return type.bits / 8
    case 'bool':
      return 1 / 8
    case 'fixed':
      return type.length
    case 'date':
      return type.unit === 'day' ? 4 : 8
    case 'timestamp':
      return 8
    default:
      return 0
  }
}

export function isValid({ validity, bit }: ArrowArray, index: number): boolean {
  return validity === undefined || bitAt(validity, bit + index)
}

export function bitAt(bits: Buffer, index: number): boolean {
  return ((bits[index >> 3] ?? 0) & (1 << (index & 7))) !== 0
}

/** Typed arrays need an address that is a multiple of eight, which the format promises but a client may not keep. */
export function aligned(bytes: Buffer): Buffer {
  if (bytes.byteOffset % 8 === 0) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  copy.set(bytes)
  return copy
}

async function readPlace(body: KeptBody, { start, length }: Place, from: number, to: number): Promise<Buffer> {
  if (to > length) throw damaged()
  const bytes = await body.read(start + from, start + to)
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function needed(place: Place, length: number): Place {
  if (place.length < length) throw damaged()
  return place
}

function damaged(): Error {
  return badBody('The Arrow stream is damaged: a record batch does not have the bytes that it announces')
}
