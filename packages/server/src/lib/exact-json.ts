/** JSON whose numbers keep their digits: a number that a double cannot hold keeps its text. Long texts are parsed in steps. */
import { STEPS_PER_PAUSE, type Steps } from './turns.ts'

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

/** JSON.parse for texts of callers. V8 does not always read escaped names correctly (see `parseNames`). */
export function parseJson(text: string): unknown {
  return parseNames(text, JSON.parse, Number)
}

/** As `parseJson`, with the numbers that `read` returns for each number and its text. */
export function parseNumbers(text: string, read: (value: number, source: string) => unknown): unknown {
  const parse = (plain: string): unknown =>
    json.parse(plain, (_name, value, { source }) =>
      typeof value === 'number' && source !== undefined ? read(value, source) : value,
    )
  return parseNames(text, parse, (source) => read(Number(source), source))
}

/** Every number keeps its text, which takes ten times as long as JSON.parse. */
export function parseExactly(text: string): Json {
  return parseNumbers(text, (_value, source) => json.rawJSON(source)) as Json
}

export function rawNumber(text: string): RawNumber {
  return json.rawJSON(text)
}

export function isRawNumber(value: unknown): value is RawNumber {
  return json.isRawJSON(value)
}

const [QUOTE, BACKSLASH, ZERO, NINE] = [0x22, 0x5c, 0x30, 0x39]
const [POINT, UPPER_E, LOWER_E] = [0x2e, 0x45, 0x65]

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

/**
 * V8 compares an escaped name before it decodes it with the names that other texts had at this place
 * (https://github.com/nodejs/node/issues/63785): after `{"id":1,"gr\\u0":1}` from one caller, the second name of
 * `{"id":1,"gr\u00f6\u00dfe":1}` from another would be `gr\u0`. So `parse` gets the text with the names decoded.
 */
function parseNames(text: string, parse: (text: string) => unknown, readNumber: (source: string) => unknown): unknown {
  const escaped = findEscapedNames(text)
  if (escaped.length === 0) return parse(text)
  if (escaped.length > MAX_ESCAPED_NAMES) return parseAtOnce(text, readNumber)
  try {
    const names: string[] = JSON.parse(`[${escaped.map(({ start, end }) => text.slice(start, end)).join()}]`)
    // One of them cannot be written without an escape sequence.
    if (JSON.stringify(names).includes('\\')) return parseAtOnce(text, readNumber)
    return parse(withNames(text, escaped, names))
  } catch (error) {
    // Its error says what is wrong, and where, in the text as it was.
    if (error instanceof SyntaxError) JSON.parse(text)
    throw error
  }
}

/** To decode thousands would take longer than to parse without JSON.parse. */
const MAX_ESCAPED_NAMES = 1000

interface Range {
  readonly start: number
  readonly end: number
}

/** With their quotes; stops when there are too many. */
function findEscapedNames(text: string): readonly Range[] {
  const found: Range[] = []
  let backslash = text.indexOf('\\')
  for (let start = text.indexOf('"'); backslash !== -1 && start !== -1 && found.length <= MAX_ESCAPED_NAMES; ) {
    const end = endOfString(text, start) + 1
    if (backslash > start && backslash < end && text[skipSpace(text, end)] === ':') found.push({ start, end })
    if (backslash < end) backslash = text.indexOf('\\', end)
    start = text.indexOf('"', end)
  }
  return found
}

function withNames(text: string, ranges: readonly Range[], names: readonly string[]): string {
  const pieces: string[] = []
  let at = 0
  for (const [index, { start, end }] of ranges.entries()) {
    pieces.push(text.slice(at, start), names[index] ?? '')
    at = end
  }
  pieces.push(text.slice(at))
  return pieces.join('"')
}

