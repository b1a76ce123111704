/** The text formats: rows of small results as strings, and what stands before and after rows. `byte-encoder.ts` has long results. */
import { type ResultColumn, typeName } from 'gatehouse-iql'
import {
  type Cell,
  type Encoding,
  isText,
  type ReadOutcome,
  type TextEncoding,
  type TextRowEncoder,
} from '../model/result.ts'
import { csvText } from '../types/csv-form.ts'
import { jsonText } from '../types/json-form.ts'
import { representation } from '../types/types.ts'

/** Creates encoders for the results of one plan. What they derive from its columns is computed once. */
export class TextEncoders {
  readonly columns: readonly ResultColumn[]
  readonly #jsonRowWriters: Record<Encoding['rows'], Partial<Record<Encoding['integers'], RowWriter>>> = {
    objects: {},
    arrays: {},
  }
  #jsonHead: string | undefined

  constructor(columns: readonly ResultColumn[]) {
    this.columns = columns
  }

  create(encoding: TextEncoding): TextRowEncoder {
    const form = textForm(encoding, this.columns, encoding.format === 'json' ? this.jsonHead : undefined)
    return new RowText(form.header, form.between, form.after, this.#rowWriter(encoding))
  }

  /** Everything before the first row. */
  get jsonHead(): string {
    this.#jsonHead ??= jsonHead(this.columns)
    return this.#jsonHead
  }

  #rowWriter(encoding: TextEncoding): RowWriter {
    switch (encoding.format) {
      case 'json':
      case 'ndjson':
        return this.#jsonRowWriter(encoding)
      case 'csv':
        return csvRowWriter(this.columns)
    }
  }

  #jsonRowWriter(encoding: TextEncoding): RowWriter {
    const writers = this.#jsonRowWriters[encoding.rows]
    const writer = writers[encoding.integers] ?? jsonRowWriter(encoding, this.columns)
    writers[encoding.integers] = writer
    return writer
  }
}

/** What stands before, between and after the rows of a text format. */
export interface TextForm {
  readonly header: string
  readonly between: string
  readonly after: string
}

export function textForm(
  { format, header, licence }: TextEncoding,
  columns: readonly ResultColumn[],
  knownJsonHead?: string,
): TextForm {
  switch (format) {
    case 'json':
      return { header: knownJsonHead ?? jsonHead(columns), between: ',', after: '' }
    case 'ndjson':
      return {
        header: header === 'columns' ? ndjsonHead(columns, licence) : '',
        between: '',
        after: '\n',
      }
    case 'csv':
      return { header: csvHeader(columns), between: '', after: '\r\n' }
  }
}

function ndjsonHead(columns: readonly ResultColumn[], licence: string | undefined): string {
  const licences = licence === undefined ? '' : `,"Licence":${licence}`
  return `{"Columns":${describeColumns(columns)}${licences}}\n`
}

function jsonHead(columns: readonly ResultColumn[]): string {
  return `{"Columns":${describeColumns(columns)},"Rows":[`
}

/** How JSON writes rows and integers. */
type JsonForm = Pick<Encoding, 'rows' | 'integers'>

type RowWriter = (row: readonly Cell[]) => string

export class RowText implements TextRowEncoder {
  #text: string
  #separator = ''
  readonly #between: string
  readonly #after: string
  readonly #writeRow: RowWriter

  constructor(header: string, between: string, after: string, writeRow: RowWriter) {
    this.#text = header
    this.#between = between
    this.#after = after
    this.#writeRow = writeRow
  }

  add(row: readonly Cell[]): void {
    this.#text += this.#separator + this.#writeRow(row) + this.#after
    this.#separator = this.#between
  }

  get pending(): number {
    return this.#text.length
  }

  take(): Uint8Array {
    return Buffer.from(this.takeText())
  }

  takeText(): string {
    const text = this.#text
    this.#text = ''
    return text
  }
}

/** `Columns`: a member for each column, in order. */
export function describeColumns(columns: readonly ResultColumn[]): string {
  const members = columns.map((column, ordinal) => {
    const description = { Ordinal: ordinal, Type: typeName(column.type), Nullable: column.nullable }
    return `${JSON.stringify(column.name)}:${JSON.stringify(description)}`
  })
  return `{${members.join(',')}}`
}

