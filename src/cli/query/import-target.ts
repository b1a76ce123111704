/** The target table of an import, existing or created with guessed types, and the conversion of records to rows. */
import { parseCsvRecord, readCsvRecords } from '../../lib/csv.ts'
import { printName } from '../../query/iql/printer.ts'
import { type IqlType, typeName } from '../../query/iql/types.ts'
import { readValue } from '../../query/iql/values.ts'
import { UsageError } from '../errors.ts'
import { membersOf } from '../json.ts'
import { guessType, parseType } from './column-types.ts'
import { expectSuccess, type QueryConnection, QueryRefused } from './connection.ts'

export interface TargetColumn {
  readonly name: string
  readonly type: IqlType
  readonly isRequired: boolean
  readonly hasDefault: boolean
}

/** Types are guessed from this many rows. */
const SAMPLE_ROWS = 10_000

/** The column names in the first record, and the byte and the line after it. */
export async function readHeader(file: string): Promise<{ names: readonly string[]; end: number; nextLine: number }> {
  for await (const { raw, end, nextLine } of readCsvRecords(file)) {
    const parsed = parseCsvRecord(raw)
    if ('problem' in parsed || parsed.fields.includes(null))
      throw new UsageError(`The first line of ${file} must name the columns`)
    const texts = parsed.fields.map((name) => (name ?? '').trim())
    const twice = texts.find((name, index) => texts.findIndex((other) => sameName(other, name)) !== index)
    if (twice !== undefined) throw new UsageError(`${file} has two columns named ${twice}`)
    return { names: texts, end, nextLine }
  }
  throw new UsageError(`${file} is empty`)
}

export async function guessColumns(
  file: string,
  names: readonly string[],
  start: number,
  given: ReadonlyMap<string, string>,
): Promise<TargetColumn[]> {
  const unknown = [...given.keys()].find((name) => !names.some((other) => sameName(other, name)))
  if (unknown !== undefined) throw new UsageError(`--type names ${unknown}, which is not a column of the file`)
  const values = names.map((): string[] => [])
  let rows = 0
  for await (const { raw } of readCsvRecords(file, start)) {
    const parsed = parseCsvRecord(raw)
    const fields = 'problem' in parsed ? [] : parsed.fields
    for (const [index, field] of fields.entries()) if (field !== null) values[index]?.push(field)
    if (++rows === SAMPLE_ROWS) break
  }
  return names.map((name, index) => {
    const asked = [...given].find(([other]) => sameName(other, name))?.[1]
    const type = asked === undefined ? guessType(values[index] ?? []) : parseType(asked)
    if (type === undefined) throw new UsageError(`--type ${name}: unknown type ${asked}`)
    return { name, type, isRequired: false, hasDefault: false }
  })
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

/** A record as the JSON of a row, or the reason why it cannot be one. Values are sent as text, so that none is rounded. */
export function rowOf(raw: string, columns: readonly TargetColumn[]): { json: string } | { reason: string } {
  const parsed = parseCsvRecord(raw)
  if ('problem' in parsed) return { reason: parsed.problem }
  const { fields } = parsed
  if (fields.length !== columns.length) return { reason: `has ${fields.length} fields, not ${columns.length}` }
  const members: string[] = []
  for (const [index, { name, type, isRequired, hasDefault }] of columns.entries()) {
    const field = fields[index] ?? null
    if (field === null) {
      if (isRequired && !hasDefault) return { reason: `${name} is empty but needs a value` }
      if (!hasDefault) members.push(`${JSON.stringify(name)}:null`)
      continue
    }
    const read = readValue(type, field)
    if ('problem' in read) return { reason: `${name}: ${JSON.stringify(field)} ${read.problem}` }
    members.push(`${JSON.stringify(name)}:${type.kind === 'Json' ? field : JSON.stringify(field)}`)
  }
  return { json: `{${members.join(',')}}` }
}

export function sameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}
