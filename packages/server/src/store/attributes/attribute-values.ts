/** The values of attributes: read from what a file, a request, a SCIM client or another provider gives, and written as claims. */
import type { AttributeValue, AttributeValues } from '../accounts/user.ts'
import type { AttributeDefinition, AttributeType } from './attributes.ts'

/** Of one attribute of one user or client. */
export const MOST_VALUES = 100
/** The longest Text, in characters. */
export const LONGEST_VALUE = 256

export type ParsedValues = { readonly values: readonly AttributeValue[] } | { readonly fault: string }

/**
 * One value or a list of them, as they are stored: without duplicates, ordered. Dates are texts such as 2026-11-17. An empty list, like
 * null, is no value.
 */
export function parseAttributeValues({ type, many }: AttributeDefinition, given: unknown): ParsedValues {
  const list: readonly unknown[] = Array.isArray(given) ? given : given === null || given === undefined ? [] : [given]
  if (list.length > MOST_VALUES) return { fault: `must have at most ${MOST_VALUES} values, not ${list.length}` }
  const values = new Set<AttributeValue>()
  for (const item of list) {
    const value = parseValue(type, item)
    if (value === undefined) return { fault: `must be ${EXPECTED[type]}` }
    values.add(value)
  }
  if (!many && values.size > 1) return { fault: `must have one value, not ${values.size}` }
  return { values: [...values].sort(compare) }
}

const EXPECTED: Readonly<Record<AttributeType, string>> = {
  Text: `a text of 1 to ${LONGEST_VALUE} characters without control characters`,
  Integer: 'a whole number between -9007199254740991 and 9007199254740991',
  Boolean: 'true or false',
  Date: 'a date such as 2026-11-17',
}

function parseValue(type: AttributeType, given: unknown): AttributeValue | undefined {
  switch (type) {
    case 'Text':
      return typeof given === 'string' && isText(given) ? given : undefined
    case 'Integer':
      // Infinity and what a number cannot hold exactly are no safe integers. -0 is 0.
      return Number.isSafeInteger(given) ? Number(given) + 0 : undefined
    case 'Boolean':
      return typeof given === 'boolean' ? given : undefined
    case 'Date':
      return typeof given === 'string' && isDate(given) ? given : undefined
  }
}

/** PostgreSQL stores neither NUL nor lone surrogates. */
function isText(text: string): boolean {
  return text !== '' && text.length <= LONGEST_VALUE && text.isWellFormed() && !/\p{Cc}/u.test(text)
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text < '0001-01-01') return false
  const time = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

function compare(a: AttributeValue, b: AttributeValue): number {
  return a < b ? -1 : a > b ? 1 : 0
}

export interface AttributeFault {
  /** The name of the attribute. */
  readonly name: string
  readonly text: string
}

/** All values of a user or client. Attributes without a value are left out. */
export function parseAttributes(
  definitions: ReadonlyMap<string, AttributeDefinition>,
  given: Readonly<Record<string, unknown>>,
): { readonly attributes: AttributeValues; readonly faults: readonly AttributeFault[] } {
  const attributes: [name: string, values: readonly AttributeValue[]][] = []
  const faults: AttributeFault[] = []
  for (const [name, written] of Object.entries(given).sort(([a], [b]) => compare(a, b))) {
    const definition = definitions.get(name)
    const parsed = definition === undefined ? { fault: 'is not declared' } : parseAttributeValues(definition, written)
    if ('fault' in parsed) faults.push({ name, text: parsed.fault })
    else if (parsed.values.length > 0) attributes.push([name, parsed.values])
  }
  return { attributes: Object.fromEntries(attributes), faults }
}

/** The names of the attributes whose values differ. */
export function changedAttributes(before: AttributeValues, after: AttributeValues): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter((name) => !isSame(listValues(before, name), listValues(after, name))).sort()
}

/** Empty where there are none. */
export function listValues(attributes: AttributeValues, name: string): readonly AttributeValue[] {
  return Object.hasOwn(attributes, name) ? (attributes[name] ?? []) : []
}

function isSame(a: readonly AttributeValue[], b: readonly AttributeValue[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index])
}