export function jsonRowWriter(encoding: JsonForm, columns: readonly ResultColumn[]): RowWriter {
  const arrays = encoding.rows === 'arrays'
  const parts = columns.map((column, index) => ({
    lead: (index === 0 ? '' : ',') + (arrays ? '' : `${JSON.stringify(column.name)}:`),
    write: representation(column.type).json.write(encoding.integers),
  }))
  const [open, close] = arrays ? ['[', ']'] : ['{', '}']
  return (row) => {
    let text = open
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index]
      const cell = row[index]
      if (part === undefined) continue
      text += part.lead
      text += cell === null || cell === undefined ? 'null' : part.write(cell)
    }
    return text + close
  }
}

/** CSV (RFC 4180) with a header line. NULL is an empty field and the empty text a quoted one, so that they differ. */
function csvHeader(columns: readonly ResultColumn[]): string {
  return `${columns.map((column) => csvText(column.name)).join(',')}\r\n`
}

function csvRowWriter(columns: readonly ResultColumn[]): RowWriter {
  const writers = columns.map(({ type }) => representation(type).csv.write)
  return (row) => {
    let line = ''
    for (let index = 0; index < writers.length; index++) {
      if (index > 0) line += ','
      const cell = row[index]
      if (cell !== null && cell !== undefined) line += writers[index]?.(cell) ?? ''
    }
    return line
  }
}

export interface ResultEnd {
  readonly requestId: string
  readonly elapsedMs: number
  readonly rowsAffected?: number | undefined
  readonly nextCursor?: string | undefined
  /** A limit of the service truncated the result, not the caller's own limit. */
  readonly isTruncated: boolean
  /** Rows that are delayed or left out. */
  readonly licence?: readonly object[]
}

/** The bytes after the last row. */
export function endOfResult(encoding: Encoding, outcome: ReadOutcome, end: ResultEnd): Uint8Array {
  if (isText(encoding)) return Buffer.from(endOfText(encoding, outcome, end))
  switch (encoding.format) {
    case 'arrow':
      return ARROW_END
    case 'parquet':
      if (outcome.trailer === undefined) throw new Error('A Parquet file without its footer')
      return outcome.trailer
    case 'wire':
      throw new TypeError('HTTP does not have the format wire')
  }
}

/** The trailer of a text format; empty in formats without one. */
export function endOfText({ format }: Encoding, { rowCount }: ReadOutcome, end: ResultEnd): string {
  const { rowsAffected, isTruncated, nextCursor, requestId, elapsedMs, licence = [] } = end
  switch (format) {
    case 'json': {
      const affected = rowsAffected === undefined ? '' : `,"RowsAffected":${rowsAffected}`
      const truncated = isTruncated ? ',"Truncated":true' : ''
      const next = nextCursor === undefined ? '' : `,"NextCursor":${JSON.stringify(nextCursor)}`
      const request = `,"RequestId":${jsonText(requestId)},"ElapsedMs":${elapsedMs}`
      const licences = licence.length === 0 ? '' : `,"Licence":${JSON.stringify(licence)}`
      return `],"RowCount":${rowCount}${affected}${truncated}${next}${licences}${request}}`
    }
    case 'ndjson':
      if (!isTruncated && nextCursor === undefined) return ''
      return `${JSON.stringify({ Truncated: isTruncated, ...(nextCursor === undefined ? {} : { NextCursor: nextCursor }) })}\n`
    case 'csv':
    case 'arrow':
    case 'parquet':
    case 'wire':
      return ''
  }
}

/** Reports an error after rows have been sent. Undefined if the format cannot: then the connection must be closed early. */
export function errorInResult(encoding: Encoding, problem: object, requestId: string): Uint8Array | undefined {
  switch (encoding.format) {
    case 'json':
      return Buffer.from(`],"Error":${JSON.stringify(problem)},"RequestId":${JSON.stringify(requestId)}}`)
    case 'ndjson':
      return Buffer.from(`${JSON.stringify({ Error: problem })}\n`)
    default:
      return undefined
  }
}

/** The end-of-stream marker of Arrow: a continuation indicator and a length of zero. */
const ARROW_END = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])
