/**
 * Texts of a Parquet column. In market data few texts are different, such as symbols: they are written once for each row group, in a
 * dictionary, and each value is its index there. A column of many different texts is written as it is.
 */
import { ByteWriter } from 'hyparquet-writer/src/bytewriter.js'
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js'
import type { Cell } from '../../model/result.ts'
import { ByteValues } from './byte-values.ts'
import type { PageValues, ParquetColumn } from './parquet-column.ts'

/** Beyond these a dictionary is given up. */
const MAX_ENTRIES = 20_000
const MAX_ENTRY_LENGTH = 1024
const MAX_LENGTH = 1024 * 1024
/** A dictionary is worth its while if most values repeat an earlier one. Not judged before there are this many values. */
const JUDGED_ROWS = 2000
const INDEX_BYTES = 4

export class TextColumn implements ParquetColumn {
  readonly #plain = new ByteValues()
  #dictionary: Dictionary | undefined = new Dictionary()

  get size(): number {
    return this.#dictionary?.size ?? this.#plain.length
  }

  get isOnePage(): boolean {
    return this.#dictionary !== undefined
  }

  add(cell: Cell): boolean {
    if (cell === null) return false
    const text = String(cell)
    if (this.#dictionary === undefined) this.#plain.addText(text)
    else if (!this.#dictionary.add(text)) this.#giveUpDictionary(text)
    return true
  }

  #giveUpDictionary(next: string): void {
    for (const text of this.#dictionary?.values() ?? []) this.#plain.addText(text)
    this.#plain.addText(next)
    this.#dictionary = undefined
  }

  take(): PageValues {
    return this.#dictionary?.take() ?? { values: this.#plain.take(), encoding: 'PLAIN' }
  }
}

class Dictionary {
  readonly #indexes = new Map<string, number>()
  #values = new Int32Array(1024)
  #count = 0
  #length = 0

  get size(): number {
    return this.#count * INDEX_BYTES + this.#length
  }

  /** False if it is not worth its while. */
  add(text: string): boolean {
    let index = this.#indexes.get(text)
    if (index === undefined) {
      index = this.#indexes.size
      const isFull = index >= MAX_ENTRIES || text.length > MAX_ENTRY_LENGTH || this.#length > MAX_LENGTH
      if (isFull || (this.#count >= JUDGED_ROWS && index * 2 > this.#count)) return false
      this.#indexes.set(text, index)
      this.#length += text.length + INDEX_BYTES
    }
    if (this.#count === this.#values.length) {
      const values = new Int32Array(2 * this.#count)
      values.set(this.#values)
      this.#values = values
    }
    this.#values[this.#count++] = index
    return true
  }

  *values(): Generator<string> {
    const texts = [...this.#indexes.keys()]
    for (const index of this.#values.subarray(0, this.#count)) yield texts[index] ?? ''
  }

  take(): PageValues {
    const entries = new ByteValues()
    for (const text of this.#indexes.keys()) entries.addText(text)
    const count = this.#indexes.size
    // The width of an index in bits: 0 if all are the same.
    const width = count <= 1 ? 0 : 32 - Math.clz32(count - 1)
    const writer = new ByteWriter(this.#count)
    writer.appendUint8(width)
    writeRleBitPackedHybrid(writer, this.#values.subarray(0, this.#count), width)
    this.#indexes.clear()
    this.#count = 0
    this.#length = 0
    return { values: writer.getBytes(), encoding: 'RLE_DICTIONARY', dictionary: { count, values: entries.take() } }
  }
}
