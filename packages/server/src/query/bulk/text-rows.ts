/** What the readers of texts share: pieces of a body cut at the ends of rows, and the columns that their fields are added to. */
import { isUtf8 } from 'node:buffer'
import { setImmediate as immediate } from 'node:timers/promises'
import { MAX_RESULT_ROW_BYTES } from 'gatehouse-iql'
import { badBody, badValue, type NamedColumn, type Place } from '../batches/row-error.ts'
import { BATCH_BYTES, type ByteSource, type ReadBatch } from './reader.ts'
import { rowsPerTurn } from './row-sizes.ts'
import { type TextColumn, textColumn } from './values.ts'

/** Reads the rows at the beginning of the bytes, and returns how many bytes they take; 0 if the first one is not whole. */
export type ReadRows = (bytes: Buffer, isLast: boolean) => number

/** Other work gets a turn after this many bytes. */
const TURN_BYTES = 64 * 1024

/** The bytes that have arrived and are not read yet. */
export class TextPieces {
  readonly #source: AsyncIterator<Uint8Array>
  #left: Buffer = Buffer.alloc(0)
  #hasEnded = false

  constructor(source: ByteSource) {
    this.#source = source[Symbol.asyncIterator]()
  }

  get isDone(): boolean {
    return this.#hasEnded && this.#left.length === 0
  }

  /** Calls `read` with more and more bytes until it has read some. False at the end of the body. */
  async next(read: ReadRows, place: () => Place): Promise<boolean> {
    if (this.#left.length === 0) await this.#more(1)
    for (;;) {
      if (this.isDone) return false
      const piece = this.#left.length > TURN_BYTES && !this.#isLong ? this.#left.subarray(0, TURN_BYTES) : this.#left
      const isLast = this.#hasEnded && piece.length === this.#left.length
      const taken = read(piece, isLast)
      this.#left = this.#left.subarray(taken)
      this.#isLong = taken === 0
      if (taken > 0) {
        await immediate()
        return true
      }
      if (piece.length < this.#left.length) continue
      if (this.#left.length > MAX_RESULT_ROW_BYTES)
        throw badBody(`The row has more than ${MAX_RESULT_ROW_BYTES} bytes`, place())
      if (isLast) throw badBody('The body ends within a row', place())
      // Doubling: a long row must not be searched again after each packet.
      await this.#more(Math.max(this.#left.length, 1))
    }
  }

  /** The first row is longer than a turn. */
  #isLong = false

  async #more(least: number): Promise<void> {
    const parts = [this.#left]
    for (let length = 0; length < least; ) {
      const { value, done } = await this.#source.next()
      if (done) {
        this.#hasEnded = true
        break
      }
      parts.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
      length += value.byteLength
    }
    this.#left = parts.length === 2 && this.#left.length === 0 ? (parts[1] ?? this.#left) : Buffer.concat(parts)
  }
}

/** The rows of a batch, field by field. */
export class TextRows {
  readonly columns: readonly NamedColumn[]
  readonly #cells: readonly TextColumn[]
  /** A row of a few bytes may leave out all columns. */
  readonly #most: number
  #lines = new Uint32Array(1024)
  #bytes = 0
  rows = 0

  constructor(columns: readonly NamedColumn[], chooseColumn: (column: NamedColumn) => TextColumn = plainColumn) {
    this.columns = columns
    this.#cells = columns.map(chooseColumn)
    this.#most = rowsPerTurn(columns.length)
  }

  addNull(column: number): void {
    this.#cells[column]?.builder.addNull()
  }

  /** Throws if the value does not fit. */
  addBytes(column: number, bytes: Buffer, start: number, end: number, line: number): void {
    const problem = this.#cells[column]?.addBytes(bytes, start, end)
    if (problem !== undefined) throw this.#bad(column, bytes.toString('utf8', start, end), problem, line)
  }

  addText(column: number, text: string, line: number): void {
    const problem = this.#cells[column]?.addText(text)
    if (problem !== undefined) throw this.#bad(column, text, problem, line)
  }

  #bad(column: number, text: string, problem: string, line: number): Error {
    const named = this.columns[column]
    return named === undefined ? new Error('A value without a column') : badValue({ line }, named, text, problem)
  }

  /** After the last field of a row. */
  endRow(line: number, bytes: number): void {
    if (this.rows >= this.#lines.length) {
      const lines = new Uint32Array(2 * this.#lines.length)
      lines.set(this.#lines)
      this.#lines = lines
    }
    this.#lines[this.rows++] = line
    this.#bytes += bytes
  }

  get isFull(): boolean {
    return this.rows >= this.#most || this.#bytes >= BATCH_BYTES
  }

  take(): ReadBatch {
    const batch = {
      rows: this.rows,
      columns: this.#cells.map(({ builder }) => builder.take()),
      lines: this.#lines.slice(0, this.rows),
    }
    this.rows = 0
    this.#bytes = 0
    return batch
  }
}

function plainColumn({ type }: NamedColumn): TextColumn {
  return textColumn(type)
}

/** Text is UTF-8 without NUL. Checked for all rows of a piece at once; the line is found only for the error. */
export function checkText(bytes: Buffer, line: number): void {
  if (isUtf8(bytes) && !bytes.includes(0)) return
  let start = 0
  for (let at = line; ; at++) {
    const end = bytes.indexOf(10, start)
    const part = bytes.subarray(start, end === -1 ? undefined : end)
    if (part.includes(0)) throw badBody('The text contains NUL', { line: at })
    if (!isUtf8(part) || end === -1) throw badBody('The text is not UTF-8', { line: at })
    start = end + 1
  }
}
