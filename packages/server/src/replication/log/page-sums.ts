/** A 64-bit sum of each page of a database, and of the whole: what the copy has, and what has changed since. */
import { hash, hkdfSync } from 'node:crypto'

/** The sum of a page of zeros, or of none. */
const NOTHING = 0
/** Not a sum: the copy may have anything there. */
const UNKNOWN = 0xffffffff

export class PageSums {
  #sums = new Uint32Array(2 * 1024)
  #pages = 0
  readonly #digest = new Uint32Array(2)
  #unknown = 0

  get pages(): number {
    return this.#pages
  }

  /** Of all pages and their number; undefined while a sum is unknown. */
  get digest(): string | undefined {
    return this.#unknown > 0 ? undefined : `${this.#pages}-${hex(this.#digest[0])}${hex(this.#digest[1])}`
  }

  /** Whether the page is known to have this content. Pages have numbers from 1. */
  has(page: number, [first, second]: PageSum): boolean {
    const at = 2 * (page - 1)
    return page <= this.#pages && this.#sums[at] === first && this.#sums[at + 1] === second
  }

  isKnown(page: number): boolean {
    const at = 2 * (page - 1)
    return page > this.#pages || this.#sums[at] !== UNKNOWN || this.#sums[at + 1] !== UNKNOWN
  }

  set(page: number, [first, second]: PageSum): void {
    if (page > this.#pages) this.resize(page)
    this.#put(page, first, second)
  }

  forget(page: number): void {
    if (page <= this.#pages) this.#put(page, UNKNOWN, UNKNOWN)
  }

  forgetAll(): void {
    for (let page = 1; page <= this.#pages; page++) this.forget(page)
  }

  /** Pages that are added are zeros, those that are removed are gone. */
  resize(pages: number): void {
    for (let page = this.#pages; page > pages; page--) this.#put(page, NOTHING, NOTHING)
    this.#pages = pages
    if (2 * pages <= this.#sums.length) return
    const larger = new Uint32Array(Math.max(2 * pages, 2 * this.#sums.length))
    larger.set(this.#sums)
    this.#sums = larger
  }

  /** As bytes, of `count` pages from `first` on. */
  read(first: number, count: number): Buffer {
    const bytes = Buffer.alloc(8 * count)
    const last = Math.min(2 * (first - 1 + count), this.#sums.length)
    for (let at = 2 * (first - 1), to = 0; at < last; at++, to += 4) bytes.writeUInt32LE(this.#sums[at] ?? 0, to)
    return bytes
  }

  /** Of pages that the database has. */
  write(first: number, bytes: Buffer): void {
    const count = Math.min(bytes.length / 8, this.#pages - first + 1)
    for (let index = 0; index < count; index++)
      this.#put(first + index, bytes.readUInt32LE(8 * index), bytes.readUInt32LE(8 * index + 4))
  }

  #put(page: number, first: number, second: number): void {
    const at = 2 * (page - 1)
    const [before, after] = [this.#sums[at] ?? 0, this.#sums[at + 1] ?? 0]
    if (before === UNKNOWN && after === UNKNOWN) this.#unknown--
    else this.#count(page, -before, -after)
    if (first === UNKNOWN && second === UNKNOWN) this.#unknown++
    else this.#count(page, first, second)
    this.#sums[at] = first
    this.#sums[at + 1] = second
  }

  /** The same sum counts differently for each page: pages that are swapped are noticed. */
  #count(page: number, first: number, second: number): void {
    const factor = 2 * page + 1
    this.#digest[0] = (this.#digest[0] ?? 0) + Math.imul(first, factor)
    this.#digest[1] = (this.#digest[1] ?? 0) + Math.imul(second, factor ^ 0x5bd1e994)
  }
}

export type PageSum = readonly [number, number]

const KEY_BYTES = 32

/**
 * Of pages of one generation. It depends on the key of the backup: who writes to a table cannot make two pages that have the same sum,
 * of which the second would be taken for the first.
 */
export class PageHash {
  /** The key, followed by the page. */
  #bytes = Buffer.alloc(KEY_BYTES)
  readonly #key: Buffer
  #zeros = Buffer.alloc(0)

  constructor(key: Buffer, generation: string) {
    this.#key = Buffer.from(hkdfSync('sha256', key, generation, 'gatehouse page sums', KEY_BYTES))
  }

  sum(page: Buffer): PageSum {
    if (this.#zeros.length !== page.length) this.#resize(page.length)
    if (page.equals(this.#zeros)) return [NOTHING, NOTHING]
    page.copy(this.#bytes, KEY_BYTES)
    const digest = hash('sha256', this.#bytes, 'buffer')
    const sum: PageSum = [digest.readUInt32LE(0), digest.readUInt32LE(4)]
    // Neither of the two that have a meaning.
    return (sum[0] === NOTHING && sum[1] === NOTHING) || (sum[0] === UNKNOWN && sum[1] === UNKNOWN) ? [1, 1] : sum
  }

  #resize(pageSize: number): void {
    this.#zeros = Buffer.alloc(pageSize)
    this.#bytes = Buffer.concat([this.#key, this.#zeros])
  }
}

function hex(word = 0): string {
  return word.toString(16).padStart(8, '0')
}
