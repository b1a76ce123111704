/** The JSON of requests: its limits, its errors, and its values as values of columns. No number is rounded. */

import { FORMS, type IqlType, type IqlValue, isStorableJson, type Read, readValue, typeName } from 'gatehouse-iql'
import {
  endOfString,
  isRawNumber,
  type Json,
  losesDigits,
  parseExactly,
  parseInSteps,
  parseJson,
} from '../lib/exact-json.ts'
import { atOnce, type Steps } from '../lib/turns.ts'
import { refuse } from './errors.ts'

/** In one turn. */
export function readJson(text: string): Json {
  const steps = readJsonInSteps(text)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** Shorter texts are parsed at once, unless their numbers have to keep their text, which takes ten times as long. */
const LONG_TEXT = 1024 * 1024
const LONG_TEXT_OF_NUMBERS = 64 * 1024

export function* readJsonInSteps(text: string): Steps<Json> {
  const { mayLoseDigits, problem } = yield* measureJson(text)
  if (problem !== undefined) throw refuse(problem.code, `The body ${problem.text}`)
  yield
  if (text.length <= (mayLoseDigits ? LONG_TEXT_OF_NUMBERS : LONG_TEXT))
    return refuseSyntax(() => (mayLoseDigits ? parseExactly(text) : (parseJson(text) as Json)))
  const steps = parseInSteps(text)
  for (;;) {
    const step = refuseSyntax(() => steps.next())
    if (step.done) return step.value
    yield
  }
}

function refuseSyntax<Result>(read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw refuse('Request.BadJson', `The body is not JSON: ${error.message}`)
  }
}

/** A value nested much deeper could not be serialized again. */
export const MAX_JSON_DEPTH = 500
/** Parsing and reading more values would hold the event loop for too long. */
export const MAX_JSON_VALUES = 100_000
/** No type has as many digits. */
export const MAX_NUMBER_LENGTH = 1000
/** Characters that are measured in one step. */
const STEP_LENGTH = 64 * 1024

/** What bounds a text that is parsed. `problem` is worded to follow what the text is. */
interface Measured {
  readonly mayLoseDigits: boolean
  readonly problem?: { readonly code: 'Request.BadJson' | 'Request.TooLarge'; readonly text: string }
}

/** Finds text that nests too deep or has too many values before anything is built from it. The text does not have to be JSON. */
function* measureJson(text: string): Steps<Measured> {
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
      if (++depth > MAX_JSON_DEPTH) return beyond('Request.BadJson', `nests more than ${MAX_JSON_DEPTH} levels deep`)
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth--
    else if (code >= ZERO && code <= NINE) {
      const end = endOfNumber(text, at)
      if (end - at > MAX_NUMBER_LENGTH)
        return beyond('Request.BadJson', `has a number of more than ${MAX_NUMBER_LENGTH} characters`)
      mayLoseDigits ||= losesDigits(text, at, end)
      at = end - 1
    }
    // A value has a name at most, and may itself be a string.
    if (values > MAX_JSON_VALUES || strings > 2 * MAX_JSON_VALUES)
      return beyond('Request.TooLarge', `has more than ${MAX_JSON_VALUES} values; send fewer at once`)
  }
  return { mayLoseDigits }
}

function beyond(code: NonNullable<Measured['problem']>['code'], text: string): Measured {
  return { mayLoseDigits: false, problem: { code, text } }
}

/** Why the text of a value is beyond the limits of JSON, if it is, worded to follow it. */
export function findLimitProblem(text: string): string | undefined {
  return atOnce(measureJson(text)).problem?.text
}

const [QUOTE, COMMA, ZERO, NINE] = [0x22, 0x2c, 0x30, 0x39]
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Digits, points, exponents and signs, up to one more than a number may have. */
const NUMBER = new RegExp(`[\\d.eE+-]{1,${MAX_NUMBER_LENGTH + 1}}`, 'y')

function endOfNumber(text: string, start: number): number {
  NUMBER.lastIndex = start
  return NUMBER.test(text) ? NUMBER.lastIndex : start
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
export function membersByName(object: { readonly [member: string]: Json }): ReadonlyMap<string, Json> {
  const members = new Map<string, Json>()
  for (const [name, value] of Object.entries(object)) {
    if (members.has(name.toLowerCase())) throw refuse('Request.BadBody', `The member ${shown(name)} appears twice`)
    members.set(name.toLowerCase(), value)
  }
  return members
}

/** The text that a value is read from; undefined for objects and arrays. */
export function inputText(value: NonNullable<Json>): string | undefined {
  return typeof value === 'string' ? value : typeof value === 'boolean' ? String(value) : numberText(value)
}

/** The type of the column decides how a value is read, not its JSON type. */
export function readColumnValue(column: string, type: IqlType, value: Json): IqlValue {
  if (value === null) return null
  // A number without its text is exact (see above), so it is not written and parsed again. Adding 0 turns -0 into 0.
  if (typeof value === 'number') {
    if (type.kind === 'Double') return value + 0
    if (type.kind === 'Integer' && Number.isSafeInteger(value)) return BigInt(value)
  }
  const read = type.kind === 'Json' ? jsonValue(value) : readText(type, inputText(value))
  if ('value' in read) return read.value
  const text = shown(value)
  throw refuse('Data.BadValue', `The value ${text} of the column ${column} (${typeName(type)}) ${read.problem}`, {
    members: { Column: column, Value: text.endsWith('…') ? text : value },
  })
}

function readText(type: IqlType, text: string | undefined): Read {
  return text === undefined ? { problem: 'is an object or an array' } : readValue(type, text)
}

function jsonValue(value: Json): Read {
  const text = writeJson(value)
  return isStorableJson(text) ? { value: text } : { problem: `is not ${FORMS.Json}` }
}

const MAX_SHOWN_LENGTH = 100

/** The beginning of a value as an error shows it. */
export function shown(value: Json): string {
  const json = typeof value === 'string' ? writeJson(value.slice(0, MAX_SHOWN_LENGTH + 1)) : writeJson(value)
  return json.length > MAX_SHOWN_LENGTH ? `${json.slice(0, MAX_SHOWN_LENGTH)}…` : json
}
