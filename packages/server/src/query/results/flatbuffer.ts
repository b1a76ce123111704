/** Writes FlatBuffers (flatbuffers.dev, "Internals"): tables by their slots, each before what it refers to. */

export type FlatNode =
  | { readonly kind: 'table'; readonly slots: readonly Slot[] }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tables'; readonly tables: readonly FlatNode[] }
  /** Structs of 64-bit integers, one after the other. */
  | { readonly kind: 'structs'; readonly count: number; readonly integers: readonly number[] }

/** Undefined where the table has its default. */
export type Slot =
  | undefined
  | FlatNode
  | { readonly kind: 'integer'; readonly bytes: 1 | 2 | 4 | 8; readonly value: number }

export const table = (...slots: readonly Slot[]): FlatNode => ({ kind: 'table', slots })
export const integer = (bytes: 1 | 2 | 4 | 8, value: number): Slot => ({ kind: 'integer', bytes, value })

const ALIGNMENT = 8
const REFERENCE_BYTES = 4

/** The length is a multiple of eight. */
export function writeFlatBuffer(root: FlatNode): Buffer {
  const writer = new FlatBufferWriter()
  writer.refer(writer.reserve(REFERENCE_BYTES), root)
  writer.align(ALIGNMENT)
  return writer.bytes
}

class FlatBufferWriter {
  #bytes = Buffer.alloc(1024)
  #end = 0

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#end)
  }

  /** Returns the position of new bytes, which are zero. */
  reserve(length: number): number {
    const at = this.#end
    this.#end += length
    while (this.#end > this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length)])
    return at
  }

  /** Pads until the position after `before` further bytes is a multiple. */
  align(multiple: number, before = 0): void {
    this.reserve((multiple - ((this.#end + before) % multiple)) % multiple)
  }

  /** Writes the node, and at `from` how far away it is. */
  refer(from: number, node: FlatNode): void {
    const at = this.#write(node)
    this.#bytes.writeUInt32LE(at - from, from)
  }

  #write(node: FlatNode): number {
    switch (node.kind) {
      case 'table':
        return this.#writeTable(node.slots)
      case 'text':
        return this.#writeText(node.text)
      case 'tables': {
        const at = this.#writeCount(node.tables.length, REFERENCE_BYTES)
        const first = this.reserve(node.tables.length * REFERENCE_BYTES)
        for (const [index, item] of node.tables.entries()) this.refer(first + index * REFERENCE_BYTES, item)
        return at
      }
      case 'structs': {
        const at = this.#writeCount(node.count, ALIGNMENT)
        for (const value of node.integers) this.#setInteger(this.reserve(8), 8, value)
        return at
      }
    }
  }

  /** A table follows its vtable: the lengths of both, and where in the table each slot is. */
  #writeTable(slots: readonly Slot[]): number {
    this.align(2)
    const vtable = this.reserve(4 + 2 * slots.length)
    this.align(ALIGNMENT)
    const at = this.reserve(4)
    const references: { readonly from: number; readonly node: FlatNode }[] = []
    for (const [index, slot] of slots.entries()) {
      if (slot === undefined) continue
      const bytes = slot.kind === 'integer' ? slot.bytes : REFERENCE_BYTES
      this.align(bytes)
      const from = this.reserve(bytes)
      this.#bytes.writeUInt16LE(from - at, vtable + 4 + 2 * index)
      if (slot.kind === 'integer') this.#setInteger(from, bytes, slot.value)
      else references.push({ from, node: slot })
    }
    this.#bytes.writeInt32LE(at - vtable, at)
    this.#bytes.writeUInt16LE(4 + 2 * slots.length, vtable)
    this.#bytes.writeUInt16LE(this.#end - at, vtable + 2)
    for (const { from, node } of references) this.refer(from, node)
    return at
  }

  /** Ends with NUL, which the length does not count. */
  #writeText(text: string): number {
    const length = Buffer.byteLength(text)
    const at = this.#writeCount(length, 1)
    const first = this.reserve(length + 1)
    this.#bytes.write(text, first)
    return at
  }

  /** The number of items of a vector, so that its first item is aligned. */
  #writeCount(count: number, alignment: number): number {
    this.align(Math.max(4, alignment), 4)
    const at = this.reserve(4)
    this.#bytes.writeUInt32LE(count, at)
    return at
  }

  #setInteger(at: number, bytes: 1 | 2 | 4 | 8, value: number): void {
    if (bytes === 8) this.#bytes.writeBigInt64LE(BigInt(value), at)
    else this.#bytes.writeIntLE(value, at, bytes)
  }
}
