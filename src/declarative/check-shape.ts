/** Holds a value against the schema of the declarative file and says in plain words what does not fit, and where. */
import { createRequire } from 'node:module'
import type { TLocalizedValidationError as SchemaError } from 'typebox/error'
import { nearest } from '../protocol/nearest.ts'
import type { Fault } from './bad-declaration.ts'
import { DECLARATION, type Declaration, PATTERNS } from './shape.ts'

export type Checked = { readonly declaration: Declaration } | { readonly faults: readonly Fault[] }

export function checkShape(value: unknown): Checked {
  const errors = everyError(value)
  // No error means that the value has the schema's type.
  if (errors.length === 0) return { declaration: value as Declaration }
  return { faults: errors.flatMap((error) => explain(error, value)) }
}

/** The library is large and most starts have nothing to check: it is loaded by the first who has. */
const require = createRequire(import.meta.url)

/** It gives up after eight errors, most of which may be branches of one union. */
function everyError(value: unknown): SchemaError[] {
  const { Errors }: typeof import('typebox/schema') = require('typebox/schema')
  const { Settings }: typeof import('typebox/system') = require('typebox/system')
  const { maxErrors } = Settings.Get()
  Settings.Set({ maxErrors: Number.POSITIVE_INFINITY })
  try {
    return Errors(DECLARATION, value)[1]
  } finally {
    Settings.Set({ maxErrors })
  }
}

function explain(error: SchemaError, whole: unknown): Fault[] {
  // The branches of a union all fail together; the union's own error says it once.
  if (error.schemaPath.includes('/anyOf/')) return []
  const path = dotted(error.instancePath)
  const value = at(whole, error.instancePath)
  const fault = (text: string): Fault[] => [{ path, text }]
  switch (error.keyword) {
    case 'additionalProperties':
      return error.params.additionalProperties.map((name) => ({
        path: join(path, name),
        text: `unknown member${suggestion(name, memberNames(error.schemaPath))}`,
      }))
    case 'boolean':
      // The echo of additionalProperties on the member itself.
      return []
    case 'required':
      return error.params.requiredProperties.map((name) => ({ path: join(path, name), text: 'is missing' }))
    case 'type':
      return fault(`must be ${[error.params.type].flat().map(nameOfType).join(' or ')}, not ${nameOfValue(value)}`)
    case 'enum': {
      const allowed = error.params.allowedValues.map(String)
      return fault(
        `${JSON.stringify(value)} is not one of ${allowed.join(', ')}${typeof value === 'string' ? suggestion(value, allowed) : ''}`,
      )
    }
    case 'pattern':
      return fault(PATTERNS.get(String(error.params.pattern)) ?? `must match ${String(error.params.pattern)}`)
    case 'anyOf':
      return fault(`must be ${formsOf(error.schemaPath).join(' or ')}, not ${nameOfValue(value)}`)
    case 'minLength':
      return fault('must not be empty')
    case 'maxLength':
      return fault(`is longer than ${error.params.limit} characters`)
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

function memberNames(schemaPath: string): string[] {
  const properties = at(DECLARATION, `${schemaPath.slice(1)}/properties`)
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
}

/** The forms of a union: `text`, `{"env": …}`, `null`. */
function formsOf(schemaPath: string): string[] {
  const branches = at(DECLARATION, `${schemaPath.slice(1)}/anyOf`)
  if (!Array.isArray(branches)) return []
  return branches.map((branch: { type?: string; required?: string[] }) =>
    branch.type === 'object' && branch.required !== undefined
      ? `{"${branch.required.join('", "')}": …}`
      : nameOfType(branch.type ?? ''),
  )
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  array: 'a list',
  object: 'an object',
  null: 'null',
}

function nameOfType(type: string): string {
  return TYPE_NAMES[type] ?? type
}

/** The kind of the value, never the value: it may be a secret. */
function nameOfValue(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (value === '') return 'empty text'
  if (typeof value === 'object' && Object.keys(value).length > 0)
    return `an object with ${Object.keys(value).join(', ')}`
  return TYPE_NAMES[typeof value] ?? typeof value
}

function suggestion(word: string, known: readonly string[]): string {
  const near = nearest(word, known)
  return near === undefined ? '' : `; did you mean ${near}?`
}
