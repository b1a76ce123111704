/** Columns of a Parquet row group: the values since the last page, in the encoding PLAIN, or as indexes of a dictionary. */
import type { IqlType } from 'gatehouse-iql'
import type { Cell } from '../../model/result.ts'
import type { WordLayout } from '../../types/representation.ts'
import { representation } from '../../types/types.ts'
import { grown, type PutWords, type Words, wordsIn } from '../../types/words.ts'
import { ByteValues } from './byte-values.ts'
import type { PageValues, ParquetColumn } from './parquet-column.ts'
import { TextColumn } from './text-column.ts'

export function parquetColumn(type: IqlType): ParquetColumn {
  const { layout } = representation(type).parquet
  switch (layout) {
    case 'bits':
      return new BooleanColumn()
    case 'hex':
      return new HexColumn()
    case 'bytes':
      return new BinaryColumn()
    case 'texts':
      return new TextColumn()
    default:
      return layout.isBigEndian === true ? new BigEndianColumn(layout) : new WordColumn(layout)
  }
}

const FIRST_ROWS = 1024

/** Values of one, two or four 32-bit words. */
class WordColumn implements ParquetColumn {
  readonly isOnePage = false
  readonly #width: number
  readonly #put: PutWords
  #words: Words
  #at = 0

  constructor({ words, put }: WordLayout) {
    this.#width = words
    this.#put = put
    this.#words = wordsIn(new ArrayBuffer(FIRST_ROWS * words * 4))
  }

  get size(): number {
    return this.#at * 4
  }

  add(cell: Cell): boolean {
    if (cell === null) return false
    if (this.#at + this.#width > this.#words.int32.length)
      this.#words = wordsIn(grown(new Uint8Array(this.#words.int32.buffer)).buffer)
    if (!this.#put(this.#words, this.#at, cell)) return false
    this.#at += this.#width
    return true
  }

  take(): PageValues {
    const values = new Uint8Array(this.#words.int32.buffer, 0, this.#at * 4)
    this.#at = 0
    return { values, encoding: 'PLAIN' }
  }
}

/** 128 bits, big-endian. */
class BigEndianColumn extends WordColumn {
  override take(): PageValues {
    const page = super.take()
    const words = Buffer.from(page.values.buffer, 0, page.values.length).swap64()
    const halves = new BigInt64Array(words.buffer, 0, words.length / 8)
    for (let at = 0; at < halves.length; at += 2) {
      const low = halves[at] ?? 0n
      halves[at] = halves[at + 1] ?? 0n
      halves[at + 1] = low
    }
    return page
  }
}

class BooleanColumn implements ParquetColumn {
  readonly isOnePage = false
  #bits = new Uint8Array(FIRST_ROWS / 8)
  #length = 0

  get size(): number {
    return this.#length >> 3
  }

  add(cell: Cell): boolean {
    if (cell === null) return false
    const index = this.#length++
    if (index >> 3 >= this.#bits.length) this.#bits = grown(this.#bits)
    if (cell === true) this.#bits[index >> 3] = (this.#bits[index >> 3] ?? 0) | (1 << (index & 7))
    return true
  }

  take(): PageValues {
    // A copy, as the bits are cleared for the next page.
    const values = this.#bits.slice(0, (this.#length + 7) >> 3)
    this.#bits.fill(0)
    this.#length = 0
    return { values, encoding: 'PLAIN' }
  }
}

/** Uuids: 16 bytes each. */
class HexColumn implements ParquetColumn {
  readonly isOnePage = false
  readonly #bytes = new ByteValues()

  get size(): number {
    return this.#bytes.length
  }

  add(cell: Cell): boolean {
    if (cell === null) return false
    this.#bytes.addHex(String(cell).replaceAll('-', ''))
    return true
  }

  take(): PageValues {
    return { values: this.#bytes.take(), encoding: 'PLAIN' }
  }
}

class BinaryColumn implements ParquetColumn {
  readonly isOnePage = false
  readonly #bytes = new ByteValues()

  get size(): number {
    return this.#bytes.length
  }

  add(cell: Cell): boolean {
    if (!(cell instanceof Uint8Array)) return false
    this.#bytes.addBytes(cell)
    return true
  }

  take(): PageValues {
    return { values: this.#bytes.take(), encoding: 'PLAIN' }
  }
}
