/** Reads CSV (RFC 4180) by columns. An empty field is NULL, a quoted empty field is empty text. */
import { delimiterName, guessDelimiter } from 'gatehouse-csv'
import { badBody, type NamedColumn } from '../batches/row-error.ts'
import { countBytes, findByte } from './find-byte.ts'
import { type BulkReader, type ByteSource, MAX_COLUMNS } from './reader.ts'
import { checkText, TextPieces, TextRows } from './text-rows.ts'
import type { TextColumn } from './values.ts'

export interface CsvOptions {
  readonly delimiter: string
  /** Whether the first record names the columns. */
  readonly hasHeader: boolean
  /** Texts that mean NULL where they are not quoted. */
  readonly nulls: readonly string[]
  /** Whether an empty line is left out, or is a row with one empty field. */
  readonly skipsEmptyLines: boolean
  readonly quote: string
  /** What makes a quote within quotes part of the value. */
  readonly escape: string
  /** Whether the line `\.` ends the rows; what follows it is not read. */
  readonly hasEndMark?: boolean | undefined
  /** How values are written, where that is not as IQL does. */
  readonly chooseColumn?: ((column: NamedColumn) => TextColumn) | undefined
}

export const CSV: CsvOptions = {
  delimiter: ',',
  hasHeader: true,
  nulls: [''],
  skipsEmptyLines: true,
  quote: '"',
  escape: '"',
}

const [LF, CR] = [10, 13]
const BOM = Buffer.from('\uFEFF')
const END_MARK = Buffer.from('\\.')

export async function openCsv(source: ByteSource, options: CsvOptions): Promise<BulkReader> {
  const pieces = new TextPieces(source)
  const records = new CsvRecords(options)
  let names: string[] | undefined
  while (options.hasHeader && names === undefined) {
    const isRead = await pieces.next(
      (bytes, isLast) =>
        records.read(bytes, isLast, (fields) => {
          names = fields.texts()
          return false
        }),
      () => ({ line: records.line }),
    )
    if (!isRead) throw badBody('The body is empty: the first line must name the columns')
  }
  return {
    names: names?.map((name) => name.trim()),
    async *read(columns) {
      const rows = new TextRows(columns, options.chooseColumn)
      const add = (fields: CsvFields): boolean => {
        fields.addTo(rows)
        return !rows.isFull
      }
      while (
        await pieces.next(
          (bytes, isLast) => records.read(bytes, isLast, add),
          () => ({ line: records.line }),
        )
      )
        if (rows.isFull) yield rows.take()
      if (rows.rows > 0) yield rows.take()
    },
  }
}

/** The name of another delimiter, which would split a record that has one field only. */
export function otherDelimiter(fields: readonly string[], { delimiter }: CsvOptions): string | undefined {
  const [only = '', ...more] = fields
  const found = guessDelimiter([only])
  return more.length === 0 && found !== delimiter && only.includes(found) ? delimiterName(found) : undefined
}

/** The fields of one record, as places in the bytes. */
class CsvFields {
  readonly #nulls: readonly Buffer[]
  readonly #options: CsvOptions
  readonly #quote: number
  readonly #escape: number
  #places = new Int32Array(64)
  count = 0
  bytes: Buffer = Buffer.alloc(0)
  line = 1
  /** Of the whole record. */
  length = 0

  constructor(options: CsvOptions) {
    this.#nulls = options.nulls.map((text) => Buffer.from(text))
    this.#quote = options.quote.charCodeAt(0)
    this.#escape = options.escape.charCodeAt(0)
    this.#options = options
  }