function parseAtOnce(text: string, readNumber: (source: string) => unknown): unknown {
  const steps = parseInSteps(text, readNumber)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** Objects and arrays that are open. */
interface Open {
  readonly isList: boolean
  readonly items: unknown[]
  /** The names of its members, if it is an object. */
  readonly names: string[]
}

/** The values of `parseExactly`, but a number that a double holds is one. Bounds neither depth nor size. Throws a SyntaxError. */
export function parseInSteps(text: string): Steps<Json>
export function parseInSteps(text: string, readNumber: (source: string) => unknown): Steps<unknown>
export function* parseInSteps(text: string, readNumber: (source: string) => unknown = readExactly): Steps<unknown> {
  const open: Open[] = []
  let values = 0
  for (let at = skipSpace(text, 0); ; ) {
    let value: unknown
    const first = text[at]
    if (first === '[' || first === '{') {
      const opened: Open = { isList: first === '[', items: [], names: [] }
      at = skipSpace(text, at + 1)
      if (text[at] !== closingBracket(opened)) {
        open.push(opened)
        if (!opened.isList) at = readName(text, at, opened)
        continue
      }
      value = closed(opened)
      at++
    } else if (first === '"') {
      const end = endOfString(text, at)
      value = end - at <= PIECE_LENGTH ? parseString(text, at, end) : yield* parseLongString(text, at, end)
      at = end + 1
    } else {
      const token = tokenAt(text, at, readNumber)
      value = token.value
      at = token.end
    }
    if (++values % STEPS_PER_PAUSE === 0) yield
    for (;;) {
      at = skipSpace(text, at)
      const container = open.at(-1)
      if (container === undefined) {
        if (at < text.length) throw unexpected(text, at)
        return value
      }
      container.items.push(value)
      if (text[at] === ',') {
        at = skipSpace(text, at + 1)
        if (!container.isList) at = readName(text, at, container)
        break
      }
      if (text[at] !== closingBracket(container)) throw unexpected(text, at)
      at++
      value = closed(container)
      open.pop()
    }
  }
}

function closingBracket({ isList }: Open): string {
  return isList ? ']' : '}'
}

/** A member named __proto__ is treated like any other. */
function closed({ isList, items, names }: Open): unknown {
  return isList ? items : Object.fromEntries(names.map((name, index) => [name, items[index] ?? null]))
}

/** Returns the position of the value. */
function readName(text: string, at: number, object: Open): number {
  if (text[at] !== '"') throw unexpected(text, at)
  const end = endOfString(text, at)
  object.names.push(parseString(text, at, end))
  const colon = skipSpace(text, end + 1)
  if (text[colon] !== ':') throw unexpected(text, colon)
  return skipSpace(text, colon + 1)
}

/** Copies the text: a part of it would keep the whole body in memory for as long as the value is used. */
function parseString(text: string, start: number, end: number): string {
  return JSON.parse(text.slice(start, end + 1))
}

const PIECE_LENGTH = 64 * 1024

function* parseLongString(text: string, start: number, end: number): Steps<string> {
  const pieces: string[] = []
  for (let from = start + 1; from < end; ) {
    const to = from + PIECE_LENGTH < end ? beforeEscape(text, from, from + PIECE_LENGTH) : end
    pieces.push(JSON.parse(`"${text.slice(from, to)}"`))
    from = to
    yield
  }
  if (end >= text.length) throw unexpected(text, end)
  return pieces.join('')
}

/** The longest escape sequence, \uXXXX, has six characters. */
const ESCAPE_LENGTH = 6

/** `end`, or the start of the escape sequence around it. `start` is outside of any. */
function beforeEscape(text: string, start: number, end: number): number {
  const backslash = text.lastIndexOf('\\', end - 1)
  if (backslash <= end - ESCAPE_LENGTH || backslash < start) return end
  let first = backslash
  while (first > start && text[first - 1] === '\\') first--
  // In a run of backslashes each second one is escaped by the one before it.
  return (backslash - first) % 2 === 0 ? backslash : end
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORDS = [
  ['true', true],
  ['false', false],
  ['null', null],
] as const

function tokenAt(
  text: string,
  at: number,
  readNumber: (source: string) => unknown,
): { readonly value: unknown; readonly end: number } {
  if (text.charCodeAt(at) > NINE)
    for (const [word, value] of WORDS) if (text.startsWith(word, at)) return { value, end: at + word.length }
  NUMBER.lastIndex = at
  const number = NUMBER.exec(text)?.[0]
  if (number === undefined) throw unexpected(text, at)
  return { value: readNumber(number), end: at + number.length }
}

function readExactly(source: string): number | RawNumber {
  return losesDigits(source, 0, source.length) ? rawNumber(source) : Number(source)
}

function skipSpace(text: string, start: number): number {
  let at = start
  for (;;) {
    const code = text.charCodeAt(at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at
    at++
  }
}

export function unexpected(text: string, at: number): SyntaxError {
  const what = at < text.length ? `Unexpected token ${JSON.stringify(text[at])}` : 'Unexpected end'
  return new SyntaxError(`${what} at position ${Math.min(at, text.length)}`)
}
