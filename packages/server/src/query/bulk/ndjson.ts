/** Reads NDJSON by columns: each line is an object of assignments. No object is built for a row. */
import { didYouMean } from 'gatehouse-iql'
import { parseExactly } from '../../lib/exact-json.ts'
import { badBody, badValue, type NamedColumn } from '../batches/row-error.ts'
import { findLimitProblem, MAX_JSON_DEPTH, MAX_JSON_VALUES, MAX_NUMBER_LENGTH, writeJson } from '../json.ts'
import { type BulkReader, type ByteSource, MAX_COLUMNS } from './reader.ts'
import { checkText, TextPieces, TextRows } from './text-rows.ts'
import { columnIn, type Zone } from './zone.ts'

const [LF, QUOTE, BACKSLASH, COMMA, COLON] = [10, 34, 92, 44, 58]
const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [123, 125, 91, 93]

/** The members of the first object are the columns, unless `given` names them. */
export async function openNdjson(
  source: ByteSource,
  given: readonly string[] | undefined,
  zone?: Zone,
): Promise<BulkReader> {
  const pieces = new TextPieces(source)
  const lines = new JsonLines()
  const place = () => ({ line: lines.line })
  let names = given
  // The line stays in the bytes: it is read again as a row.
  while (names === undefined) {
    const isRead = await pieces.next((bytes, isLast) => {
      let start = 0
      let end = lineEnd(bytes, start, isLast)
      // All blank lines of a piece in one turn.
      while (end !== -1 && start < bytes.length && isBlank(bytes, start, end)) {
        lines.line++
        start = Math.min(end + 1, bytes.length)
        end = lineEnd(bytes, start, isLast)
      }
      if (end === -1 || start === bytes.length) return start
      names = lines.readNames(bytes.subarray(start, end), end - start)
      lines.first = Buffer.from(bytes.subarray(start, end))
      return Math.min(end + 1, bytes.length)
    }, place)
    if (!isRead) throw badBody('The body is empty')
  }
  return {
    names,
    async *read(columns) {
      const rows = new TextRows(columns, columnIn(zone))
      lines.begin(columns)
      if (lines.first !== undefined) {
        checkText(lines.first, lines.line)
        lines.readLine(lines.first, 0, lines.first.length, rows)
      }
      const read = (bytes: Buffer, isLast: boolean): number => lines.read(bytes, isLast, rows)
      while (await pieces.next(read, place)) if (rows.isFull) yield rows.take()
      if (rows.rows > 0) yield rows.take()
    },
  }
}

/** The end of the line without its LF; -1 if it is not whole. */
function lineEnd(bytes: Buffer, start: number, isLast: boolean): number {
  const end = bytes.indexOf(LF, start)
  return end === -1 && isLast ? bytes.length : end
}

class JsonLines {
  line = 1
  first: Buffer | undefined
  #columns: readonly NamedColumn[] = []
  #byName = new Map<string, number>()
  #names: readonly Buffer[] = []
  /** The line in which each column was given last. */
  #given = new Float64Array(0)

  begin(columns: readonly NamedColumn[]): void {
    this.#columns = columns
    this.#byName = new Map(columns.map(({ name }, index) => [name.toLowerCase(), index]))
    this.#names = columns.map(({ name }) => Buffer.from(name))
    this.#given = new Float64Array(columns.length)
  }

  /** The members of the object, whose values are read later. */
  readNames(bytes: Buffer, end: number): string[] {
    const names: string[] = []
    let at = skipSpace(bytes, 0, end)
    if (bytes[at] !== OPEN) throw this.#notAnObject()
    at = skipSpace(bytes, at + 1, end)
    while (at < end && bytes[at] !== CLOSE) {
      const close = bytes[at] === QUOTE ? stringEnd(bytes, at, end) : -1
      if (close === -1) throw this.#notJson()
      if (names.length >= MAX_COLUMNS)
        throw badBody(`The first line names more than ${MAX_COLUMNS} columns`, { line: this.line })
      names.push(this.#unescaped(bytes, at, close))
      at = skipSpace(bytes, close + 1, end)
      if (bytes[at] !== COLON) throw this.#notJson()
      at = skipSpace(bytes, this.#valueEnd(bytes, skipSpace(bytes, at + 1, end), end), end)
      if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1, end)
      else if (bytes[at] !== CLOSE) throw this.#notJson()
    }
    return names
  }

  #valueEnd(bytes: Buffer, start: number, end: number): number {
    const byte = bytes[start]
    if (byte === OPEN || byte === OPEN_LIST) return this.#nestedEnd(bytes, start, end)
    if (byte === QUOTE) {
      const close = stringEnd(bytes, start, end)
      if (close === -1) throw this.#notJson()
      return close + 1
    }
    return this.#tokenEnd(bytes, start, end)
  }

