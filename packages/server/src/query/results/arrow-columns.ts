/**
 * Columns of an Arrow record batch, written as bytes (Arrow columnar format, physical memory layout). With the builders of
 * `apache-arrow` a result of a million rows takes 2.4 times the processor time (2.4 s, not 1.0 s). Buffers are reused from batch
 * to batch.
 */
import type { IqlType } from 'gatehouse-iql'
import type { Cell } from '../model/result.ts'
import type { WordLayout } from '../types/representation.ts'
import { representation } from '../types/types.ts'
import { grown, type PutWords, type Words, wordsIn } from '../types/words.ts'

export interface ArrowColumn {
  add(cell: Cell): void
  /** The values since the last call, valid until the next `add`. */
  take(): ColumnData
}

export interface ColumnData {
  readonly length: number
  readonly nulls: number
  /** Which values are valid (empty if all are), the offsets of texts, the values. */
  readonly buffers: readonly Uint8Array[]
}

export function arrowColumn(type: IqlType): ArrowColumn {
  const { layout } = representation(type).arrow
  if (layout === 'bits') return new BooleanColumn()
  return layout === 'bytes' ? new BytesColumn() : new WordColumn(layout)
}

const FIRST_ROWS = 1024
/** Longer texts are written faster by Node than here. */
const SHORT_TEXT = 40

/** Which values are not null, one bit each. The bits are those of the nulls, which are few, until they are taken. */
class Validity {
  length = 0
  nulls = 0
  #nullBits = new Uint8Array(FIRST_ROWS / 8)

  add(isValid: boolean): void {
    const index = this.length++
    if (!isValid) this.#addNull(index)
  }

  #addNull(index: number): void {
    while (index >> 3 >= this.#nullBits.length) this.#nullBits = grown(this.#nullBits)
    this.#nullBits[index >> 3] = (this.#nullBits[index >> 3] ?? 0) | (1 << (index & 7))
    this.nulls++
  }

  take(...buffers: readonly Uint8Array[]): ColumnData {
    const { length, nulls } = this
    const valid = nulls === 0 ? EMPTY : this.#validBits()
    if (nulls > 0) this.#nullBits.fill(0)
    this.length = 0
    this.nulls = 0
    return { length, nulls, buffers: [valid, ...buffers] }
  }

  #validBits(): Uint8Array {
    const bits = new Uint8Array((this.length + 7) >> 3)
    for (let index = 0; index < bits.length; index++) bits[index] = ~(this.#nullBits[index] ?? 0)
    const used = this.length & 7
    // What follows the last value is zero.
    if (used > 0) bits[bits.length - 1] = (bits[bits.length - 1] ?? 0) & ((1 << used) - 1)
    return bits
  }
}

const EMPTY = new Uint8Array(0)

/** Values of one, two or four 32-bit words. */
class WordColumn implements ArrowColumn {
  readonly #width: number
  readonly #put: PutWords
  readonly #validity = new Validity()
  #words: Words
  #at = 0

  constructor({ words, put }: WordLayout) {
    this.#width = words
    this.#put = put
    this.#words = wordsIn(new ArrayBuffer(FIRST_ROWS * words * 4))
  }

  add(cell: Cell): void {
    if (this.#at + this.#width > this.#words.int32.length)
      this.#words = wordsIn(grown(new Uint8Array(this.#words.int32.buffer)).buffer)
    const isValid = cell !== null && this.#put(this.#words, this.#at, cell)
    if (!isValid) this.#words.int32.fill(0, this.#at, this.#at + this.#width)
    this.#validity.add(isValid)
    this.#at += this.#width
  }

  take(): ColumnData {
    const values = new Uint8Array(this.#words.int32.buffer, 0, this.#at * 4)
    this.#at = 0
    return this.#validity.take(values)
  }
}

class BooleanColumn implements ArrowColumn {
  readonly #validity = new Validity()
  #bits = new Uint8Array(FIRST_ROWS / 8)

  add(cell: Cell): void {
    const index = this.#validity.length
    if (index >> 3 >= this.#bits.length) this.#bits = grown(this.#bits)
    if (cell === true) this.#bits[index >> 3] = (this.#bits[index >> 3] ?? 0) | (1 << (index & 7))
    this.#validity.add(cell !== null)
  }

  take(): ColumnData {
    // A copy, as the bits are cleared for the next batch.
    const bits = this.#bits.slice(0, (this.#validity.length + 7) >> 3)
    this.#bits.fill(0)
    return this.#validity.take(bits)
  }
}

/** Texts as UTF-8, and bytes. */
class BytesColumn implements ArrowColumn {
  readonly #validity = new Validity()
  #bytes = Buffer.alloc(16 * FIRST_ROWS)
  #offsets = new Int32Array(FIRST_ROWS + 1)
  #end = 0

  add(cell: Cell): void {
    if (typeof cell === 'string') this.#addText(cell)
    else if (cell instanceof Uint8Array) {
      this.#reserve(cell.length)
      this.#bytes.set(cell, this.#end)
      this.#end += cell.length
    } else if (cell !== null) this.#addText(String(cell))
    this.#validity.add(cell !== null)
    const { length } = this.#validity
    if (length >= this.#offsets.length) {
      const offsets = new Int32Array(this.#offsets.length * 2)
      offsets.set(this.#offsets)
      this.#offsets = offsets
    }
    this.#offsets[length] = this.#end
  }

  #addText(text: string): void {
    this.#reserve(text.length * 3)
    const bytes = this.#bytes
    let at = 0
    if (text.length <= SHORT_TEXT) {
      for (; at < text.length; at++) {
        const code = text.charCodeAt(at)
        if (code > 127) break
        bytes[this.#end + at] = code
      }
    }
    this.#end += at === text.length ? at : bytes.write(text, this.#end)
  }

  #reserve(more: number): void {
    while (this.#end + more > this.#bytes.length) this.#bytes = Buffer.from(grown(this.#bytes).buffer)
  }

  take(): ColumnData {
    const offsets = new Uint8Array(this.#offsets.buffer, 0, (this.#validity.length + 1) * 4)
    const bytes = this.#bytes.subarray(0, this.#end)
    this.#end = 0
    return this.#validity.take(offsets, bytes)
  }
}
