/**
 * Encodes rows with long values piece by piece, so that one row of many megabytes neither holds the event loop nor takes several times
 * its size in memory.
 */
import { randomUUID } from 'node:crypto'
import { isLongType, type ResultColumn } from 'gatehouse-iql'
import {
  type Cell,
  type Encoding,
  isText,
  type RowEncoder,
  type TextFormat,
  type TextRowEncoder,
} from '../model/result.ts'
import { needsQuotes } from '../types/csv-form.ts'
import { withoutLineBreaks } from '../types/json.ts'

/** Longer values are encoded in pieces of this length: at most 10 ms for each, if every character has to be escaped. */
const PIECE_LENGTH = 256 * 1024
/** The same in bytes of a Binary, so that no piece but the last has padding in base64. */
const PIECE_BYTES = 3 * 64 * 1024

type LongValue = string | Uint8Array

/**
 * Takes rows in place of an encoder. A row with a long value is kept back: `pieces` has it, with all rows before it. The encoder writes
 * such a row with a short mark for each long value, which is then replaced by the value.
 */
export class LongRows {
  readonly #encoder: RowEncoder
  readonly #columns: readonly ResultColumn[]
  /** Undefined in binary formats, which copy values as they are. */
  readonly #textPieces: TextPieces | undefined
  readonly #mark = randomUUID()
  /** The ordinals of the columns whose values can be long; none in binary formats. */
  readonly #longColumns: readonly number[]
  /** The long values of the row that is kept back, in its order. */
  #values: { readonly value: LongValue; readonly column: number }[] = []

  constructor(encoder: RowEncoder, columns: readonly ResultColumn[], encoding: Encoding) {
    this.#encoder = encoder
    this.#columns = columns
    this.#textPieces = isText(encoding) ? TEXT_PIECES[encoding.format] : undefined
    this.#longColumns = this.#textPieces
      ? columns.flatMap(({ type }, column) => (isLongType(type) ? [column] : []))
      : []
  }

  get pending(): number {
    return this.#encoder.pending
  }

  get held(): number {
    return this.#encoder.held ?? 0
  }

  get hasLongRow(): boolean {
    return this.#values.length > 0
  }

  /** The length of the long values of the row that is kept back. */
  get longLength(): number {
    return this.#values.reduce((sum, { value }) => sum + value.length, 0)
  }

  add(row: readonly Cell[]): void {
    for (let index = 0; index < this.#longColumns.length; index++) {
      if (isLong(row[this.#longColumns[index] as number])) {
        this.#addLong(row)
        return
      }
    }
    this.#encoder.add(row)
  }

  #addLong(row: readonly Cell[]): void {
    const marked = [...row]
    for (const column of this.#longColumns) {
      const value = row[column]
      if (!isLong(value)) continue
      this.#values.push({ value, column })
      marked[column] = this.#mark
    }
    this.#encoder.add(marked)
  }

  *pieces(): Generator<Uint8Array, void, void> {
    const values = this.#values
    this.#values = []
    const parts = (this.#encoder as TextRowEncoder).takeText().split(this.#mark)
    let pending = parts[0] ?? ''
    for (const [index, { value, column }] of values.entries()) {
      for (const piece of this.#encoded(value, column)) {
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
  *#encoded(text: LongValue, column: number): Generator<string> {
    if (typeof text !== 'string') {
      for (let start = 0; start < text.length; start += PIECE_BYTES)
        yield Buffer.from(text.buffer, text.byteOffset + start, Math.min(PIECE_BYTES, text.length - start)).toString(
          'base64',
        )
      return
    }
    yield* this.#textPieces?.(text, this.#columns[column]?.type.kind === 'Json') ?? []
  }
}

type TextPieces = (text: string, isJson: boolean) => Generator<string>

const TEXT_PIECES: Readonly<Record<TextFormat, TextPieces>> = {
  json: jsonPieces,
  ndjson: jsonPieces,
  csv: csvPieces,
}

function* jsonPieces(text: string, isJson: boolean): Generator<string> {
  for (const piece of splitText(text)) yield isJson ? withoutLineBreaks(piece) : escaped(piece)
}

function* csvPieces(text: string): Generator<string> {
  const quote = needsQuotes(text) ? '"' : ''
  yield quote
  for (const piece of splitText(text)) yield quote === '' ? piece : piece.replaceAll('"', '""')
  yield quote
}

function isLong(cell: Cell | undefined): cell is LongValue {
  return (typeof cell === 'string' || cell instanceof Uint8Array) && cell.length > PIECE_LENGTH
}

const escaped = (piece: string): string => JSON.stringify(piece).slice(1, -1)

/** Never cut between the two halves of a surrogate pair, which would then be escaped separately. */
function* splitText(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + PIECE_LENGTH, text.length)
    const last = text.charCodeAt(end - 1)
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end--
    yield text.slice(start, end)
    start = end
  }
}
