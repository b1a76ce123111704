/** The rows in the pages of a table of SQLite, as the file format has them (sqlite.org/fileformat2.html, 1.6 and 2.1). */

/** A row. Its first column, the row number, is not among its values. */
export class TableRecord {
  bytes: Uint8Array = NO_BYTES
  #view: DataView = new DataView(NO_BYTES.buffer)
  /** Where the type of the next value is, and where the value is. */
  #typeAt = 0
  #nextAt = 0
  /** The type of the value, its first byte, and the byte after it. */
  type = 0
  start = 0
  end = 0

  /** In other bytes. */
  openPages(bytes: Uint8Array): void {
    this.bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** Goes to a row: to the place before its first value. */
  moveTo(at: number): void {
    const { bytes } = this
    let headerBytes = bytes[at] as number
    let typeAt = at + 1
    if (headerBytes >= MORE) {
      headerBytes = ((headerBytes & LOW_BITS) << 7) | (bytes[typeAt++] as number)
      if ((bytes[typeAt - 1] as number) >= MORE) throw new RangeError('A row with too many columns')
    }
    // The type of the row number.
    this.#typeAt = typeAt + 1
    this.#nextAt = at + headerBytes
  }

  /** Goes to the next value. */
  next(): void {
    const { bytes } = this
    let type = bytes[this.#typeAt++] as number
    if (type >= MORE) {
      type &= LOW_BITS
      let byte: number
      do {
        byte = bytes[this.#typeAt++] as number
        type = (type << 7) | (byte & LOW_BITS)
      } while (byte >= MORE)
    }
    this.type = type
    this.start = this.#nextAt
    this.end = this.start + (type >= BYTES ? (type - BYTES) >> 1 : (FIXED_BYTES[type] as number))
    this.#nextAt = this.end
  }

  get isNull(): boolean {
    return this.type === 0
  }

  get isReal(): boolean {
    return this.type === REAL
  }

  get isText(): boolean {
    return this.type >= BYTES && (this.type & 1) === 1
  }

  /** An integer as a number; NaN if the number would not be exact, or the value is no integer. */
  integer(): number {
    const { bytes, start } = this
    switch (this.type) {
      case 1:
        return ((bytes[start] as number) << 24) >> 24
      case 2:
        return (((bytes[start] as number) << 24) >> 16) | (bytes[start + 1] as number)
      case 3:
        return (
          (((bytes[start] as number) << 24) >> 8) | ((bytes[start + 1] as number) << 8) | (bytes[start + 2] as number)
        )
      case 4:
        return this.#view.getInt32(start)
      case 5:
        return this.#view.getInt16(start) * TWO_TO_32 + this.#view.getUint32(start + 2)
      case 6: {
        const value = this.#view.getInt32(start) * TWO_TO_32 + this.#view.getUint32(start + 4)
        return Number.isSafeInteger(value) ? value : Number.NaN
      }
      case ZERO:
        return 0
      case ONE:
        return 1
      default:
        return Number.NaN
    }
  }

  real(): number {
    return this.#view.getFloat64(this.start)
  }

  /** Any value, as better-sqlite3 returns it with integers as bigints. */
  raw(): null | bigint | number | string | Buffer {
    if (this.type === 0) return null
    if (this.type === REAL) return this.real()
    if (this.type === INT64) return this.#view.getBigInt64(this.start)
    if (this.type <= ONE) return BigInt(this.integer())
    const value = Buffer.from(this.bytes.buffer, this.bytes.byteOffset + this.start, this.end - this.start)
    return this.isText ? value.toString() : Buffer.copyBytesFrom(value)
  }
}

const NO_BYTES = new Uint8Array(0)
/** A number continues in the next byte. */
const MORE = 0x80
const LOW_BITS = 0x7f
const TWO_TO_32 = 2 ** 32

/** Types of values: integers of 1 to 8 bytes, a real, the integers 0 and 1; from 12 on the type says how long bytes or a text are. */
const [INT64, REAL, ZERO, ONE, BYTES] = [6, 7, 8, 9, 12]
const FIXED_BYTES = Uint8Array.of(0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)

/** Kinds of pages. */
const [INTERIOR, LEAF] = [0x05, 0x0d]
/** The part of a page that holds no rows; a longer row would be continued on other pages. */
const RESERVED_BYTES = 35

/** Calls `take` with every row in the order of the row numbers, until it returns false: then this returns false too. */
export function readRecords(
  pages: Uint8Array,
  pageBytes: number,
  rootPage: number,
  take: (record: TableRecord) => boolean,
): boolean {
  const record = new TableRecord()
  record.openPages(pages)
  const view = new DataView(pages.buffer, pages.byteOffset, pages.byteLength)

  const takeLeaf = (page: number): boolean => {
    const count = view.getUint16(page + 3)
    for (let index = 0; index < count; index++) {
      let at = page + view.getUint16(page + 8 + 2 * index)
      let byte = pages[at++] as number
      let size = byte & LOW_BITS
      while (byte >= MORE) {
        byte = pages[at++] as number
        size = (size << 7) | (byte & LOW_BITS)
      }
      if (size > pageBytes - RESERVED_BYTES) throw new RangeError('A row that is longer than a page')
      // The row number.
      while ((pages[at++] as number) >= MORE);
      record.moveTo(at)
      if (!take(record)) return false
    }
    return true
  }

  const takePage = (number: number): boolean => {
    const page = (number - 1) * pageBytes
    const kind = pages[page]
    if (kind === LEAF) return takeLeaf(page)
    if (kind !== INTERIOR) throw new TypeError('Not a page of a table')
    const count = view.getUint16(page + 3)
    for (let index = 0; index < count; index++) {
      const child = view.getUint32(page + view.getUint16(page + 12 + 2 * index))
      if (!takePage(child)) return false
    }
    return takePage(view.getUint32(page + 8))
  }

  return takePage(rootPage)
}
