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

/** Levels of arrays and objects in one another; a value far deeper could not be written again. */
const DEEPEST = 500

export function readJson(text: string): Json {
  if (isDeeperThan(text, DEEPEST)) throw refuse('Request.BadJson', `The body nests more than ${DEEPEST} levels deep`)
  try {
    return MAY_LOSE_DIGITS.test(text) ? (json.parse(text, keepNumberText) as Json) : (JSON.parse(text) as Json)
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

/** Member names of requests match without case; none may stand twice. */
export function membersOf(object: { readonly [member: string]: Json }): ReadonlyMap<string, Json> {
  const members = new Map<string, Json>()
  for (const [name, value] of Object.entries(object)) {
    if (members.has(name.toLowerCase()))
      throw refuse('Request.BadBody', `The member ${JSON.stringify(name)} stands twice`)
    members.set(name.toLowerCase(), value)
  }
  return members
}

function keepNumberText(_key: string, value: unknown, context: { source?: string }): unknown {
  return typeof value === 'number' && context.source !== undefined ? json.rawJSON(context.source) : value
}

function isDeeperThan(text: string, most: number): boolean {
  if (text.length <= 2 * most) return false
  let depth = 0
  let isText = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isText) {
      if (code === BACKSLASH) at++
      else if (code === QUOTE) isText = false
    } else if (code === QUOTE) isText = true
    else if (OPENING.has(code)) {
      if (++depth > most) return true
    } else if (CLOSING.has(code)) depth--
  }
  return false
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b])
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d])
