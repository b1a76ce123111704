/**
 * The rows of a bulk insert as a database of SQLite (sqlite.org/fileformat2.html): a table `b` with the columns c0, c1, …, whose rowid is
 * the number of the row, from 1. Its `user_version` is the length of the longest row. The writer process attaches the file and inserts with INSERT … SELECT, without a value in
 * JavaScript (`npm run bench -- columns-bulk`).
 */

import { release } from '../../../../lib/release.ts'
import type { ColumnBatch } from '../../../batches/batch.ts'
import type { NamedColumn } from '../../../batches/row-error.ts'
import type { SpoolEncoder, SpoolEnd } from '../../../batches/spool-file.ts'
import { buildCells, type Cells } from './cells.ts'
import { interiorPages, LeafPage, PAGE_BYTES, schemaPage, type TreeNode } from './pages.ts'

/** The schema, and the root of the table, whose contents are known at the end. */
const HEAD_PAGES = 2
/** A longer record continues on pages of its own (§1.6). The least of it that stays in the leaf: */
const MAX_LOCAL = PAGE_BYTES - 35
const MIN_LOCAL = Math.floor(((PAGE_BYTES - 12) * 32) / 255) - 23
const OVERFLOW_BYTES = PAGE_BYTES - 4

export class SpoolTable implements SpoolEncoder {
  readonly headBytes = HEAD_PAGES * PAGE_BYTES
  readonly #columns: readonly NamedColumn[]
  readonly #leaves: TreeNode[] = []
  #leaf = new LeafPage()
  #pages: Buffer[] = []
  #taken = 0
  #rows = 0
  /** The bytes of the longest record. */
  #longest = 1

  constructor(columns: readonly NamedColumn[]) {
    this.#columns = columns
  }

  add(batch: ColumnBatch): void {
    const before = this.#rows
    const cells = buildCells(batch, this.#columns, before)
    for (const length of cells.lengths) if (length > this.#longest) this.#longest = length
    for (let row = 0; row < batch.rows; ) {
      const added = this.#addLong(cells, row) || this.#leaf.add(cells, row, MAX_LOCAL)
      row += added
      this.#rows = before + row
      if (added === 0) this.#endLeaf()
    }
    release(cells.bytes)
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
    const sql = `CREATE TABLE b(${names.join(',')})`
    const schema = schemaPage(sql, HEAD_PAGES, HEAD_PAGES + this.#taken, this.#longest)
    return { head: [schema, root], rest }
  }

  /** Returns the number of rows that were added: 0 if the row is not long, or its part for the leaf does not fit. */
  #addLong({ bytes, starts, lengths }: Cells, row: number): 0 | 1 {
    const length = lengths[row] ?? 0
    if (length <= MAX_LOCAL) return 0
    const most = MIN_LOCAL + ((length - MIN_LOCAL) % OVERFLOW_BYTES)
    const local = most <= MAX_LOCAL ? most : MIN_LOCAL
    const start = starts[row] ?? 0
    const end = starts[row + 1] ?? 0
    const inLeaf = end - start - length + local
    if (!this.#leaf.fits(inLeaf + 4)) return 0
    const at = this.#leaf.place(inLeaf + 4)
    bytes.copy(this.#leaf.bytes, at, start, start + inLeaf)
    this.#leaf.bytes.writeUInt32BE(this.#nextPage, at + inLeaf)
    for (let from = start + inLeaf; from < end; from += OVERFLOW_BYTES) {
      const page = Buffer.alloc(PAGE_BYTES)
      page.writeUInt32BE(from + OVERFLOW_BYTES < end ? this.#nextPage + 1 : 0, 0)
      bytes.copy(page, 4, from, Math.min(end, from + OVERFLOW_BYTES))
      this.#pages.push(page)
    }
    return 1
  }

  /** Of the page that is added next, counted from 1. */
  get #nextPage(): number {
    return HEAD_PAGES + this.#taken + this.#pages.length + 1
  }

  #endLeaf(): void {
    this.#leaves.push({ page: this.#nextPage, last: this.#rows })
    this.#pages.push(this.#leaf.end())
    this.#leaf = new LeafPage()
  }

  /** Returns the root. */
  #endTree(): Buffer {
    this.#endLeaf()
    return interiorPages(this.#leaves, (page) => {
      const number = this.#nextPage
      this.#pages.push(page)
      return number
    })
  }
}
