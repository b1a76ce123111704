/** The target table of an import, existing or created with guessed types, and the conversion of records to rows. */

import {
  DATE_FORMATS,
  dateFormatsOfMost,
  findDateFormat,
  findNumberFormat,
  type Guess,
  guessType,
  hasNotes,
  NUMBER_FORMATS,
  numberFormatsFor,
  parseCsvRecord,
  parseFields,
  parseType,
  rowCsv,
  rowFields,
  type TargetColumn,
  usualNumberFormat,
  type ValueFormat,
  withoutNotes,
} from 'gatehouse-csv'
import { type IqlType, printName, sameName, typeName } from 'gatehouse-iql'
import { GatehouseError, QueryError, statement as toStatement } from '../../../../client/src/index.ts'
import { type CsvRecord, readCsvRecords } from '../../declarative/csv-file.ts'
import { CommandError, UsageError } from '../errors.ts'
import type { Gate } from '../gate.ts'

/** The rows of a file below its header. */
export interface CsvSource {
  readonly file: string
  readonly names: readonly string[]
  readonly delimiter: string
  /** Whether it is a file of rejected rows: each record begins with where it was and why. */
  readonly isRejected: boolean
  /** What stands for NULL, besides an empty field. */
  readonly nulls: ReadonlySet<string>
  /** The byte and the line after the header. */
  readonly start: number
  readonly nextLine: number
}

/** The values of a column in the first rows, with the lines that they are in. */
export interface Sample {
  readonly values: readonly string[]
  readonly lines: readonly number[]
}

/** Types are guessed from this many rows. */
const SAMPLE_ROWS = 10_000

/** The column names are in the first record. */
export async function openCsv(
  file: string,
  delimiter: string,
  nulls: ReadonlySet<string> = new Set(),
): Promise<CsvSource> {
  for await (const { raw, end, nextLine } of readCsvRecords(file)) {
    const parsed = parseCsvRecord(raw, delimiter)
    if ('problem' in parsed || parsed.fields.includes(null))
      throw new UsageError(`The first line of ${file} must name the columns`)
    const texts = parsed.fields.map((name) => (name ?? '').trim())
    const twice = texts.find((name, index) => texts.findIndex((other) => sameName(other, name)) !== index)
    if (twice !== undefined) throw new UsageError(`${file} has two columns named ${twice}`)
    const isRejected = hasNotes(texts)
    const names = isRejected ? texts.slice(2) : texts
    return { file, names, delimiter, isRejected, nulls, start: end, nextLine }
  }
  throw new UsageError(`${file} is empty`)
}

/** The records below the header, or from a later place. */
export async function* readRecords(
  { file, delimiter, isRejected, start, nextLine }: CsvSource,
  from: { readonly offset: number; readonly line: number } = { offset: start, line: nextLine },
): AsyncGenerator<CsvRecord> {
  const records = readCsvRecords(file, from.offset, from.line)
  if (!isRejected) return yield* records
  for await (const record of records) yield { ...record, raw: withoutNotes(record.raw, delimiter) }
}

export async function sampleColumns(source: CsvSource): Promise<Sample[]> {
  const samples = source.names.map(() => ({ values: [] as string[], lines: [] as number[] }))
  let rows = 0
  for await (const { raw, line } of readRecords(source)) {
    const parsed = parseFields(raw, source)
    const fields = 'problem' in parsed ? [] : parsed.fields
    for (const [index, field] of fields.entries()) {
      if (field === null) continue
      samples[index]?.values.push(field)
      samples[index]?.lines.push(line)
    }
    if (++rows === SAMPLE_ROWS) break
  }
  return samples
}

export interface GuessedColumn extends TargetColumn {
  readonly sample: Sample
  readonly guess: Guess
}

/** The columns of a table to be created. Types and formats that are given are not guessed. */
export function guessColumns(
  names: readonly string[],
  samples: readonly Sample[],
  types: ReadonlyMap<string, string>,
  formats: ReadonlyMap<string, ValueFormat>,
): GuessedColumn[] {
  checkNames('--type', types, names)
  const usual = usualNumberFormat(samples.map(({ values }) => values))
  return names.map((name, index) => {
    const sample = samples[index] ?? { values: [], lines: [] }
    const asked = given(types, name)
    const chosen = given(formats, name)
    const guess =
      chosen === undefined
        ? guessType(sample.values, usual)
        : guessType(sample.values.map((value) => chosen.convert(value) ?? value))
    const type = asked === undefined ? guess.type : parseType(asked)
    if (type === undefined) throw new UsageError(`--type ${name}: unknown type ${asked}`)
    const format = chosen ?? (asked === undefined ? guess.format : detectFormat(name, type, sample.values, usual))
    const column = { name, type, isRequired: false, hasDefault: false, format, sample }
    return { ...column, guess: asked === undefined ? guess : { type } }
  })
}

/** The formats of the columns of an existing table. */
export function withFormats(
  columns: readonly TargetColumn[],
  samples: readonly Sample[],
  formats: ReadonlyMap<string, ValueFormat>,
): TargetColumn[] {
  const usual = usualNumberFormat(samples.map(({ values }) => values))
  return columns.map((column, index) => {
    const { name, type } = column
    const format = given(formats, name) ?? detectFormat(name, type, samples[index]?.values ?? [], usual)
    return { ...column, format }
  })
}

