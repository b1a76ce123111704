/**
 * Rows as messages of PostgreSQL's protocol: DataRow, or CopyData of COPY … TO STDOUT. They are written where rows are read, and passed
 * on as they are.
 */
import { type ResultColumn, TEXT } from 'gatehouse-iql'
import type { Cell, CopyForm, RowEncoder, WireForm } from '../model/result.ts'
import { hexText } from '../types/binary.ts'
import type { AddCell } from '../types/representation.ts'
import { TextBytes } from '../types/text-bytes.ts'
import { representation } from '../types/types.ts'

type RowWriter = (out: TextBytes, row: readonly Cell[]) => void

/** Adds the message of a row. */
export function wireRowWriter(form: WireForm, columns: readonly ResultColumn[]): RowWriter {
  switch (form.kind) {
    case 'rows':
      return message(DATA_ROW, binaryRow(cellWriters(columns, (index) => form.binary[index] === true)))
    case 'copy-binary':
      return message(COPY_DATA, binaryRow(cellWriters(columns, () => true)))
    case 'copy-text':
      return message(COPY_DATA, textRow(form, columns))
    case 'copy-csv':
      return message(COPY_DATA, csvRow(form, columns))
  }
}

/** The encoder of a long result. Messages can also be added to `out`. */
export function createWireEncoder(
  form: WireForm,
  columns: readonly ResultColumn[],
  out: TextBytes = new TextBytes(),
): RowEncoder {
  const write = wireRowWriter(form, columns)
  return {
    add: (row) => write(out, row),
    get pending() {
      return out.length
    },
    take: () => out.take(),
  }
}

export const [DATA_ROW, COPY_DATA] = [0x44, 0x64]

/** Type, length, body. */
function message(type: number, addBody: RowWriter): RowWriter {
  return (out, row) => {
    const start = out.length
    out.addByte(type)
    out.addInt32(0)
    addBody(out, row)
    out.setInt32(start + 1, out.length - start - 1)
  }
}

function cellWriters(columns: readonly ResultColumn[], isBinary: (index: number) => boolean): readonly AddCell[] {
  return columns.map(({ type }, index) => {
    const { addBinary, addText } = representation(type).wire
    return isBinary(index) ? addBinary : addText
  })
}

/** The number of values, then each with its length. */
function binaryRow(writers: readonly AddCell[]): RowWriter {
  const width = writers.length
  return (out, row) => {
    out.addInt16(width)
    for (let index = 0; index < width; index++) {
      const cell = row[index]
      if (cell === null || cell === undefined) {
        out.addInt32(-1)
        continue
      }
      const start = out.length
      out.addInt32(0)
      writers[index]?.(out, cell)
      out.setInt32(start, out.length - start - 4)
    }
  }
}

const LINE_FEED = 0x0a

type TextCopy = Extract<CopyForm, { kind: 'copy-text' }>

function textRow({ delimiter, absent }: TextCopy, columns: readonly ResultColumn[]): RowWriter {
  const between = Buffer.from(delimiter)
  const noValue = Buffer.from(absent)
  const special = new RegExp(`[\\b\\f\\n\\r\\t\\v\\\\${escaped(delimiter)}]`, 'g')
  const addEscaped: AddCell = (out, cell) =>
    out.addText(freeText(cell).replace(special, (character) => ESCAPES.get(character) ?? `\\${character}`))
  // A delimiter such as a digit can be in any value.
  const needsCare = /[\w.:+-]| /.test(delimiter)
  const writers = columns.map(({ type }) => {
    const { isFreeText, addText } = representation(type).wire
    return isFreeText ? addEscaped : needsCare ? rewritten(addText, addEscaped) : addText
  })
  return (out, row) => {
    for (let index = 0; index < writers.length; index++) {
      if (index > 0) out.addBytes(between)
      const cell = row[index]
      if (cell === null || cell === undefined) out.addBytes(noValue)
      else writers[index]?.(out, cell)
    }
    out.addByte(LINE_FEED)
  }
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
  ['\\', '\\\\'],
])

function freeText(cell: NonNullable<Cell>): string {
  return cell instanceof Uint8Array ? hexText(cell) : String(cell)
}

/** Writes the text of a value with another writer. */
function rewritten(plain: AddCell, write: AddCell): AddCell {
  const text = new TextBytes()
  return (out, cell) => {
    plain(text, cell)
    write(out, text.take().toString())
  }
}

function escaped(character: string): string {
  return /[\]\\^-]/.test(character) ? `\\${character}` : character
}

type CsvCopy = Extract<CopyForm, { kind: 'copy-csv' }>

function csvRow(form: CsvCopy, columns: readonly ResultColumn[]): RowWriter {
  const between = Buffer.from(form.delimiter)
  const noValue = Buffer.from(form.absent)
  const writers = columns.map(({ type }, index): AddCell => {
    const add = csvWriter(form, form.quoted[index] === true, columns.length === 1)
    const { isFreeText, addText } = representation(type).wire
    return isFreeText ? (out, cell) => add(out, freeText(cell)) : rewritten(addText, add)
  })
  return (out, row) => {
    for (let index = 0; index < writers.length; index++) {
      if (index > 0) out.addBytes(between)
      const cell = row[index]
      if (cell === null || cell === undefined) out.addBytes(noValue)
      else writers[index]?.(out, cell)
    }
    out.addByte(LINE_FEED)
  }
}

function csvWriter({ delimiter, absent, quote, ...form }: CsvCopy, isQuoted: boolean, isAlone: boolean): AddCell {
  const special = new RegExp(`[\\n\\r${escaped(delimiter)}${escaped(quote)}]`)
  const doubled = new RegExp(`[${escaped(quote)}${escaped(form.escape)}]`, 'g')
  return (out, cell) => {
    const text = String(cell)
    const needsQuotes = isQuoted || text === absent || special.test(text) || (isAlone && text === '\\.')
    out.addText(needsQuotes ? quote + text.replace(doubled, (character) => form.escape + character) + quote : text)
  }
}

/** The header line of COPY … (HEADER), as a message. */
export function copyHeader(form: CopyForm, columns: readonly ResultColumn[]): Uint8Array {
  const names = columns.map((column) => ({ ...column, type: TEXT }))
  const out = new TextBytes()
  const unquoted: CopyForm = form.kind === 'copy-csv' ? { ...form, quoted: [] } : form
  wireRowWriter(unquoted, names)(
    out,
    columns.map(({ name }) => name),
  )
  return out.take()
}
