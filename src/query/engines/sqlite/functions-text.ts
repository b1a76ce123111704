/** Functions of text by code point and by Unicode, as SQLite alone does not have them. */
import { iqlError } from '../runtime-error.ts'
import type { SqliteFunction } from './functions-number.ts'

type Text = string | null
type Integer = bigint | null

/** What one value may grow to in a function; beyond it the statement is refused, not the server's memory used up. */
const LONGEST_TEXT = 16 * 1024 * 1024

export const TEXT_FUNCTIONS = {
  gh_upper: (text: Text) => text?.toUpperCase() ?? null,
  gh_lower: (text: Text) => text?.toLowerCase() ?? null,
  gh_trim: (text: Text, characters: Text) => trimmed(text, characters, true, true),
  gh_ltrim: (text: Text, characters: Text) => trimmed(text, characters, true, false),
  gh_rtrim: (text: Text, characters: Text) => trimmed(text, characters, false, true),
  gh_substr: (text: Text, from: Integer, count: Integer) => {
    if (text === null || from === null || count === null) return null
    if (count < 0n) throw iqlError('BadValue', 'The length of a part of a text is below zero')
    return part(text, from, from + count)
  },
  gh_substr_from: (text: Text, from: Integer) => (text === null || from === null ? null : part(text, from, undefined)),
  gh_left: (text: Text, count: Integer) =>
    text === null || count === null ? null : part(text, 1n, 1n + (count > 0n ? count : 0n)),
  gh_right: (text: Text, count: Integer) => {
    if (text === null || count === null) return null
    return count <= 0n
      ? ''
      : [...text].slice(-Number(count > 9_007_199_254_740_991n ? 9_007_199_254_740_991n : count)).join('')
  },
  gh_lpad: (text: Text, length: Integer, fill: Text) => padded(text, length, fill, (pad, kept) => pad + kept),
  gh_rpad: (text: Text, length: Integer, fill: Text) => padded(text, length, fill, (pad, kept) => kept + pad),
  gh_repeat: (text: Text, count: Integer) => {
    if (text === null || count === null) return null
    if (count <= 0n || text === '') return ''
    return text.repeat(lengthOf(count * BigInt(text.length)) / text.length)
  },
  gh_replace: (text: Text, part: Text, by: Text) => {
    if (text === null || part === null || by === null) return null
    return part === '' ? text : text.replaceAll(part, () => by)
  },
  gh_reverse: (text: Text) => text && [...text].reverse().join(''),
  gh_starts_with: (text: Text, start: Text) => (text === null || start === null ? null : truth(text.startsWith(start))),
  gh_ends_with: (text: Text, end: Text) => (text === null || end === null ? null : truth(text.endsWith(end))),
  gh_split_part: (text: Text, separator: Text, number: Integer) => {
    if (text === null || separator === null || number === null) return null
    if (number <= 0n) throw iqlError('BadValue', 'Pieces are counted from 1')
    const pieces = separator === '' ? [text] : text.split(separator)
    return (number <= BigInt(pieces.length) ? pieces[Number(number) - 1] : undefined) ?? ''
  },
  gh_like: (text: Text, pattern: Text, mark: Text) => {
    if (text === null || pattern === null || mark === null) return null
    if ([...mark].length > 1) throw iqlError('BadValue', 'The escape of LIKE is one character')
    return truth(likeExpression(pattern, mark).test(text))
  },
  gh_uuid: () => crypto.randomUUID(),
  gh_missing: (column: string) => {
    throw iqlError('NotNull', `The column ${column} must have a value`)
  },
} as const satisfies Record<string, SqliteFunction>

function truth(value: boolean): bigint {
  return value ? 1n : 0n
}

function trimmed(text: Text, characters: Text, start: boolean, end: boolean): Text {
  if (text === null || characters === null) return null
  const unwanted = new Set(characters)
  const all = [...text]
  let from = 0
  let to = all.length
  while (start && from < to && unwanted.has(all[from] ?? '')) from++
  while (end && to > from && unwanted.has(all[to - 1] ?? '')) to--
  return all.slice(from, to).join('')
}

/** Characters from one position up to, not including, another; the first has position 1. */
function part(text: string, from: bigint, to: bigint | undefined): string {
  const all = [...text]
  const last = BigInt(all.length)
  const clamp = (position: bigint): number => Number(position < 1n ? 0n : position > last ? last : position - 1n)
  const end = to === undefined || to > last ? all.length : clamp(to)
  return from > last ? '' : all.slice(clamp(from), end).join('')
}

function padded(text: Text, length: Integer, fill: Text, join: (pad: string, kept: string) => string): Text {
  if (text === null || length === null || fill === null) return null
  const wanted = length <= 0n ? 0 : lengthOf(length)
  const all = [...text]
  if (all.length >= wanted || fill === '') return all.slice(0, wanted).join('')
  const characters = [...fill]
  const missing = wanted - all.length
  const whole = Math.floor(missing / characters.length)
  return join(fill.repeat(whole) + characters.slice(0, missing % characters.length).join(''), text)
}

function lengthOf(length: bigint): number {
  if (length > BigInt(LONGEST_TEXT)) throw iqlError('Overflow', `A text of more than ${LONGEST_TEXT} characters`)
  return Number(length)
}

const likeExpressions = new Map<string, RegExp>()

function likeExpression(pattern: string, mark: string): RegExp {
  const key = `${mark}\u0000${pattern}`
  let expression = likeExpressions.get(key)
  if (expression === undefined) {
    expression = compileLike(pattern, mark)
    if (likeExpressions.size >= 100) likeExpressions.clear()
    likeExpressions.set(key, expression)
  }
  return expression
}

/** A lazy quantifier between literal pieces keeps the usual patterns linear. */
function compileLike(pattern: string, mark: string): RegExp {
  let source = ''
  let escaped = false
  for (const character of pattern) {
    if (escaped) {
      source += literally(character)
      escaped = false
    } else if (character === mark) escaped = true
    else if (character === '%') source += source.endsWith('[^]*?') ? '' : '[^]*?'
    else if (character === '_') source += '[^]'
    else source += literally(character)
  }
  if (escaped) throw iqlError('BadValue', 'The pattern of LIKE ends with its escape character')
  return new RegExp(`^${source}$`, 'u')
}

function literally(character: string): string {
  return /[\\^$.*+?()[\]{}|/]/.test(character) ? `\\${character}` : character
}
