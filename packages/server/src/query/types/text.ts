/** Text. */
import { isUtf8 } from 'node:buffer'
import { readValue, TEXT } from 'gatehouse-iql'
import { csvTexts } from './csv-form.ts'
import { jsonText, jsonTexts } from './json-form.ts'
import type { AddCell, Representation } from './representation.ts'

export const TEXTS: Representation = {
  json: jsonTexts(jsonText),
  csv: csvTexts(String),
  wire: {
    type: 'text',
    addText: addTextBytes,
    addBinary: addTextBytes,
    isFreeText: true,
    readText: (text) => readValue(TEXT, text),
    readBinary: (bytes) => (isUtf8(bytes) ? readValue(TEXT, bytes.toString()) : { problem: 'is not UTF-8' }),
  },
  arrow: { type: { kind: 'utf8', width: 4 }, layout: 'bytes' },
  parquet: {
    element: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
    layout: 'texts',
  },
}

/** Also those of types whose text is their form. */
export function addTextBytes(...[out, cell]: Parameters<AddCell>): void {
  out.addText(String(cell))
}
