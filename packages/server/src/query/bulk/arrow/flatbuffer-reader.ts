/** Reads FlatBuffers (flatbuffers.dev, "Internals"). Every offset is checked: the bytes come from a client. */
import { badBody } from '../../batches/row-error.ts'

export class FlatTable {
  readonly #bytes: Buffer
  readonly #at: number
  readonly #vtable: number
  readonly #slots: number

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes
    this.#at = at
    this.#vtable = at - bytes.readInt32LE(inside(bytes, at, 4))
    const length = bytes.readUInt16LE(inside(bytes, this.#vtable, 4))
    inside(bytes, this.#vtable, length)
    this.#slots = Math.max(0, (length - 4) >> 1)
  }

  static root(bytes: Buffer): FlatTable {
    return new FlatTable(bytes, bytes.readUInt32LE(inside(bytes, 0, 4)))
  }

  /** Where the slot is; undefined where the table has its default. */
  #slot(index: number, length: number): number | undefined {
    if (index >= this.#slots) return undefined
    const offset = this.#bytes.readUInt16LE(this.#vtable + 4 + 2 * index)
    return offset === 0 ? undefined : inside(this.#bytes, this.#at + offset, length)
  }

  byte(index: number, otherwise = 0): number {
    const at = this.#slot(index, 1)
    return at === undefined ? otherwise : this.#bytes.readInt8(at)
  }

  short(index: number, otherwise = 0): number {
    const at = this.#slot(index, 2)
    return at === undefined ? otherwise : this.#bytes.readInt16LE(at)
  }

  int(index: number, otherwise = 0): number {
    const at = this.#slot(index, 4)
    return at === undefined ? otherwise : this.#bytes.readInt32LE(at)
  }

  /** 64 bits, of which a length needs no more than 53. */
  long(index: number): number {
    const at = this.#slot(index, 8)
    return at === undefined ? 0 : longAt(this.#bytes, at)
  }

  table(index: number): FlatTable | undefined {
    const at = this.#reference(index)
    return at === undefined ? undefined : new FlatTable(this.#bytes, at)
  }

  text(index: number, maxBytes: number): string | undefined {
    const at = this.#reference(index)
    if (at === undefined) return undefined
    const length = this.#bytes.readUInt32LE(inside(this.#bytes, at, 4))
    if (length > maxBytes) throw badBody(`The Arrow stream has a name of more than ${maxBytes} bytes`)
    return this.#bytes.toString('utf8', inside(this.#bytes, at + 4, length), at + 4 + length)
  }

  tables(index: number, most: number): FlatTable[] {
    const at = this.#reference(index)
    if (at === undefined) return []
    const count = this.#count(at, 4)
    if (count > most) throw badBody(`The Arrow stream has ${count} columns, and may have ${most}`)
    return Array.from({ length: count }, (_item, item) => {
      const from = at + 4 + 4 * item
      return new FlatTable(this.#bytes, from + this.#bytes.readUInt32LE(from))
    })
  }

  /** Structs of two 64-bit integers, one integer after the other. */
  pairs(index: number): Float64Array {
    return this.#integers(index, 2)
  }

  longs(index: number): Float64Array {
    return this.#integers(index, 1)
  }

  #integers(index: number, each: number): Float64Array {
    const at = this.#reference(index)
    const count = at === undefined ? 0 : this.#count(at, 8 * each)
    return Float64Array.from({ length: count * each }, (_item, item) => longAt(this.#bytes, (at ?? 0) + 4 + 8 * item))
  }

  /** The places of messages (Block of File.fbs: a place, a length of 32 bits, another of 64). */
  blocks(index: number): number[] {
    const at = this.#reference(index)
    if (at === undefined) return []
    return Array.from({ length: this.#count(at, BLOCK_BYTES) }, (_item, item) =>
      longAt(this.#bytes, at + 4 + BLOCK_BYTES * item),
    )
  }

  #count(at: number, width: number): number {
    const count = this.#bytes.readUInt32LE(inside(this.#bytes, at, 4))
    inside(this.#bytes, at + 4, count * width)
    return count
  }

  #reference(index: number): number | undefined {
    const at = this.#slot(index, 4)
    return at === undefined ? undefined : at + this.#bytes.readUInt32LE(at)
  }
}

const BLOCK_BYTES = 24

function longAt(bytes: Buffer, at: number): number {
  const value = Number(bytes.readBigInt64LE(at))
  if (!Number.isSafeInteger(value) || value < 0) throw damaged()
  return value
}

function inside(bytes: Buffer, at: number, length: number): number {
  if (at < 0 || at + length > bytes.length) throw damaged()
  return at
}

function damaged(): Error {
  return badBody('The Arrow stream is damaged: its metadata point outside themselves')
}
