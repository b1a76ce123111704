/** The rows of a grid in the order of their result: packed while they are only appended, a list when they are live. */

/** Values in the order of the columns. */
export type GridRow = readonly unknown[]

export interface Rows {
  readonly length: number
  at(index: number): GridRow | undefined
  value(index: number, column: number): unknown
}

/** Rows that are inserted, moved and removed. */
export class ListedRows implements Rows {
  readonly list: GridRow[]

  constructor(list: GridRow[]) {
    this.list = list
  }

  get length(): number {
    return this.list.length
  }

  at(index: number): GridRow | undefined {
    return this.list[index]
  }

  value(index: number, column: number): unknown {
    return this.list[index]?.[column]
  }
}

/** Rows of a block: a power of two. */
const BITS = 9
const BLOCK = 1 << BITS
/** Longer texts are not put together. */
const LONGEST_TEXT = 1 << 22
/** Rows that were read last are kept as they were given, so that what is in view is not drawn again. */
const MOST_KEPT = 1024

type PackedColumn = (at: number) => unknown

/**
 * A million rows of five texts are six million objects, and the browser stops the page to copy those that are new to where
 * the old ones are. Packed, 512 rows are two objects for each column: half of the memory, and the longest of these pauses
 * takes 9 ms of processor time instead of 22.
 */
export class PackedRows implements Rows {
  readonly #columns: number
  readonly #blocks: PackedColumn[][] = []
  /** The rows after the last block. */
  #last: GridRow[] = []
  readonly #replaced = new Map<number, GridRow>()
  readonly #kept = new Map<number, GridRow>()

  constructor(columns: number) {
    this.#columns = columns
  }

  get length(): number {
    return this.#blocks.length * BLOCK + this.#last.length
  }

  push(rows: readonly GridRow[]): void {
    for (const row of rows) {
      this.#last.push(row)
      if (this.#last.length === BLOCK) this.#pack()
    }
  }

  at(index: number): GridRow | undefined {
    const block = this.#blocks[index >> BITS]
    if (block === undefined) return this.#last[index - this.#blocks.length * BLOCK]
    const known = this.#replaced.get(index) ?? this.#kept.get(index)
    if (known !== undefined) return known
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear()
    const row = block.map((column) => column(index & (BLOCK - 1)))
    this.#kept.set(index, row)
    return row
  }

  value(index: number, column: number): unknown {
    const block = this.#blocks[index >> BITS]
    if (block === undefined) return this.#last[index - this.#blocks.length * BLOCK]?.[column]
    if (this.#replaced.size > 0 && this.#replaced.has(index)) return this.#replaced.get(index)?.[column]
    return block[column]?.(index & (BLOCK - 1))
  }

  /** False if there is no such row. */
  replace(before: GridRow, after: GridRow): boolean {
    const index = this.#findIndex(before)
    if (index === -1) return false
    const start = this.#blocks.length * BLOCK
    if (index < start) this.#replaced.set(index, after)
    else this.#last[index - start] = after
    return true
  }

  /** By its values: what was given out may have been packed since. */
  #findIndex(row: GridRow): number {
    for (let index = 0; index < this.length; index++)
      if (row.every((value, column) => Object.is(this.value(index, column), value))) return index
    return -1
  }

  #pack(): void {
    const rows = this.#last
    this.#last = []
    this.#blocks.push(Array.from({ length: this.#columns }, (_, column) => packColumn(rows.map((row) => row[column]))))
  }
}

function packColumn(values: readonly unknown[]): PackedColumn {
  if (values.every((value) => typeof value === 'number')) {
    const numbers = Float64Array.from(values)
    return (at) => numbers[at]
  }
  return isTexts(values) ? packTexts(values) : (at) => values[at]
}

function isTexts(values: readonly unknown[]): values is readonly (string | null)[] {
  let length = 0
  for (const value of values) {
    if (typeof value === 'string') length += value.length
    else if (value !== null) return false
  }
  return length <= LONGEST_TEXT
}

/** One text, and where each of them ends; NULL, which ends where it begins, is the complement of that. */
function packTexts(values: readonly (string | null)[]): PackedColumn {
  const text = values.join('')
  const ends = new Int32Array(values.length)
  let end = 0
  for (const [at, value] of values.entries()) {
    end += value?.length ?? 0
    ends[at] = value === null ? ~end : end
  }
  return (at) => {
    const last = ends[at] as number
    if (last < 0) return null
    const first = at === 0 ? 0 : (ends[at - 1] as number)
    return text.slice(first < 0 ? ~first : first, last)
  }
}
