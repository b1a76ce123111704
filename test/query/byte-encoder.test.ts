/** Long results, written as bytes, are byte for byte what the encoders of small results write. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  BINARY,
  BOOLEAN,
  DATE,
  DOUBLE,
  decimal,
  INTEGER,
  type IqlType,
  JSON_TYPE,
  MAX_DATE,
  MAX_TIMESTAMP,
  MIN_DATE,
  MIN_TIMESTAMP,
  type ResultColumn,
  TEXT,
  TIME,
  TIMESTAMP,
  UUID,
  writeDate,
  writeTime,
  writeTimestamp,
} from 'gatehouse-iql'
import type { Cell, TextEncoding } from '../../packages/server/src/query/model/result.ts'
import { createByteEncoder } from '../../packages/server/src/query/results/byte-encoder.ts'
import { TextEncoders } from '../../packages/server/src/query/results/encoders.ts'
import { anyText } from '../support/any-text.ts'

const TEXTS = ['', ' ', 'S1', ' a', 'a ', 'a b', 'a,b', '"', '\\', '\t', '\r\n', '\0', '\x1f', '\x7f', '\u00a0x', 'é']
const LONG_TEXTS = ['😀', '\ud800', '\udc00', '\u2028', 'ſ\ufeff', '-', '=1+1', 'é'.repeat(64), 'x'.repeat(64)]
const VERY_LONG = ['x'.repeat(65), '"'.repeat(65), '日'.repeat(30_000), 'x'.repeat(2_000_000), '\u0001'.repeat(200_000)]
const SAFE = BigInt(Number.MAX_SAFE_INTEGER)

const CASES: readonly { type: IqlType; cells: readonly NonNullable<Cell>[] }[] = [
  { type: TEXT, cells: [...TEXTS, ...LONG_TEXTS, ...VERY_LONG] },
  {
    type: INTEGER,
    cells: [
      0n,
      -1n,
      9n,
      10n,
      999_999_999n,
      1_000_000_000n,
      SAFE,
      SAFE + 1n,
      SAFE + 2n,
      -SAFE,
      -SAFE - 2n,
      2n ** 63n - 1n,
    ]
      .concat([-(2n ** 63n)])
      .flatMap((value): NonNullable<Cell>[] => [value, String(value)])
      .concat([0, -0, -7, 4_294_967_296, 1e15, Number.MAX_SAFE_INTEGER]),
  },
  {
    type: DOUBLE,
    cells: [
      0,
      -0,
      0.1,
      0.3,
      0.1 + 0.2,
      -0.0001,
      0.00011,
      0.000001,
      1e-7,
      123.4567,
      99_999_999_999.9999,
      123_456_789_012.5,
    ],
  },
  {
    type: DOUBLE,
    cells: [
      1e15,
      2 ** 53,
      2 ** 53 + 2,
      1e21,
      1e20,
      5e-324,
      Number.MAX_VALUE,
      1 / 3,
      -99.99,
      Number.NaN,
      Infinity,
      -Infinity,
    ],
  },
  { type: BOOLEAN, cells: [true, false] },
  { type: decimal(18, 4), cells: ['0.0000', '-0.0001', '12345678901234.5678'] },
  {
    type: decimal(38, 2),
    cells: ['999999999999999999999999999999999999.99', '-999999999999999999999999999999999999.99'],
  },
  { type: TIMESTAMP, cells: ['1970-01-01T00:00:00Z', '9999-12-31T23:59:59.999999Z'] },
  { type: DATE, cells: ['0001-01-01'] },
  { type: TIME, cells: ['23:59:59.999999'] },
  { type: UUID, cells: ['0190b3a4-5c6d-7e8f-9012-3456789abcde'] },
  { type: JSON_TYPE, cells: ['{"a":\r\n[1,\t2]}', '"é"', '1.10'] },
  { type: BINARY, cells: [new Uint8Array(0), Uint8Array.of(0, 255), new Uint8Array(1000)] },
]

const ENCODINGS: readonly TextEncoding[] = [
  { format: 'json', rows: 'objects', integers: 'numbers' },
  { format: 'json', rows: 'arrays', integers: 'strings' },
  { format: 'ndjson', rows: 'objects', integers: 'numbers' },
  { format: 'ndjson', rows: 'arrays', integers: 'numbers', header: 'columns' },
  { format: 'csv', rows: 'objects', integers: 'numbers' },
]
const NAMES = ['id', 'größe', 'a "quoted", name', '😀']

function assertSame(
  encoding: TextEncoding,
  types: readonly IqlType[],
  rows: readonly (readonly Cell[])[],
  numbers = rows,
): void {
  const columns = types.map(
    (type, index): ResultColumn => ({ name: NAMES[index % NAMES.length] + String(index), type, nullable: true }),
  )
  const asText = new TextEncoders(columns).create(encoding)
  const asBytes = createByteEncoder(encoding, columns)
  const chunks: Uint8Array[] = []
  for (const [index, row] of rows.entries()) {
    asText.add(row)
    asBytes.add(numbers[index] ?? [])
    if (index % 3 === 2) chunks.push(asBytes.take())
  }
  chunks.push(asBytes.take())
  const [bytes, text] = [Buffer.concat(chunks), Buffer.from(asText.takeText())]
  // Not deepEqual, whose message would take long for megabytes.
  if (!bytes.equals(text)) {
    const at = bytes.findIndex((byte, index) => byte !== text[index])
    assert.fail(`${bytes.subarray(at - 20, at + 40)} instead of ${text.subarray(at - 20, at + 40)}`)
  }
}

/** Times as numbers, and as the text that `TextEncoders` take. */
const TIMES: readonly { type: IqlType; write: (value: bigint) => string; values: readonly bigint[] }[] = [
  {
    type: TIMESTAMP,
    write: writeTimestamp,
    values: [0n, -1n, 1n, MIN_TIMESTAMP, MAX_TIMESTAMP, 1_709_164_800_000_000n, 951_868_799_999_900n, 2n ** 53n],
  },
  { type: DATE, write: writeDate, values: [0n, -1n, MIN_DATE, MAX_DATE, 11_016n, 19_782n] },
  { type: TIME, write: writeTime, values: [0n, 1n, 10n, 86_399_999_999n, 3_600_000_000n, 59_999_000n] },
]

