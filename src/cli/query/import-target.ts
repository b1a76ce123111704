/** The table that an import fills: as it is, or made from guessed types; and how a record becomes a row of it. */
import { printName } from '../../query/iql/print-expression.ts'
import { type IqlType, typeName } from '../../query/iql/types.ts'
import { readValue } from '../../query/iql/values.ts'
import { Usage } from '../command.ts'
import { guessType, typeNamed } from './column-types.ts'
import { accepted, membersOf, type QueryConnection, QueryRefused } from './connection.ts'
import { fieldsOf, readRecords } from './csv-records.ts'

export interface TargetColumn {
  readonly name: string
  readonly type: IqlType
  readonly isRequired: boolean
  readonly hasDefault: boolean
}

/** Rows of the file that types are guessed from. */
const SAMPLE = 10_000

/** The names of the first record; the rest of the file follows them. */
export async function readHeader(file: string): Promise<{ names: readonly string[]; end: number }> {
  for await (const { raw, end } of readRecords(file)) {
    const names = fieldsOf(raw)
    if (names === undefined || names.some((name) => name === null))
      throw new Usage(`${file} begins with no line of names`)
    const texts = names.map((name) => (name ?? '').trim())
    const twice = texts.find((name, index) => texts.findIndex((other) => sameName(other, name)) !== index)
    if (twice !== undefined) throw new Usage(`${file} names the column ${twice} twice`)
    return { names: texts, end }
  }
  throw new Usage(`${file} is empty`)
}

export async function guessColumns(
  file: string,
  names: readonly string[],
  start: number,
  given: ReadonlyMap<string, string>,
): Promise<TargetColumn[]> {
  const unknown = [...given.keys()].find((name) => !names.some((other) => sameName(other, name)))
  if (unknown !== undefined) throw new Usage(`--type names ${unknown}, which is no column of the file`)
  const values = names.map((): string[] => [])
  let rows = 0
  for await (const { raw } of readRecords(file, start)) {
    for (const [index, field] of (fieldsOf(raw) ?? []).entries()) if (field !== null) values[index]?.push(field)
    if (++rows === SAMPLE) break
  }
  return names.map((name, index) => {
    const asked = [...given].find(([other]) => sameName(other, name))?.[1]
    const type = asked === undefined ? guessType(values[index] ?? []) : typeNamed(asked)
    if (type === undefined) throw new Usage(`--type ${name}: there is no type ${asked}`)
    return { name, type, isRequired: false, hasDefault: false }
  })
}

/** The columns of the table; undefined when there is no such table. */
export async function describeTable(connection: QueryConnection, table: string): Promise<TargetColumn[] | undefined> {
  const statement = `DESCRIBE ${printName({ text: table, at: 0 })}`
  try {
    const { Rows } = membersOf(await (await accepted(await connection.statement(statement), statement)).json())
    return (Array.isArray(Rows) ? Rows : []).map((row: unknown) => {
      const { name, type, nullable, default: written } = membersOf(row)
      const known = typeNamed(String(type))
      if (known === undefined) throw new Usage(`The column ${String(name)} has a type that this program does not know`)
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
  if (missing !== undefined) throw new Usage(`--key names ${missing}, which is no column of the file`)
  const parts = columns.map(({ name, type }) => `${quoted(name)} ${typeName(type)}`)
  if (keys.length > 0) parts.push(`PRIMARY KEY (${keys.map(quoted).join(', ')})`)
  const statement = `CREATE TABLE ${quoted(table)} (${parts.join(', ')})`
  await accepted(await connection.statement(statement), statement)
}

/** The columns of the table in the order of the file. */
export function matchColumns(
  names: readonly string[],
  columns: readonly TargetColumn[],
  table: string,
): TargetColumn[] {
  return names.map((name) => {
    const column = columns.find((candidate) => sameName(candidate.name, name))
    if (column !== undefined) return column
    throw new Usage(`${table} has no column ${name}; it has ${columns.map((candidate) => candidate.name).join(', ')}`)
  })
}

/** A record as the JSON of a row, or why it cannot be one. Values go as text, so that nothing is rounded on the way. */
export function rowOf(raw: string, columns: readonly TargetColumn[]): { json: string } | { reason: string } {
  const fields = fieldsOf(raw)
  if (fields === undefined) return { reason: 'the quotes of the line do not fit' }
  if (fields.length !== columns.length) return { reason: `has ${fields.length} fields, not ${columns.length}` }
  const members: string[] = []
  for (const [index, { name, type, isRequired, hasDefault }] of columns.entries()) {
    const field = fields[index] ?? null
    if (field === null) {
      if (isRequired && !hasDefault) return { reason: `${name} is empty, but must have a value` }
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
