/** Validates a value against a JSON Schema, with errors in plain words. */
import { createRequire } from 'node:module'
import { nearest } from 'gatehouse-protocol'
import type { TLocalizedValidationError as SchemaError } from 'typebox/error'

/** `path` is empty for the value as a whole. */
export interface Fault {
  readonly path: string
  readonly text: string
}

/** The schema, and the error message for each pattern in it. */
export interface SchemaRules {
  readonly schema: object
  readonly patterns: ReadonlyMap<string, string>
}

/** No faults mean that the value has the schema's type. */
export function findFaults(value: unknown, rules: SchemaRules): readonly Fault[] {
  const faults: Fault[] = []
  for (const error of everyError(value, rules.schema)) {
    faults.push(...explain(error, value, faults.length, rules))
    if (faults.length >= MOST_FAULTS) break
  }
  return faults.slice(0, MOST_FAULTS)
}

/** More would not be read, and a hostile body may have thousands. */
const MOST_FAULTS = 1000
/** Finding the nearest name takes time: only the first faults get it. */
const MOST_SUGGESTIONS = 50

/** Whether a value has the schema's type, for schemas that many values are checked against. */
export function compileSchema(schema: object): (value: unknown) => boolean {
  const { Compile }: typeof import('typebox/schema') = require('typebox/schema')
  const compiled = Compile(schema)
  return (value) => compiled.Check(value)
}

/** Loaded on first use: the library is large, and most starts have nothing to check. */
const require = createRequire(import.meta.url)

/** Typebox stops after eight errors by default. Several of them may be branches of one union. */
function everyError(value: unknown, schema: object): SchemaError[] {
  const { Errors }: typeof import('typebox/schema') = require('typebox/schema')
  const { Settings }: typeof import('typebox/system') = require('typebox/system')
  const { maxErrors } = Settings.Get()
  Settings.Set({ maxErrors: 4 * MOST_FAULTS })
  try {
    return Errors(schema, value)[1]
  } finally {
    Settings.Set({ maxErrors })
  }
}

function explain(error: SchemaError, whole: unknown, before: number, { schema, patterns }: SchemaRules): Fault[] {
  // When a union fails, all its branches fail too; report only the union.
  if (error.schemaPath.includes('/anyOf/')) return []
  const path = dotted(error.instancePath)
  const value = at(whole, error.instancePath)
  const fault = (text: string): Fault[] => [{ path, text }]
  switch (error.keyword) {
    case 'additionalProperties':
      // Each unknown member gets a separate error below.
      return []
    case 'boolean':
      return fault(
        `unknown member${before < MOST_SUGGESTIONS ? suggestion(lastSegment(error), memberNames(error, schema)) : ''}`,
      )
    case 'required':
      return error.params.requiredProperties.map((name) => ({ path: join(path, name), text: 'is missing' }))
    case 'type':
      return fault(
        `must be ${[error.params.type].flat().map(nameOfType).join(' or ')}${exampleAt(error, schema)}, not ${nameOfValue(value)}`,
      )
    case 'enum': {
      const allowed = error.params.allowedValues.map(String)
      return fault(
        `${JSON.stringify(value)} is not one of ${allowed.join(', ')}${typeof value === 'string' && before < MOST_SUGGESTIONS ? suggestion(value, allowed) : ''}`,
      )
    }
    case 'pattern':
      return fault(patterns.get(String(error.params.pattern)) ?? `must match ${String(error.params.pattern)}`)
    case 'anyOf':
      return fault(`must be ${listForms(error.schemaPath, schema).join(' or ')}, not ${nameOfValue(value)}`)
    case 'minLength':
      return fault('must not be empty')
    case 'maxLength':
      return fault(`is longer than ${error.params.limit} characters`)
    case 'maxItems':
      return fault(`has more than ${error.params.limit} entries`)
    case 'minItems':
      return fault('needs at least one')
    case 'minimum':
      return fault(`must be at least ${error.params.limit}`)
    case 'maximum':
      return fault(`must be at most ${error.params.limit}`)
    default:
      return fault(error.message)
  }
}

/** `/clients/3/redirect_uris/0` → `clients[3].redirect_uris[0]` */
function dotted(pointer: string): string {
  return segments(pointer).reduce(join, '')
}

function join(path: string, segment: string): string {
  if (/^\d+$/.test(segment)) return `${path}[${segment}]`
  const member = /^[\w$]+$/.test(segment) ? segment : JSON.stringify(segment)
  return path === '' ? member : `${path}.${member}`
}

function segments(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function at(value: unknown, pointer: string): unknown {
  return segments(pointer).reduce<unknown>(
    (inner, segment) =>
      typeof inner === 'object' && inner !== null ? Object.getOwnPropertyDescriptor(inner, segment)?.value : undefined,
    value,
  )
}

function lastSegment({ instancePath }: SchemaError): string {
  return segments(instancePath).at(-1) ?? ''
}

/** The members that the object of an unknown one may have. */
function memberNames({ schemaPath }: SchemaError, schema: object): string[] {
  const properties = at(schema, `${schemaPath.slice(1).replace(/\/additionalProperties$/, '')}/properties`)
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
}

/** ` such as "1 hour"`, where the schema has an example. */
function exampleAt({ schemaPath }: SchemaError, schema: object): string {
  const examples = at(schema, `${schemaPath.slice(1)}/examples`)
  return Array.isArray(examples) ? ` such as ${JSON.stringify(examples[0])}` : ''
}

/** The forms of a union: `text`, `{"env": …}`, `null`. */
function listForms(schemaPath: string, schema: object): string[] {
  const branches = at(schema, `${schemaPath.slice(1)}/anyOf`)
  if (!Array.isArray(branches)) return []
  return branches.map((branch: { type?: string; required?: string[]; enum?: unknown[] }) => {
    if (branch.enum !== undefined) return branch.enum.map((value) => JSON.stringify(value)).join(' or ')
    return branch.type === 'object' && branch.required !== undefined
      ? `{"${branch.required.join('", "')}": …}`
      : nameOfType(branch.type ?? '')
  })
}

const TYPE_NAMES: ReadonlyMap<string, string> = new Map([
  ['string', 'text'],
  ['boolean', 'true or false'],
  ['integer', 'a whole number'],
  ['number', 'a number'],
  ['array', 'a list'],
  ['object', 'an object'],
  ['null', 'null'],
])

function nameOfType(type: string): string {
  return TYPE_NAMES.get(type) ?? type
}

/** Describes the value without quoting it, since it may be a secret. */
function nameOfValue(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (value === '') return 'empty text'
  if (typeof value === 'object' && Object.keys(value).length > 0)
    return `an object with ${Object.keys(value).join(', ')}`
  return TYPE_NAMES.get(typeof value) ?? typeof value
}

function suggestion(word: string, known: readonly string[]): string {
  const near = nearest(word, known)
  return near === undefined ? '' : `; did you mean ${near}?`
}