for (const encoding of ENCODINGS) {
  const { format, rows, integers } = encoding
  test(`${format}, ${rows}, integers as ${integers}: dates and times as numbers`, () => {
    for (const { type, write, values } of TIMES) {
      const asText = values.map((value) => [write(value)])
      assertSame(encoding, [type], asText)
      assertSame(
        encoding,
        [type],
        asText,
        values.map((value) => [value]),
      )
    }
  })

  test(`${format}, ${rows}, integers as ${integers}: values of every type`, () => {
    for (const { type, cells } of CASES)
      assertSame(encoding, [type, type], [...cells.map((cell) => [cell, null]), [null, null]])
  })

  test(`${format}, ${rows}, integers as ${integers}: any number, text and time`, () => {
    const someText = anyText({ maxLength: 100 })
    const anyRow = fc.tuple(
      fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
      fc.option(
        fc.oneof(
          fc.double(),
          fc.integer({ max: 2 ** 50 }).map((value) => value / 10_000),
        ),
      ),
      fc.option(fc.oneof(someText, fc.string({ maxLength: 100 }))),
    )
    fc.assert(fc.property(fc.array(anyRow), (table) => assertSame(encoding, [INTEGER, DOUBLE, TEXT], table)))
    const anyTime = fc.bigInt({ min: MIN_TIMESTAMP, max: MAX_TIMESTAMP })
    const isSame = (value: bigint) => assertSame(encoding, [TIMESTAMP], [[writeTimestamp(value)]], [[value]])
    fc.assert(fc.property(anyTime, isSame))
  })
}
