/** The columns of a segment as a statement needs them: decoded once, for the rows that count. */
import { type Chosen, countBefore, decodeCodes, decodeDistances, decodeDoubles } from './decode.ts'
import type { DoubleColumn, NumberColumn, Segment, StoredColumn, TextColumn } from './segment.ts'

/** Distances from the least value in units, or Doubles as they are; NaN is NULL. */
export interface DecodedNumbers {
  readonly kind: 'numbers'
  readonly column: NumberColumn | DoubleColumn
  readonly values: Float64Array
}

/** The code after the last text is NULL. */
export interface DecodedTexts {
  readonly kind: 'texts'
  readonly column: TextColumn
  readonly codes: Int32Array
  readonly texts: readonly string[]
}

export type Decoded = DecodedNumbers | DecodedTexts

/** More are not kept for the next statement: each takes up to a megabyte. */
const MAX_KEPT_BUFFERS = 4

/** Memory of a segment's columns, used again for the next segment. */
export class Buffers {
  readonly #floats: Float64Array[] = []
  readonly #integers: Int32Array[] = []

  /** Before the next statement. */
  trim(): void {
    for (const buffers of [this.#floats, this.#integers]) buffers.length = Math.min(buffers.length, MAX_KEPT_BUFFERS)
  }

  floats(at: number, length: number): Float64Array {
    const known = this.#floats[at]
    if (known !== undefined && known.length >= length) return known
    const created = new Float64Array(length)
    this.#floats[at] = created
    return created
  }

  integers(at: number, length: number): Int32Array {
    const known = this.#integers[at]
    if (known !== undefined && known.length >= length) return known
    const created = new Int32Array(length)
    this.#integers[at] = created
    return created
  }
}

interface RowRange {
  readonly first: number
  readonly end: number
}

/** The columns of another table that rows are joined with. */
export interface JoinedColumns {
  has(index: number): boolean
  stored(index: number): StoredColumn | undefined
  decode(index: number, matches: Int32Array, buffers: Buffers): Decoded
}

export class SegmentColumns {
  /** All rows of the segment. */
  readonly rows: number
  readonly #segment: Segment
  readonly #stored: readonly (StoredColumn | undefined)[]
  readonly #buffers: Buffers
  readonly #blocks = new Map<number, Buffer>()
  readonly #texts = new Map<number, readonly string[]>()
  /** The columns of the other side of a join, and the row there of each row that counts. */
  readonly #joined: JoinedColumns | undefined
  #matches: Int32Array = new Int32Array(0)
  #decoded = new Map<number, Decoded>()
  #range: RowRange
  /** Of the range. */
  #chosen: Chosen | undefined

  constructor(segment: Segment, names: readonly string[], buffers: Buffers, joined?: JoinedColumns) {
    this.#joined = joined
    this.rows = segment.header.rows
    this.#range = { first: 0, end: this.rows }
    this.#segment = segment
    this.#stored = names.map((name) => segment.find(name))
    this.#buffers = buffers
  }

  /** The rows that count. */
  get count(): number {
    return this.#chosen?.count ?? this.#range.end - this.#range.first
  }

  get countsAll(): boolean {
    return this.count === this.rows
  }

  get chosen(): Chosen | undefined {
    return this.#chosen
  }

  /** From now on only rows of a sorted column without NULLs count whose distances are in this range, both ends included. */
  narrow(index: number, [from, to]: readonly [from: number, to: number]): void {
    const column = this.#stored[index]
    if (column?.kind !== 'numbers') throw new Error('A range of other values')
    const block = this.#block(index, column)
    const first = countBefore(column, block, from, false)
    const end = countBefore(column, block, to, true)
    this.#range = { first: Math.max(first, this.#range.first), end: Math.min(end, this.#range.end) }
    this.#decoded = new Map()
  }

  /** From now on only these rows count, of those that did. */
  choose(chosen: Chosen): void {
    this.#chosen = chosen
    this.#decoded = new Map()
  }

  /** Each row that counts is joined with one of these; -1 for none. */
  join(matches: Int32Array): void {
    this.#matches = matches
  }

  /** Whether a column is of the other side of a join. */
  isJoined(index: number): boolean {
    return this.#joined?.has(index) === true
  }

  /** What the header says of the column; undefined if it is not stored. */
  stored(index: number): StoredColumn | undefined {
    return this.isJoined(index) ? this.#joined?.stored(index) : this.#stored[index]
  }

  decode(index: number): Decoded {
    const known = this.#decoded.get(index)
    if (known !== undefined) return known
    const column = this.#stored[index]
    const isJoined = this.isJoined(index)
    if (column === undefined && !isJoined) throw new Error('A column that is not in the segment')
    const decoded = isJoined
      ? (this.#joined as JoinedColumns).decode(index, this.#matches, this.#buffers)
      : this.#decode(index, column as StoredColumn)
    this.#decoded.set(index, decoded)
    return decoded
  }

  #decode(index: number, column: StoredColumn): Decoded {
    const { width } = column.kind === 'doubles' ? { width: 8 } : column
    const block = this.#block(index, column).subarray(this.#range.first * width, this.#range.end * width)
    if (column.kind === 'texts') {
      const codes = this.#buffers.integers(index, this.rows)
      decodeCodes(column, block, this.#chosen, codes)
      return { kind: 'texts', column, codes, texts: this.#dictionary(index, column) }
    }
    const values = this.#buffers.floats(index, this.rows)
    if (column.kind === 'numbers') decodeDistances(column, block, this.#chosen, values)
    else decodeDoubles(column, block, this.#chosen, values)
    return { kind: 'numbers', column, values }
  }

  #block(index: number, column: StoredColumn): Buffer {
    const known = this.#blocks.get(index)
    if (known !== undefined) return known
    const block = this.#segment.readBlock(column)
    this.#blocks.set(index, block)
    return block
  }

  #dictionary(index: number, column: TextColumn): readonly string[] {
    const known = this.#texts.get(index)
    if (known !== undefined) return known
    const texts = this.#segment.readDictionary(column)
    this.#texts.set(index, texts)
    return texts
  }
}
