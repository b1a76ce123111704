/** The CSV reader: RFC 4180 for any division into chunks, with positions to resume from. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type CsvRow, csvField, parseCsvRecord } from '../../packages/csv/src/record.ts'
import { type CsvRecord, splitCsv } from '../../packages/server/src/declarative/csv-file.ts'

async function readRecords(bytes: Buffer, size: number, start = 0, firstLine = 1): Promise<CsvRecord[]> {
  const chunks: Buffer[] = []
  for (let at = start; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size))
  return Array.fromAsync(splitCsv(chunks, start, firstLine))
}

function parseFields({ raw }: CsvRecord): CsvRow | string {
  const parsed = parseCsvRecord(raw)
  return 'problem' in parsed ? parsed.problem : parsed.fields
}

test('RFC 4180: quotes, commas, every kind of line break, NULL and empty text', async () => {
  const bytes = Buffer.from('\uFEFFa,b,c\r\n1,"x, ""y""\r\nz",\r\n\r\n,"",last\rü,\uFEFF,"\r"\n"",,')
  for (const size of [1, 2, 7, 1000]) {
    const records = await readRecords(bytes, size)
    assert.deepEqual(
      records.map(parseFields),
      [
        ['a', 'b', 'c'],
        ['1', 'x, "y"\r\nz', null],
        [null, '', 'last'],
        ['ü', '\uFEFF', '\r'],
        ['', null, null],
      ],
      `chunks of ${size}`,
    )
    assert.deepEqual(
      records.map(({ line, nextLine }) => [line, nextLine]),
      [
        [1, 2],
        [2, 4],
        [5, 6],
        [6, 8],
        [8, 9],
      ],
    )
  }
})

test('what is wrong with the quotes of a record is reported', async () => {
  for (const [text, problem] of [
    ['"b', 'a quoted field does not end'],
    ['a"b', 'a quote inside a field that does not begin with one'],
    ['"a"b', 'text after a closing quote'],
  ] as const)
    assert.deepEqual((await readRecords(Buffer.from(text), 1)).map(parseFields), [problem])
})

const field = fc.oneof(
  fc.constant(null),
  fc.string({ unit: fc.constantFrom(...'a,"\r\n ü€\uFEFF') }),
  fc.string({ unit: 'grapheme' }),
)
const rows = fc.array(fc.array(field, { minLength: 2, maxLength: 4 }), { maxLength: 6 })

test('what was written is read back, in chunks of any size and from the end of any record', async () => {
  await fc.assert(
    fc.asyncProperty(
      rows,
      fc.integer({ min: 1, max: 9 }),
      fc.constantFrom('\n', '\r\n', '\r'),
      async (written, size, lineBreak) => {
        const lines = written.map((row) => row.map((value) => (value === null ? '' : csvField(value))).join(','))
        // A leading U+FEFF would be taken for the byte order mark.
        const bytes = Buffer.from(`h,h${lineBreak}${lines.join(lineBreak)}`)
        const records = await readRecords(bytes, size)
        assert.deepEqual(records.slice(1).map(parseFields), written)
        for (const [index, { end, nextLine }] of records.entries())
          assert.deepEqual(await readRecords(bytes, size, end, nextLine), records.slice(index + 1))
      },
    ),
  )
})
