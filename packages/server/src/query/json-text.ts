/** The text of JSON: its limits, its numbers, which keep their digits, and its strings. */
import type { Steps } from '../lib/turns.ts'
import { refuse } from './errors.ts'

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
/** No type has as many digits. */
const MAX_NUMBER_LENGTH = 1000
/** Characters that are measured in one step. */
const STEP_LENGTH = 64 * 1024

/** A number that a double cannot hold keeps its text. */
export function parseJson(text: string, mayLoseDigits: boolean): Json {
  return mayLoseDigits ? (json.parse(text, keepNumberText) as Json) : (JSON.parse(text) as Json)
}

export function rawNumber(text: string): RawNumber {
  return json.rawJSON(text)
}

export function isRawNumber(value: unknown): value is RawNumber {
  return json.isRawJSON(value)
}

function keepNumberText(_key: string, value: unknown, context: { source?: string }): unknown {
  return typeof value === 'number' && context.source !== undefined ? json.rawJSON(context.source) : value
}

/** Refuses what nests too deep or has too many values before anything is built from it. The text need not be JSON. */
export function* measureJson(text: string): Steps<{ readonly mayLoseDigits: boolean }> {
  let depth = 0
  let values = 1
  let strings = 0
  let mayLoseDigits = false
  let pause = STEP_LENGTH
  for (let at = 0; at < text.length; at++) {
    if (at >= pause) {
      pause = at + STEP_LENGTH
      yield
    }
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
      if (end - at > MAX_NUMBER_LENGTH)
        throw refuse('Request.BadJson', `The body has a number of more than ${MAX_NUMBER_LENGTH} characters`)
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
const [POINT, UPPER_E, LOWER_E] = [0x2e, 0x45, 0x65]
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

/** The position of the closing quote; the length of the text if there is none. */
export function endOfString(text: string, start: number): number {
  const end = text.indexOf('"', start + 1)
  if (end === -1) return text.length
  if (text.charCodeAt(end - 1) !== BACKSLASH) return end
  // The quote may be escaped: from here on a search would stop too often.
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at
    if (code === BACKSLASH) at++
  }
  return text.length
}

function endOfNumber(text: string, start: number): number {
  let end = start
  while (isOfNumber(text.charCodeAt(end)) && end - start <= MAX_NUMBER_LENGTH) end++
  return end
}

/** Digits, a point, an exponent and its sign. */
function isOfNumber(code: number): boolean {
  return (
    (code >= ZERO && code <= NINE) ||
    code === POINT ||
    code === LOWER_E ||
    code === UPPER_E ||
    code === 0x2b ||
    code === 0x2d
  )
}

/** A double keeps 15 significant digits. Longer numbers, exponents and trailing zeros are parsed with their text. */
export function losesDigits(text: string, start: number, end: number): boolean {
  if (end - start > 15) return true
  let hasPoint = false
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at)
    if (code === LOWER_E || code === UPPER_E) return true
    if (code === POINT) hasPoint = true
  }
  return hasPoint && text.charCodeAt(end - 1) === ZERO
}