/** The values of --date-format and --number-format. */
export function readFormats(
  dates: ReadonlyMap<string, string>,
  numbers: ReadonlyMap<string, string>,
  names: readonly string[],
): Map<string, ValueFormat> {
  const formats = new Map<string, ValueFormat>()
  for (const [option, pairs, find, known] of [
    ['--date-format', dates, findDateFormat, DATE_FORMATS],
    ['--number-format', numbers, findNumberFormat, NUMBER_FORMATS],
  ] as const) {
    checkNames(option, pairs, names)
    for (const [name, text] of pairs) {
      const format = find(text)
      if (format === undefined)
        throw new UsageError(`${option} ${name}: unknown format ${text}; known are ${known.join(', ')}`)
      formats.set(name, format)
    }
  }
  return formats
}

function detectFormat(
  name: string,
  type: IqlType,
  values: readonly string[],
  usual: ValueFormat | undefined,
): ValueFormat | undefined {
  const what = formattedAs(type)
  if (what === undefined || values.length === 0) return undefined
  const [format, other] = what === 'date' ? dateFormatsOfMost(values) : numberFormatsFor(type, values, usual)
  if (format !== undefined && other !== undefined)
    throw new UsageError(
      `The ${what}s of ${name} may be ${format.name} or ${other.name}: add --${what}-format ${name}=…`,
    )
  return format
}

function formattedAs({ kind }: IqlType): 'date' | 'number' | undefined {
  if (kind === 'Date' || kind === 'Timestamp') return 'date'
  return kind === 'Integer' || kind === 'Decimal' || kind === 'Double' ? 'number' : undefined
}

function checkNames(option: string, pairs: ReadonlyMap<string, string>, names: readonly string[]): void {
  const unknown = [...pairs.keys()].find((name) => !names.some((other) => sameName(other, name)))
  if (unknown !== undefined) throw new UsageError(`${option} names ${unknown}, which is not a column of the file`)
}

function given<Value>(pairs: ReadonlyMap<string, Value>, name: string): Value | undefined {
  return [...pairs].find(([other]) => sameName(other, name))?.[1]
}

/** The columns of the table; undefined if it does not exist. */
export async function describeTable(gate: Gate, table: string): Promise<TargetColumn[] | undefined> {
  try {
    const columns = await gate.query(toStatement(`DESCRIBE ${quoted(table)}`))
    return columns.map(({ name, type, nullable, default: written }) => {
      const known = parseType(String(type))
      if (known === undefined) throw new UsageError(`The column ${String(name)} has the unknown type ${String(type)}`)
      return { name: String(name), type: known, isRequired: nullable === false, hasDefault: written !== null }
    })
  } catch (error) {
    if (error instanceof GatehouseError && error.code === 'IQL.UnknownTable') return undefined
    throw error
  }
}

/** Refuses as the server refuses an insert into a view, a table that is only read, or without the right; inserts nothing. */
export async function requireInsert(gate: Gate, table: string, columns: readonly TargetColumn[]): Promise<void> {
  const names = columns.map(({ name }) => quoted(name)).join(', ')
  try {
    await gate.query(
      toStatement(`EXPLAIN INSERT INTO ${quoted(table)} (${names}) SELECT ${names} FROM ${quoted(table)}`),
    )
  } catch (error) {
    // The user has not written the statement: a picture of it would tell them nothing.
    if (!(error instanceof QueryError)) throw error
    const { message, code, details } = error
    throw new GatehouseError(message, { code, details })
  }
}

export function checkKeys(keys: readonly string[], names: readonly string[]): void {
  const missing = keys.find((key) => !names.some((name) => sameName(name, key)))
  if (missing !== undefined) throw new UsageError(`--key names ${missing}, which is not a column of the file`)
}

export async function createTable(
  gate: Gate,
  table: string,
  columns: readonly TargetColumn[],
  keys: readonly string[],
): Promise<void> {
  const parts = columns.map(({ name, type }) => `${quoted(name)} ${typeName(type)}`)
  if (keys.length > 0) parts.push(`PRIMARY KEY (${keys.map(quoted).join(', ')})`)
  try {
    await gate.query(toStatement(`CREATE TABLE ${quoted(table)} (${parts.join(', ')})`))
    process.stderr.write(
      `Created the table ${table}. Everyone with a right of the platform can read it, and those with Platform/Admin can write to it. ` +
        `To restrict that: ALTER TABLE ${quoted(table)} SET READ SCOPE 'Platform/Trading'\n`,
    )
  } catch (error) {
    // Without a picture of the statement, for the same reason.
    if (!(error instanceof GatehouseError) || error.status !== 403) throw error
    throw new CommandError(
      `You are not allowed to create the table ${table}: ${error.message}. Ask someone with that right to create it, then repeat the command without --create.`,
    )
  }
}

function quoted(name: string): string {
  return printName({ text: name, at: 0 })
}

/** The table's columns, in the order of the file. */
export function matchColumns(
  names: readonly string[],
  columns: readonly TargetColumn[],
  table: string,
): TargetColumn[] {
  return names.map((name) => {
    const column = columns.find((candidate) => sameName(candidate.name, name))
    if (column !== undefined) return column
    throw new UsageError(
      `${table} has no column ${name}; it has ${columns.map((candidate) => candidate.name).join(', ')}`,
    )
  })
}

/** A record as it is sent, or the reason why it cannot be a row. */
export function convertRow(
  raw: string,
  source: Pick<CsvSource, 'delimiter' | 'nulls'>,
  columns: readonly TargetColumn[],
): { csv: string } | { reason: string } {
  const read = rowFields(raw, source, columns)
  return 'reason' in read ? read : { csv: rowCsv(read.fields) }
}
