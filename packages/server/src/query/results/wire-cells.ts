/** Values as PostgreSQL's text and binary formats have them, by type. The length of a value is written by who calls. */
import { type IqlType, MICROS_PER_DAY, readDate, readInterval, readTime, readTimestamp } from 'gatehouse-iql'
import type { Cell } from '../model/result.ts'
import type { TextBytes } from './text-bytes.ts'

/** Dates and times of small results may also be numbers. */
export type WireCellWriter = (out: TextBytes, cell: NonNullable<Cell>) => void

export function wireCellWriter(type: IqlType, isBinary: boolean): WireCellWriter {
  return isBinary ? binaryWriter(type) : textWriter(type)
}

// ── Text ────────────────────────────────────────────────────────────────────────────────────────────────────────────

function textWriter(type: IqlType): WireCellWriter {
  switch (type.kind) {
    case 'Integer':
      return addIntegerText
    case 'Double':
      return addDoubleText
    case 'Boolean':
      return (out, cell) => out.addByte(cell === true ? LETTER_T : LETTER_F)
    case 'Timestamp':
      return (out, cell) => {
        addMomentText(out, cell)
        out.addBytes(UTC)
      }
    case 'LocalTimestamp':
      return addMomentText
    case 'Date':
      return addDateText
    case 'Time':
      return addTimeText
    case 'Binary':
      return addBytesText
    default:
      return (out, cell) => out.addText(String(cell))
  }
}

const [LETTER_T, LETTER_F, SPACE] = [0x74, 0x66, 0x20]
const UTC = Buffer.from('+00')

function addIntegerText(out: TextBytes, cell: NonNullable<Cell>): void {
  const value = typeof cell === 'bigint' ? Number(BigInt.asIntN(64, cell)) : cell
  if (typeof value === 'number' && Number.isSafeInteger(value)) out.addInteger(value)
  else out.addText(String(cell))
}

/** PostgreSQL writes an exponent from here on. */
const LONG_DOUBLE = 1e15

export function addDoubleText(out: TextBytes, cell: NonNullable<Cell>): void {
  const value = Number(cell)
  const size = Math.abs(value)
  if (size < LONG_DOUBLE && out.addShortDouble(value)) return
  out.addText(floatText(value))
}

/** The shortest digits that parse as the same double, with an exponent where PostgreSQL writes one. No negative zero, as in IQL. */
export function floatText(value: number): string {
  if (value === 0) return '0'
  if (!Number.isFinite(value)) return String(value)
  const size = Math.abs(value)
  // In this range ECMAScript writes no exponent either.
  if (size >= 1e-4 && size < LONG_DOUBLE) return String(value)
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e')
  const digits = exponent.slice(1).padStart(2, '0')
  return `${mantissa}e${exponent[0]}${digits}`
}

const DAY = Number(MICROS_PER_DAY)

export function addMomentText(out: TextBytes, cell: NonNullable<Cell>): void {
  if (typeof cell === 'string') {
    out.addText(cell.slice(0, 10))
    out.addByte(SPACE)
    out.addText(cell.endsWith('Z') ? cell.slice(11, -1) : cell.slice(11))
    return
  }
  const { days, rest } = splitMicros(cell)
  out.addDate(days)
  out.addByte(SPACE)
  out.addTime(rest)
}

/** Whole days since 1970, and the microseconds after them. */
function splitMicros(cell: NonNullable<Cell>): { readonly days: number; readonly rest: number } {
  const number = Number(cell)
  if (Number.isSafeInteger(number)) {
    const days = Math.floor(number / DAY)
    return { days, rest: number - days * DAY }
  }
  const micros = BigInt(String(cell))
  const days = Number((micros - (((micros % MICROS_PER_DAY) + MICROS_PER_DAY) % MICROS_PER_DAY)) / MICROS_PER_DAY)
  return { days, rest: Number(micros - BigInt(days) * MICROS_PER_DAY) }
}

