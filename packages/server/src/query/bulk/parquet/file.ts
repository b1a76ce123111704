/**
 * Reads Parquet files as columns of IQL's values, batch by batch, with bounded memory: at any time one page of each column is held, or a part of it, and
 * the values of one batch exist, whose size is known before. Values are exact: what IQL cannot hold is refused. `hyparquet` decodes plain
 * values; what a hostile file could abuse (counts, lengths, nesting, expansion) is read here.
 */
import type { IqlType, IqlValue } from 'gatehouse-iql'
import type { BodyMemory } from '../reader-memory.ts'
import { RowSizes, rowsPerTurn } from '../row-sizes.ts'
import type { Decoded, Dictionary } from './encodings.ts'
import { damaged, ParquetError, ValueError } from './error.ts'
import { type FileBytes, type Footer, readFooter } from './footer.ts'
import type { Page } from './page.ts'
import { countOnes, PageSpool, type Scratch } from './page-spool.ts'
import { PageReader } from './pages.ts'
import { type ColumnType, readColumnType } from './values.ts'

export { ParquetError } from './error.ts'
export type { FileBytes } from './footer.ts'

export interface ParquetFile {
  readonly columns: readonly FileColumn[]
  readonly rows: number
  /** All rows in order. Throws `ParquetError` where the file is damaged or a value does not fit. */
  batches(): AsyncGenerator<ColumnBatch, void, void>
}

export interface FileColumn {
  readonly name: string
  /** A file may also have a LocalTimestamp, or Null if it has only NULLs of no type. */
  readonly type: IqlType
}

export interface ColumnBatch {
  readonly rows: number
  /** The number of the first row in the file, from 0. */
  readonly firstRow: number
  /** In the order of the file's columns, each with `rows` values. */
  readonly columns: readonly (readonly IqlValue[])[]
}

/** `maxBytes` bounds what the values of the file have, decompressed: a small file can hold any number of equal rows. */
export interface ReadLimits extends Scratch {
  readonly maxBytes: number
}

export async function openParquet(file: FileBytes, limits: ReadLimits): Promise<ParquetFile> {
  const footer = await known(() => readFooter(file))
  const types = footer.fields.map(readColumnType)
  return {
    columns: footer.fields.map(({ name }, index) => ({ name, type: types[index]?.type ?? { kind: 'Null' } })),
    rows: footer.groups.reduce((rows, group) => rows + group.rows, 0),
    batches: () => readBatches(file, footer, types, limits),
  }
}

async function* readBatches(
  file: FileBytes,
  { fields, groups }: Footer,
  types: readonly ColumnType[],
  { maxBytes, ...scratch }: ReadLimits,
): AsyncGenerator<ColumnBatch, void, void> {
  const { memory } = scratch
  const most = rowsPerTurn(fields.length)
  const spool = new PageSpool(scratch, fields.length, most)
  const sizes = new RowSizes()
  let firstRow = 0
  let sum = 0
  for (const group of groups) {
    const columns = fields.map((field, index) => {
      const [type, chunk] = [types[index], group.chunks[index]]
      if (type === undefined || chunk === undefined) throw damaged('a row group does not have all columns')
      return new ColumnValues(type, new PageReader(file, field, chunk, memory, spool), memory)
    })
    for (let left = group.rows; left > 0; ) {
      // Values of two pages of a column are never held together.
      let rows = Math.min(left, most)
      for (const column of columns) rows = Math.min(rows, await known(() => column.rowsAhead()))
      sizes.begin(rows)
      for (const column of columns) await known(async () => column.decode(rows, sizes))
      for (let from = 0; from < rows; ) {
        const { to, bytes } = sizes.cut(from, firstRow + 1)
        sum += bytes
        if (sum > maxBytes) throw new ParquetError(`The values of the file have more than ${maxBytes} bytes`)
        const values: IqlValue[][] = []
        for (const column of columns) values.push(await known(async () => column.take(from, to, firstRow)))
        yield { rows: to - from, firstRow: firstRow + from, columns: values }
        from = to
      }
      firstRow += rows
      left -= rows
    }
    for (const column of columns) column.end()
    await spool.clear()
  }
}

