/** The `Data` of a request as JSON text with all digits of its numbers. */
import { endOfString, type Json, rawNumber } from '../../lib/exact-json.ts'
import { type Call, refuse } from './controller.ts'

/** Undefined if the request has no Data. In JSON it is the text that the client sent; MessagePack loses no digits. */
export function dataText({ data, source }: Pick<Call, 'data' | 'source'>): string | undefined {
  if (data === undefined) return undefined
  return source === undefined ? JSON.stringify(asJson(data, 'Data')) : memberText(source, 'Data')
}

/** A value of MessagePack. Those that JSON does not have are refused, except integers of 64 bits. */
export function asJson(value: unknown, member: string): Json {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value === 'bigint') return rawNumber(String(value))
  if (Array.isArray(value)) return value.map((item) => asJson(item, member))
  if (typeof value !== 'object' || ArrayBuffer.isView(value)) throw refuse('Data.Deserialise', member)
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, asJson(inner, member)]))
}

/**
 * The text of a member of an object. The text is known to be valid JSON, so scanning for quotes and brackets is enough. Of several members
 * with the name it is the last, as for JSON.parse.
 */
export function memberText(text: string, name: string): string | undefined {
  let found: string | undefined
  let depth = 0
  /** Where the value of the wanted member begins, while it is being scanned. */
  let start: number | undefined
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '{':
      case '[':
        depth++
        break
      case ',':
      case '}':
      case ']':
        if (depth === 1 && start !== undefined) {
          found = text.slice(start, at).trim()
          start = undefined
        }
        if (text[at] !== ',') depth--
        break
      case '"': {
        const end = endOfString(text, at) + 1
        if (depth === 1 && start === undefined) {
          AFTER_NAME.lastIndex = end
          if (AFTER_NAME.test(text) && nameAt(text, at, end, name)) start = AFTER_NAME.lastIndex
        }
        at = end - 1
      }
    }
  }
  return found
}

const AFTER_NAME = /\s*:/y

/** A name may contain escapes, of which the longest is \uXXXX. */
function nameAt(text: string, start: number, end: number, name: string): boolean {
  if (end - start > 2 + 6 * name.length) return false
  const written = text.slice(start, end)
  return written === `"${name}"` || (written.includes('\\') && JSON.parse(written) === name)
}
