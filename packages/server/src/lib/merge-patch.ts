/** JSON merge patch (RFC 7396). */

type JsonObject = Readonly<Record<string, unknown>>

export function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  const result = new Map(Object.entries(target))
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name)
    else if (isObject(value)) result.set(name, mergePatch(asObject(result.get(name)), value))
    else result.set(name, value)
  }
  return Object.fromEntries(result)
}

function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
