/** Reads the formats text and csv of PostgreSQL's COPY, whose values are written as PostgreSQL does. */
import { badBody, type NamedColumn } from '../batches/row-error.ts'
import { representation } from '../types/types.ts'
import { type CsvOptions, openCsv } from './csv.ts'
import type { BulkReader, ByteSource } from './reader.ts'
import { checkText, TextPieces, TextRows } from './text-rows.ts'
import { type TextColumn, textColumn } from './values.ts'

export interface CopyTextOptions {
  readonly delimiter: string
  readonly null: string
  readonly hasHeader: boolean
}

export async function openCopyCsv(source: ByteSource, options: CsvOptions): Promise<BulkReader> {
  const reader = await openCsv(source, {
    ...options,
    skipsEmptyLines: false,
    hasEndMark: true,
    chooseColumn: postgresColumn,
  })
  // The header is left out; the statement names the columns.
  return { names: undefined, read: (columns) => reader.read(columns) }
}

const [LF, CR, BACKSLASH] = [10, 13, 92]

export async function openCopyText(source: ByteSource, options: CopyTextOptions): Promise<BulkReader> {
  const pieces = new TextPieces(source)
  return {
    names: undefined,
    async *read(columns) {
      const rows = new TextRows(columns, postgresColumn)
      const lines = new CopyLines(options)
      while (
        await pieces.next(
          (bytes, isLast) => lines.read(bytes, isLast, rows),
          () => ({ line: lines.line }),
        )
      )
        if (rows.isFull) yield rows.take()
      if (rows.rows > 0) yield rows.take()
    },
  }
}

class CopyLines {
  line = 1
  readonly #delimiter: number
  readonly #null: Buffer
  #skipsLine: boolean
  /** After the line `\.` nothing is read. */
  #hasEnded = false

  constructor(options: CopyTextOptions) {
    this.#delimiter = options.delimiter.charCodeAt(0)
    this.#null = Buffer.from(options.null)
    this.#skipsLine = options.hasHeader
  }

  read(bytes: Buffer, isLast: boolean, rows: TextRows): number {
    if (this.#hasEnded) return bytes.length
    const begin = this.line
    let at = 0
    while (at < bytes.length && !rows.isFull && !this.#hasEnded) {
      const found = bytes.indexOf(LF, at)
      if (found === -1 && !isLast) break
      const next = found === -1 ? bytes.length : found + 1
      const lineEnd = found === -1 ? bytes.length : found
      const end = bytes[lineEnd - 1] === CR && lineEnd > at ? lineEnd - 1 : lineEnd
      if (end - at === 2 && bytes[at] === BACKSLASH && bytes[at + 1] === 46) this.#hasEnded = true
      else if (this.#skipsLine) this.#skipsLine = false
      else this.#addRow(bytes, at, end, rows)
      this.line++
      at = next
    }
    if (at > 0) checkText(bytes.subarray(0, at), begin)
    return at
  }

  #addRow(bytes: Buffer, start: number, end: number, rows: TextRows): void {
    const { line } = this
    const count = rows.columns.length
    let column = 0
    for (let at = start; ; column++) {
      let close = at
      let hasEscape = false
      while (close < end && bytes[close] !== this.#delimiter) {
        if (bytes[close] === BACKSLASH) {
          hasEscape = true
          close++
        }
        close++
      }
      close = Math.min(close, end)
      if (column >= count) throw badBody(`The row has more than ${count} fields`, { line })
      const isNull = close - at === this.#null.length && this.#null.compare(bytes, at, close) === 0
      if (isNull) rows.addNull(column)
      else if (hasEscape) {
        const text = unescaped(bytes.subarray(at, close), line)
        rows.addBytes(column, text, 0, text.length, line)
      } else rows.addBytes(column, bytes, at, close, line)
      if (close >= end) break
      at = close + 1
    }
    if (column + 1 !== count) throw badBody(`The row has ${column + 1} fields, not ${count}`, { line })
    rows.endRow(line, end - start)
  }
}

const ESCAPES: ReadonlyMap<number, number> = new Map(
  Object.entries({ b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 }).map(([letter, byte]) => [letter.charCodeAt(0), byte]),
)
const LETTER_X = 120

/** An escape may stand for a byte of a character, so the text is put together from bytes. */
function unescaped(field: Buffer, line: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(field.length)
  let length = 0
  for (let at = 0; at < field.length; ) {
    const byte = field[at++] ?? 0
    if (byte !== BACKSLASH || at === field.length) {
      bytes[length++] = byte
      continue
    }
    const code = field[at++] ?? 0
    const isHex = code === LETTER_X && readDigit(field[at], 16) >= 0
    const [base, most] = isHex ? [16, 2] : [8, 3]
    if (!isHex && readDigit(code, 8) < 0) {
      bytes[length++] = ESCAPES.get(code) ?? code
      continue
    }
    if (!isHex) at--
    let value = 0
    for (let count = 0; count < most && readDigit(field[at], base) >= 0; count++)
      value = value * base + readDigit(field[at++], base)
    bytes[length++] = value & 0xff
  }
  const whole = bytes.subarray(0, length)
  checkText(whole, line)
  return whole
}

/** -1 if it is none. */
function readDigit(byte: number | undefined, base: number): number {
  if (byte === undefined) return -1
  const lower = byte | 0x20
  const digit = byte >= 48 && byte <= 57 ? byte - 48 : lower >= 97 && lower <= 102 ? lower - 87 : -1
  return digit < base ? digit : -1
}

/** Texts as PostgreSQL writes them: `t`, `\x00ff`, a timestamp with `+00`. */
function postgresColumn({ type }: NamedColumn): TextColumn {
  return textColumn(type, representation(type).wire.readText)
}
