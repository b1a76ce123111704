/**
 * Thrift's compact protocol, in which Parquet writes its footer and the headers of pages. Depth, counts and numbers are bounded by
 * what Parquet needs: the reader of `hyparquet` trusts the file, and a few bytes can make it compute for hours.
 */
import { damaged, ParquetError } from './error.ts'

export type ThriftValue = boolean | number | bigint | Uint8Array | readonly ThriftValue[] | ThriftStruct
/** Fields by their numbers. */
export type ThriftStruct = ReadonlyMap<number, ThriftValue>

const MAX_DEPTH = 12
const MAX_VARINT_BYTES = 10
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

  struct(depth = 0): ThriftStruct {
    if (depth > MAX_DEPTH) throw damaged('its metadata is nested too deeply')
    const fields = new Map<number, ThriftValue>()
    for (let id = 0; ; ) {
      const head = this.#byte()
      const kind = head & 0x0f
      if (kind === STOP) return fields
      id = head >> 4 === 0 ? Number(this.#zigzag()) : id + (head >> 4)
      fields.set(id, this.#value(kind, depth))
    }
  }

  #value(kind: number, depth: number): ThriftValue {
    if (--this.#budget < 0)
      throw new ParquetError('The metadata of the Parquet file has too many values: write larger row groups')
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
        return this.#list(depth)
      case STRUCT:
        return this.struct(depth + 1)
      default:
        throw damaged(`its metadata has a field of the unknown kind ${kind}`)
    }
  }

  #list(depth: number): readonly ThriftValue[] {
    const head = this.#byte()
    const kind = head & 0x0f
    const length = head >> 4 === 15 ? this.#length() : head >> 4
    // Every element has at least one byte.
    if (length > this.#bytes.length - this.at) throw truncated()
    const values: ThriftValue[] = []
    for (let index = 0; index < length; index++)
      values.push(kind === TRUE || kind === FALSE ? this.#byte() === TRUE : this.#value(kind, depth))
    return values
  }

  #length(): number {
    const length = this.#varint()
    if (length > BigInt(this.#bytes.length)) throw truncated()
    return Number(length)
  }

  #zigzag(): bigint {
    const value = this.#varint()
    return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n))
  }

  #varint(): bigint {
    let value = 0n
    for (let count = 0n; count < MAX_VARINT_BYTES; count++) {
      const byte = this.#byte()
      value |= BigInt(byte & 0x7f) << (7n * count)
      if (byte < 0x80) return value
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
