/** CAST between types, and looking into Json, for SQLite. */
import {
  dateText,
  decimalText,
  doubleText,
  readBoolean,
  readDate,
  readDecimal,
  readDouble,
  readInteger,
  readTime,
  readTimestamp,
  readUuid,
  timestampText,
  timeText,
} from '../../wire-text.ts'
import { iqlError } from '../runtime-error.ts'
import {
  exact,
  fitted,
  integer,
  overflow,
  real,
  rescaled,
  type SqliteFunction,
  storedDouble,
} from './functions-number.ts'
import { itemOf, memberOf } from './json-text.ts'

type Text = string | null
type Exact = bigint | Uint8Array | null
type Real = number | bigint | string | null

export const CAST_FUNCTIONS = {
  gh_text_integer: (text: Text) => read(text, 'Integer', readInteger, integer),
  gh_text_decimal: (text: Text, scale: bigint, digits: bigint) =>
    read(text, 'Decimal', readDecimal, (value) =>
      fitted(rescaled(value.unscaled, scale - BigInt(value.scale), 'round'), digits),
    ),
  gh_text_double: (text: Text) =>
    read(text, 'Double', readDouble, (value) => {
      if (!Number.isFinite(value) && /\d/.test(text ?? '')) throw overflow('Double')
      return storedDouble(value)
    }),
  gh_text_boolean: (text: Text) => read(text, 'Boolean', readBoolean, (value) => (value ? 1n : 0n)),
  gh_text_timestamp: (text: Text) => read(text, 'Timestamp', readTimestamp, same),
  gh_text_date: (text: Text) => read(text, 'Date', readDate, same),
  gh_text_time: (text: Text) => read(text, 'Time', readTime, same),
  gh_text_uuid: (text: Text) => read(text, 'Uuid', readUuid, same),
  gh_text_json: (text: Text) => read(text, 'Json', (json) => (isJson(json) ? json : undefined), same),
  gh_text_binary: (text: Text) => text && Buffer.from(text),

  gh_decimal_text: (value: Exact, scale: bigint) => (value === null ? null : decimalText(exact(value), Number(scale))),
  gh_decimal_double: (value: Exact, scale: bigint) =>
    value === null ? null : Number(decimalText(exact(value), Number(scale))),
  gh_double_text: (value: Real) => {
    const number = real(value)
    return number === null ? null : doubleText(number)
  },
  gh_double_integer: (value: Real) => {
    const number = real(value)
    if (number === null) return null
    if (!Number.isFinite(number)) throw overflow('Integer')
    return integer(BigInt(roundHalfAway(number)))
  },
  /** Through the shortest digits of the double, which is the number that its author wrote. */
  gh_double_decimal: (value: Real, scale: bigint, digits: bigint) => {
    const number = real(value)
    if (number === null) return null
    const parsed = Number.isFinite(number) ? readDecimal(String(number)) : undefined
    if (parsed === undefined) throw overflow('Decimal')
    return fitted(rescaled(parsed.unscaled, scale - BigInt(parsed.scale), 'round'), digits)
  },
  gh_timestamp_text: (value: bigint | null) => (value === null ? null : timestampText(value)),
  gh_date_text: (value: bigint | null) => (value === null ? null : dateText(value)),
  gh_time_text: (value: bigint | null) => (value === null ? null : timeText(value)),
  gh_binary_text: (value: Uint8Array | null) => {
    if (value === null) return null
    try {
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value)
      if (!text.includes('\u0000')) return text
    } catch {}
    throw iqlError('BadValue', 'The bytes are not text in UTF-8')
  },

  gh_json_get: (json: Text, key: Text) => (json === null || key === null ? null : (memberOf(json, key) ?? null)),
  gh_json_item: (json: Text, index: bigint | null) =>
    json === null || index === null ? null : (itemOf(json, index) ?? null),
  gh_json_text: (json: Text, key: Text) => (json === null || key === null ? null : plain(memberOf(json, key))),
  gh_json_item_text: (json: Text, index: bigint | null) =>
    json === null || index === null ? null : plain(itemOf(json, index)),
} as const satisfies Record<string, SqliteFunction>

function same<T>(value: T): T {
  return value
}

function read<T, R>(
  text: Text,
  type: string,
  reader: (text: string) => T | undefined,
  then: (value: T) => R,
): R | null {
  if (text === null) return null
  const value = reader(text)
  if (value === undefined) throw iqlError('BadValue', `${JSON.stringify(shortened(text))} does not read as ${type}`)
  return then(value)
}

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A text without its quotes, all else as written; null is NULL. */
function plain(json: string | undefined): Text {
  if (json === undefined || json === 'null') return null
  return json.startsWith('"') ? String(JSON.parse(json)) : json
}

function roundHalfAway(x: number): number {
  const whole = Math.trunc(x)
  return Math.abs(x - whole) >= 0.5 ? whole + Math.sign(x) : whole
}
