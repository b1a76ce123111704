/** Boolean. */
import { FORMS } from 'gatehouse-iql'
import { csvWords } from './csv-form.ts'
import { jsonWords } from './json-form.ts'
import { type Representation, wrongLength } from './representation.ts'

export const BOOLEANS: Representation = {
  json: jsonWords(String),
  csv: csvWords(String),
  wire: {
    type: 'bool',
    addText: (out, cell) => out.addByte(cell === true ? LETTER_T : LETTER_F),
    addBinary: (out, cell) => out.addByte(cell === true ? 1 : 0),
    isFreeText: false,
    readText: (text) => {
      const value = booleanWord(text)
      return value === undefined ? { problem: `is not ${FORMS.Boolean}` } : { value }
    },
    readBinary: (bytes) => (bytes.length === 1 ? { value: bytes[0] !== 0 } : wrongLength()),
  },
  arrow: { type: { kind: 'bool' }, layout: 'bits' },
  parquet: { element: { type: 'BOOLEAN' }, layout: 'bits' },
}

const [LETTER_T, LETTER_F] = [0x74, 0x66]

const WORDS: ReadonlyMap<string, boolean> = new Map([
  ...['t', 'true', 'y', 'yes', 'on', '1'].map((word) => [word, true] as const),
  ...['f', 'false', 'n', 'no', 'off', '0'].map((word) => [word, false] as const),
])

/** Every word that PostgreSQL reads; undefined for others. */
export function booleanWord(text: string): boolean | undefined {
  return WORDS.get(text.trim().toLowerCase())
}
