/** Date: days since 1970-01-01. */
import { DATE, MAX_DATE, MIN_DATE, readDate, readValue, writeDate } from 'gatehouse-iql'
import { csvTimes } from './csv-form.ts'
import { jsonTimes } from './json-form.ts'
import { type AddCell, inRange, type Representation, type Value, wrongLength } from './representation.ts'
import type { TextBytes } from './text-bytes.ts'
import type { Words } from './words.ts'

/** From 1970-01-01 to 2000-01-01, from which PostgreSQL counts. */
export const DAYS_TO_2000 = 10_957

export const DATES: Representation = {
  json: jsonTimes(addDays),
  csv: csvTimes(addDays),
  wire: {
    type: 'date',
    addText,
    addBinary: (out, cell) => out.addInt32(daysIn(cell) - DAYS_TO_2000),
    isFreeText: false,
    readText: (text) => readValue(DATE, text.trim().replace(MIDNIGHT, '')),
    readBinary: (bytes) =>
      bytes.length === 4 ? inRange(BigInt(bytes.readInt32BE() + DAYS_TO_2000), MIN_DATE, MAX_DATE) : wrongLength(),
  },
  arrow: { type: { kind: 'date', unit: 'day' }, layout: { words: 1, put: putDate } },
  parquet: {
    element: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
    layout: { words: 1, put: putDate },
  },
}

/** PostgreSQL reads a date with a time. One that is not midnight would be lost. */
const MIDNIGHT = /[ T]00:00(?::00(?:\.0+)?)?(?:Z|\+00(?::?00)?)?$/

function addDays(out: TextBytes, days: bigint): void {
  if (days < MIN_DATE || days > MAX_DATE) out.addText(writeDate(days))
  else out.addDate(Number(days))
}

function addText(...[out, cell]: Parameters<AddCell>): void {
  if (typeof cell === 'string') out.addText(cell)
  else out.addDate(Number(cell))
}

function daysIn(cell: Value): number {
  return Number(typeof cell === 'string' ? (readDate(cell) ?? 0n) : cell)
}

function putDate({ int32 }: Words, at: number, cell: Value): boolean {
  const text = String(cell)
  if (typeof cell === 'bigint') int32[at] = Number(cell)
  else int32[at] = text.length === 10 ? daysAt(text) : Number(readDate(text) ?? 0n)
  return true
}

/** Days from 1970-01-01 to the date at the beginning of the text. */
export function daysAt(text: string): number {
  const month = twoDigits(text, 5)
  // Counted from March, leap days are at the end of a year.
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2) - (month < 3 ? 1 : 0)
  const leapDays = Math.floor(year / 4) - Math.floor(year / 100) + Math.floor(year / 400)
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + twoDigits(text, 8) - 1
  return year * 365 + leapDays + dayOfYear - 719_468
}

const ZERO = 0x30

export function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - ZERO) * 10 + text.charCodeAt(at + 1) - ZERO
}