  #tokenEnd(bytes: Buffer, start: number, end: number): number {
    let close = start
    while (close < end && isTokenByte(bytes[close] ?? 0))
      if (++close - start > MAX_NUMBER_LENGTH) throw this.#longNumber()
    return close
  }

  read(bytes: Buffer, isLast: boolean, rows: TextRows): number {
    const begin = this.line
    let at = 0
    while (at < bytes.length && !rows.isFull) {
      const end = lineEnd(bytes, at, isLast)
      if (end === -1) break
      if (isBlank(bytes, at, end)) this.line++
      else this.readLine(bytes, at, end, rows)
      at = Math.min(end + 1, bytes.length)
    }
    if (at > 0) checkText(bytes.subarray(0, at), begin)
    return at
  }

  readLine(bytes: Buffer, start: number, end: number, rows: TextRows): void {
    const { line } = this
    let at = skipSpace(bytes, start, end)
    if (bytes[at] !== OPEN) throw this.#notAnObject()
    at = skipSpace(bytes, at + 1, end)
    for (let expected = 0; bytes[at] !== CLOSE; expected++) {
      if (bytes[at] !== QUOTE) throw this.#notJson()
      const close = stringEnd(bytes, at, end)
      if (close === -1) throw this.#notJson()
      const column = this.#columnAt(bytes, at, close, expected)
      at = skipSpace(bytes, close + 1, end)
      if (bytes[at] !== COLON) throw this.#notJson()
      at = this.#readValue(bytes, skipSpace(bytes, at + 1, end), end, column, rows)
      at = skipSpace(bytes, at, end)
      if (bytes[at] === COMMA && bytes[skipSpace(bytes, at + 1, end)] === QUOTE) at = skipSpace(bytes, at + 1, end)
      else if (bytes[at] !== CLOSE || at >= end) throw this.#notJson()
    }
    if (at >= end || skipSpace(bytes, at + 1, end) < end) throw this.#notJson()
    for (let column = 0; column < this.#given.length; column++) if (this.#given[column] !== line) rows.addNull(column)
    rows.endRow(line, end - start)
    this.line++
  }

  /** Lines usually name the same columns in the same order. */
  #columnAt(bytes: Buffer, open: number, close: number, expected: number): number {
    const name = this.#names[expected]
    const isExpected =
      name !== undefined && close - open - 1 === name.length && name.compare(bytes, open + 1, close) === 0
    const column = isExpected ? expected : this.#find(bytes.toString('utf8', open, close + 1))
    if (this.#given[column] === this.line) throw badBody('The line names a column twice', { line: this.line })
    this.#given[column] = this.line
    return column
  }

  #find(quoted: string): number {
    let name = ''
    try {
      name = String(JSON.parse(quoted))
    } catch {
      throw this.#notJson()
    }
    const column = this.#byName.get(name.toLowerCase())
    if (column !== undefined) return column
    const known = this.#columns.map((one) => one.name)
    const hint = didYouMean(name, known)
    throw badBody(
      `${JSON.stringify(name)} is not a column that the first line names${hint === undefined ? '' : `; ${hint}`}. Name every column in the first line, with null where it has no value`,
      { line: this.line },
    )
  }

  /** Returns the end of the value. */
  #readValue(bytes: Buffer, start: number, end: number, column: number, rows: TextRows): number {
    const { line } = this
    const isJson = this.#columns[column]?.type.kind === 'Json'
    const byte = bytes[start]
    if (byte === QUOTE) {
      const close = stringEnd(bytes, start, end)
      if (close === -1) throw this.#notJson()
      if (isJson) rows.addText(column, this.#jsonText(bytes.toString('utf8', start, close + 1)), line)
      else if (hasEscape(bytes, start + 1, close)) rows.addText(column, this.#unescaped(bytes, start, close), line)
      else if (hasControl(bytes, start + 1, close)) throw this.#notJson()
      else rows.addBytes(column, bytes, start + 1, close, line)
      return close + 1
    }
    if (byte === OPEN || byte === OPEN_LIST) {
      const close = this.#nestedEnd(bytes, start, end)
      const text = bytes.toString('utf8', start, close)
      const named = this.#columns[column]
      if (!isJson && named !== undefined) throw badValue({ line }, named, text, 'is an object or an array')
      rows.addText(column, this.#jsonText(text), line)
      return close
    }
    const close = this.#tokenEnd(bytes, start, end)
    if (close - start === 4 && bytes.toString('latin1', start, close) === 'null') rows.addNull(column)
    else if (isToken(bytes, start, close)) rows.addBytes(column, bytes, start, close, line)
    else throw this.#notJson()
    return close
  }

  /** After the bracket that ends the object or list; its content is checked when it is stored. */
  #nestedEnd(bytes: Buffer, open: number, end: number): number {
    let depth = 0
    let values = 0
    let word = 0
    for (let at = open; at < end; at++) {
      const byte = bytes[at] ?? 0
      if (isTokenByte(byte)) {
        if (++word > MAX_NUMBER_LENGTH) throw this.#longNumber()
        continue
      }
      word = 0
      if (byte === QUOTE) {
        at = stringEnd(bytes, at, end)
        if (at === -1) break
      } else if (byte === COMMA) values++
      else if (byte === OPEN || byte === OPEN_LIST) {
        values++
        if (++depth > MAX_JSON_DEPTH) throw this.#beyond(`nests more than ${MAX_JSON_DEPTH} levels deep`)
      } else if ((byte === CLOSE || byte === CLOSE_LIST) && --depth === 0) return at + 1
      if (values > MAX_JSON_VALUES) throw this.#beyond(`has more than ${MAX_JSON_VALUES} values`)
    }
    throw this.#notJson()
  }

  /** As an Insert of JSON stores it: without the spaces between its parts. */
  #jsonText(text: string): string {
    const problem = findLimitProblem(text)
    if (problem !== undefined) throw this.#beyond(problem)
    try {
      return writeJson(parseExactly(text))
    } catch {
      throw this.#notJson()
    }
  }

  #unescaped(bytes: Buffer, open: number, close: number): string {
    try {
      return String(JSON.parse(bytes.toString('utf8', open, close + 1)))
    } catch {
      throw this.#notJson()
    }
  }

  #longNumber(): Error {
    return this.#beyond(`has a number of more than ${MAX_NUMBER_LENGTH} characters`)
  }

  #beyond(problem: string): Error {
    return badBody(`The line ${problem}`, { line: this.line })
  }

  #notJson(): Error {
    return badBody('The line is not JSON', { line: this.line })
  }

  #notAnObject(): Error {
    return badBody('A row must be an object with a member for each column', { line: this.line })
  }
}

