/** Text functions by code point and Unicode's case rules, which SQLite lacks. */
import { MAX_SEARCH_STEPS, SHORT_PART_BYTES } from 'gatehouse-iql'
import { isLonger } from '../../emit/value-lengths.ts'
import {
  iqlError,
  keyTooLongError,
  notNullError,
  rowTooLongError,
  searchTooLongError,
  valueTooLongError,
} from '../../runtime-error.ts'
import { likePattern } from './like-pattern.ts'
import type { SqliteFunction } from './number.ts'

/** All are called only if no argument is NULL. */
export const TEXT_FUNCTIONS = {
  gh_upper: (text: string) => text.toUpperCase(),
  gh_lower: (text: string) => text.toLowerCase(),
  gh_trim: (text: string, characters: string) => trimmed(text, characters, true, true),
  gh_ltrim: (text: string, characters: string) => trimmed(text, characters, true, false),
  gh_rtrim: (text: string, characters: string) => trimmed(text, characters, false, true),
  gh_substr: (text: string, from: bigint, count: bigint) => {
    if (count < 0n) throw iqlError('BadValue', 'The length of a substring is negative')
    return part(text, from, from + count)
  },
  gh_substr_from: (text: string, from: bigint) => part(text, from, undefined),
  gh_left: (text: string, count: bigint) => [...text].slice(0, clamped(count, text)).join(''),
  gh_right: (text: string, count: bigint) => {
    const all = [...text]
    const kept = clamped(count, text)
    return all.slice(kept < 0 ? -kept : Math.max(0, all.length - kept)).join('')
  },
  gh_lpad: (text: string, length: bigint, fill: string, maxBytes: bigint) =>
    padded(text, length, fill, maxBytes, (pad, kept) => pad + kept),
  gh_rpad: (text: string, length: bigint, fill: string, maxBytes: bigint) =>
    padded(text, length, fill, maxBytes, (pad, kept) => kept + pad),
  gh_repeat: (text: string, count: bigint, maxBytes: bigint) => {
    if (count <= 0n || text === '') return ''
    requireFit(count * BigInt(Buffer.byteLength(text)), maxBytes)
    return text.repeat(Number(count))
  },
  gh_position: (text: string, part: string) => {
    refuseLongSearch(text, part)
    const at = text.indexOf(part)
    return at === -1 ? 0n : BigInt(codePoints(text, at) + 1)
  },
  gh_long_search: () => {
    throw searchTooLongError()
  },
  gh_replace: (text: string, part: string, by: string, maxBytes: bigint) => {
    refuseLongSearch(text, part)
    if (part === '') return text
    const growth = BigInt(Buffer.byteLength(by) - Buffer.byteLength(part))
    if (growth > 0n) requireFit(BigInt(Buffer.byteLength(text)) + growth * occurrences(text, part), maxBytes)
    return text.replaceAll(part, () => by)
  },
  gh_too_long: (maxBytes: bigint) => {
    throw valueTooLongError(maxBytes)
  },
  gh_key_fits: (value: string | Uint8Array, maxBytes: bigint, column: string) => {
    if (isLonger(value, Number(maxBytes))) throw keyTooLongError(column, maxBytes)
    return value
  },
  gh_row_too_long: (maxBytes: bigint) => {
    throw rowTooLongError(maxBytes)
  },
  gh_reverse: (text: string) => [...text].reverse().join(''),
  gh_starts_with: (text: string, start: string) => truth(text.startsWith(start)),
  gh_ends_with: (text: string, end: string) => truth(text.endsWith(end)),
  gh_split_part: (text: string, separator: string, number: bigint) => {
    if (number <= 0n) throw iqlError('BadValue', 'Pieces are counted from 1')
    refuseLongSearch(text, separator)
    const pieces = separator === '' ? [text] : text.split(separator)
    return (number <= BigInt(pieces.length) ? pieces[Number(number) - 1] : undefined) ?? ''
  },
  gh_like: (text: string, pattern: string, escapeText: string) => {
    if ([...escapeText].length > 1) throw iqlError('BadValue', 'The escape of LIKE must be one character')
    refuseLongSearch(text, pattern)
    return truth(likePattern(pattern, escapeText).matches(text))
  },
  gh_uuid: () => crypto.randomUUID(),
  gh_missing: (column: string) => {
    throw notNullError(column)
  },
} as const satisfies Record<string, SqliteFunction>

/** A character has at most three bytes, and one of four is two. */
const SHORT_PART_LENGTH = SHORT_PART_BYTES / 3

/** Before a search for a text in another, which may compare each character of one with each of the other. */
function refuseLongSearch(text: string, part: string): void {
  if (part.length <= SHORT_PART_LENGTH || 9 * text.length * part.length <= MAX_SEARCH_STEPS) return
  const bytes = Buffer.byteLength(part)
  if (bytes > SHORT_PART_BYTES && Buffer.byteLength(text) * bytes > MAX_SEARCH_STEPS) throw searchTooLongError()
}

/** The characters before the index. */
function codePoints(text: string, index: number): number {
  let count = 0
  for (let at = 0; at < index; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) count++
  return count
}

function truth(value: boolean): bigint {
  return value ? 1n : 0n
}

function trimmed(text: string, characters: string, start: boolean, end: boolean): string {
  refuseLongSearch(text, characters)
  const unwanted = new Set(characters)
  const all = [...text]
  let from = 0
  let to = all.length
  while (start && from < to && unwanted.has(all[from] ?? '')) from++
  while (end && to > from && unwanted.has(all[to - 1] ?? '')) to--
  return all.slice(from, to).join('')
}

/** A count that is as large as the text is as good as a larger one. */
function clamped(count: bigint, { length }: string): number {
  const most = BigInt(length)
  return Number(count > most ? most : count < -most ? -most : count)
}

/** The characters from one position up to, not including, another, counted from 1. */
function part(text: string, from: bigint, to: bigint | undefined): string {
  const all = [...text]
  const last = BigInt(all.length)
  const clamp = (position: bigint): number => Number(position < 1n ? 0n : position > last ? last : position - 1n)
  const end = to === undefined || to > last ? all.length : clamp(to)
  return from > last ? '' : all.slice(clamp(from), end).join('')
}

function padded(
  text: string,
  length: bigint,
  fill: string,
  maxBytes: bigint,
  join: (pad: string, kept: string) => string,
): string {
  // A character has at least one byte.
  requireFit(length, maxBytes)
  const wanted = length <= 0n ? 0 : Number(length)
  const all = [...text]
  if (all.length >= wanted || fill === '') return all.slice(0, wanted).join('')
  const characters = [...fill]
  const missing = wanted - all.length
  const whole = Math.floor(missing / characters.length)
  const result = join(fill.repeat(whole) + characters.slice(0, missing % characters.length).join(''), text)
  requireFit(BigInt(Buffer.byteLength(result)), maxBytes)
  return result
}

/** The texts joined, with an arbitrary number of arguments. */
export function concat(maxBytes: bigint, ...parts: string[]): string {
  requireFit(
    parts.reduce((sum, part) => sum + BigInt(Buffer.byteLength(part)), 0n),
    maxBytes,
  )
  return parts.join('')
}

export function requireFit(bytes: bigint, maxBytes: bigint): void {
  if (bytes > maxBytes) throw valueTooLongError(maxBytes)
}

function occurrences(text: string, part: string): bigint {
  let count = 0n
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count++
  return count
}