/** The values of one column in a row group. */
class ColumnValues {
  readonly #type: ColumnType
  readonly #pages: PageReader
  readonly #memory: BodyMemory
  /** The entries of the dictionary that have been read, if there is memory for them. */
  #entries: IqlValue[] | undefined
  #entryBytes = 0
  #page: Page | undefined
  /** The next row of the page. */
  #row = 0
  /** Of the rows that were decoded last: which have values, and these. */
  #levels: Uint32Array | undefined
  #values: Decoded = { bytesAt: undefined, valueAt: () => 0 }
  #next = 0

  constructor(type: ColumnType, pages: PageReader, memory: BodyMemory) {
    this.#type = type
    this.#pages = pages
    this.#memory = memory
  }

  /** The rows of the current page that are not decoded yet; reads the next page if there are none. */
  async rowsAhead(): Promise<number> {
    if (this.#page === undefined || this.#row >= this.#page.rows) {
      this.#page = await this.#pages.next()
      this.#row = 0
      if (this.#page === undefined) throw damaged('a column has fewer values than its row group has rows')
      const { dictionary } = this.#pages
      if (dictionary !== undefined && this.#entries === undefined && this.#entryBytes === 0)
        this.#keepEntries(dictionary)
    }
    return this.#page.rows - this.#row
  }

  /** Decodes the next rows, but creates no values yet. */
  decode(rows: number, sizes: RowSizes): void {
    if (this.#page === undefined) throw new Error('A column without a page')
    const { levels, values } = this.#page
    this.#levels = levels?.next(rows)
    const count = this.#levels === undefined ? rows : countOnes(this.#levels)
    this.#row += rows
    this.#next = 0
    this.#values = values.kind === 'plain' ? values.reader.next(count) : this.#referred(values.indexes.next(count))
    const { bytesAt } = this.#values
    sizes.addToEach(bytesAt === undefined ? WORD_BYTES : 1)
    if (bytesAt === undefined) return
    for (let row = 0, value = 0; row < rows; row++)
      if (this.#levels === undefined || this.#levels[row] === 1) sizes.add(row, bytesAt(value++))
  }

  /** The values of rows that were decoded, in turn. `firstRow`: for messages. */
  take(from: number, to: number, firstRow: number): IqlValue[] {
    const values: IqlValue[] = []
    const isIndexed = this.#page?.values.kind === 'indexed'
    const levels = this.#levels
    const type = this.#type
    const { valueAt } = this.#values
    try {
      for (let row = from; row < to; row++) {
        if (levels !== undefined && levels[row] === 0) values.push(null)
        else {
          const value = valueAt(this.#next++)
          values.push(isIndexed ? this.#entry(Number(value)) : type.read(value))
        }
      }
    } catch (error) {
      if (error instanceof ValueError) error.row = firstRow + from + values.length + 1
      throw error
    }
    return values
  }

  end(): void {
    this.#pages.end()
    this.#memory.give(this.#entryBytes)
    this.#entryBytes = 0
  }

  #keepEntries({ count, byteLength }: Dictionary): void {
    const bytes = count * ENTRY_BYTES + 2 * byteLength
    if (!this.#memory.tryTake(bytes)) return
    this.#entryBytes = bytes
    this.#entries = []
  }

  #referred(indexes: Uint32Array): Decoded {
    const { dictionary } = this.#pages
    if (dictionary === undefined) throw damaged('a column refers to a dictionary that it does not have')
    for (const index of indexes)
      if (index >= dictionary.count) throw damaged('a value refers to an entry that its dictionary does not have')
    return { bytesAt: (at) => dictionary.bytesAt(indexes[at] ?? 0), valueAt: (at) => indexes[at] ?? 0 }
  }

  #entry(index: number): IqlValue {
    const known = this.#entries?.[index]
    if (known !== undefined) return known
    const { dictionary } = this.#pages
    if (dictionary === undefined) throw new Error('A reference without a dictionary')
    const value = this.#type.read(dictionary.valueAt(index))
    if (this.#entries !== undefined) this.#entries[index] = value
    return value
  }
}

const WORD_BYTES = 8
/** A value of JavaScript takes about this, besides the bytes of a text. */
const ENTRY_BYTES = 40

/** Errors of the libraries mean that the file is damaged. */
async function known<Result>(read: () => Promise<Result>): Promise<Result> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) throw damaged(error.message)
    throw error
  }
}
