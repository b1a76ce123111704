/** The target table of an import, existing or created with guessed types. */
import { type Guess, guessType, parseType } from '../../csv/column-types.ts'
import { DATE_FORMATS, type DateFormat, dateFormatsOfMost, findDateFormat } from '../../csv/date-formats.ts'
import { readCsvRecords } from '../../csv/file.ts'
import { parseCsvRecord } from '../../csv/record.ts'
import type { TargetColumn } from '../../csv/row.ts'
import { sameName } from '../../query/iql/names.ts'
import { printName } from '../../query/iql/printer.ts'
import { type IqlType, typeName } from '../../query/iql/types.ts'
import { UsageError } from '../errors.ts'
import { membersOf } from '../json.ts'
import { expectSuccess, type QueryConnection, QueryRefused } from './connection.ts'

/** The rows of a file below its header. */
export interface CsvSource {
  readonly file: string
  readonly names: readonly string[]
  readonly delimiter: string
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
export async function openCsv(file: string, delimiter: string): Promise<CsvSource> {
  for await (const { raw, end, nextLine } of readCsvRecords(file)) {
    const parsed = parseCsvRecord(raw, delimiter)
    if ('problem' in parsed || parsed.fields.includes(null))
      throw new UsageError(`The first line of ${file} must name the columns`)
    const texts = parsed.fields.map((name) => (name ?? '').trim())
    const twice = texts.find((name, index) => texts.findIndex((other) => sameName(other, name)) !== index)
    if (twice !== undefined) throw new UsageError(`${file} has two columns named ${twice}`)
    return { file, names: texts, delimiter, start: end, nextLine }
  }
  throw new UsageError(`${file} is empty`)
}

export async function sampleColumns({ file, names, delimiter, start, nextLine }: CsvSource): Promise<Sample[]> {
  const samples = names.map(() => ({ values: [] as string[], lines: [] as number[] }))
  let rows = 0
  for await (const { raw, line } of readCsvRecords(file, start, nextLine)) {
    const parsed = parseCsvRecord(raw, delimiter)
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

/** The columns of a table to be created. Types and date formats that are given are not guessed. */
export function guessColumns(
  names: readonly string[],
  samples: readonly Sample[],
  types: ReadonlyMap<string, string>,
  formats: ReadonlyMap<string, DateFormat>,
): GuessedColumn[] {
  checkNames('--type', types, names)
  return names.map((name, index) => {
    const sample = samples[index] ?? { values: [], lines: [] }
    const asked = given(types, name)
    const dateFormat = given(formats, name)
    const guess = guessType(
      dateFormat === undefined ? sample.values : sample.values.map((v) => dateFormat.toIso(v) ?? v),
    )
    const type = asked === undefined ? guess.type : parseType(asked)
    if (type === undefined) throw new UsageError(`--type ${name}: unknown type ${asked}`)
    const format = dateFormat ?? (isTime(type) ? onlyFormat(name, sample.values) : undefined)
    const column = { name, type, isRequired: false, hasDefault: false, dateFormat: format, sample }
    return { ...column, guess: asked === undefined ? guess : { type } }
  })
}

/** The date formats of the columns of an existing table. */
export function withDateFormats(
  columns: readonly TargetColumn[],
  samples: readonly Sample[],
  formats: ReadonlyMap<string, DateFormat>,
): TargetColumn[] {
  return columns.map((column, index) => {
    const format = given(formats, column.name)
    if (format !== undefined || !isTime(column.type)) return { ...column, dateFormat: format }
    return { ...column, dateFormat: onlyFormat(column.name, samples[index]?.values ?? []) }
  })
}

/** The values of --date-format. */
export function readDateFormats(pairs: ReadonlyMap<string, string>, names: readonly string[]): Map<string, DateFormat> {
  checkNames('--date-format', pairs, names)
  const formats = new Map<string, DateFormat>()
  for (const [name, text] of pairs) {
    const format = findDateFormat(text)
    if (format === undefined)
      throw new UsageError(`--date-format ${name}: unknown format ${text}; known are ${DATE_FORMATS.join(', ')}`)
    formats.set(name, format)
  }
  return formats
}

function onlyFormat(name: string, values: readonly string[]): DateFormat | undefined {
  const [format, other] = dateFormatsOfMost(values)
  if (format !== undefined && other !== undefined)
    throw new UsageError(`The dates of ${name} may be ${format.name} or ${other.name}: add --date-format ${name}=…`)
  return format
}

function isTime({ kind }: IqlType): boolean {
  return kind === 'Date' || kind === 'Timestamp'
}

function checkNames(option: string, pairs: ReadonlyMap<string, string>, names: readonly string[]): void {
  const unknown = [...pairs.keys()].find((name) => !names.some((other) => sameName(other, name)))
  if (unknown !== undefined) throw new UsageError(`${option} names ${unknown}, which is not a column of the file`)
}

function given<Value>(pairs: ReadonlyMap<string, Value>, name: string): Value | undefined {
  return [...pairs].find(([other]) => sameName(other, name))?.[1]
}

/** The columns of the table; undefined if it does not exist. */
export async function describeTable(connection: QueryConnection, table: string): Promise<TargetColumn[] | undefined> {
  const statement = `DESCRIBE ${printName({ text: table, at: 0 })}`
  try {
    const { Rows } = membersOf(await (await expectSuccess(await connection.statement(statement), statement)).json())
    return (Array.isArray(Rows) ? Rows : []).map((row: unknown) => {
      const { name, type, nullable, default: written } = membersOf(row)
      const known = parseType(String(type))
      if (known === undefined) throw new UsageError(`The column ${String(name)} has the unknown type ${String(type)}`)
      return { name: String(name), type: known, isRequired: nullable === false, hasDefault: written !== null }
    })
  } catch (error) {
    if (error instanceof QueryRefused && error.code === 'IQL.UnknownTable') return undefined
    throw error
  }
}

export async function createTable(
  connection: QueryConnection,
  table: string,
  columns: readonly TargetColumn[],
  keys: readonly string[],
): Promise<void> {
  const quoted = (name: string) => printName({ text: name, at: 0 })
  const missing = keys.find((key) => !columns.some(({ name }) => sameName(name, key)))
  if (missing !== undefined) throw new UsageError(`--key names ${missing}, which is not a column of the file`)
  const parts = columns.map(({ name, type }) => `${quoted(name)} ${typeName(type)}`)
  if (keys.length > 0) parts.push(`PRIMARY KEY (${keys.map(quoted).join(', ')})`)
  const statement = `CREATE TABLE ${quoted(table)} (${parts.join(', ')})`
  await expectSuccess(await connection.statement(statement), statement)
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
