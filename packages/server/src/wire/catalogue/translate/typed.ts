/** SQL of SQLite with the type that PostgreSQL gives it. */
import { CatalogueError } from '../catalogue-error.ts'
import { arrayTypeOid, elementTypeOid, findRepresentation, isNamedId, OID, standardName } from '../data/types.ts'
import { readArray, readBoolean, readInteger } from '../functions/values.ts'

export interface Typed {
  readonly sql: string
  readonly type: number
  readonly modifier: number
  /** What PostgreSQL calls a result column with this value. */
  readonly name: string
  /** A cast or a CASE around it gives another name. */
  readonly isNameWeak?: boolean
  /** The text of a literal whose type the context determines. */
  readonly literal?: string
  /** The number of a parameter whose type the context determines. */
  readonly parameter?: number
  /** The fields of a record, which is kept as a JSON object. */
  readonly fields?: ReadonlyMap<string, number>
  readonly at?: number
}

export const NO_NAME = '?column?'

export function typed(sql: string, type: number, name = NO_NAME, modifier = -1): Typed {
  return { sql, type, name, modifier, isNameWeak: name === NO_NAME }
}

export function quoteText(text: string): string {
  // SQLite ends a statement at NUL.
  if (text.includes('\0')) throw new CatalogueError('badValue', 'A text cannot contain NUL')
  return `'${text.replaceAll("'", "''")}'`
}

/** Parameters are bound by name, because one can be used several times. */
export function parameterName(index: number): string {
  return `p${index}`
}

const TEXTS: ReadonlySet<number> = new Set([OID.text, OID.name, OID.varchar, OID.bpchar, OID.char])

export function isText(type: number): boolean {
  return TEXTS.has(type)
}

/** Where parameters without a declared type get theirs. */
export interface ParameterTypes {
  settle(parameter: number, type: number): void
}

/** The value in the other type, as by a cast. */
export function convert(value: Typed, type: number, parameters: ParameterTypes): Typed {
  const to = (sql: string): Typed => ({ ...typed(sql, type, value.name), isNameWeak: value.isNameWeak === true })
  if (value.parameter !== undefined && value.type === OID.unknown) {
    parameters.settle(value.parameter, type)
    return to(value.sql)
  }
  if (value.literal !== undefined && value.type === OID.unknown) return to(literalSql(value.literal, type, value.at))
  if (value.type === type || value.type === OID.unknown) return { ...value, type }
  const [from, target] = [findRepresentation(value.type), findRepresentation(type)]
  const { sql } = value
  if (isNamedId(type) && from === 'text') return to(`gh_find_object(${type}, ${sql})`)
  switch (target) {
    case 'integer':
      if (from === 'text') return to(`gh_integer(${sql})`)
      return to(from === 'real' ? `CAST(round(${sql}) AS INTEGER)` : sql)
    case 'real':
      return to(from === 'text' ? `gh_number(${sql})` : `CAST(${sql} AS REAL)`)
    case 'boolean':
      return to(from === 'text' ? `gh_boolean(${sql})` : `(${sql} <> 0)`)
    case 'array':
      return to(convertArray(sql, value.type, type))
    case 'text':
      return to(asText(value, type))
  }
}

function convertArray(sql: string, from: number, to: number): string {
  if (findRepresentation(from) === 'text') return `gh_read_array(${sql}, ${to})`
  const [source, target] = [elementTypeOid(from) ?? OID.text, elementTypeOid(to) ?? OID.text]
  if (isNamedId(target) && findRepresentation(source) === 'text') return `gh_find_objects(${target}, ${sql})`
  const becomesText = findRepresentation(target) === 'text' && findRepresentation(source) !== 'text'
  return becomesText ? `gh_array_texts(${sql}, ${from})` : sql
}

/** As PostgreSQL's text form; a Boolean becomes `true`, not `t`. */
function asText(value: Typed, type: number): string {
  const { sql } = value
  switch (findRepresentation(value.type)) {
    case 'boolean':
      return `CASE ${sql} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END`
    case 'array':
      return `gh_text(${sql}, ${value.type})`
    case 'integer':
      return isNamedId(value.type) ? `gh_text(${sql}, ${value.type})` : `CAST(${sql} AS TEXT)`
    case 'real':
      return `gh_text(${sql}, ${value.type})`
    case 'text':
      return type === OID.char && value.type !== OID.char ? `substr(${sql}, 1, 1)` : sql
  }
}

function literalSql(text: string, type: number, at: number | undefined): string {
  if (isNamedId(type)) return `gh_find_object(${type}, ${quoteText(text)})`
  switch (findRepresentation(type)) {
    case 'integer':
      return String(readInteger(text, type, at))
    case 'boolean':
      return readBoolean(text, at) ? '1' : '0'
    case 'array':
      return isNamedId(elementTypeOid(type) ?? 0)
        ? `gh_read_array(${quoteText(text)}, ${type})`
        : quoteText(JSON.stringify(readArray(text, type, at)))
    case 'real':
      return `gh_number(${quoteText(text)})`
    case 'text':
      return quoteText(type === OID.char ? text.slice(0, 1) : text)
  }
}

const NUMBERS: readonly number[] = [OID.int2, OID.int4, OID.int8, OID.numeric, OID.float4, OID.float8]

/** The type of CASE, COALESCE, arrays and set operations, whose values may have different types. */
export function commonType(types: readonly number[]): number {
  const known = types.filter((type) => type !== OID.unknown)
  const [first = OID.unknown] = known
  if (known.every((type) => type === first)) return first
  // A name becomes a text by itself; varchar and text become each other, so the first one stays.
  if (known.every(isText)) return first === OID.varchar || first === OID.bpchar ? first : OID.text
  if (known.every((type) => NUMBERS.includes(type)))
    return known.reduce((a, b) => (NUMBERS.indexOf(b) > NUMBERS.indexOf(a) ? b : a))
  if (known.every((type) => findRepresentation(type) === 'integer'))
    return known.find((type) => type === OID.oid) ?? first
  if (known.every((type) => elementTypeOid(type) !== undefined))
    return arrayTypeOid(commonType(known.map((type) => elementTypeOid(type) ?? 0)))
  return first
}

/** All values in the type that they share. */
export function unify(
  values: readonly Typed[],
  parameters: ParameterTypes,
): { readonly type: number; readonly values: readonly Typed[] } {
  const common = commonType(values.map(({ type }) => type))
  const type = common === OID.unknown ? OID.text : common
  return {
    type,
    values: values.map((value) => (value.type === OID.unknown ? convert(value, type, parameters) : value)),
  }
}

/** Both operands of a comparison. */
export function unifyPair(left: Typed, right: Typed, parameters: ParameterTypes): [Typed, Typed] {
  if (left.type === OID.unknown && right.type === OID.unknown)
    return [convert(left, OID.text, parameters), convert(right, OID.text, parameters)]
  if (left.type === OID.unknown) return [convert(left, right.type, parameters), right]
  if (right.type === OID.unknown) return [left, convert(right, left.type, parameters)]
  const [a, b] = [findRepresentation(left.type), findRepresentation(right.type)]
  const isNumber = (kind: string): boolean => kind === 'integer' || kind === 'real'
  if (a === b || (isNumber(a) && isNumber(b))) return [left, right]
  throw new CatalogueError(
    'unknownFunction',
    `operator does not exist: ${standardName(left.type)} = ${standardName(right.type)}`,
    left.at,
    'You might need to add explicit type casts.',
  )
}
