/** How many bytes the values of rows take, found before they are created: a few bytes of a body can stand for gigabytes. */
import { MAX_RESULT_ROW_BYTES } from 'gatehouse-iql'
import { atPlace } from '../batches/row-error.ts'
import { refuse } from '../errors.ts'
import { BATCH_BYTES, BATCH_ROWS } from './reader.ts'

/** The most values that are read in one turn of the event loop. */
const BATCH_VALUES = 32 * 1024

/** The rows that may be looked at together, if they have this many columns. */
export function rowsPerTurn(columns: number): number {
  return Math.max(1, Math.min(BATCH_ROWS, Math.floor(BATCH_VALUES / Math.max(1, columns))))
}

/** What sizes are added to. */
export interface Sizes {
  add(row: number, bytes: number): void
  addToEach(bytes: number): void
}

export class RowSizes implements Sizes {
  #sizes = new Float64Array(0)
  #each = 0
  #rows = 0

  /** For these rows, the sizes of which are 0 now. */
  begin(rows: number): void {
    if (rows > this.#sizes.length) this.#sizes = new Float64Array(rows)
    this.#sizes.fill(0, 0, rows)
    this.#each = 0
    this.#rows = rows
  }

  add(row: number, bytes: number): void {
    this.#sizes[row] = (this.#sizes[row] ?? 0) + bytes
  }

  addToEach(bytes: number): void {
    this.#each += bytes
  }

  /** The end of the batch that begins with a row, and its bytes. `first` is the number of the first row, for messages. */
  cut(from: number, first: number): { readonly to: number; readonly bytes: number } {
    let bytes = 0
    for (let row = from; row < this.#rows; row++) {
      const size = (this.#sizes[row] ?? 0) + this.#each
      if (size > MAX_RESULT_ROW_BYTES) throw rowTooLong(first + row)
      if (row > from && bytes + size > BATCH_BYTES) return { to: row, bytes }
      bytes += size
    }
    return { to: this.#rows, bytes }
  }
}

function rowTooLong(row: number): Error {
  return atPlace(refuse('Limit.Value', `The row has more than ${MAX_RESULT_ROW_BYTES} bytes`), { row })
}
