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
