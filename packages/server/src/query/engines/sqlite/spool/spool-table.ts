/**
 * The rows of a bulk insert as a database of SQLite (sqlite.org/fileformat2.html): a table `b` with the columns c0, c1, …, whose rowid is
 * the number of the row, from 1. The writer process attaches the file and inserts with INSERT … SELECT, without a value in
 * JavaScript: a row takes half the time of one whose values are bound (`npm run bench -- columns-bulk`).
 */
import type { ColumnBatch } from '../../../columns/batch.ts'
import type { NamedColumn } from '../../../columns/row-error.ts'
import type { SpoolEncoder, SpoolEnd } from '../../../columns/spool-file.ts'
import { interiorPages, LeafPage, type Node, PAGE_BYTES, schemaPage } from './pages.ts'
import { type RecordColumn, recordColumn, valueBytes, varintBytes, writeVarint } from './record.ts'

/** The schema, and the root of the table, whose contents are known at the end. */
const HEAD_PAGES = 2
/** A longer record continues on pages of its own (§1.6): of these, this many bytes stay in the leaf at least. */
const MAX_LOCAL = PAGE_BYTES - 35
const MIN_LOCAL = Math.floor(((PAGE_BYTES - 12) * 32) / 255) - 23
const OVERFLOW_BYTES = PAGE_BYTES - 4

export class SpoolTable implements SpoolEncoder {
  readonly headBytes = HEAD_PAGES * PAGE_BYTES
  readonly #columns: readonly NamedColumn[]
  readonly #leaves: Node[] = []
  #leaf = new LeafPage()
  #pages: Buffer[] = []
  #taken = 0
  #rows = 0

  constructor(columns: readonly NamedColumn[]) {
    this.#columns = columns
  }

  add({ rows, columns }: ColumnBatch): void {
    const written = columns.map((vector, index) => recordColumn(vector, this.#columns[index]?.type ?? { kind: 'Text' }))
    const { heads, lengths } = recordSizes(written, rows)
    for (let row = 0; row < rows; row++) {
      const [head = 0, length = 0] = [heads[row], lengths[row]]
      this.#rows++
      if (length > MAX_LOCAL) this.#addLong(written, row, head, length)
      else {
        const size = varintBytes(length) + varintBytes(this.#rows) + length
        if (!this.#leaf.fits(size)) this.#endLeaf()
        const { bytes } = this.#leaf
        writeRecord(bytes, this.#cell(size, length), written, row, head)
      }
    }
  }

  get pendingBytes(): number {
    return PAGE_BYTES * this.#pages.length
  }

  take(): readonly Buffer[] {
    const pages = this.#pages
    this.#taken += pages.length
    this.#pages = []
    return pages
  }

  end(): SpoolEnd {
    const root = this.#leaves.length === 0 ? this.#leaf.end() : this.#endTree()
    const rest = this.take()
    const names = this.#columns.map((_column, index) => `c${index}`)
    const schema = schemaPage(`CREATE TABLE b(${names.join(',')})`, HEAD_PAGES, HEAD_PAGES + this.#taken)
    return { head: [schema, root], rest }
  }

  /** Begins the cell of the current row and returns where its record begins. */
  #cell(size: number, length: number): number {
    const { bytes } = this.#leaf
    return writeVarint(bytes, writeVarint(bytes, this.#leaf.place(size), length), this.#rows)
  }

  #addLong(columns: readonly RecordColumn[], row: number, head: number, length: number): void {
    const record = Buffer.allocUnsafeSlow(length)
    writeRecord(record, 0, columns, row, head)
    const most = MIN_LOCAL + ((length - MIN_LOCAL) % OVERFLOW_BYTES)
    const local = most <= MAX_LOCAL ? most : MIN_LOCAL
    const size = varintBytes(length) + varintBytes(this.#rows) + local + 4
    if (!this.#leaf.fits(size)) this.#endLeaf()
    const at = this.#cell(size, length)
    record.copy(this.#leaf.bytes, at, 0, local)
    this.#leaf.bytes.writeUInt32BE(this.#nextPage, at + local)
    for (let from = local; from < length; from += OVERFLOW_BYTES) {
      const page = Buffer.alloc(PAGE_BYTES)
      page.writeUInt32BE(from + OVERFLOW_BYTES < length ? this.#nextPage + 1 : 0, 0)
      record.copy(page, 4, from, from + OVERFLOW_BYTES)
      this.#pages.push(page)
    }
  }

  /** Of the page that is added next, counted from 1. */
  get #nextPage(): number {
    return HEAD_PAGES + this.#taken + this.#pages.length + 1
  }

  /** The current row is not in it. */
  #endLeaf(): void {
    this.#leaves.push({ page: this.#nextPage, last: this.#rows - 1 })
    this.#pages.push(this.#leaf.end())
    this.#leaf = new LeafPage()
  }

  /** Returns the root. */
  #endTree(): Buffer {
    this.#leaves.push({ page: this.#nextPage, last: this.#rows })
    this.#pages.push(this.#leaf.end())
    return interiorPages(this.#leaves, (page) => {
      const number = this.#nextPage
      this.#pages.push(page)
      return number
    })
  }
}

interface RecordSizes {
  /** The bytes of each record's header, with its length; and of the whole record. */
  readonly heads: Int32Array
  readonly lengths: Int32Array
}

function recordSizes(columns: readonly RecordColumn[], rows: number): RecordSizes {
  const heads = new Int32Array(rows)
  const lengths = new Int32Array(rows)
  for (const { serials } of columns)
    for (let row = 0; row < rows; row++) {
      const serial = serials[row] ?? 0
      heads[row] = (heads[row] ?? 0) + (serial < 0x80 ? 1 : varintBytes(serial))
      lengths[row] = (lengths[row] ?? 0) + valueBytes(serial)
    }
  for (let row = 0; row < rows; row++) {
    const types = heads[row] ?? 0
    // The length counts itself.
    const head = types + varintBytes(types + varintBytes(types))
    heads[row] = head
    lengths[row] = (lengths[row] ?? 0) + head
  }
  return { heads, lengths }
}

function writeRecord(target: Buffer, at: number, columns: readonly RecordColumn[], row: number, head: number): void {
  let next = writeVarint(target, at, head)
  for (const { serials } of columns) next = writeVarint(target, next, serials[row] ?? 0)
  for (const column of columns) next = column.write(target, next, row)
}