function isBlank(bytes: Buffer, start: number, end: number): boolean {
  return skipSpace(bytes, start, end) >= end
}

/** RFC 8259 §2; a line has no LF. */
function skipSpace(bytes: Buffer, start: number, end: number): number {
  let at = start
  while (at < end && (bytes[at] === 32 || bytes[at] === 9 || bytes[at] === 13)) at++
  return at
}

/** The quote that ends the string; -1 if none does. */
function stringEnd(bytes: Buffer, open: number, end: number): number {
  for (let at = open + 1; at < end; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) return at
    if (byte === BACKSLASH) at++
  }
  return -1
}

function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return true
  return false
}

/** RFC 8259 §7: control characters must be escaped. */
function hasControl(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((bytes[at] ?? 0) < 32) return true
  return false
}

/** Letters of true, false and null, and the bytes of numbers. */
function isTokenByte(byte: number): boolean {
  return (
    (byte >= 48 && byte <= 57) ||
    byte === 45 ||
    byte === 46 ||
    byte === 43 ||
    (byte >= 97 && byte <= 122) ||
    byte === 69
  )
}

const TOKEN = /^(?:true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/

function isToken(bytes: Buffer, start: number, end: number): boolean {
  const first = bytes[start] ?? 0
  // Most are whole numbers.
  if (first >= 49 && first <= 57) {
    let at = start + 1
    while (at < end && (bytes[at] ?? 0) >= 48 && (bytes[at] ?? 0) <= 57) at++
    if (at === end) return true
  }
  return TOKEN.test(bytes.toString('latin1', start, end))
}
