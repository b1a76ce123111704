/** CAST between types, and access to parts of Json, for SQLite. */
import {
  BOOLEAN,
  DATE,
  DOUBLE,
  decimal,
  doubleText,
  type IqlType,
  type IqlValue,
  JSON_TYPE,
  readDigits,
  readValue,
  TIME,
  TIMESTAMP,
  UUID,
  writeDate,
  writeDecimal,
  writeTime,
  writeTimestamp,
} from 'gatehouse-iql'
import { iqlError, overflowError, underflowError } from '../../runtime-error.ts'
import { itemOf, memberOf } from './json-text.ts'
import { exact, fitted, integer, real, rescaled, roundHalfAway, type SqliteFunction, storedDouble } from './number.ts'

type Text = string | null
type Exact = bigint | Uint8Array | null
type Real = number | bigint | string | null

export const CAST_FUNCTIONS = {
  gh_text_integer: (text: Text) => read(text, 'Integer', readWhole, integer),
  gh_text_decimal: (text: Text, scale: bigint, digits: bigint) =>
    read(
      text,
      'Decimal',
      (written) => readUnscaled(written, Number(scale)),
      (value) => fitted(value, digits),
    ),
  gh_text_double: (text: Text) => read(text, 'Double', readNumber, storedDouble),
  gh_text_boolean: (text: Text) => readAs(text, BOOLEAN, (value) => (value === true ? 1n : 0n)),
  gh_text_timestamp: (text: Text) => readAs(text, TIMESTAMP, same),
  gh_text_date: (text: Text) => readAs(text, DATE, same),
  gh_text_time: (text: Text) => readAs(text, TIME, same),
  gh_text_uuid: (text: Text) => readAs(text, UUID, same),
  gh_text_json: (text: Text) => readAs(text, JSON_TYPE, same),
  gh_text_binary: (text: Text) => text && Buffer.from(text),

  gh_decimal_text: (value: Exact, scale: bigint) => (value === null ? null : writeDecimal(exact(value), Number(scale))),
  gh_decimal_double: (value: Exact, scale: bigint) =>
    value === null ? null : Number(writeDecimal(exact(value), Number(scale))),
  gh_double_text: (value: Real) => {
    const number = real(value)
    return number === null ? null : doubleText(number)
  },
  gh_double_integer: (value: Real) => {
    const number = real(value)
    if (number === null) return null
    if (!Number.isFinite(number)) throw overflowError('Integer')
    return integer(BigInt(roundHalfAway(number)))
  },
  /** By the shortest decimal form of the double, which is the number as it was written. */
  gh_double_decimal: (value: Real, scale: bigint, digits: bigint) => {
    const number = real(value)
    if (number === null) return null
    const parsed = Number.isFinite(number) ? readDigits(String(number)) : undefined
    if (parsed === undefined) throw overflowError('Decimal')
    return fitted(rescaled(parsed.unscaled, scale - BigInt(parsed.scale), 'round'), digits)
  },
  gh_timestamp_text: (value: bigint | null) => (value === null ? null : writeTimestamp(value)),
  gh_date_text: (value: bigint | null) => (value === null ? null : writeDate(value)),
  gh_time_text: (value: bigint | null) => (value === null ? null : writeTime(value)),
  gh_binary_text: (value: Uint8Array | null) => {
    if (value === null) return null
    try {
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value)
      if (!text.includes('\u0000')) return text
    } catch {}
    throw iqlError('BadValue', 'The bytes are not valid UTF-8')
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
  if (value === undefined) throw iqlError('BadValue', `${JSON.stringify(shortened(text))} is not a valid ${type}`)
  return then(value)
}

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

function readAs<R>(text: Text, type: IqlType, then: (value: IqlValue) => R): R | null {
  return read(text, type.kind, (written) => readOrNothing(type, written), then)
}

function readOrNothing(type: IqlType, text: string): IqlValue | undefined {
  const result = readValue(type, text)
  return 'value' in result ? result.value : undefined
}

/** Without the bounds of an Integer: beyond them is an overflow, not a malformed value. */
function readWhole(text: string): bigint | undefined {
  return /^[+-]?\d{1,40}$/.test(text) ? BigInt(text.replace('+', '')) : undefined
}

/** Any number of digits before the point, but after it none beyond the scale: they would be lost. */
function readUnscaled(text: string, scale: number): bigint | undefined {
  const value = readOrNothing(decimal(MAX_DIGITS, scale), text)
  if (typeof value === 'bigint') return value
  if (!/^[+-]?(\d{1,80}(\.\d{0,80})?|\.\d{1,80})([eE][+-]?\d{1,2})?$/.test(text)) return undefined
  const digits = readDigits(text)
  if (digits === undefined) return undefined
  const isExact = digits.scale <= scale || digits.unscaled % 10n ** BigInt(digits.scale - scale) === 0n
  throw isExact
    ? overflowError('Decimal')
    : iqlError('BadValue', `${JSON.stringify(text)} has too many digits after the point`)
}

const MAX_DIGITS = 38

function readNumber(text: string): number | undefined {
  const value = readOrNothing(DOUBLE, text)
  if (typeof value === 'number') return value
  if (/^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(text))
    throw Number(text) === 0 ? underflowError() : overflowError('Double')
  return undefined
}

/** A string without its quotes, anything else as written; null is NULL. */
function plain(json: string | undefined): Text {
  if (json === undefined || json === 'null') return null
  return json.startsWith('"') ? String(JSON.parse(json)) : json
}
