/** Groups the parts of a table into a temporary table, alone or together with another thread: see emit/split-groups.ts. */
import type { Database } from 'better-sqlite3'
import type { Bindable } from '../../emit/parameters.ts'
import { PART_ROWS, PARTS } from '../../emit/split-groups.ts'
import type { SplitRun } from '../../engine.ts'
import type { RawRow } from '../representation.ts'

/** The rows of a part: few enough to be sorted in a processor's cache, many enough to have several rows per group. */
export const PART_SIZE = 16_384
/** A part whose conditions leave fewer rows than this is followed by a larger one. */
const FEW_ROWS = PART_SIZE / 4
const MAX_PART_SIZE = 16 * PART_SIZE
/** With fewer rows to a group the parts take as long as a sort of all rows; */
const LEAST_ROWS_OF_GROUP = 8
/** unless reading the table takes longest, because conditions leave few groups. */
const LEAST_SCANNED_OF_GROUP = 128
/** The texts and bytes of parts that are held in memory. */
const MAX_TAKEN_BYTES = 16 * 1024 * 1024
/** Gaps cost little in a table whose row identifiers span no more than this. */
const MAX_DENSE = 2n ** 26n

interface PartRange {
  readonly first: bigint
  readonly last: bigint
  /** The first row of the next part, if there is one. */
  readonly next: bigint | undefined
}

/** Used in place of the first row of the next part. No later part can begin at the least row. */
export const NO_PART = -(2n ** 63n)

/** Where the next part begins, for all threads. None of them waits for another. */
export class PartCursor {
  readonly #next: BigInt64Array<SharedArrayBuffer>
  readonly buffer: SharedArrayBuffer

  constructor(buffer = new SharedArrayBuffer(8)) {
    this.buffer = buffer
    this.#next = new BigInt64Array(buffer)
  }

  startAt(first: bigint): void {
    Atomics.store(this.#next, 0, first)
  }

  /** `rangeFrom` finds the part that begins with a row. */
  take(rangeFrom: (first: bigint) => PartRange): PartRange | undefined {
    for (;;) {
      const first = Atomics.load(this.#next, 0)
      if (first === NO_PART) return undefined
      const range = rangeFrom(first)
      // Otherwise another thread has taken it meanwhile.
      if (Atomics.compareExchange(this.#next, 0, first, range.next ?? NO_PART) === first) return range
    }
  }

  /** Ends the parts for all threads. */
  end(): void {
    this.startAt(NO_PART)
  }
}

/** In a transaction: creates the table of the parts, which has no rows yet. */
export class PartTable {
  readonly #connection: Database
  readonly #split: SplitRun
  /** The first and the last row of the table. */
  readonly #ends: readonly [bigint, bigint] | readonly [null, null]
  /** The rows that it has now. */
  groups = 0

  constructor(connection: Database, split: SplitRun) {
    this.#connection = connection
    this.#split = split
    const { table, rowId } = split
    connection.exec(split.create)
    this.#ends = connection
      .prepare(`SELECT (SELECT min(${rowId}) FROM ${table}), (SELECT max(${rowId}) FROM ${table})`)
      .raw(true)
      .safeIntegers(true)
      .get() as [bigint, bigint] | [null, null]
  }

  /** Undefined if the table is empty. */
  get first(): bigint | undefined {
    return this.#ends[0] ?? undefined
  }

  /** Takes parts until none is left, or `mayGoOn` says no. False if there are too many groups. */
  fill(cursor: PartCursor, mayGoOn: () => boolean = () => true): boolean {
    const { part } = this.#split
    const insert = this.#connection.prepare(`INSERT INTO ${PARTS} ${part.sql}`)
    const count = this.#connection
      .prepare<[number], number>(`SELECT total(${PART_ROWS}) FROM ${PARTS} WHERE rowid > ?`)
      .pluck(true)
    const rangeFrom = this.#ranges()
    let [groups, rows, scanned] = [0, 0, 0]
    let size = PART_SIZE
    while (mayGoOn()) {
      const taken = cursor.take((first) => rangeFrom(first, size))
      if (taken === undefined) break
      const before = this.groups
      this.groups += insert.run(...withRange(part.parameters, taken.first, taken.last)).changes
      const found = count.get(before) ?? 0
      groups += this.groups - before
      rows += found
      scanned += size
      if (groups * LEAST_ROWS_OF_GROUP > rows && groups * LEAST_SCANNED_OF_GROUP > scanned) return false
      if (found < FEW_ROWS) size = Math.min(2 * size, MAX_PART_SIZE)
    }
    return true
  }

  /** Combines all parts into one and removes them. Fails if it is too long. */
  take(): RawRow[] {
    const combine = this.#connection.prepare(this.#split.combine).raw(true).safeIntegers(true)
    const rows: RawRow[] = []
    let bytes = 0
    for (const row of combine.iterate() as Iterable<RawRow>) {
      for (const value of row) if (typeof value === 'string' || value instanceof Uint8Array) bytes += value.length
      if (bytes > MAX_TAKEN_BYTES) throw new Error('The groups are too long')
      rows.push(row)
    }
    this.#connection.exec(`DELETE FROM ${PARTS}`)
    this.groups = 0
    return rows
  }

  /** Parts of another thread. */
  add(rows: readonly RawRow[]): void {
    const values = rows[0]?.map(() => '?').join(', ')
    if (values === undefined) return
    const insert = this.#connection.prepare(`INSERT INTO ${PARTS} VALUES (${values})`)
    for (const row of rows) insert.run(...row)
  }

  /** Counts the rows of a part, unless the table has few gaps: then the identifiers say how many rows there are. */
  #ranges(): (first: bigint, size: number) => PartRange {
    const { table, rowId } = this.#split
    const [least, greatest] = this.#ends
    if (least === null) throw new Error('Parts of an empty table')
    const counted = this.#connection
      .prepare<[bigint, number], bigint>(
        `SELECT ${rowId} FROM ${table} WHERE ${rowId} >= ? ORDER BY ${rowId} LIMIT 1 OFFSET ?`,
      )
      .pluck(true)
      .safeIntegers(true)
    const second = counted.get(least, PART_SIZE)
    const isDense = greatest - least < MAX_DENSE && second !== undefined && second - least < 2 * PART_SIZE
    return (first, size) => {
      const next = isDense ? first + BigInt(size) : counted.get(first, size)
      if (next === undefined || next > greatest) return { first, last: greatest, next: undefined }
      return { first, last: next - 1n, next }
    }
  }
}

/** The range is in the object with the parameters by name, which is the last. */
function withRange(parameters: readonly Bindable[], first: bigint, last: bigint): Bindable[] {
  const named = parameters.at(-1)
  if (typeof named !== 'object' || named === null || named instanceof Uint8Array)
    return [...parameters, { first, last }]
  return [...parameters.slice(0, -1), { ...named, first, last }]
}
