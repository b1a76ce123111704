/** The arguments of tools: checked against the schema that the tool shows, then read with their types. */
import { isRawNumber, type Json } from '../../lib/exact-json.ts'
import { compileSchema, findFaults } from '../../schema/check-schema.ts'
import type { JsonObject } from '../protocol/json.ts'

/** Arguments that do not fit the schema: the model can correct them. */
export class BadArguments extends Error {}

export interface Arguments {
  text(name: string): string | undefined
  texts(name: string): readonly string[] | undefined
  flag(name: string): boolean | undefined
  integer(name: string): number | undefined
  number(name: string): number | undefined
  object(name: string): Readonly<Record<string, Json>> | undefined
}

const NO_PATTERNS = new Map<string, string>()

export function readArguments(
  tool: { readonly name: string; readonly inputSchema: JsonObject },
  given: JsonObject,
): Arguments {
  const args = new Map(Object.entries(given).map(([name, value]) => [name, plainNumber(value)] as const))
  const plain = Object.fromEntries(args)
  if (!compiled(tool.inputSchema)(plain)) {
    const [fault] = findFaults(plain, { schema: tool.inputSchema, patterns: NO_PATTERNS })
    const known = Object.keys((tool.inputSchema.properties ?? {}) as object).join(', ')
    const where = fault === undefined || fault.path === '' ? 'The arguments' : fault.path
    throw new BadArguments(
      `${where} ${fault?.text ?? 'are wrong'}. ${tool.name} takes ${known === '' ? 'no arguments' : known}.`,
    )
  }
  const readNumber = (name: string): number | undefined => {
    const value = args.get(name)
    return typeof value === 'number' ? value : undefined
  }
  return {
    text(name) {
      const value = args.get(name)
      return typeof value === 'string' ? value : undefined
    },
    texts(name) {
      const value = args.get(name)
      return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : undefined
    },
    flag(name) {
      const value = args.get(name)
      return typeof value === 'boolean' ? value : undefined
    },
    integer: readNumber,
    number: readNumber,
    object(name) {
      const value = args.get(name)
      return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, Json>>) : undefined
    },
  }
}

const checks = new WeakMap<JsonObject, (value: unknown) => boolean>()

/** Saves a tenth of a call: finding faults walks the schema each time. */
function compiled(schema: JsonObject): (value: unknown) => boolean {
  const known = checks.get(schema) ?? compileSchema(schema)
  checks.set(schema, known)
  return known
}

/** Numbers keep their text where one in the request needs it; those of arguments are short. */
function plainNumber(value: unknown): unknown {
  return isRawNumber(value) ? Number(value.rawJSON) : value
}
