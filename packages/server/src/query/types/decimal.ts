/** Decimal: an unscaled integer; in results its digits. */
import { type DecimalType, readValue, SHORT_DIGITS } from 'gatehouse-iql'
import { csvWords } from './csv-form.ts'
import { jsonTexts, quoted } from './json-form.ts'
import { malformed, type Representation, type Value } from './representation.ts'
import { addTextBytes } from './text.ts'
import type { TextBytes } from './text-bytes.ts'
import { putSafe, SAFE_DIGITS, type Words } from './words.ts'

export function decimals(type: DecimalType): Representation {
  const { precision, scale } = type
  return {
    json: JSON_FORM,
    csv: CSV_FORM,
    wire: {
      type: 'numeric',
      addText: addTextBytes,
      addBinary: (out, cell) => addNumeric(out, String(cell)),
      isFreeText: false,
      readText: (text) => readValue(type, text.trim()),
      readBinary: (bytes) => {
        const text = readNumeric(bytes)
        return text === undefined ? malformed('is not a numeric in binary') : readValue(type, text)
      },
    },
    arrow: { type: { kind: 'decimal', precision, scale, bits: 128 }, layout: { words: 4, put: putDecimal } },
    parquet: {
      element: {
        ...(precision <= SHORT_DIGITS ? PARQUET_SHORT : PARQUET_LONG),
        converted_type: 'DECIMAL',
        scale,
        precision,
        logical_type: { type: 'DECIMAL', precision, scale },
      },
      layout:
        precision <= SHORT_DIGITS
          ? { words: 2, put: putShortDecimal }
          : { words: 4, put: putDecimal, isBigEndian: true },
    },
  }
}

const JSON_FORM = jsonTexts(quoted)
const CSV_FORM = csvWords(String)
const PARQUET_SHORT = { type: 'INT64' } as const
const PARQUET_LONG = { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 } as const

/*
 * PostgreSQL's numeric in binary: the number of groups, the place of the first one, a sign, the scale; then groups of four decimal
 * digits to both sides of the point, without the groups of zeros at both ends.
 */
const [ZERO, POINT, MINUS] = [0x30, 0x2e, 0x2d]
const NEGATIVE = 0x4000
const NAN = 0xc000
const HEADER_BYTES = 8
/** Of one value. */
const GROUPS = new Int16Array(64)

function addNumeric(out: TextBytes, text: string): void {
  const start = text.charCodeAt(0) === MINUS ? 1 : 0
  const found = text.indexOf('.')
  const point = found === -1 ? text.length : found
  const scale = found === -1 ? 0 : text.length - found - 1
  const wholeGroups = Math.ceil((point - start) / 4)
  const groups = wholeGroups + Math.ceil(scale / 4)
  let first = -1
  let last = -1
  for (let group = 0; group < groups; group++) {
    const value = groupAt(text, start, point, group - wholeGroups)
    GROUPS[group] = value
    if (value === 0) continue
    if (first === -1) first = group
    last = group
  }
  const count = first === -1 ? 0 : last - first + 1
  out.addInt16(count)
  out.addInt16(first === -1 ? 0 : wholeGroups - first - 1)
  out.addInt16(start === 1 && count > 0 ? NEGATIVE : 0)
  out.addInt16(scale)
  for (let group = first; group < first + count; group++) out.addInt16(GROUPS[group] ?? 0)
}

/** Four digits; group 0 follows the point, group -1 precedes it. */
function groupAt(text: string, start: number, point: number, group: number): number {
  const from = group < 0 ? point + group * 4 : point + 1 + group * 4
  let value = 0
  for (let at = from; at < from + 4; at++) {
    const isDigit = at >= start && at < text.length && text.charCodeAt(at) !== POINT
    value = value * 10 + (isDigit ? text.charCodeAt(at) - ZERO : 0)
  }
  return value
}

/** The number as text, exactly; undefined if the bytes are not a numeric. Digits beyond the scale are left out, as PostgreSQL does. */
export function readNumeric(bytes: Buffer): string | undefined {
  if (bytes.length < HEADER_BYTES) return undefined
  const count = bytes.readUInt16BE(0)
  const weight = bytes.readInt16BE(2)
  const sign = bytes.readUInt16BE(4)
  const scale = bytes.readUInt16BE(6)
  if (sign === NAN) return 'NaN'
  if (bytes.length !== HEADER_BYTES + 2 * count || (sign !== 0 && sign !== NEGATIVE)) return undefined
  // No number that IQL has is longer.
  if (Math.abs(weight) > 100 || count > 100 || scale > 400) return undefined
  let whole = ''
  let fraction = ''
  for (let group = 0; group < count; group++) {
    const value = bytes.readUInt16BE(HEADER_BYTES + 2 * group)
    if (value > 9999) return undefined
    const digits = String(value).padStart(4, '0')
    if (group <= weight) whole += digits
    else fraction += digits
  }
  whole = whole.padEnd(4 * Math.max(0, weight + 1), '0')
  if (weight < -1) fraction = '0000'.repeat(-weight - 1) + fraction
  fraction = fraction.slice(0, Math.max(scale, 0)).padEnd(scale, '0')
  const text = whole.replace(/^0+(?=\d)/, '') || '0'
  return `${sign === NEGATIVE ? '-' : ''}${text}${fraction === '' ? '' : `.${fraction}`}`
}

/** In 128 bits. */
function putDecimal(words: Words, at: number, cell: Value): boolean {
  const text = String(cell)
  if (text.length > SAFE_DIGITS) {
    const unscaled = BigInt(text.replace('.', ''))
    words.int64[at >> 1] = BigInt.asIntN(64, unscaled)
    words.int64[(at >> 1) + 1] = BigInt.asIntN(64, unscaled >> 64n)
    return true
  }
  const unscaled = shortDigits(text)
  putSafe(words, at, unscaled)
  const sign = unscaled < 0 ? -1 : 0
  words.int32[at + 2] = sign
  words.int32[at + 3] = sign
  return true
}

/** Of 18 digits, in 64 bits. */
function putShortDecimal(words: Words, at: number, cell: Value): boolean {
  const text = String(cell)
  if (text.length > SAFE_DIGITS) words.int64[at >> 1] = BigInt(text.replace('.', ''))
  else putSafe(words, at, shortDigits(text))
  return true
}

/** The digits of a short decimal as one number, without its point. */
function shortDigits(text: string): number {
  let unscaled = 0
  const isNegative = text.charCodeAt(0) === MINUS
  for (let index = isNegative ? 1 : 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code !== POINT) unscaled = unscaled * 10 + code - ZERO
  }
  return isNegative ? -unscaled : unscaled
}
