/** Double. IQL has no negative zero. */
import { DOUBLE, doubleText, readValue } from 'gatehouse-iql'
import { csvWords } from './csv-form.ts'
import { type AddCell, type Representation, type Value, wrongLength } from './representation.ts'
import type { Words } from './words.ts'

export const DOUBLES: Representation = {
  json: {
    write: () => jsonDouble,
    add: () => (out, cell) => {
      if (typeof cell !== 'number' || !out.addShortDouble(cell)) out.addText(jsonDouble(cell))
    },
  },
  csv: csvWords(csvDouble, (out, cell) => {
    if (typeof cell !== 'number' || !out.addShortDouble(cell)) out.addText(csvDouble(cell))
  }),
  wire: {
    type: 'float8',
    addText: addPostgresText,
    addBinary: (out, cell) => out.addFloat64(Number(cell) + 0),
    isFreeText: false,
    readText: (text) => readValue(DOUBLE, withoutWords(text.trim())),
    readBinary: (bytes) =>
      bytes.length === 8
        ? { value: bytes.readDoubleBE() + 0 }
        : bytes.length === 4
          ? { value: bytes.readFloatBE() + 0 }
          : wrongLength(),
  },
  arrow: { type: { kind: 'float', bits: 64 }, layout: { words: 2, put: putDouble } },
  parquet: { element: { type: 'DOUBLE' }, layout: { words: 2, put: putDouble } },
}

/** JSON has no NaN and no infinity. */
function jsonDouble(cell: Value): string {
  return typeof cell === 'number' && Number.isFinite(cell) ? doubleText(cell) : `"${cell}"`
}

function csvDouble(cell: Value): string {
  return typeof cell === 'number' ? doubleText(cell) : String(cell)
}

/** PostgreSQL writes an exponent from here on. */
const LONG = 1e15

export function addPostgresText(...[out, cell]: Parameters<AddCell>): void {
  const value = Number(cell)
  if (Math.abs(value) < LONG && out.addShortDouble(value)) return
  out.addText(floatText(value))
}

/** The shortest digits that parse as the same double, with an exponent where PostgreSQL writes one. */
export function floatText(value: number): string {
  if (value === 0) return '0'
  if (!Number.isFinite(value)) return String(value)
  const size = Math.abs(value)
  // In this range ECMAScript writes no exponent either.
  if (size >= 1e-4 && size < LONG) return String(value)
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e')
  const digits = exponent.slice(1).padStart(2, '0')
  return `${mantissa}e${exponent[0]}${digits}`
}

/** PostgreSQL reads nan, inf and infinity in any case. */
function withoutWords(text: string): string {
  const word = /^([+-]?)(nan|inf|infinity)$/i.exec(text)
  if (word === null) return text
  return word[2]?.toLowerCase() === 'nan' ? 'NaN' : `${word[1]}Infinity`
}

function putDouble({ float64 }: Words, at: number, cell: Value): boolean {
  float64[at >> 1] = Number(cell)
  return true
}
