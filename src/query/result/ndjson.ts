/** The NDJSON result: one row a line, as an object or an array. */
import type { Encoding, ResultColumn, RowEncoder } from './encoding.ts'
import { jsonRowWriter } from './json.ts'

export function createNdjsonEncoder(encoding: Encoding, columns: readonly ResultColumn[]): RowEncoder {
  let pending = ''
  const writeRow = jsonRowWriter(encoding, columns)
  return {
    add(row) {
      pending += `${writeRow(row)}\n`
    },
    get pending() {
      return pending.length
    },
    take() {
      const bytes = Buffer.from(pending)
      pending = ''
      return bytes
    },
  }
}