  /** `form`: 0 for a plain field, 1 for a quoted one, 2 for one with escaped quotes. */
  add(start: number, end: number, form: number): void {
    if (this.count >= MAX_COLUMNS) throw badBody(`The row has more than ${MAX_COLUMNS} fields`, { line: this.line })
    const at = 3 * this.count++
    if (at + 3 > this.#places.length) {
      const places = new Int32Array(2 * this.#places.length)
      places.set(this.#places)
      this.#places = places
    }
    this.#places[at] = start
    this.#places[at + 1] = end
    this.#places[at + 2] = form
  }

  /** Whether the record is one field with this text, without quotes. */
  isOnly(text: Buffer): boolean {
    const [start = 0, end = 0, form] = this.#places
    return this.count === 1 && form === 0 && end - start === text.length && text.compare(this.bytes, start, end) === 0
  }

  texts(): string[] {
    return Array.from({ length: this.count }, (_field, index) => {
      const [start = 0, end = 0, form = 0] = this.#places.subarray(3 * index)
      return form === 2 ? this.#unescaped(start, end).toString() : this.bytes.toString('utf8', start, end)
    })
  }

  addTo(rows: TextRows): void {
    const { count, bytes, line } = this
    const expected = rows.columns.length
    if (count !== expected) throw this.#wrongCount(expected)
    for (let index = 0; index < count; index++) {
      const start = this.#places[3 * index] ?? 0
      const end = this.#places[3 * index + 1] ?? 0
      const form = this.#places[3 * index + 2]
      if (form === 2) {
        const text = this.#unescaped(start, end)
        rows.addBytes(index, text, 0, text.length, line)
      } else if (form === 0 && this.#isNull(start, end)) rows.addNull(index)
      else rows.addBytes(index, bytes, start, end, line)
    }
    rows.endRow(line, this.length)
  }

  #wrongCount(expected: number): Error {
    const { count, line } = this
    const other = otherDelimiter(count === 1 ? this.texts() : [], this.#options)
    const hint = other === undefined ? '' : `; if its delimiter is ${other}, say so`
    return badBody(`The row has ${count} ${count === 1 ? 'field' : 'fields'}, not ${expected}${hint}`, { line })
  }

  #isNull(start: number, end: number): boolean {
    for (const text of this.#nulls)
      if (text.length === end - start && (start === end || text.compare(this.bytes, start, end) === 0)) return true
    return false
  }

  /** The field without its escapes. */
  #unescaped(start: number, end: number): Buffer {
    const { bytes } = this
    const text = Buffer.allocUnsafeSlow(end - start)
    let length = 0
    for (let at = start; at < end; at++) {
      const isEscape =
        bytes[at] === this.#escape &&
        at + 1 < end &&
        (bytes[at + 1] === this.#quote || (this.#escape !== this.#quote && bytes[at + 1] === this.#escape))
      if (isEscape) at++
      text[length++] = bytes[at] ?? 0
    }
    return text.subarray(0, length)
  }
}

/** Finds records and their fields. */
class CsvRecords {
  /** The line of the next record. */
  line = 1
  readonly #fields: CsvFields
  readonly #delimiter: number
  readonly #quote: number
  readonly #escape: number
  readonly #skipsEmptyLines: boolean
  readonly #hasEndMark: boolean
  #isFirst = true
  #hasEnded = false

  constructor(options: CsvOptions) {
    this.#fields = new CsvFields(options)
    this.#delimiter = options.delimiter.charCodeAt(0)
    this.#quote = options.quote.charCodeAt(0)
    this.#escape = options.escape.charCodeAt(0)
    this.#skipsEmptyLines = options.skipsEmptyLines
    this.#hasEndMark = options.hasEndMark ?? false
  }

  /** Calls back for each record until it returns false; returns the bytes of the records that were read. */
  read(bytes: Buffer, isLast: boolean, onRecord: (fields: CsvFields) => boolean): number {
    if (this.#hasEnded) return bytes.length
    let at = this.#isFirst && bytes.subarray(0, 3).equals(BOM) ? 3 : 0
    const first = at
    const begin = this.line
    while (at < bytes.length) {
      const end = this.#readRecord(bytes, at, isLast)
      if (end === -1) break
      if (this.#hasEndMark && this.#fields.isOnly(END_MARK)) {
        this.#hasEnded = true
        checkText(bytes.subarray(first, at), begin)
        return bytes.length
      }
      const { count, line, length } = this.#fields
      const isEmpty = count === 1 && length <= 2 && (bytes[at] === LF || bytes[at] === CR)
      at = end
      if (isEmpty && this.#skipsEmptyLines) continue
      this.#fields.line = line
      if (!onRecord(this.#fields)) break
    }
    if (at === first) return 0
    checkText(bytes.subarray(first, at), begin)
    this.#isFirst = false
    return at
  }

  /** The end of the record; -1 if it is not whole. */
  #readRecord(bytes: Buffer, start: number, isLast: boolean): number {
    const fields = this.#fields
    fields.count = 0
    fields.bytes = bytes
    fields.line = this.line
    let newlines = 0
    for (let at = start; ; ) {
      let next: number
      if (bytes[at] === this.#quote) {
        let form = 1
        let close = at + 1
        for (;;) {
          close = this.#nextQuote(bytes, close)
          if (close >= bytes.length) {
            if (isLast) throw badBody('A quoted field does not end', { line: this.line })
            return -1
          }
          if (this.#isEscape(bytes, close)) {
            form = 2
            close += 2
          } else if (bytes[close] === this.#quote) break
          // An escape before another character is one itself.
          else close++
        }
        // The next byte decides whether the quote is escaped.
        if (close + 1 === bytes.length && !isLast) return -1
        fields.add(at + 1, close, form)
        newlines += countBytes(bytes, LF, at + 1, close)
        next = close + 1
      } else {
        next = at
        let byte = bytes[next]
        while (byte !== undefined && byte !== this.#delimiter && byte !== LF && byte !== CR) {
          if (byte === this.#quote)
            throw badBody('A quote is inside a field that does not begin with one', { line: this.line })
          byte = bytes[++next]
        }
        fields.add(at, next, 0)
      }
      const end = bytes[next]
      if (end === this.#delimiter) {
        at = next + 1
        if (at === bytes.length && !isLast) return -1
        continue
      }
      if (end === undefined && !isLast) return -1
      if (end === CR && next + 1 === bytes.length && !isLast) return -1
      const isEnd = end === undefined || end === LF || end === CR
      if (!isEnd) throw badBody('Text follows a closing quote', { line: this.line })
      const length = end === CR && bytes[next + 1] === LF ? 2 : end === undefined ? 0 : 1
      this.line += newlines + 1
      fields.length = next + length - start
      return next + length
    }
  }

  /** The place of the next quote, or of what may escape one. */
  #nextQuote(bytes: Buffer, start: number): number {
    if (this.#escape === this.#quote) return findByte(bytes, this.#quote, start, bytes.length)
    let at = start
    while (at < bytes.length && bytes[at] !== this.#quote && bytes[at] !== this.#escape) at++
    return at
  }

  /** Whether the byte makes the next one part of the value. */
  #isEscape(bytes: Buffer, at: number): boolean {
    if (bytes[at] !== this.#escape) return false
    const next = bytes[at + 1]
    return next === this.#quote || (this.#escape !== this.#quote && next === this.#escape)
  }
}
