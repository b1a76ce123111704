/** Encodes rows with long texts piece by piece, so that one row of many megabytes does not hold the event loop. */
import { randomUUID } from 'node:crypto'
import type { ResultColumn } from 'gatehouse-iql'
import { type Cell, type Encoding, isText, type RowEncoder, type TextRowEncoder } from '../model/result.ts'
import { needsQuotes } from './encoders.ts'

/** Longer texts are encoded in pieces of this length: at most 10 ms for each, if every character has to be escaped. */
const PIECE_LENGTH = 256 * 1024

/**
 * Takes rows in place of an encoder. A row with a long text is kept back: `pieces` has it, with all rows before it. The encoder writes
 * such a row with a short mark for each long text, which is then replaced by the text.
 */
export class LongRows {
  readonly #encoder: RowEncoder
  readonly #columns: readonly ResultColumn[]
  readonly #format: Encoding['format']
  readonly #isText: boolean
  readonly #mark = randomUUID()
  /** The long texts of the row that is kept back, in its order. */
  #texts: { readonly text: string; readonly column: number }[] = []

  constructor(encoder: RowEncoder, columns: readonly ResultColumn[], encoding: Encoding) {
    this.#encoder = encoder
    this.#columns = columns
    this.#format = encoding.format
    this.#isText = isText(encoding)
  }

  get pending(): number {
    return this.#encoder.pending
  }

  get held(): number {
    return this.#encoder.held ?? 0
  }

  get hasLongRow(): boolean {
    return this.#texts.length > 0
  }

  /** Binary formats copy texts as they are. */
  add(row: readonly Cell[]): void {
    if (!this.#isText || !row.some(isLong)) {
      this.#encoder.add(row)
      return
    }
    const marked = row.map((cell, column) => {
      if (!isLong(cell) || column >= this.#columns.length) return cell
      this.#texts.push({ text: cell, column })
      return this.#mark
    })
    this.#encoder.add(marked)
  }

  *pieces(): Generator<Uint8Array, void, void> {
    const texts = this.#texts
    this.#texts = []
    const parts = (this.#encoder as TextRowEncoder).takeText().split(this.#mark)
    let pending = parts[0] ?? ''
    for (const [index, { text, column }] of texts.entries()) {
      for (const piece of this.#encoded(text, column)) {
        pending += piece
        if (pending.length < PIECE_LENGTH) continue
        yield Buffer.from(pending)
        pending = ''
      }
      pending += parts[index + 1] ?? ''
    }
    yield Buffer.from(pending)
  }

  /** What stands between the quotes in JSON; in CSV the quotes too. */
  *#encoded(text: string, column: number): Generator<string> {
    if (this.#format !== 'csv') {
      const encode = this.#columns[column]?.type.kind === 'Json' ? withoutLineBreaks : escaped
      for (const piece of piecesOf(text)) yield encode(piece)
      return
    }
    const quote = needsQuotes(text) ? '"' : ''
    yield quote
    for (const piece of piecesOf(text)) yield quote === '' ? piece : piece.replaceAll('"', '""')
    yield quote
  }
}

function isLong(cell: Cell): cell is string {
  return typeof cell === 'string' && cell.length > PIECE_LENGTH
}

const escaped = (piece: string): string => JSON.stringify(piece).slice(1, -1)
const withoutLineBreaks = (piece: string): string => piece.replace(/[\r\n]/g, ' ')

/** Never cut between the two halves of a surrogate pair, which would then be escaped separately. */
function* piecesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + PIECE_LENGTH, text.length)
    const last = text.charCodeAt(end - 1)
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end--
    yield text.slice(start, end)
    start = end
  }
}
