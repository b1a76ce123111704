/** Reads JSON whose shape is not known. */
import { rawNumber } from '../../lib/exact-json.ts'

/** Undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export type JsonObject = Readonly<Record<string, unknown>>

/** The members of an object; none when the value is something else. */
export function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** JSON with all digits, also of bigints, which the client library reads where a number would be wrong. */
export function writeExactly(value: unknown): string {
  return JSON.stringify(value, (_name, member) => (typeof member === 'bigint' ? rawNumber(String(member)) : member))
}
