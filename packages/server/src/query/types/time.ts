/** Time: microseconds since midnight. */
import { MICROS_PER_DAY, readRoundedValue, readTime, TIME } from 'gatehouse-iql'
import { csvTimes } from './csv-form.ts'
import { twoDigits } from './date.ts'
import { jsonTimes } from './json-form.ts'
import { type AddCell, inRange, type Representation, type Value, wrongLength } from './representation.ts'
import type { TextBytes } from './text-bytes.ts'
import { putBigint, putRead, putSafe, type Words } from './words.ts'

export const TIMES: Representation = {
  json: jsonTimes(addMicros),
  csv: csvTimes(addMicros),
  wire: {
    type: 'time',
    addText,
    addBinary: (out, cell) => out.addInt64(Number(typeof cell === 'string' ? (readTime(cell) ?? 0n) : cell)),
    isFreeText: false,
    readText: (text) => readRoundedValue(TIME, text),
    readBinary: (bytes) =>
      bytes.length === 8 ? inRange(bytes.readBigInt64BE(), 0n, MICROS_PER_DAY - 1n) : wrongLength(),
  },
  arrow: { type: { kind: 'time', bits: 64, unit: 1_000_000n }, layout: { words: 2, put: putTime } },
  parquet: {
    element: { type: 'INT64', logical_type: { type: 'TIME', isAdjustedToUTC: false, unit: 'MICROS' } },
    layout: { words: 2, put: putTime },
  },
}

function addMicros(out: TextBytes, micros: bigint): void {
  out.addTime(Number(micros))
}

function addText(...[out, cell]: Parameters<AddCell>): void {
  if (typeof cell === 'string') out.addText(cell)
  else out.addTime(Number(cell))
}

function putTime(words: Words, at: number, cell: Value): boolean {
  if (typeof cell === 'bigint') {
    putBigint(words, at, cell)
    return true
  }
  const text = String(cell)
  if (text.length < 8) return putRead(words, at, readTime(text))
  putSafe(words, at, microsAt(text, 0, text.length))
  return true
}

const ZERO = 0x30

/** Microseconds from midnight to HH:MM:SS[.f] in a part of the text. */
export function microsAt(text: string, from: number, to: number): number {
  let micros = (twoDigits(text, from) * 3600 + twoDigits(text, from + 3) * 60 + twoDigits(text, from + 6)) * 1_000_000
  for (let index = from + 9, unit = 100_000; index < to; index++, unit /= 10)
    micros += (text.charCodeAt(index) - ZERO) * unit
  return micros
}
