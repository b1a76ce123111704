/** The functions that statements on the catalogue call: registered with SQLite, with the prefix gh_. */
import { createHash } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import { CatalogueError } from '../catalogue-error.ts'
import { KEYWORD_LINES } from '../data/postgres-catalogue.ts'
import { findSetting } from '../data/settings.ts'
import { elementTypeOid, OID } from '../data/types.ts'
import { type CatalogueModel, quoteIdentifier, readPath } from '../database/catalogue-model.ts'
import { constraintDefinition, formatType, indexDefinition, viewDefinition } from '../database/definitions.ts'
import { registerTexts } from './texts.ts'
import {
  type ArrayItem,
  parseItems,
  readArray,
  readBoolean,
  readInteger,
  readNumber,
  type Value,
  writeText,
} from './values.ts'

/** What is the same for all databases of the process. */
export interface ServerFacts {
  /** As in `server_version`. */
  readonly version: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

/** NULL for an argument that is NULL. */
export function strict(
  body: (...args: readonly Exclude<Value, null>[]) => Value,
): (...args: readonly Value[]) => Value {
  return (...args) => (args.some((arg) => arg === null) ? null : body(...(args as readonly Exclude<Value, null>[])))
}

export function registerFunctions(database: Database, model: CatalogueModel, server: ServerFacts): void {
  const define = (name: string, body: (...args: readonly Value[]) => Value): void => {
    database.function(`gh_${name}`, { varargs: true, deterministic: !VOLATILE.has(name) }, (...args: unknown[]) =>
      exact(body(...(args as Value[]))),
    )
  }
  registerObjects(define, model)
  registerArrays(define, model)
  registerTexts(define)
  define('user', () => model.session.user)
  define('backend_pid', () => model.session.processId)
  define(
    'cancel_backend',
    strict((id) => {
      const processId = Number(id)
      const known = new Map(model.session.cancelled).get(processId)
      if (known === undefined && model.cancels.size >= MOST_CANCELS)
        throw new CatalogueError('tooComplex', `A statement can cancel at most ${MOST_CANCELS} others`)
      if (known === undefined) model.cancels.add(processId)
      return (known ?? true) ? 1 : 0
    }),
  )
  define(
    'divide',
    strict((operator, isReal, dividend, divisor) => {
      if (Number(divisor) === 0) throw new CatalogueError('divisionByZero', 'division by zero')
      if (Number(isReal) === 1)
        return operator === '/' ? Number(dividend) / Number(divisor) : Number(dividend) % Number(divisor)
      const [a, b] = [BigInt(String(dividend)), BigInt(String(divisor))]
      return operator === '/' ? a / b : a % b
    }),
  )
  // Half away from zero, also before the point.
  define(
    'round',
    strict((value, digits) => {
      const unit = 10 ** Number(digits)
      return (Math.sign(Number(value)) * Math.round(Math.abs(Number(value)) * unit)) / unit
    }),
  )
  define('version', () => `PostgreSQL ${server.version}`)
  define('started', () => timestampText(server.startedAt))
  define('now', () => timestampText(Date.now()))
  define('current_setting', (name, isOptional) => {
    const setting = name === 'server_version' ? server.version : findSetting(String(name))
    if (setting !== undefined || Number(isOptional) === 1) return setting ?? null
    throw new CatalogueError('unknownObject', `unrecognized configuration parameter "${name}"`)
  })
  // Settings belong to the session, which answers SET and SHOW; this one says what was asked for.
  define('set_config', (_name, value) => value ?? null)
  define('keywords', () =>
    JSON.stringify(
      KEYWORD_LINES.trim()
        .split('\n')
        .map((line) => line.split(' ')),
    ),
  )
  database.table('gh_series', {
    columns: ['key', 'value'],
    parameters: ['first', 'last', 'step'],
    *rows(...args: unknown[]) {
      const [first, last, step] = args.map(Number)
      if (args.some((arg) => arg === null) || first === undefined || last === undefined || step === undefined) return
      if (step === 0) throw new CatalogueError('badValue', 'step size cannot equal zero')
      let key = 0
      for (let value = first; step > 0 ? value <= last : value >= last; value += step) yield [key++, value]
    },
  })
}

/** SQLite would take every number for a double, and write 1.0. */
function exact(value: Value): Value {
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value
}

const VOLATILE: ReadonlySet<string> = new Set(['now', 'user', 'backend_pid', 'cancel_backend'])
/** In one statement: each may ask all nodes. */
const MOST_CANCELS = 20

function timestampText(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().replace('T', ' ').replace('Z', '')}+00`
}

export type Define = (name: string, body: (...args: readonly Value[]) => Value) => void

function registerObjects(define: Define, model: CatalogueModel): void {
  define('format_type', (type, modifier) =>
    type === null || type === undefined
      ? null
      : formatType(model, Number(type), modifier == null ? null : Number(modifier)),
  )
  define(
    'indexdef',
    strict((oid, position, isPretty) => indexDefinition(model, Number(oid), Number(position), isPretty === 1)),
  )
  define(
    'constraintdef',
    strict((oid) => {
      const constraint = model.constraint(Number(oid))
      return constraint === undefined ? null : constraintDefinition(constraint)
    }),
  )
  define(
    'viewdef',
    strict((oid) => {
      const text = model.table(Number(oid))?.viewText
      return text === undefined ? null : viewDefinition(text)
    }),
  )
  define('description', (oid, kind, column) => {
    const isTable = kind === null || kind === 'pg_class'
    return (isTable && Number(column) === 0 ? model.table(Number(oid))?.description : undefined) ?? null
  })
  define(
    'pg_get_userbyid',
    strict((oid) => model.roleName(Number(oid)) ?? `unknown (OID=${oid})`),
  )
  define(
    'find_object',
    strict((type, text) => findObject(model, Number(type), text)),
  )
  define(
    'try_object',
    strict((type, text) => (typeof text === 'number' ? text : (model.find(Number(type), String(text)) ?? null))),
  )
  define(
    'is_visible',
    strict((kind, oid) => {
      if (kind === 'pg_table_is_visible')
        return model.isRelation(Number(oid)) ? Number(model.isVisible(Number(oid))) : null
      return 1
    }),
  )
  define(
    'has_table_privilege',
    strict((table, privileges) => hasPrivilege(model, Number(table), String(privileges))),
  )
  define(
    'has_schema_privilege',
    strict((_schema, privilege) => (/create/i.test(String(privilege)) ? 0 : 1)),
  )
  define(
    'has_database_privilege',
    strict((_database, privilege) => (/connect/i.test(String(privilege)) ? 1 : 0)),
  )
  define(
    'pg_has_role',
    strict((role) => {
      const oid = typeof role === 'number' ? role : model.find(OID.regrole, String(role))
      return oid !== undefined && model.roleName(oid) === model.session.user ? 1 : 0
    }),
  )
  define(
    'pg_index_column_has_property',
    strict((oid, position, property) => {
      const part = model.index(Number(oid))?.index.columns[Number(position) - 1]
      if (part === undefined) return null
      const { isDescending } = part
      switch (property) {
        case 'asc':
          return isDescending ? 0 : 1
        case 'desc':
        case 'nulls_first':
          return isDescending ? 1 : 0
        case 'nulls_last':
          return isDescending ? 0 : 1
        default:
          return property === 'orderable' || property === 'returnable' ? 1 : 0
      }
    }),
  )
}

const NOUNS: ReadonlyMap<number, string> = new Map<number, string>([
  [OID.regclass, 'relation'],
  [OID.regtype, 'type'],
  [OID.regnamespace, 'schema'],
  [OID.regrole, 'role'],
  [OID.regproc, 'function'],
])

/** The id of an object by its name, or by its id as a text. */
export function findObject(model: CatalogueModel, type: number, text: Exclude<Value, null>): number {
  if (typeof text === 'number') return text
  const oid = model.find(type, String(text))
  if (oid !== undefined) return oid
  const fault = type === OID.regclass ? 'unknownTable' : type === OID.regproc ? 'unknownFunction' : 'unknownObject'
  throw new CatalogueError(fault, `${NOUNS.get(type) ?? 'object'} "${text}" does not exist`)
}

const WRITES: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE'])

/** One of several privileges is enough. The catalogue itself can be read. */
function hasPrivilege(model: CatalogueModel, oid: number, privileges: string): Value {
  if (!model.isRelation(oid)) return null
  const table = model.table(oid)
  const asked = privileges.split(',').map((one) => one.trim().toUpperCase())
  return asked.some((one) => one === 'SELECT' || (table?.isWritable === true && table.kind === 'r' && WRITES.has(one)))
    ? 1
    : 0
}

function registerArrays(define: Define, model: CatalogueModel): void {
  const find = (type: number, name: string) => findObject(model, type, name)
  define('text', (value, type) => (value == null ? null : writeText(value, Number(type), model)))
  define(
    'integer',
    strict((value) => (typeof value === 'string' ? readInteger(value) : value)),
  )
  define(
    'number',
    strict((value) => (typeof value === 'string' ? readNumber(value) : value)),
  )
  define(
    'boolean',
    strict((value) => (typeof value === 'string' ? Number(readBoolean(value)) : value)),
  )
  define(
    'read_array',
    strict((value, type) => JSON.stringify(readArray(String(value), Number(type), undefined, find))),
  )
  define(
    'find_objects',
    strict((type, value) =>
      JSON.stringify(
        (parseItems(value) ?? []).map((item) => (typeof item === 'string' ? find(Number(type), item) : item)),
      ),
    ),
  )
  define(
    'array_texts',
    strict((value, type) => {
      const element = elementTypeOid(Number(type)) ?? OID.text
      return JSON.stringify(
        (parseItems(value) ?? []).map((item) => (isSingle(item) ? writeText(item, element, model) : item)),
      )
    }),
  )
  define('array_to_string', (value, type, separator, whereNull) => {
    const items = value == null ? undefined : parseItems(value)
    if (items === undefined || separator == null) return null
    const element = elementTypeOid(Number(type)) ?? OID.text
    const texts = items.flat().map((item) => (isSingle(item) ? writeText(item, element, model) : null))
    return texts.flatMap((text) => text ?? (whereNull == null ? [] : [String(whereNull)])).join(String(separator))
  })
  define('array_cat', (left, right) => {
    const [a, b] = [left ?? null, right ?? null].map((value) => parseItems(value))
    return a === undefined ? (right ?? null) : b === undefined ? (left ?? null) : JSON.stringify([...a, ...b])
  })
  define(
    'array_compare',
    strict((operator, left, right) => {
      const [a, b] = [parseItems(left) ?? [], parseItems(right) ?? []]
      if (operator === '&&') return a.some((item) => b.includes(item)) ? 1 : 0
      const [whole, part] = operator === '@>' ? [a, b] : [b, a]
      return part.every((item) => whole.includes(item)) ? 1 : 0
    }),
  )
  define(
    'item',
    strict((value, index) => {
      const item = parseItems(value)?.[Number(index)]
      return item === undefined ? null : isSingle(item) ? item : JSON.stringify(item)
    }),
  )
  define('zip', (...arrays) => {
    const lists = arrays.map((value) => parseItems(value) ?? [])
    const length = Math.max(0, ...lists.map((list) => list.length))
    return JSON.stringify(Array.from({ length }, (_none, index) => lists.map((list) => list[index] ?? null)))
  })
  const extreme =
    (isBetter: (a: Value, b: Value) => boolean) =>
    (...values: readonly Value[]) =>
      values.reduce<Value>(
        (best, value) => (value !== null && (best === null || isBetter(value, best)) ? value : best),
        null,
      )
  define(
    'greatest',
    extreme((a, b) => a !== null && b !== null && a > b),
  )
  define(
    'least',
    extreme((a, b) => a !== null && b !== null && a < b),
  )
  define(
    'quote_ident',
    strict((name) => quoteIdentifier(String(name))),
  )
  define(
    'parse_ident',
    strict((path) => JSON.stringify(readPath(String(path)))),
  )
  // %s a text, %I a name, %L a literal, each perhaps with a position as in %1$s.
  define('format', (format, ...args) => {
    let next = 0
    return format == null
      ? null
      : String(format).replaceAll(/%(?:(\d+)\$)?([sIL%])/g, (_whole, position: string | undefined, kind: string) => {
          if (kind === '%') return '%'
          next = position === undefined ? next + 1 : Number(position)
          const text = args[next - 1] ?? null
          if (kind === 'I') return quoteIdentifier(String(text ?? ''))
          return kind === 's' ? String(text ?? '') : text === null ? 'NULL' : `'${String(text).replaceAll("'", "''")}'`
        })
  })
  define(
    'md5',
    strict((text) => createHash('md5').update(String(text)).digest('hex')),
  )
}

function isSingle(item: ArrayItem): item is null | number | string {
  return item === null || typeof item !== 'object'
}
