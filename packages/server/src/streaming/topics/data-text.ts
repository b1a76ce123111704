/** The `Data` of a request as JSON text with all digits of its numbers. */
import { type Json, rawNumber } from '../../lib/exact-json.ts'
import { memberText } from '../../lib/json-members.ts'
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
