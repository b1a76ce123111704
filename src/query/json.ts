/** Reads and writes JSON without rounding a number: a number that a double cannot hold keeps its own text. */
import { refuse } from './errors.ts'

/** What `JSON.rawJSON` makes: a number's text, written out again as it stood. */
export interface RawNumber {
  readonly rawJSON: string
}

export type Json = string | number | boolean | null | RawNumber | readonly Json[] | { readonly [member: string]: Json }

/** ECMAScript's "JSON.parse source text access", in Node since 22 and not yet in TypeScript's library. */
interface SourceTextJson {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
  rawJSON(text: string): RawNumber
  isRawJSON(value: unknown): boolean
}
const json: SourceTextJson = JSON as unknown as SourceTextJson

/** Up to 15 significant digits survive a double; longer runs and exponents are read with their text kept. */
const MAY_LOSE_DIGITS = /[\d.]{16}|\d[eE]|\d\.\d*0\b/

export function readJson(text: string): Json {
  try {
    return MAY_LOSE_DIGITS.test(text) ? (json.parse(text, keepNumberText) as Json) : (JSON.parse(text) as Json)
  } catch (error) {
    throw refuse(
      'Request.BadJson',
      error instanceof Error ? `The body is not JSON: ${error.message}` : 'The body is not JSON',
    )
  }
}

export function isRawNumber(value: unknown): value is RawNumber {
  return json.isRawJSON(value)
}

/** The digits of a JSON number as they were sent, or undefined for a value that is no number. */
export function numberText(value: Json): string | undefined {
  if (typeof value === 'number') return String(value)
  return isRawNumber(value) ? value.rawJSON : undefined
}

export function writeJson(value: Json): string {
  return JSON.stringify(value)
}

/** Array.isArray takes the element type away. */
export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

export function isObject(value: Json): value is { readonly [member: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value)
}

function keepNumberText(_key: string, value: unknown, context: { source?: string }): unknown {
  return typeof value === 'number' && context.source !== undefined ? json.rawJSON(context.source) : value
}
