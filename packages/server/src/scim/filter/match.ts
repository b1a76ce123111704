/** Whether a resource meets a filter. */
import type { AttributePath, Filter, FilterValue, Operator } from './ast.ts'

export type JsonObject = Readonly<Record<string, unknown>>

/** Compared exactly; all other texts case-insensitively (RFC 7643 §7, caseExact). */
const EXACT: ReadonlySet<string> = new Set(['id', 'externalid', 'meta', '$ref'])
const TIMES: ReadonlySet<string> = new Set(['meta.created', 'meta.lastmodified'])

/** `core` is the schema of the resource: its URN in front of an attribute may be left out. */
export function matches(filter: Filter, resource: JsonObject, core: string): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.parts.every((part) => matches(part, resource, core))
    case 'or':
      return filter.parts.some((part) => matches(part, resource, core))
    case 'not':
      return !matches(filter.part, resource, core)
    case 'present':
      return valuesAt(resource, filter.path, core).some((value) => !isEmpty(value))
    case 'compare': {
      const values = valuesAt(resource, filter.path, core)
        .map(comparable)
        .filter((value) => value !== undefined)
      return compareAny(values, filter.op, filter.value, filter.path)
    }
  }
}

/** How texts are compared where case does not count: as usernames are. */
export function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

function compareAny(
  values: readonly (string | number | boolean)[],
  op: Operator,
  wanted: FilterValue,
  path: AttributePath,
): boolean {
  if (op === 'ne') return !compareAny(values, 'eq', wanted, path)
  if (wanted === null) return values.length === 0
  return values.some((value) => compare(value, op, wanted, path))
}

function compare(
  value: string | number | boolean,
  op: Exclude<Operator, 'ne'>,
  wanted: string | number | boolean,
  path: AttributePath,
): boolean {
  if (typeof value === 'boolean') return op === 'eq' && String(value) === fold(String(wanted))
  if (typeof value === 'number') return order(op, value, Number(wanted))
  if (typeof wanted !== 'string') return false
  if (TIMES.has(`${path.name}.${path.sub}`)) return order(op, Date.parse(value), Date.parse(wanted))
  const isExact = EXACT.has(path.name) || EXACT.has(path.sub ?? '')
  const [left, right] = isExact ? [value, wanted] : [fold(value), fold(wanted)]
  if (op === 'co') return left.includes(right)
  if (op === 'sw') return left.startsWith(right)
  if (op === 'ew') return left.endsWith(right)
  return order(op, left, right)
}

function order<Value extends string | number>(op: Operator, left: Value, right: Value): boolean {
  switch (op) {
    case 'eq':
      return left === right
    case 'gt':
      return left > right
    case 'ge':
      return left >= right
    case 'lt':
      return left < right
    case 'le':
      return left <= right
    default:
      return false
  }
}

/** The values that a path names; several of a multi-valued attribute. */
function valuesAt(resource: JsonObject, { urn, name, filter, sub }: AttributePath, core: string): unknown[] {
  const holder = urn === undefined || urn === core.toLowerCase() ? resource : findMember(resource, urn)
  const value = findMember(holder, name)
  const all = Array.isArray(value) ? value : value === undefined ? [] : [value]
  const chosen = filter === undefined ? all : all.filter((item) => isObject(item) && matches(filter, item, core))
  return sub === undefined ? chosen : chosen.flatMap((item) => findMember(item, sub) ?? [])
}

function findMember(value: unknown, name: string): unknown {
  if (!isObject(value)) return undefined
  return Object.entries(value).find(([key]) => key.toLowerCase() === name)?.[1]
}

/** A complex value is compared by its `value`. */
function comparable(value: unknown): string | number | boolean | undefined {
  const simple = isObject(value) ? value.value : value
  return typeof simple === 'string' || typeof simple === 'number' || typeof simple === 'boolean' ? simple : undefined
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
