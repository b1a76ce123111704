/**
 * Encoders of long results: rows as bytes. They write the same text as the encoders of `encoders.ts`, which write strings and which they
 * call for every value that is not short and plain. Without them a result of a million rows takes 1.8 times as long and 1.8 times the
 * processor time on a quiet machine, and 1.35 to 1.55 times both at loads of 2 to 5 (bench: query-stream). The string encoders are needed
 * too: live rows are compared as strings.
 */
import {
  type IqlType,
  MAX_DATE,
  MICROS_PER_DAY,
  MIN_DATE,
  type ResultColumn,
  writeDate,
  writeLocalTimestamp,
} from 'gatehouse-iql'
import { type Cell, type Encoding, isText, type RowEncoder, type TextRowEncoder, wireForm } from '../model/result.ts'
import { csvField, jsonCellWriter, textForm } from './encoders.ts'
import { plainCharacters, TextBytes } from './text-bytes.ts'

export async function createEncoder(encoding: Encoding, columns: readonly ResultColumn[]): Promise<RowEncoder> {
  if (isText(encoding)) return createByteEncoder(encoding, columns)
  if (encoding.format === 'wire') {
    const { createWireEncoder } = await import('./wire-rows.ts')
    return createWireEncoder(wireForm(encoding), columns)
  }
  // Most servers never need them.
  if (encoding.format === 'arrow') {
    const { createArrowEncoder } = await import('./arrow.ts')
    return createArrowEncoder(columns)
  }
  const { ParquetEncoder } = await import('./parquet/encoder.ts')
  return new ParquetEncoder(columns)
}

type CellWriter = (out: TextBytes, cell: NonNullable<Cell>) => void

export function createByteEncoder(encoding: Encoding, columns: readonly ResultColumn[]): TextRowEncoder {
  const { header, between, after } = textForm(encoding, columns)
  const { open, leads, absent, close, writers } =
    encoding.format === 'csv' ? csvRow(columns) : jsonRow(encoding, columns)
  const [first, next, end] = [Buffer.from(open), Buffer.from(between + open), Buffer.from(close + after)]
  const noValue = Buffer.from(absent)
  const parts = writers.map((write, index) => ({ lead: Buffer.from(leads[index] ?? ''), write }))
  const out = new TextBytes()
  out.addText(header)
  let begin = first
  return {
    add(row) {
      out.addBytes(begin)
      for (let index = 0; index < parts.length; index++) {
        const part = parts[index]
        const cell = row[index]
        if (part === undefined) continue
        out.addBytes(part.lead)
        if (cell === null || cell === undefined) out.addBytes(noValue)
        else part.write(out, cell)
      }
      out.addBytes(end)
      begin = next
    },
    get pending() {
      return out.length
    },
    take: () => out.take(),
    takeText: () => out.take().toString(),
  }
}

interface RowParts {
  readonly open: string
  /** What stands before each value. */
  readonly leads: readonly string[]
  /** In place of NULL. */
  readonly absent: string
  readonly close: string
  readonly writers: readonly CellWriter[]
}

function jsonRow(encoding: Encoding, columns: readonly ResultColumn[]): RowParts {
  const isArray = encoding.rows === 'arrays'
  return {
    open: isArray ? '[' : '{',
    leads: columns.map(({ name }, index) => (index === 0 ? '' : ',') + (isArray ? '' : `${JSON.stringify(name)}:`)),
    absent: 'null',
    close: isArray ? ']' : '}',
    writers: columns.map((column) => jsonWriter(column, encoding)),
  }
}

