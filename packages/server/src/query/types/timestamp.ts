/** Timestamp and LocalTimestamp: microseconds since 1970-01-01. */
import {
  type IqlType,
  LOCAL_TIMESTAMP,
  MAX_TIMESTAMP,
  MICROS_PER_DAY,
  MIN_DATE,
  MIN_TIMESTAMP,
  readRoundedValue,
  readTimestamp,
  TIMESTAMP,
  writeLocalTimestamp,
} from 'gatehouse-iql'
import { csvTimes } from './csv-form.ts'
import { DAYS_TO_2000, daysAt } from './date.ts'
import { jsonTimes } from './json-form.ts'
import { type AddCell, inRange, type Representation, type Value, wrongLength } from './representation.ts'
import type { TextBytes } from './text-bytes.ts'
import { microsAt } from './time.ts'
import { putBigint, putRead, putSafe, type Words } from './words.ts'

export const TIMESTAMPS: Representation = {
  json: jsonTimes(addUtc),
  csv: csvTimes(addUtc),
  wire: {
    ...wireValues(TIMESTAMP),
    type: 'timestamptz',
    addText: (out, cell) => {
      addPostgresText(out, cell)
      out.addBytes(POSTGRES_UTC)
    },
  },
  arrow: {
    type: { kind: 'timestamp', unit: 1_000_000n, isLocal: false },
    layout: { words: 2, put: putTimestamp },
  },
  parquet: {
    element: {
      type: 'INT64',
      converted_type: 'TIMESTAMP_MICROS',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
    },
    layout: { words: 2, put: putTimestamp },
  },
}

export const LOCAL_TIMESTAMPS: Representation = {
  json: jsonTimes(addLocal),
  csv: csvTimes(addLocal),
  wire: { ...wireValues(LOCAL_TIMESTAMP), type: 'timestamp', addText: addPostgresText },
  arrow: { type: { kind: 'timestamp', unit: 1_000_000n, isLocal: true }, layout: { words: 2, put: putTimestamp } },
  parquet: {
    element: { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'MICROS' } },
    layout: { words: 2, put: putTimestamp },
  },
}

function wireValues(
  type: IqlType,
): Pick<Representation['wire'], 'addBinary' | 'isFreeText' | 'readText' | 'readBinary'> {
  return {
    addBinary,
    isFreeText: false,
    readText: (text) => readRoundedValue(type, text.trim()),
    readBinary: (bytes) =>
      bytes.length === 8
        ? inRange(bytes.readBigInt64BE() + MICROS_TO_2000, MIN_TIMESTAMP, MAX_TIMESTAMP)
        : wrongLength(),
  }
}

const MARK_UTC = 0x5a
const POSTGRES_UTC = Buffer.from('+00')
const [LETTER_T, SPACE] = [0x54, 0x20]

function addUtc(out: TextBytes, micros: bigint): void {
  addLocal(out, micros)
  out.addByte(MARK_UTC)
}

function addLocal(out: TextBytes, micros: bigint): void {
  addMoment(out, micros, LETTER_T)
}

/** Also from the text of IQL. */
export function addPostgresText(...[out, cell]: Parameters<AddCell>): void {
  if (typeof cell !== 'string') {
    addMoment(out, typeof cell === 'number' || typeof cell === 'bigint' ? cell : Number(cell), SPACE)
    return
  }
  out.addText(cell.slice(0, 10))
  out.addByte(SPACE)
  out.addText(cell.endsWith('Z') ? cell.slice(11, -1) : cell.slice(11))
}

const DAY = Number(MICROS_PER_DAY)
const FIRST_DAY = Number(MIN_DATE)

function addMoment(out: TextBytes, micros: bigint | number, separator: number): void {
  const number = typeof micros === 'bigint' ? Number(BigInt.asIntN(64, micros)) : micros
  const days = Math.floor(number / DAY)
  // Numbers are exact until the year 2255.
  if (!Number.isSafeInteger(number) || days < FIRST_DAY) {
    out.addText(writeLocalTimestamp(BigInt(micros)).replace('T', String.fromCharCode(separator)))
    return
  }
  out.addDate(days)
  out.addByte(separator)
  out.addTime(number - days * DAY)
}

const MICROS_TO_2000 = BigInt(DAYS_TO_2000) * MICROS_PER_DAY
const MICROS = Number(MICROS_TO_2000)

export function addBinary(...[out, cell]: Parameters<AddCell>): void {
  const micros = typeof cell === 'string' ? (readTimestamp(cell) ?? 0n) : cell
  const number = Number(micros)
  if (Number.isSafeInteger(number) && Number.isSafeInteger(number - MICROS)) out.addInt64(number - MICROS)
  else out.addBigInt64(BigInt(String(micros)) - MICROS_TO_2000)
}

function putTimestamp(words: Words, at: number, cell: Value): boolean {
  if (typeof cell === 'bigint') {
    putBigint(words, at, cell)
    return true
  }
  const text = String(cell)
  const { length } = text
  // As the engines write it: 2026-01-30T10:00:00.000001Z, with as many digits of the fraction as needed.
  if (length >= 20 && text[length - 1] === 'Z') {
    const micros = daysAt(text) * DAY + microsAt(text, 11, length - 1)
    if (Number.isSafeInteger(micros)) {
      putSafe(words, at, micros)
      return true
    }
  }
  return putRead(words, at, readTimestamp(text))
}
