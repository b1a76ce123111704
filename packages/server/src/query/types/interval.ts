/** Interval: a text in results. Without months it is a fixed length of time. */
import { FIXED_INTERVAL, INTERVAL, type IqlType, MICROS_PER_DAY, readInterval, readRoundedValue } from 'gatehouse-iql'
import { csvWords } from './csv-form.ts'
import { jsonTexts, quoted } from './json-form.ts'
import { type AddCell, type BinaryRead, type Representation, type Value, wrongLength } from './representation.ts'
import { addTextBytes, TEXTS } from './text.ts'
import { putRead, type Words } from './words.ts'

export const INTERVALS: Representation = {
  ...intervals(INTERVAL),
  arrow: { type: { kind: 'interval' }, layout: { words: 4, put: putMonths } },
}

export const FIXED_INTERVALS: Representation = {
  ...intervals(FIXED_INTERVAL),
  arrow: { type: { kind: 'duration' }, layout: { words: 2, put: putDuration } },
}

function intervals(type: IqlType): Omit<Representation, 'arrow'> {
  return {
    json: jsonTexts(quoted),
    csv: csvWords(String),
    wire: {
      type: 'interval',
      addText: addTextBytes,
      addBinary,
      isFreeText: false,
      readText: (text) => readRoundedValue(type, text),
      readBinary,
    },
    // Parquet's own has milliseconds only.
    parquet: TEXTS.parquet,
  }
}

/** Microseconds within a day, days, months. */
function addBinary(...[out, cell]: Parameters<AddCell>): void {
  const { months, micros } = readInterval(String(cell)) ?? { months: 0n, micros: 0n }
  out.addBigInt64(micros % MICROS_PER_DAY)
  out.addInt32(Number(micros / MICROS_PER_DAY))
  out.addInt32(Number(months))
}

function readBinary(bytes: Buffer): BinaryRead {
  if (bytes.length !== 16) return wrongLength()
  const micros = bytes.readBigInt64BE() + BigInt(bytes.readInt32BE(8)) * MICROS_PER_DAY
  return { value: { months: BigInt(bytes.readInt32BE(12)), micros } }
}

function putDuration(words: Words, at: number, cell: Value): boolean {
  return putRead(words, at, readInterval(String(cell))?.micros)
}

/** Months, days and nanoseconds. */
function putMonths({ int32, int64 }: Words, at: number, cell: Value): boolean {
  const interval = readInterval(String(cell))
  if (interval === undefined) return false
  int32[at] = Number(interval.months)
  int32[at + 1] = Number(interval.micros / MICROS_PER_DAY)
  int64[(at >> 1) + 1] = (interval.micros % MICROS_PER_DAY) * 1000n
  return true
}
