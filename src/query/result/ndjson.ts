/** The NDJSON result: one row a line, as an object or an array. */
import type { Encoding, ResultColumn, TextRowEncoder } from './encoding.ts'
import { jsonRowWriter } from './json.ts'

export function createNdjsonEncoder(encoding: Encoding, columns: readonly ResultColumn[]): TextRowEncoder {
  let pending = ''
  const writeRow = jsonRowWriter(encoding, columns)
  const takeText = (): string => {
    const text = pending
    pending = ''
    return text
  }
  return {
    add(row) {
      pending += `${writeRow(row)}\n`
    },
    get pending() {
      return pending.length
    },
    take: () => Buffer.from(takeText()),
    takeText,
  }
}
