/**
 * Thrift's compact protocol, in which Parquet writes its footer and the headers of pages. Depth, counts and numbers are bounded by
 * what Parquet needs: the reader of `hyparquet` trusts the file, and a few bytes can make it compute for hours.
 */
import { damaged, ParquetError } from './error.ts'

export type ThriftValue = boolean | number | bigint | Uint8Array | readonly ThriftValue[] | ThriftStruct
/** Fields by their numbers. */
export type ThriftStruct = ReadonlyMap<number, ThriftValue>
/** The fields to keep, with those of structures in them; undefined keeps all. Others are read over. */
export interface Shape extends ReadonlyMap<number, Shape | undefined> {}

const MAX_DEPTH = 12
const MAX_VARINT_BYTES = 10
const SHORT_VARINT_BYTES = 7
/** What a structure that is kept counts, in values: it takes some hundred bytes. */
const STRUCT_COST = 8
/** The kinds of fields. */
const [STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12,
]

export class ThriftReader {
  readonly #bytes: Buffer
  /** Values that may still be read, so that a short text cannot become a large tree. */
  #budget: number
  at = 0

  constructor(bytes: Uint8Array, budget: number) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#budget = budget
  }

  /** With all fields, or those of the shape. */
  struct(shape?: Shape, depth = 0): ThriftStruct {
    this.#spend(STRUCT_COST)
    const fields = new Map<number, ThriftValue>()
    this.#eachField(depth, (id, kind) => {
      if (shape === undefined || shape.has(id)) fields.set(id, this.#value(kind, shape?.get(id), depth))
      else this.#skip(kind, depth)
    })
    return fields
  }

  #eachField(depth: number, read: (id: number, kind: number) => void): void {
    checkDepth(depth)
    for (let id = 0; ; ) {
      const head = this.#byte()
      const kind = head & 0x0f
      if (kind === STOP) return
      id = head >> 4 === 0 ? Number(this.#zigzag()) : id + (head >> 4)
      read(id, kind)
    }
  }

  #spend(cost: number): void {
    this.#budget -= cost
    if (this.#budget < 0)
      throw new ParquetError('The metadata of the Parquet file has too many values: write larger row groups')
  }

  #skip(kind: number, depth: number): void {
    this.#spend(1)
    if (kind === BINARY) this.#take(this.#length())
    else if (kind === STRUCT) this.#eachField(depth + 1, (_id, inner) => this.#skip(inner, depth + 1))
    else if (kind === LIST || kind === SET) {
      const { length, kind: inner } = this.#listHead(depth)
      if (inner === TRUE || inner === FALSE || inner === BYTE) this.#take(length)
      else for (let index = 0; index < length; index++) this.#skip(inner, depth + 1)
    } else this.#value(kind, undefined, depth)
  }

  #value(kind: number, shape: Shape | undefined, depth: number): ThriftValue {
    this.#spend(1)
    switch (kind) {
      case TRUE:
        return true
      case FALSE:
        return false
      case BYTE:
        return (this.#byte() << 24) >> 24
      case I16:
      case I32:
        return Number(this.#zigzag())
      case I64:
        return this.#zigzag()
      case DOUBLE:
        return this.#take(8).readDoubleLE()
      case BINARY:
        return this.#take(this.#length())
      case LIST:
      case SET:
        return this.#list(shape, depth)
      case STRUCT:
        return this.struct(shape, depth + 1)
      default:
        throw damaged(`its metadata has a field of the unknown kind ${kind}`)
    }
  }

  #list(shape: Shape | undefined, depth: number): readonly ThriftValue[] {
    const { length, kind } = this.#listHead(depth)
    const values: ThriftValue[] = []
    for (let index = 0; index < length; index++) {
      const isBit = kind === TRUE || kind === FALSE
      if (isBit) this.#spend(1)
      values.push(isBit ? this.#byte() === TRUE : this.#value(kind, shape, depth + 1))
    }
    return values
  }

  #listHead(depth: number): { readonly length: number; readonly kind: number } {
    checkDepth(depth)
    const head = this.#byte()
    const length = head >> 4 === 15 ? this.#length() : head >> 4
    // Every element has at least one byte.
    if (length > this.#bytes.length - this.at) throw truncated()
    return { length, kind: head & 0x0f }
  }

  #length(): number {
    const length = this.#varint()
    if (length > this.#bytes.length) throw truncated()
    return Number(length)
  }

  #zigzag(): number | bigint {
    const value = this.#varint()
    if (typeof value === 'number') return value % 2 === 0 ? value / 2 : -(value + 1) / 2
    return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n))
  }

  /** A number if it is short, which nearly all are: a bigint takes far longer. */
  #varint(): number | bigint {
    let value = 0
    for (let count = 0; count < SHORT_VARINT_BYTES; count++) {
      const byte = this.#byte()
      value += (byte & 0x7f) * 2 ** (7 * count)
      if (byte < 0x80) return value
    }
    let long = BigInt(value)
    for (let count = SHORT_VARINT_BYTES; count < MAX_VARINT_BYTES; count++) {
      const byte = this.#byte()
      long |= BigInt(byte & 0x7f) << BigInt(7 * count)
      if (byte < 0x80) return long
    }
    throw damaged('a number in its metadata has too many bytes')
  }

  #byte(): number {
    const byte = this.#bytes[this.at++]
    if (byte === undefined) throw truncated()
    return byte
  }

  #take(length: number): Buffer {
    const start = this.at
    this.at += length
    if (this.at > this.#bytes.length) throw truncated()
    return this.#bytes.subarray(start, this.at)
  }
}

function checkDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw damaged('its metadata is nested too deeply')
}

/** There are more bytes than were given. */
export class TruncatedError extends Error {}

function truncated(): TruncatedError {
  return new TruncatedError('metadata ends early')
}

export function structIn(parent: ThriftStruct | undefined, field: number): ThriftStruct | undefined {
  const value = parent?.get(field)
  return value instanceof Map ? value : undefined
}

export function structsIn(parent: ThriftStruct, field: number): readonly ThriftStruct[] {
  const value = parent.get(field)
  return Array.isArray(value) ? value.filter((each): each is ThriftStruct => each instanceof Map) : []
}

/** A count, an offset, a size or a code: an integer from zero that a double holds. */
export function countIn(parent: ThriftStruct | undefined, field: number): number | undefined {
  const value = parent?.get(field)
  if (typeof value !== 'number' && typeof value !== 'bigint') return undefined
  const number = Number(value)
  if (!Number.isSafeInteger(number) || number < 0) throw damaged(`it has the number ${value} where a count stands`)
  return number
}

export function textIn(parent: ThriftStruct, field: number): string | undefined {
  const value = parent.get(field)
  return value instanceof Uint8Array ? Buffer.from(value).toString() : undefined
}
