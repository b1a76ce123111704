/** The rows that a write gives back: they are held in memory until it is committed, so there is a bound to them. */
import { refuse } from '../errors.ts'
import type { Cell } from '../result/encoding.ts'
import type { WriteOutcome, WriteRequest } from './engine.ts'

type Limits = Pick<WriteRequest, 'returning' | 'rowLimit' | 'mustBeWhole'>

const MOST_BYTES = 64 * 1024 * 1024
/** What a row and a value in it take beside their text. */
const ROW_BYTES = 64
const CELL_BYTES = 16

export class ReturnedRows {
  readonly #limits: Limits
  readonly #rows: (readonly Cell[])[] = []
  #bytes = 0
  #isTruncated = false

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /** Makes and keeps one more row, or notes that one was left out. */
  add(make: () => readonly Cell[]): void {
    const { returning, rowLimit } = this.#limits
    if (returning.length === 0) return
    if (this.#rows.length >= rowLimit || this.#bytes >= MOST_BYTES) {
      this.#isTruncated = true
      return
    }
    const row = make()
    this.#rows.push(row)
    this.#bytes += ROW_BYTES
    for (const cell of row) this.#bytes += CELL_BYTES + sizeOf(cell)
  }

  /** To be called before the commit: a result that cannot say that rows are missing undoes the write. */
  outcome(rowsAffected: number): WriteOutcome {
    const { returning: columns, mustBeWhole } = this.#limits
    if (this.#isTruncated && mustBeWhole)
      throw refuse('Limit.Bytes', 'The write would return more rows than its format can be given; nothing was written')
    return { rowsAffected, columns, rows: this.#rows, isTruncated: this.#isTruncated }
  }
}

function sizeOf(cell: Cell): number {
  return typeof cell === 'string' ? cell.length : cell instanceof Uint8Array ? cell.byteLength : 0
}
