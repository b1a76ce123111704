/** CSV files that the user has dropped: their records, read piece by piece, and what the first ones show. */

import {
  DATE_FORMATS,
  DELIMITER_SAMPLE,
  dateFormatsOfMost,
  findDateFormat,
  findNumberFormat,
  type Guess,
  guessDelimiter,
  guessType,
  hasNotes,
  inZone,
  NUMBER_FORMATS,
  numberFormatsFor,
  parseCsvRecord,
  parseFields,
  parseType,
  rowFields,
  type TargetColumn,
  usualNumberFormat,
  type ValueFormat,
  withoutNotes,
} from 'gatehouse-csv'
import { sameName } from 'gatehouse-iql'
import { word } from '../../ui/word.ts'
import type { TableColumn } from './catalogue.ts'

export interface CsvLine {
  readonly raw: string
  /** Counted from 1. */
  readonly line: number
  /** Bytes of the file that have been read so far. */
  readonly read: number
}

/** A quote that is never closed would otherwise collect the rest of the file. */
const LONGEST_RECORD = 16 * 1024 * 1024

/** Every record that is not empty, the header too. Only a piece of the file is in memory. */
export async function* readRecords(file: Blob, signal?: AbortSignal): AsyncGenerator<CsvLine> {
  const reader = file.stream().getReader()
  const decoder = new TextDecoder()
  let [pending, line, read, isQuoted, scanned] = ['', 1, 0, false, 0]
  let nextLine = 1
  try {
    for (;;) {
      const { done, value } = await reader.read()
      signal?.throwIfAborted()
      pending += done ? decoder.decode() : decoder.decode(value, { stream: true })
      read += value?.length ?? 0
      let from = 0
      let at = scanned
      for (; at < pending.length; at++) {
        const unit = pending.charCodeAt(at)
        if (unit === 0x22) isQuoted = !isQuoted
        if (unit !== 0x0a && unit !== 0x0d) continue
        if (unit === 0x0d) {
          // Wait for the next character: CR LF is one line break.
          if (at + 1 === pending.length && !done) break
          if (pending.charCodeAt(at + 1) === 0x0a) continue
        }
        nextLine++
        if (isQuoted) continue
        const raw = pending.slice(from, pending.charCodeAt(at - 1) === 0x0d && unit === 0x0a ? at - 1 : at)
        if (raw !== '') yield { raw, line, read }
        from = at + 1
        line = nextLine
      }
      pending = pending.slice(from)
      scanned = at - from
      if (pending.length > LONGEST_RECORD)
        throw new Error(word(`Line ${line} does not end. Is a closing quote missing?`))
      if (done) break
    }
    if (pending !== '') yield { raw: pending, line, read }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** The first records of a file, split. */
export interface CsvSample {
  readonly delimiter: string
  readonly names: readonly string[]
  /** Whether it is a file of rejected rows: each record begins with where it was and why. */
  readonly isRejected: boolean
  readonly lines: readonly CsvLine[]
  /** Non-empty values of each column. */
  readonly values: readonly (readonly string[])[]
  /** The line of each of these. */
  readonly valueLines: readonly (readonly number[])[]
  /** Texts that mean no value. */
  readonly nulls: ReadonlySet<string>
  readonly isAll: boolean
}

const SAMPLE_ROWS = 1000

/** `delimiter` is detected unless it is given. */
export async function sampleFile(
  file: Blob,
  delimiter?: string,
  nulls: ReadonlySet<string> = new Set(),
): Promise<CsvSample> {
  const records: CsvLine[] = []
  let isAll = true
  for await (const record of readRecords(file)) {
    if (records.length > SAMPLE_ROWS) {
      isAll = false
      break
    }
    records.push(record)
  }
  const [header, ...below] = records
  if (header === undefined) throw new Error('The file is empty')
  const used = delimiter ?? guessDelimiter(records.slice(0, DELIMITER_SAMPLE).map(({ raw }) => raw))
  const parsed = parseCsvRecord(header.raw, used)
  if ('problem' in parsed || parsed.fields.includes(null)) throw new Error('The first line must name the columns')
  const all = parsed.fields.map((name) => (name ?? '').trim())
  const isRejected = hasNotes(all)
  const names = isRejected ? all.slice(2) : all
  const lines = isRejected ? below.map((line) => ({ ...line, raw: withoutNotes(line.raw, used) })) : below
  const values: string[][] = names.map(() => [])
  const valueLines: number[][] = names.map(() => [])
  for (const { raw, line } of lines) {
    const record = parseFields(raw, { delimiter: used, nulls })
    if ('problem' in record) continue
    for (const [index, field] of record.fields.entries()) {
      if (field === null) continue
      values[index]?.push(field)
      valueLines[index]?.push(line)
    }
  }
  return { delimiter: used, names, isRejected, lines, values, valueLines, nulls, isAll }
}

export function guessColumns({ names, values }: CsvSample): { readonly name: string; readonly guess: Guess }[] {
  const usual = usualNumberFormat(values)
  return names.map((name, index) => ({ name, guess: guessType(values[index] ?? [], usual) }))
}

/** For each column of the file, the column of the table with the same name. */
export function matchColumns({ names }: CsvSample, columns: readonly TableColumn[]): (string | undefined)[] {
  return names.map((name) => columns.find((column) => sameName(column.name, name))?.name)
}

/** The formats that the values of a column may have: none if IQL writes them the same way, two if both are possible. */
export function formatsFor({ values }: CsvSample, index: number, typeText: string): readonly ValueFormat[] {
  const [type, own] = [parseType(typeText), values[index] ?? []]
  if (type === undefined || own.length === 0) return []
  if (type.kind === 'Date' || type.kind === 'Timestamp') return dateFormatsOfMost(own)
  const isNumber = type.kind === 'Integer' || type.kind === 'Decimal' || type.kind === 'Double'
  return isNumber ? numberFormatsFor(type, own, usualNumberFormat(values)) : []
}

/** All formats that a column of the type may be written in. */
export function knownFormats(typeText: string): readonly string[] {
  const kind = parseType(typeText)?.kind
  if (kind === 'Date' || kind === 'Timestamp') return DATE_FORMATS
  return kind === 'Integer' || kind === 'Decimal' || kind === 'Double' ? NUMBER_FORMATS : []
}

export function findFormat(name: string): ValueFormat | undefined {
  return findDateFormat(name) ?? findNumberFormat(name)
}

/** `zone`: that of times which name none; empty for UTC. */
export function targetColumn(column: TableColumn, written: ValueFormat | undefined, zone: string): TargetColumn {
  const type = parseType(column.type)
  if (type === undefined) throw new Error(`The column ${column.name} has the unknown type ${column.type}`)
  const format = zone !== '' && type.kind === 'Timestamp' ? inZone(zone, written) : written
  return { name: column.name, type, isRequired: !column.nullable, hasDefault: column.default !== null, format }
}

export interface Misfit {
  readonly line: number
  readonly raw: string
  readonly reason: string
}

/** The rows of the sample that do not fit the table. */
export function findMisfits(
  { lines, delimiter, nulls }: CsvSample,
  targets: readonly (TargetColumn | undefined)[],
): Misfit[] {
  return lines.flatMap(({ raw, line }) => {
    const row = rowFields(raw, { delimiter, nulls }, targets)
    return 'reason' in row ? [{ line, raw, reason: row.reason }] : []
  })
}
