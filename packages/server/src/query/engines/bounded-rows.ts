/** Bounds on the rows and bytes of a result, the same for both engines and for the rows that a write returns. */
import { refuse } from '../errors.ts'
import type { Cell, ReadOutcome, RowEncoder } from '../model/result.ts'
import type { ReadLimits, WriteOutcome, WriteRequest } from './engine.ts'

/** The size at which the bytes of a result are passed on. A result of this size is not small. */
export const CHUNK_BYTES = 64 * 1024

/** Reads a row of the database. The array may be reused for the next row. */
export type RowDecoder<Raw> = (raw: Raw) => readonly Cell[]

type RowTarget = Pick<RowEncoder, 'add' | 'pending' | 'held'>

export class BoundedRows<Raw> {
  readonly #target: RowTarget
  readonly #limits: ReadLimits
  readonly #decodeRow: RowDecoder<Raw>
  #skip: number
  /** Bytes that have been taken from the target. */
  #taken = 0
  #rowCount = 0
  #truncated: ReadOutcome['truncated'] = 'no'
  #lastRow: readonly Cell[] = []

  readonly #decodeAndAdd = (raw: Raw): void => {
    this.#lastRow = this.#decodeRow(raw)
    this.#target.add(this.#lastRow)
  }

  constructor(target: RowTarget, limits: ReadLimits, decodeRow: RowDecoder<Raw>) {
    this.#target = target
    this.#limits = limits
    this.#decodeRow = decodeRow
    this.#skip = limits.skip
  }

  get truncated(): ReadOutcome['truncated'] {
    return this.#truncated
  }

  /** False when a limit is reached: the row is left out. */
  add(raw: Raw): boolean {
    return this.addWith(raw, this.#decodeAndAdd)
  }

  /** The same for a row that `write` adds to the target. Its key is not known. */
  addWith<Row>(row: Row, write: (row: Row) => void): boolean {
    if (this.#skip > 0) {
      this.#skip--
      return true
    }
    if (this.#rowCount >= this.#limits.rows) this.#truncated = 'rows'
    else if (this.#taken + this.#target.pending + (this.#target.held ?? 0) >= this.#limits.bytes)
      this.#truncated = 'bytes'
    if (this.#truncated !== 'no') return false
    write(row)
    this.#rowCount++
    return true
  }

  addAll(rows: Iterable<Raw>): void {
    for (const raw of rows) if (!this.add(raw)) return
  }

  /** Counts a chunk that was taken from the target. */
  count<Chunk extends Uint8Array>(chunk: Chunk): Chunk {
    this.#taken += chunk.byteLength
    return chunk
  }

  /** `columns` is the number of columns before those of the key. */
  outcome(columns: number): ReadOutcome {
    return { rowCount: this.#rowCount, truncated: this.#truncated, lastKey: this.#lastRow.slice(columns) }
  }
}

/** Rows that a write returns are held in memory until it is committed. */
const MAX_RETURNED_BYTES = 64 * 1024 * 1024
/** The limit for a write with an Idempotency-Key, whose rows are stored too, as one text. */
const MAX_STORED_BYTES = 24 * 1024 * 1024
/** Estimated memory of a row and of a value, without its text. */
const ROW_BYTES = 64
export const CELL_BYTES = 16

type ReturningRequest = Pick<WriteRequest, 'returning' | 'rowLimit' | 'byteLimit' | 'mustBeWhole' | 'idempotencyKey'>

export class ReturnedRows<Raw> {
  readonly #request: ReturningRequest
  readonly #collector = new RowCollector()
  readonly #rows: BoundedRows<Raw>

  constructor(request: ReturningRequest, decodeRow: RowDecoder<Raw>) {
    this.#request = request
    const most = request.idempotencyKey === undefined ? MAX_RETURNED_BYTES : MAX_STORED_BYTES
    const bytes = Math.min(most, request.byteLimit ?? most)
    this.#rows = new BoundedRows(this.#collector, { skip: 0, rows: request.rowLimit, bytes }, decodeRow)
  }

  add(raw: Raw): void {
    if (this.#request.returning.length > 0) this.#rows.add(raw)
  }

  /** Call before the commit: if the format cannot report missing rows, the write is rolled back. */
  outcome(rowsAffected: number): WriteOutcome {
    const { returning: columns, mustBeWhole } = this.#request
    const isTruncated = this.#rows.truncated !== 'no'
    if (isTruncated && mustBeWhole)
      throw refuse(
        'Limit.Bytes',
        'The write would return more rows than the limit, which this format cannot report; nothing was written',
      )
    return { rowsAffected, columns, rows: this.#collector.rows, isTruncated }
  }
}

class RowCollector implements RowTarget {
  readonly rows: (readonly Cell[])[] = []
  pending = 0

  add(row: readonly Cell[]): void {
    this.rows.push([...row])
    this.pending += ROW_BYTES
    for (const cell of row) this.pending += CELL_BYTES + cellSize(cell)
  }
}

export function cellSize(cell: Cell): number {
  return typeof cell === 'string' ? cell.length : cell instanceof Uint8Array ? cell.byteLength : 0
}
