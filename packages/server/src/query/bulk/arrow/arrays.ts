/** The arrays of an Arrow record batch (Arrow columnar format, physical memory layout). Every length is checked: the bytes come from a client. */
import { badBody } from '../../columns/row-error.ts'
import type { ArrowField, ArrowType } from './fields.ts'
import type { FlatTable } from './flatbuffer-reader.ts'

export interface ArrowArray {
  readonly type: ArrowType
  readonly length: number
  /** A bit for each value, 1 where there is one; undefined if all values are there. */
  readonly validity: Buffer | undefined
  /** Offsets of texts and bytes, as numbers; empty for other types. */
  readonly offsets: Int32Array | BigInt64Array
  readonly data: Buffer
}

interface BatchParts {
  readonly rows: number
  readonly arrays: readonly ArrowArray[]
}

/** `header` is a RecordBatch of Message.fbs. */
export function readBatch(header: FlatTable, body: Buffer, fields: readonly Pick<ArrowField, 'type'>[]): BatchParts {
  if (header.table(3) !== undefined)
    throw badBody(
      'The record batches are compressed: write them without compression (in pyarrow that is the default, but for write_feather, which needs compression="uncompressed")',
    )
  const rows = header.long(0)
  const nodes = header.pairs(1)
  const places = header.pairs(2)
  if (nodes.length !== fields.length) throw damaged()
  let next = 0
  const take = (): Buffer => {
    const place = places[next++]
    if (place === undefined || place[0] + place[1] > body.length) throw damaged()
    return body.subarray(place[0], place[0] + place[1])
  }
  const arrays = fields.map(({ type }, index) => {
    const [length, nulls] = nodes[index] ?? [0, 0]
    if (length !== rows) throw damaged()
    return readArray(type, length, nulls, take)
  })
  return { rows, arrays }
}

const NO_OFFSETS = new Int32Array(0)

function readArray(type: ArrowType, length: number, nulls: number, take: () => Buffer): ArrowArray {
  if (type.kind === 'null') return { type, length, validity: undefined, offsets: NO_OFFSETS, data: Buffer.alloc(0) }
  const bits = take()
  const validity = nulls === 0 || bits.length === 0 ? undefined : needed(bits, Math.ceil(length / 8))
  if (type.kind !== 'utf8' && type.kind !== 'binary') {
    const data = needed(take(), type.kind === 'bool' ? Math.ceil(length / 8) : length * widthOf(type))
    return { type, length, validity, offsets: NO_OFFSETS, data }
  }
  const places = take()
  const data = take()
  // An empty array may have no offsets.
  const isEmpty = length === 0 && places.length === 0
  const offsets = isEmpty ? NO_OFFSETS : offsetsOf(needed(places, (length + 1) * type.width), type.width, length)
  checkOffsets(offsets, data.length)
  return { type, length, validity, offsets, data }
}

function offsetsOf(places: Buffer, width: 4 | 8, length: number): Int32Array | BigInt64Array {
  const { buffer, byteOffset } = aligned(places)
  return width === 4
    ? new Int32Array(buffer, byteOffset, length + 1)
    : new BigInt64Array(buffer, byteOffset, length + 1)
}

function checkOffsets(offsets: Int32Array | BigInt64Array, bytes: number): void {
  let last = 0
  for (const offset of offsets) {
    if (Number(offset) < last) throw damaged()
    last = Number(offset)
  }
  if (last > bytes) throw damaged()
}

/** The bytes of a value. */
export function widthOf(type: ArrowType): number {
  switch (type.kind) {
    case 'int':
    case 'float':
    case 'decimal':
    case 'time':
      return type.bits / 8
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

export function isValid({ validity }: ArrowArray, index: number): boolean {
  return validity === undefined || ((validity[index >> 3] ?? 0) & (1 << (index & 7))) !== 0
}

/** Typed arrays need an address that is a multiple of eight, which the format promises but a client may not keep. */
export function aligned(bytes: Buffer): Buffer {
  if (bytes.byteOffset % 8 === 0) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  copy.set(bytes)
  return copy
}

function needed(bytes: Buffer, length: number): Buffer {
  if (bytes.length < length) throw damaged()
  return bytes
}

function damaged(): Error {
  return badBody('The Arrow stream is damaged: a record batch does not have the bytes that it announces')
}
