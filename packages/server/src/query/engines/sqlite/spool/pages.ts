/** Pages of a database of SQLite (sqlite.org/fileformat2.html §1): leaves and interior pages of a table, and the page of the schema. */
import type { Cells } from './cells.ts'
import { varintBytes, writeVarint } from './varint.ts'

export const PAGE_BYTES = 16 * 1024

const LEAF = 13
const INTERIOR = 5
const LEAF_HEAD = 8
const INTERIOR_HEAD = 12
const POINTER = 2

/** The cells of a page are placed from its end, and their places are listed from its beginning. */
class Page {
  readonly bytes = Buffer.allocUnsafeSlow(PAGE_BYTES)
  readonly #start: number
  readonly #head: number
  #list: number
  #free = PAGE_BYTES

  constructor(kind: typeof LEAF | typeof INTERIOR, start = 0) {
    this.#start = start
    this.#head = kind === LEAF ? LEAF_HEAD : INTERIOR_HEAD
    this.#list = start + this.#head
    this.bytes.fill(0, 0, this.#list)
    this.bytes[start] = kind
  }

  fits(size: number): boolean {
    return this.#free - size >= this.#list + POINTER
  }

  /** Where the next cell begins. */
  place(size: number): number {
    this.#free -= size
    this.point(this.#free)
    return this.#free
  }

  /** Lists a cell. */
  protected point(at: number): void {
    this.bytes[this.#list] = at >> 8
    this.bytes[this.#list + 1] = at
    this.#list += POINTER
  }

  /** The page with its header. */
  end(): Buffer {
    const cells = (this.#list - this.#start - this.#head) / POINTER
    this.bytes.writeUInt16BE(cells, this.#start + 3)
    this.bytes.writeUInt16BE(this.#free, this.#start + 5)
    this.bytes.fill(0, this.#list, this.#free)
    return this.bytes
  }
}

export class LeafPage extends Page {
  constructor(start = 0) {
    super(LEAF, start)
  }

  /** Adds the cells from this row on that fit, up to a longer record. Returns their number. */
  add({ bytes, starts, lengths }: Cells, first: number, maxLength: number): number {
    const start = starts[first] ?? 0
    let row = first
    while (row < lengths.length && (lengths[row] ?? 0) <= maxLength) {
      if (!this.fits((starts[row + 1] ?? 0) - start + POINTER * (row - first))) break
      row++
    }
    if (row > first) this.#placeAll(bytes, starts, first, row)
    return row - first
  }

  /** All of them at once, one after the other. */
  #placeAll(bytes: Buffer, starts: Int32Array, first: number, end: number): void {
    const [start, last] = [starts[first] ?? 0, starts[end] ?? 0]
    const at = this.place(last - start)
    bytes.copy(this.bytes, at, start, last)
    for (let row = first + 1; row < end; row++) this.point(at + (starts[row] ?? 0) - start)
  }
}

/** A page of the tree, and the largest rowid below it. */
export interface TreeNode {
  readonly page: number
  readonly last: number
}

/** Fewer than fit: each has the number of a page and a rowid. */
const CHILDREN = 1000

/** Adds the pages above the leaves, of which there are at least two, and returns the root. `add` returns the number of a page. */
export function interiorPages(leaves: readonly TreeNode[], add: (page: Buffer) => number): Buffer {
  let level = leaves
  while (level.length > CHILDREN) {
    const below = level
    const parts = Math.ceil(below.length / CHILDREN)
    // Of the same size, so that each has at least two.
    const partStart = (part: number) => Math.floor((part * below.length) / parts)
    level = Array.from({ length: parts }, (_part, index) => {
      const children = below.slice(partStart(index), partStart(index + 1))
      return { page: add(interiorPage(children)), last: children.at(-1)?.last ?? 0 }
    })
  }
  return interiorPage(level)
}

function interiorPage(children: readonly TreeNode[]): Buffer {
  const page = new Page(INTERIOR)
  for (const { page: number, last } of children.slice(0, -1)) {
    const at = page.place(4 + varintBytes(last))
    page.bytes.writeUInt32BE(number, at)
    writeVarint(page.bytes, at + 4, last)
  }
  page.bytes.writeUInt32BE(children.at(-1)?.page ?? 0, 8)
  return page.end()
}

const FILE_HEAD = 100
const VERSION = 3_045_000

/** The first page: the header of the file (§1.3), and the schema of one table. */
export function schemaPage(sql: string, root: number, pages: number, userVersion: number): Buffer {
  const page = new LeafPage(FILE_HEAD)
  const { bytes } = page
  bytes.write('SQLite format 3\0', 0, 'latin1')
  bytes.writeUInt16BE(PAGE_BYTES, 16)
  // Versions of a file without a write-ahead log, and fractions that are always the same.
  bytes.set([1, 1, 0, 64, 32, 32], 18)
  const change = 1
  const [schemaCookie, schemaFormat, utf8] = [1, 4, 1]
  bytes.writeUInt32BE(change, 24)
  bytes.writeUInt32BE(pages, 28)
  bytes.writeUInt32BE(schemaCookie, 40)
  bytes.writeUInt32BE(schemaFormat, 44)
  bytes.writeUInt32BE(utf8, 56)
  bytes.writeUInt32BE(userVersion, 60)
  bytes.writeUInt32BE(change, 92)
  bytes.writeUInt32BE(VERSION, 96)
  const record = schemaRecord(sql, root)
  const at = page.place(varintBytes(record.length) + 1 + record.length)
  record.copy(bytes, writeVarint(bytes, writeVarint(bytes, at, record.length), 1))
  return page.end()
}

/** type, name, tbl_name, rootpage, sql */
function schemaRecord(sql: string, root: number): Buffer {
  const texts = ['table', 'b', 'b']
  const types = [...texts.map((text) => 13 + 2 * text.length), 1, 13 + 2 * sql.length]
  const head = 1 + types.reduce((sum, type) => sum + varintBytes(type), 0)
  const bytes = Buffer.alloc(head + texts.join('').length + 1 + sql.length)
  let at = writeVarint(bytes, 0, head)
  for (const type of types) at = writeVarint(bytes, at, type)
  at += bytes.write(texts.join(''), at, 'latin1')
  bytes[at] = root
  bytes.write(sql, at + 1, 'latin1')
  return bytes
}
