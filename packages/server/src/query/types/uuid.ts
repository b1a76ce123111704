/** Uuid: a text in lower case, with hyphens. */
import { readValue, UUID, withHyphens } from 'gatehouse-iql'
import { csvWords } from './csv-form.ts'
import { jsonTexts, quoted } from './json-form.ts'
import { type Representation, wrongLength } from './representation.ts'
import { addTextBytes, TEXTS } from './text.ts'
import type { TextBytes } from './text-bytes.ts'

export const UUIDS: Representation = {
  ...TEXTS,
  json: jsonTexts(quoted),
  csv: csvWords(String),
  wire: {
    type: 'uuid',
    addText: addTextBytes,
    addBinary: (out, cell) => addHex(out, String(cell)),
    isFreeText: false,
    readText: (text) => readValue(UUID, withHyphens(text.trim())),
    readBinary: (bytes) => {
      const value = uuidText(bytes)
      return value === undefined ? wrongLength() : { value }
    },
  },
  parquet: {
    element: { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, logical_type: { type: 'UUID' } },
    layout: 'hex',
  },
}

const BYTES = 16

/** Undefined for another number of bytes. */
export function uuidText(bytes: Uint8Array): string | undefined {
  if (bytes.length !== BYTES) return undefined
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

const MINUS = 0x2d

function addHex(out: TextBytes, text: string): void {
  for (let index = 0; index < text.length; index += 2) {
    if (text.charCodeAt(index) === MINUS) index++
    out.addByte((hexDigit(text.charCodeAt(index)) << 4) | hexDigit(text.charCodeAt(index + 1)))
  }
}

function hexDigit(code: number): number {
  return code <= 0x39 ? code - 0x30 : (code | 0x20) - 0x57
}
