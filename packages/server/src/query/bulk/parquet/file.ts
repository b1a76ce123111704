/**
 * Reads Parquet files as columns of IQL's values, batch by batch, with bounded memory: at any time one page of each column is held.
 * Values are exact: what IQL cannot hold is refused. `hyparquet` decodes plain values and snappy; what a hostile file could abuse
 * (counts, lengths, nesting, expansion) is read here.
 */
import type { IqlType, IqlValue } from 'gatehouse-iql'
import { damaged, ParquetError, ValueError } from './error.ts'
import { type FileBytes, type Footer, readFooter } from './footer.ts'
import { type Page, PageReader, type Stored } from './pages.ts'
import { type ColumnType, columnTypeOf } from './values.ts'

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

/** The most rows of a batch; it ends earlier once its values have about this many bytes. */
const BATCH_ROWS = 8192
const BATCH_BYTES = 4 * 1024 * 1024

/** `maxBytes` bounds what the values of the file have, decompressed: a small file can hold any number of equal rows. */
export async function openParquet(file: FileBytes, { maxBytes }: { readonly maxBytes: number }): Promise<ParquetFile> {
  const footer = await known(() => readFooter(file))
  const types = footer.fields.map(columnTypeOf)
  return {
    columns: footer.fields.map(({ name }, index) => ({ name, type: types[index]?.type ?? { kind: 'Null' } })),
    rows: footer.groups.reduce((rows, group) => rows + group.rows, 0),
    batches: () => readBatches(file, footer, types, maxBytes),
  }
}

async function* readBatches(
  file: FileBytes,
  { fields, groups }: Footer,
  types: readonly ColumnType[],
  maxBytes: number,
): AsyncGenerator<ColumnBatch, void, void> {
  let firstRow = 0
  let bytes = 0
  for (const group of groups) {
    const columns = fields.map((field, index) => {
      const [type, chunk] = [types[index], group.chunks[index]]
      if (type === undefined || chunk === undefined) throw damaged('a row group does not have all columns')
      return new ColumnValues(type, (set) => new PageReader(file, field, chunk, set))
    })
    let batchRows = BATCH_ROWS
    for (let left = group.rows; left > 0; ) {
      const rows = Math.min(left, batchRows)
      const values: (readonly IqlValue[])[] = []
      const before = bytes
      for (const column of columns) {
        const taken = await known(() => column.take(rows, firstRow))
        bytes += taken.bytes
        values.push(taken.values)
      }
      if (bytes > maxBytes) throw new ParquetError(`The values of the file have more than ${maxBytes} bytes`)
      yield { rows, firstRow, columns: values }
      batchRows = Math.max(1, Math.min(BATCH_ROWS, Math.floor((BATCH_BYTES * rows) / (bytes - before + 1))))
      firstRow += rows
      left -= rows
    }
  }
}

/** The values of one column in a row group. */
class ColumnValues {
  readonly #type: ColumnType
  readonly #pages: PageReader
  #dictionary: Stored = []
  /** The entries of the dictionary that have been read. */
  #entries: IqlValue[] = []
  #page: Page | undefined
  /** The next row of the page, and the next of its values that are not NULL. */
  #row = 0
  #value = 0

  constructor(type: ColumnType, open: (setDictionary: (values: Stored) => void) => PageReader) {
    this.#type = type
    this.#pages = open((values) => {
      this.#dictionary = values
      this.#entries = []
    })
  }

  /** `firstRow`: for messages. */
  async take(rows: number, firstRow: number): Promise<{ readonly values: IqlValue[]; readonly bytes: number }> {
    const values: IqlValue[] = []
    let bytes = 0
    while (values.length < rows) {
      if (this.#page === undefined || this.#row >= this.#page.rows) {
        this.#page = await this.#pages.next()
        this.#row = 0
        this.#value = 0
        if (this.#page === undefined) throw damaged('a column has fewer values than its row group has rows')
        continue
      }
      try {
        bytes += this.#takeFrom(this.#page, values, Math.min(rows - values.length, this.#page.rows - this.#row))
      } catch (error) {
        if (error instanceof ValueError) error.row = firstRow + values.length + 1
        throw error
      }
    }
    return { values, bytes }
  }

  #takeFrom({ levels, values: stored, isIndexed }: Page, values: IqlValue[], count: number): number {
    let bytes = 0
    for (const end = this.#row + count; this.#row < end; this.#row++) {
      if (levels !== undefined && levels[this.#row] === 0) {
        values.push(null)
        bytes++
        continue
      }
      const raw = stored[this.#value++]
      if (raw === undefined) throw damaged('a page has fewer values than its header says')
      const value = isIndexed ? this.#entry(Number(raw)) : this.#type.read(raw)
      bytes += typeof value === 'string' || value instanceof Uint8Array ? value.length : WORD_BYTES
      values.push(value)
    }
    return bytes
  }

  #entry(index: number): IqlValue {
    const known = this.#entries[index]
    if (known !== undefined) return known
    const stored = this.#dictionary[index]
    if (stored === undefined) throw damaged('a value refers to an entry that its dictionary does not have')
    const value = this.#type.read(stored)
    this.#entries[index] = value
    return value
  }
}

const WORD_BYTES = 8

/** Errors of the libraries mean that the file is damaged. */
async function known<Result>(read: () => Promise<Result>): Promise<Result> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) throw damaged(error.message)
    throw error
  }
}
