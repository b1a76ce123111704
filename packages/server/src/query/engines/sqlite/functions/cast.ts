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
  LOCAL_TIMESTAMP,
  readDigits,
  readRoundedValue,
  TIME,
  TIMESTAMP,
  UUID,
  writeDate,
  writeDecimal,
  writeLocalTimestamp,
  writeTime,
  writeTimestamp,
} from 'gatehouse-iql'
import { iqlError, overflowError, underflowError } from '../../runtime-error.ts'
import { findItem, findMember } from './json-text.ts'
import { exact, fitted, integer, real, rescaled, roundHalfAway, type SqliteFunction, storedDouble } from './number.ts'

type Exact = bigint | Uint8Array
type Real = number | bigint | string

/** All are called only if no argument is NULL. */
export const CAST_FUNCTIONS = {
  gh_text_integer: (text: string) => integer(read(text, 'Integer', readWhole)),
  gh_text_decimal: (text: string, scale: bigint, digits: bigint) =>
    fitted(
      read(text, 'Decimal', (written) => readUnscaled(written, Number(scale))),
      digits,
    ),
  gh_text_double: (text: string) => storedDouble(read(text, 'Double', readNumber)),
  gh_text_boolean: (text: string) => (readAs(text, BOOLEAN) === true ? 1n : 0n),
  gh_text_timestamp: (text: string) => readAs(text, TIMESTAMP),
  gh_text_localtimestamp: (text: string) => readAs(text, LOCAL_TIMESTAMP),
  gh_text_date: (text: string) => readAs(text, DATE),
  gh_text_time: (text: string) => readAs(text, TIME),
  gh_text_uuid: (text: string) => readAs(text, UUID),
  gh_text_json: (text: string) => readAs(text, JSON_TYPE),
  gh_text_binary: (text: string) => Buffer.from(text),

  gh_decimal_text: (value: Exact, scale: bigint) => writeDecimal(exact(value), Number(scale)),
  gh_decimal_double: (value: Exact, scale: bigint) => Number(writeDecimal(exact(value), Number(scale))),
  gh_double_text: (value: Real) => doubleText(real(value)),
  gh_double_integer: (value: Real) => {
    if (!Number.isFinite(real(value))) throw overflowError('Integer')
    return integer(BigInt(roundHalfAway(real(value))))
  },
  /** By the shortest decimal form of the double, which is the number as it was written. */
  gh_double_decimal: (value: Real, scale: bigint, digits: bigint) => {
    const parsed = Number.isFinite(real(value)) ? readDigits(String(real(value))) : undefined
    if (parsed === undefined) throw overflowError('Decimal')
    return fitted(rescaled(parsed.unscaled, scale - BigInt(parsed.scale), 'round'), digits)
  },
  gh_timestamp_text: writeTimestamp,
  gh_localtimestamp_text: writeLocalTimestamp,
  gh_date_text: writeDate,
  gh_time_text: writeTime,
  gh_binary_text: (value: Uint8Array) => {
    try {
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value)
      if (!text.includes('\u0000')) return text
    } catch {}
    throw iqlError('BadValue', 'The bytes are not valid UTF-8')
  },

  gh_json_get: (json: string, key: string) => findMember(json, key) ?? null,
  gh_json_item: (json: string, index: bigint) => findItem(json, index) ?? null,
  gh_json_text: (json: string, key: string) => plain(findMember(json, key)),
  gh_json_item_text: (json: string, index: bigint) => plain(findItem(json, index)),
} as const satisfies Record<string, SqliteFunction>

function read<T>(text: string, type: string, parse: (text: string) => T | undefined): T {
  const value = parse(text)
  if (value === undefined) throw iqlError('BadValue', `${JSON.stringify(shortened(text))} is not a valid ${type}`)
  return value
}

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

function readAs(text: string, type: IqlType): IqlValue {
  return read(text, type.kind, (written) => readOrNothing(type, written))
}

function readOrNothing(type: IqlType, text: string): IqlValue | undefined {
  const result = readRoundedValue(type, text)
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
function plain(json: string | undefined): string | null {
  if (json === undefined || json === 'null') return null
  return json.startsWith('"') ? String(JSON.parse(json)) : json
}
