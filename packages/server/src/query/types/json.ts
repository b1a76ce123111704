/** Json, which is its text. */
import { isUtf8 } from 'node:buffer'
import { JSON_TYPE, readValue } from 'gatehouse-iql'
import { jsonWords } from './json-form.ts'
import type { Representation, Value } from './representation.ts'
import { TEXTS } from './text.ts'

export const JSON_VALUES: Representation = {
  ...TEXTS,
  json: jsonWords((cell: Value) => withoutLineBreaks(String(cell))),
  wire: {
    ...TEXTS.wire,
    type: 'json',
    readText: (text) => readValue(JSON_TYPE, text),
    readBinary: (bytes) => (isUtf8(bytes) ? readValue(JSON_TYPE, bytes.toString()) : { problem: 'is not UTF-8' }),
  },
  parquet: {
    element: { type: 'BYTE_ARRAY', converted_type: 'JSON', logical_type: { type: 'JSON' } },
    layout: 'texts',
  },
}

/** Line breaks would break NDJSON. JSON strings contain none, so they can only be whitespace. */
export function withoutLineBreaks(text: string): string {
  return text.replace(/[\r\n]/g, ' ')
}
