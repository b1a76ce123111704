/** Reads JSON whose shape is not known. */

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
export function membersOf(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** Not in the types of ECMAScript yet: JSON.parse with the source of each value, and JSON.rawJSON. */
interface JsonWithSource {
  parse(text: string, revive: (name: string, value: unknown, context: { readonly source: string }) => unknown): unknown
  rawJSON(text: string): unknown
}
const { parse, rawJSON }: JsonWithSource = JSON as unknown as JsonWithSource

/** JSON whose numbers keep all their digits when it is written again. */
export function parseExactly(text: string): unknown {
  return parse(text, (_name, value, { source }) => (typeof value === 'number' ? rawJSON(source) : value))
}

/** Also of bigints, which the client library reads where a number would be wrong. */
export function writeExactly(value: unknown): string {
  return JSON.stringify(value, (_name, member) => (typeof member === 'bigint' ? rawJSON(String(member)) : member))
}
