/** Values in PostgreSQL's text form, and in SQLite. */
import { CatalogueError } from '../catalogue-error.ts'
import { elementTypeOid, findRepresentation, isNamedId, isVector, OID, standardName } from '../data/types.ts'

/** What SQLite holds. */
export type Value = null | number | bigint | string | Uint8Array

export type ArrayItem = null | number | string | readonly ArrayItem[]

export function readInteger(text: string, type: number = OID.int4, at?: number): number {
  const trimmed = text.trim()
  if (!/^[+-]?\d{1,18}$/.test(trimmed)) throw badValue(type, text, at)
  return Number(trimmed)
}

export function readNumber(text: string, at?: number): number {
  const value = Number(text.trim())
  if (text.trim() === '' || Number.isNaN(value)) throw badValue(OID.float8, text, at)
  return value
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['t', 'true', 'y', 'yes', 'on', '1'].map((text) => [text, true] as const),
  ...['f', 'false', 'n', 'no', 'off', '0'].map((text) => [text, false] as const),
])

export function readBoolean(text: string, at?: number): boolean {
  const value = BOOLEANS.get(text.trim().toLowerCase())
  if (value === undefined) throw badValue(OID.bool, text, at)
  return value
}

function badValue(type: number, text: string, at?: number): CatalogueError {
  return new CatalogueError('badValue', `invalid input syntax for type ${standardName(type)}: "${text}"`, at)
}

/** Reads `{a,"b c",NULL}`, and for vectors `1 2`. */
export function readArray(text: string, type: number, at?: number, find?: FindObject): ArrayItem[] {
  const element = elementTypeOid(type) ?? OID.text
  if (isVector(type))
    return text.trim() === ''
      ? []
      : text
          .trim()
          .split(/\s+/)
          .map((item) => readInteger(item, element, at))
  const tokens =
    text.trim().match(/[{},]|"(?:[^"\\]|\\[\s\S])*"|(?:[^{},"\\\s]|\\[\s\S])(?:[^{},"\\]|\\[\s\S])*/g) ?? []
  let index = 0
  const readItems = (depth: number): ArrayItem[] => {
    const items: ArrayItem[] = []
    if (tokens[index++] !== '{' || depth > 6) throw malformed(text, at)
    if (tokens[index] === '}') {
      index++
      return items
    }
    for (;;) {
      items.push(tokens[index] === '{' ? readItems(depth + 1) : readItem(tokens[index++], element, text, at, find))
      const next = tokens[index++]
      if (next === '}') return items
      if (next !== ',') throw malformed(text, at)
    }
  }
  const items = readItems(0)
  if (index !== tokens.length) throw malformed(text, at)
  return items
}

/** The id of an object with a name, for types such as regtype. */
export type FindObject = (type: number, name: string) => number

function readItem(
  token: string | undefined,
  element: number,
  text: string,
  at: number | undefined,
  find: FindObject | undefined,
): ArrayItem {
  if (token === undefined || /^[{},]$/.test(token)) throw malformed(text, at)
  if (token.toUpperCase() === 'NULL') return null
  const isQuoted = token.startsWith('"')
  const value = (isQuoted ? token.slice(1, -1) : token.trim()).replaceAll(/\\([\s\S])/g, '$1')
  if (find !== undefined && isNamedId(element)) return find(element, value)
  switch (findRepresentation(element)) {
    case 'integer':
      return readInteger(value, element, at)
    case 'boolean':
      return readBoolean(value, at) ? 1 : 0
    case 'real':
      return readNumber(value, at)
    case 'array':
    case 'text':
      return value
  }
}

function malformed(text: string, at: number | undefined): CatalogueError {
  return new CatalogueError('badValue', `malformed array literal: "${text}"`, at)
}

/** The items of an array in JSON; undefined for NULL. */
export function parseItems(value: Value): ArrayItem[] | undefined {
  if (typeof value !== 'string') return undefined
  const items: unknown = JSON.parse(value)
  return Array.isArray(items) ? items : undefined
}

/** Names of objects by their ids. */
export interface ObjectNames {
  objectName(type: number, oid: number): string
}

/** PostgreSQL's text form. */
export function writeText(value: Value, type: number, names: ObjectNames): string | null {
  if (value === null) return null
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  switch (findRepresentation(type)) {
    case 'boolean':
      return Number(value) === 0 ? 'f' : 't'
    case 'integer':
      return isNamed(type) ? names.objectName(type, Number(value)) : String(value)
    case 'array':
      return writeArray(value, type, names)
    case 'real':
    case 'text':
      return String(value)
  }
}

function isNamed(type: number): boolean {
  return type !== OID.oid && type !== OID.xid && type !== OID.int2 && type !== OID.int4 && type !== OID.int8
}

function writeArray(value: Value, type: number, names: ObjectNames): string {
  const items = parseItems(value) ?? []
  const element = elementTypeOid(type) ?? OID.text
  if (isVector(type)) return items.join(' ')
  return writeItems(items, element, names)
}

function writeItems(items: readonly ArrayItem[], element: number, names: ObjectNames): string {
  return `{${items
    .map((item) => {
      if (item === null) return 'NULL'
      if (typeof item === 'object') return writeItems(item, element, names)
      const text = writeText(item, element, names) ?? ''
      return text === '' || /[{}",\\\s]/.test(text) || text.toUpperCase() === 'NULL'
        ? `"${text.replaceAll(/["\\]/g, '\\$&')}"`
        : text
    })
    .join(',')}}`
}