const QUOTE = 0x22
const QUOTES = Uint8Array.of(QUOTE)
/** What JSON does not escape. */
const JSON_PLAIN = plainCharacters(/[ !#-[\]-~]/)

function jsonWriter(column: ResultColumn, encoding: Encoding): CellWriter {
  const asText = jsonCellWriter(column, encoding)
  const { kind } = column.type
  const addTime = timeWriter(kind)
  if (addTime !== undefined) {
    return (out, cell) => {
      if (typeof cell !== 'bigint') {
        if (typeof cell !== 'string' || !out.addPlain(cell, JSON_PLAIN, QUOTE)) out.addText(asText(cell))
        return
      }
      out.addBytes(QUOTES)
      addTime(out, cell)
      out.addBytes(QUOTES)
    }
  }
  if (kind === 'Integer' && encoding.integers === 'numbers')
    return (out, cell) => {
      if (!addInteger(out, cell)) out.addText(asText(cell))
    }
  if (kind === 'Double')
    return (out, cell) => {
      if (typeof cell !== 'number' || !out.addShortDouble(cell)) out.addText(asText(cell))
    }
  if (kind === 'Integer' || kind === 'Boolean' || kind === 'Json' || kind === 'Binary')
    return (out, cell) => out.addText(asText(cell))
  return (out, cell) => {
    if (typeof cell !== 'string' || !out.addPlain(cell, JSON_PLAIN, QUOTE)) out.addText(asText(cell))
  }
}

/** Beyond 2^53 a number may be rounded. With `asIntN` the conversion of a bigint is compiled to a few instructions. */
function addInteger(out: TextBytes, cell: NonNullable<Cell>): boolean {
  const value = typeof cell === 'bigint' ? Number(BigInt.asIntN(64, cell)) : cell
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return false
  out.addInteger(value)
  return true
}

/** Writes the number of a date or time; undefined for other types. */
function timeWriter(kind: IqlType['kind']): ((out: TextBytes, value: bigint) => void) | undefined {
  switch (kind) {
    case 'Timestamp':
      return addTimestamp
    case 'LocalTimestamp':
      return addLocalTimestamp
    case 'Date':
      return addDate
    case 'Time':
      return (out, micros) => out.addTime(Number(micros))
    default:
      return undefined
  }
}

function addDate(out: TextBytes, days: bigint): void {
  if (days < MIN_DATE || days > MAX_DATE) out.addText(writeDate(days))
  else out.addDate(Number(days))
}

const DAY = Number(MICROS_PER_DAY)
const FIRST_DAY = Number(MIN_DATE)
const MARK_TIME = Buffer.from('T')
const MARK_UTC = Buffer.from('Z')

function addTimestamp(out: TextBytes, micros: bigint): void {
  addLocalTimestamp(out, micros)
  out.addBytes(MARK_UTC)
}

function addLocalTimestamp(out: TextBytes, micros: bigint): void {
  const number = Number(BigInt.asIntN(64, micros))
  const days = Math.floor(number / DAY)
  // Numbers are exact until the year 2255.
  if (!Number.isSafeInteger(number) || days < FIRST_DAY) {
    out.addText(writeLocalTimestamp(micros))
    return
  }
  out.addDate(days)
  out.addBytes(MARK_TIME)
  out.addTime(number - days * DAY)
}

function csvRow(columns: readonly ResultColumn[]): RowParts {
  return {
    open: '',
    leads: columns.map((_, index) => (index === 0 ? '' : ',')),
    absent: '',
    close: '',
    writers: columns.map(({ type }) => {
      const addTime = timeWriter(type.kind)
      if (addTime === undefined) return addCsvField
      return (out, cell) => (typeof cell === 'bigint' ? addTime(out, cell) : addCsvField(out, cell))
    }),
  }
}

/** What CSV neither quotes nor doubles, within a text. */
const CSV_PLAIN = plainCharacters(/[ !#-+\--~]/)
const SPACE = ' '

function addCsvField(out: TextBytes, cell: NonNullable<Cell>): void {
  if (typeof cell === 'string') {
    const isPlain = cell !== '' && cell[0] !== SPACE && cell[cell.length - 1] !== SPACE
    if (isPlain && out.addPlain(cell, CSV_PLAIN)) return
  } else if (typeof cell === 'number') {
    if (out.addShortDouble(cell)) return
  } else if (addInteger(out, cell)) return
  out.addText(csvField(cell))
}
