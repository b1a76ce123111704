/** Rows with long texts, encoded in pieces, are byte for byte what the encoders write at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cell, Encoding } from '../../packages/server/src/query/model/result.ts'
import { createEncoder } from '../../packages/server/src/query/results/byte-encoder.ts'
import { LongRows } from '../../packages/server/src/query/results/long-rows.ts'

const LENGTH = 300_000
const TEXTS = {
  plain: 'x'.repeat(LENGTH),
  quotes: '"a,\n'.repeat(LENGTH / 4),
  'control characters': '\u0001'.repeat(LENGTH),
  'pairs at every cut': `x${'😀'.repeat(LENGTH / 2)}`,
  halves: '\ud800x\udc00'.repeat(LENGTH / 3),
  'a space at the end': `${'x'.repeat(LENGTH)} `,
}
const COLUMNS = [
  { name: 'id', type: { kind: 'Integer' }, nullable: false },
  { name: 't', type: { kind: 'Text' }, nullable: true },
  { name: 'j', type: { kind: 'Json' }, nullable: true },
  { name: 'u', type: { kind: 'Text' }, nullable: true },
  { name: 'b', type: { kind: 'Binary' }, nullable: true },
] as const

const FORMATS = [
  { format: 'json', rows: 'objects', integers: 'numbers' },
  { format: 'json', rows: 'arrays', integers: 'numbers' },
  { format: 'ndjson', rows: 'objects', integers: 'numbers' },
  { format: 'csv', rows: 'objects', integers: 'numbers' },
] as unknown as readonly Encoding[]

for (const encoding of FORMATS) {
  for (const [what, text] of Object.entries(TEXTS)) {
    test(`${encoding.format}, ${encoding.rows}: ${what}`, async () => {
      const json = `[${JSON.stringify(text)},\r\n${' '.repeat(LENGTH)}\n1]`
      // The columns of a key follow those of the result.
      const rows: readonly (readonly Cell[])[] = [
        ['1', 'short', null, 'short', null, text],
        ['2', text, json, text, Buffer.from(`${text}x`), text],
        ['3', null, '{}', text, Buffer.from('short'), null],
        ['4', '', null, 'short', Buffer.from(text), null],
      ]
      const [whole, pieced] = await Promise.all([createEncoder(encoding, COLUMNS), createEncoder(encoding, COLUMNS)])
      const longRows = new LongRows(pieced, COLUMNS, encoding)
      const chunks: Uint8Array[] = []
      for (const row of rows) {
        whole.add(row)
        longRows.add(row)
        if (longRows.hasLongRow) chunks.push(...longRows.pieces())
      }
      chunks.push(pieced.take())
      assert.ok(Buffer.concat(chunks).equals(Buffer.from(whole.take())))
      assert.ok(Math.max(...chunks.map((chunk) => chunk.byteLength)) < 4 * 1024 * 1024, 'no chunk is large')
    })
  }
}
