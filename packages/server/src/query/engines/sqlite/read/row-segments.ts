/**
 * Rows that are in no segment, as segments in memory: SQL takes many times as long as the executor to join them, or to count their different
 * values. The bench is `columns` (as-of, percentiles, distinct).
 */
import type { Database, Statement } from 'better-sqlite3'
import type { OwnRows } from '../../../columns/plan.ts'
import { type RawValue, Segment, type SegmentColumn, writeSegment } from '../../../columns/segment.ts'
import type { SqlStatement } from '../../emit/parameters.ts'
import type { PartsRun } from '../../parts-run.ts'
import { withNamed } from './named-parameters.ts'
import type { ReadableSegment } from './segment-batches.ts'

/** In memory at once. */
const MAX_ROWS = 32_768

export class RowSegments {
  readonly #columns: readonly SegmentColumn[]
  readonly #rows: SqlStatement
  readonly #read: Statement<unknown[], RawValue[]>
  readonly #next: Statement<[bigint, bigint], bigint>

  constructor(connection: Database, { table, rowId }: PartsRun, { rows, columns }: OwnRows<SqlStatement>) {
    this.#columns = columns
    this.#rows = rows
    this.#read = connection.prepare<unknown[], RawValue[]>(rows.sql).raw(true).safeIntegers(true)
    this.#next = connection
      .prepare<[bigint, bigint], bigint>(
        `SELECT ${rowId} FROM ${table} WHERE ${rowId} BETWEEN ? AND ? ORDER BY ${rowId} LIMIT 1 OFFSET ${MAX_ROWS}`,
      )
      .pluck(true)
      .safeIntegers(true)
  }

  /** The rows from one to another, both included. */
  split(first: bigint, last: bigint): ReadableSegment[] {
    const segments: ReadableSegment[] = []
    for (let from: bigint | undefined = first; from !== undefined; ) {
      const next = this.#next.get(from, last)
      segments.push(this.#segment(from, next === undefined ? last : next - 1n))
      from = next
    }
    return segments
  }

  #segment(first: bigint, last: bigint): ReadableSegment {
    const open = (): Segment => {
      const rows = this.#read.all(...withNamed(this.#rows.parameters, { first, last }))
      const bytes = writeSegment('', this.#columns, rows)
      return new Segment((offset, length) => bytes.subarray(offset, offset + length))
    }
    return { first, last, tag: '', rows: MAX_ROWS, open }
  }
}