function addDateText(out: TextBytes, cell: NonNullable<Cell>): void {
  if (typeof cell === 'string') out.addText(cell)
  else out.addDate(Number(cell))
}

function addTimeText(out: TextBytes, cell: NonNullable<Cell>): void {
  if (typeof cell === 'string') out.addText(cell)
  else out.addTime(Number(cell))
}

function addBytesText(out: TextBytes, cell: NonNullable<Cell>): void {
  const bytes = cell instanceof Uint8Array ? cell : Buffer.from(String(cell))
  out.addText(`\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`)
}

// ── Binary ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** From 1970-01-01 to 2000-01-01, from which PostgreSQL counts. */
export const DAYS_TO_2000 = 10_957
export const MICROS_TO_2000 = BigInt(DAYS_TO_2000) * MICROS_PER_DAY
const MICROS = Number(MICROS_TO_2000)

function binaryWriter(type: IqlType): WireCellWriter {
  switch (type.kind) {
    case 'Integer':
      return addInteger
    case 'Decimal':
      return (out, cell) => addNumeric(out, String(cell))
    case 'Double':
      return (out, cell) => out.addFloat64(Number(cell) + 0)
    case 'Boolean':
      return (out, cell) => out.addByte(cell === true ? 1 : 0)
    case 'Timestamp':
    case 'LocalTimestamp':
      return addMoment
    case 'Date':
      return (out, cell) =>
        out.addInt32(Number(typeof cell === 'string' ? (readDate(cell) ?? 0n) : cell) - DAYS_TO_2000)
    case 'Time':
      return (out, cell) => out.addInt64(Number(typeof cell === 'string' ? (readTime(cell) ?? 0n) : cell))
    case 'Uuid':
      return (out, cell) => addUuid(out, String(cell))
    case 'Interval':
      return (out, cell) => addInterval(out, String(cell))
    case 'Binary':
      return (out, cell) => out.addAll(cell instanceof Uint8Array ? cell : Buffer.from(String(cell)))
    default:
      return (out, cell) => out.addText(String(cell))
  }
}

function addInteger(out: TextBytes, cell: NonNullable<Cell>): void {
  if (typeof cell === 'number') {
    out.addInt64(cell)
    return
  }
  const value = typeof cell === 'bigint' ? cell : BigInt(String(cell))
  const number = Number(BigInt.asIntN(64, value))
  if (Number.isSafeInteger(number)) out.addInt64(number)
  else out.addBigInt64(value)
}

export function addMoment(out: TextBytes, cell: NonNullable<Cell>): void {
  const micros = typeof cell === 'string' ? (readTimestamp(cell) ?? 0n) : cell
  const number = Number(micros)
  if (Number.isSafeInteger(number) && Number.isSafeInteger(number - MICROS)) out.addInt64(number - MICROS)
  else out.addBigInt64(BigInt(String(micros)) - MICROS_TO_2000)
}

function addUuid(out: TextBytes, text: string): void {
  for (let index = 0; index < text.length; index += 2) {
    if (text.charCodeAt(index) === MINUS) index++
    out.addByte((hexDigit(text.charCodeAt(index)) << 4) | hexDigit(text.charCodeAt(index + 1)))
  }
}

function hexDigit(code: number): number {
  return code <= 0x39 ? code - 0x30 : (code | 0x20) - 0x57
}

/** Microseconds within a day, days, months. */
function addInterval(out: TextBytes, text: string): void {
  const { months, micros } = readInterval(text) ?? { months: 0n, micros: 0n }
  out.addBigInt64(micros % MICROS_PER_DAY)
  out.addInt32(Number(micros / MICROS_PER_DAY))
  out.addInt32(Number(months))
}

const [ZERO, POINT, MINUS] = [0x30, 0x2e, 0x2d]
const NEGATIVE = 0x4000

/** Groups of four digits to both sides of the point, without the groups of zeros at both ends. */
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

/** Of one value. */
const GROUPS = new Int16Array(64)

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
