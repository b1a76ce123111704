/** JSON without rounding: a number that a double cannot hold keeps its text. Also reads JSON values as values of columns. */
import { refuse } from './errors.ts'
import { type IqlType, type IqlValue, typeName } from './iql/types.ts'
import { FORMS, isStorableJson, type Read, readValue } from './iql/values.ts'

/** The result of `JSON.rawJSON`: the text of a number, serialized unchanged. */
export interface RawNumber {
  readonly rawJSON: string
}

export type Json = string | number | boolean | null | RawNumber | readonly Json[] | { readonly [member: string]: Json }

/** The ECMAScript proposal "JSON.parse source text access": in Node since 22, not yet in TypeScript's library. */
interface SourceTextJson {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
  rawJSON(text: string): RawNumber
  isRawJSON(value: unknown): boolean
}
const json: SourceTextJson = JSON as unknown as SourceTextJson

/** A value nested much deeper could not be serialized again. */
const MAX_DEPTH = 500
/** Parsing and reading more values would hold the event loop for too long. */
const MAX_VALUES = 100_000

export function readJson(text: string): Json {
  const { mayLoseDigits } = measureJson(text)
  try {
    return mayLoseDigits ? (json.parse(text, keepNumberText) as Json) : (JSON.parse(text) as Json)
  } catch (error) {
    throw refuse(
      'Request.BadJson',
      error instanceof Error ? `The body is not JSON: ${error.message}` : 'The body is not JSON',
    )
  }
}

function isRawNumber(value: unknown): value is RawNumber {
  return json.isRawJSON(value)
}

export function rawNumber(text: string): RawNumber {
  return json.rawJSON(text)
}

/** The digits of a number as they were sent; undefined if the value is not a number. */
function numberText(value: Json): string | undefined {
  if (typeof value === 'number') return String(value)
  return isRawNumber(value) ? value.rawJSON : undefined
}

export function writeJson(value: Json): string {
  return JSON.stringify(value)
}

/** Array.isArray does not keep the element type. */
export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

export function isObject(value: Json): value is { readonly [member: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value)
}

/** Member names in requests are case-insensitive and must be unique. */
export function membersOf(object: { readonly [member: string]: Json }): ReadonlyMap<string, Json> {
  const members = new Map<string, Json>()
  for (const [name, value] of Object.entries(object)) {
    if (members.has(name.toLowerCase())) throw refuse('Request.BadBody', `The member ${shown(name)} appears twice`)
    members.set(name.toLowerCase(), value)
  }
  return members
}

function keepNumberText(_key: string, value: unknown, context: { source?: string }): unknown {
  return typeof value === 'number' && context.source !== undefined ? json.rawJSON(context.source) : value
}

/** Refuses what nests too deep or has too many values before anything is built from it. The text need not be JSON. */
function measureJson(text: string): { readonly mayLoseDigits: boolean } {
  let depth = 0
  let values = 1
  let strings = 0
  let mayLoseDigits = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      strings++
      at = endOfString(text, at)
    } else if (code === COMMA) values++
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      values++
      if (++depth > MAX_DEPTH) throw refuse('Request.BadJson', `The body nests more than ${MAX_DEPTH} levels deep`)
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth--
    else if (code >= ZERO && code <= NINE) {
      const end = endOfNumber(text, at)
      mayLoseDigits ||= losesDigits(text, at, end)
      at = end - 1
    }
    // A value has a name at most, and may itself be a string.
    if (values > MAX_VALUES || strings > 2 * MAX_VALUES)
      throw refuse('Request.TooLarge', `The body has more than ${MAX_VALUES} values; send fewer at once`)
  }
  return { mayLoseDigits }
}

const [QUOTE, BACKSLASH, COMMA, ZERO, NINE] = [0x22, 0x5c, 0x2c, 0x30, 0x39]
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

/** The position of the closing quote. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}

function endOfNumber(text: string, start: number): number {
  let end = start
  while (isOfNumber(text.charCodeAt(end))) end++
  return end
}

/** Digits, a point, an exponent and its sign. */
function isOfNumber(code: number): boolean {
  return (
    (code >= ZERO && code <= NINE) || code === 0x2e || code === 0x65 || code === 0x45 || code === 0x2b || code === 0x2d
  )
}

/** A double keeps 15 significant digits. Longer numbers, exponents and trailing zeros are parsed with their text. */
function losesDigits(text: string, start: number, end: number): boolean {
  return end - start > 15 || /[eE]|\..*0$/.test(text.slice(start, end))
}

/** The text that a value is read from; undefined for objects and arrays. */
export function textOf(value: NonNullable<Json>): string | undefined {
  return typeof value === 'string' ? value : typeof value === 'boolean' ? String(value) : numberText(value)
}

/** The type of the column decides how a value is read, not its JSON type. */
export function readColumnValue(column: string, type: IqlType, value: Json): IqlValue {
  if (value === null) return null
  // A number without its text is exact (see above), so it need not be written and parsed again. Adding 0 turns -0 into 0.
  if (typeof value === 'number') {
    if (type.kind === 'Double') return value + 0
    if (type.kind === 'Integer' && Number.isSafeInteger(value)) return BigInt(value)
  }
  const read = type.kind === 'Json' ? jsonValue(writeJson(value)) : readText(type, textOf(value))
  if ('value' in read) return read.value
  const text = shown(value)
  throw refuse('Data.BadValue', `The value ${text} of the column ${column} (${typeName(type)}) ${read.problem}`, {
    members: { Column: column, Value: text.endsWith('…') ? text : value },
  })
}

function readText(type: IqlType, text: string | undefined): Read {
  return text === undefined ? { problem: 'is an object or an array' } : readValue(type, text)
}

/** What was parsed and written again need not be parsed once more. */
function jsonValue(text: string): Read {
  return isStorableJson(text) ? { value: text } : { problem: `is not ${FORMS.Json}` }
}

const MAX_SHOWN_LENGTH = 100

/** The beginning of a value as an error shows it. */
export function shown(value: Json): string {
  const json = typeof value === 'string' ? writeJson(value.slice(0, MAX_SHOWN_LENGTH + 1)) : writeJson(value)
  return json.length > MAX_SHOWN_LENGTH ? `${json.slice(0, MAX_SHOWN_LENGTH)}…` : json
}
