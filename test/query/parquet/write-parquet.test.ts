/** The Parquet encoder: every value is read back exactly, by hyparquet and by our reader; row groups stream; no footer, no file. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { decimal, type IqlType, type ResultColumn } from 'gatehouse-iql'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { ParquetError } from '../../../packages/server/src/query/bulk/parquet/file.ts'
import type { Cell } from '../../../packages/server/src/query/model/result.ts'
import { ParquetEncoder } from '../../../packages/server/src/query/results/parquet/encoder.ts'
import { readWhole } from './files.ts'

function encode(columns: readonly ResultColumn[], rows: Iterable<readonly Cell[]>) {
  const encoder = new ParquetEncoder(columns)
  const parts: Uint8Array[] = []
  for (const row of rows) {
    encoder.add(row)
    while (encoder.pending >= 64 * 1024) parts.push(encoder.take())
  }
  encoder.end()
  while (encoder.pending > 0) parts.push(encoder.take())
  return { rows: Buffer.concat(parts), file: Buffer.concat([...parts, encoder.trailer()]), parts }
}

const MICROS_9999 = 253_402_300_799_999_999n
/** Values in the forms that engines use, and as IQL counts them. */
const CASES: readonly { type: IqlType; cells: readonly [Cell, unknown][] }[] = [
  {
    type: { kind: 'Integer' },
    cells: [
      [0, 0n],
      [-1, -1n],
      ['-4294967297', -4_294_967_297n],
      ['9223372036854775807', 9_223_372_036_854_775_807n],
      [-9_223_372_036_854_775_808n, -9_223_372_036_854_775_808n],
    ],
  },
  {
    type: decimal(18, 4),
    cells: [
      ['0.0000', 0n],
      ['-0.0001', -1n],
      ['12345678.9012', 123_456_789_012n],
      ['-99999999999999.9999', 1n - 10n ** 18n],
    ],
  },
  {
    type: decimal(38, 4),
    cells: [
      ['0.0000', 0n],
      ['-0.0001', -1n],
      ['-12345678901234567890.1234', -123_456_789_012_345_678_901_234n],
      ['9999999999999999999999999999999999.9999', 10n ** 38n - 1n],
      ['-9999999999999999999999999999999999.9999', 1n - 10n ** 38n],
    ],
  },
  {
    type: { kind: 'Timestamp' },
    cells: [
      [-1n, -1n],
      ['2024-02-29T12:34:56.5Z', 1_709_210_096_500_000n],
      ['0001-01-01T00:00:00Z', -62_135_596_800_000_000n],
      ['9999-12-31T23:59:59.999999Z', MICROS_9999],
    ],
  },
  {
    type: { kind: 'LocalTimestamp' },
    cells: [
      [MICROS_9999, MICROS_9999],
      ['2024-02-29T12:34:56.5', 1_709_210_096_500_000n],
    ],
  },
  {
    type: { kind: 'Date' },
    cells: [
      ['1969-12-31', -1n],
      [2_932_896n, 2_932_896n],
    ],
  },
  {
    type: { kind: 'Time' },
    cells: [
      ['23:59:59.999999', 86_399_999_999n],
      [0n, 0n],
    ],
  },
  {
    type: { kind: 'Double' },
    cells: [
      [0.1, 0.1],
      [-0, -0],
      [Number.NaN, Number.NaN],
      [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY],
    ],
  },
  {
    type: { kind: 'Boolean' },
    cells: [
      [true, true],
      [false, false],
    ],
  },
  {
    type: { kind: 'Text' },
    cells: [
      ['', ''],
      ['é\u2028😀', 'é\u2028😀'],
      ['x'.repeat(5000), 'x'.repeat(5000)],
    ],
  },
  { type: { kind: 'Json' }, cells: [['{"k":[1,null]}', '{"k":[1,null]}']] },
  { type: { kind: 'Uuid' }, cells: [['123e4567-e89b-12d3-a456-426614174000', '123e4567-e89b-12d3-a456-426614174000']] },
  {
    type: { kind: 'Binary' },
    cells: [
      [Uint8Array.of(0, 255), Uint8Array.of(0, 255)],
      [new Uint8Array(0), new Uint8Array(0)],
    ],
  },
]

test('every type is read back exactly, with NULLs between its values', async () => {
  for (const { type, cells } of CASES) {
    const rows = [[null], ...cells.flatMap(([cell]) => [[cell], [null]])]
    const { types, values } = await readWhole(encode([{ name: 'v', type, nullable: true }], rows).file)
    assert.equal(types.v, type.kind === 'Decimal' ? `Decimal(${type.precision}, ${type.scale})` : type.kind)
    const found = (values.get('v') ?? []).map((value) => (value instanceof Uint8Array ? Uint8Array.from(value) : value))
    assert.deepEqual(found, [null, ...cells.flatMap(([, value]) => [value, null])], type.kind)
  }
})

test('an Interval is its text, as that of Parquet has no microseconds', async () => {
  const columns: ResultColumn[] = [{ name: 'v', type: { kind: 'Interval', months: true }, nullable: true }]
  const { types, values } = await readWhole(encode(columns, [['1 month 00:00:00.000001'], [null]]).file)
  assert.deepEqual([types.v, values.get('v')], ['Text', ['1 month 00:00:00.000001', null]])
})

const TICKS: readonly ResultColumn[] = [
  { name: 'id', type: { kind: 'Integer' }, nullable: false },
  { name: 'symbol', type: { kind: 'Text' }, nullable: false },
  { name: 'note', type: { kind: 'Text' }, nullable: true },
  { name: 'price', type: decimal(12, 2), nullable: true },
]

function* ticks(count: number): Generator<readonly Cell[]> {
  for (let id = 0; id < count; id++)
    yield [id, `S${id % 50}`, id % 3 === 0 ? null : `note ${id}`, id % 5 === 0 ? null : `${id % 1000}.25`]
}

test('row groups of 100,000 rows are passed on one by one; texts that repeat are in a dictionary', async () => {
  const { file, parts } = encode(TICKS, ticks(230_000))
  assert.ok(parts.length >= 3 && parts.every(({ length }) => length < 1024 * 1024))
  const { row_groups: groups, num_rows: rows, schema } = parquetMetadata(new Uint8Array(file).buffer)
  assert.equal(rows, 230_000n)
  assert.deepEqual(
    groups.map(({ num_rows: count }) => count),
    [100_000n, 100_000n, 30_000n],
  )
  assert.deepEqual(
    schema.slice(1).map(({ repetition_type: repetition }) => repetition),
    ['REQUIRED', 'REQUIRED', 'OPTIONAL', 'OPTIONAL'],
  )
  const [, symbol, note] = groups[0]?.columns ?? []
  assert.ok(symbol?.meta_data?.encodings.includes('RLE_DICTIONARY'))
  assert.ok(!note?.meta_data?.encodings.includes('RLE_DICTIONARY'))
  assert.ok(Number(symbol?.meta_data?.total_compressed_size) < 80_000, 'at most six bits a value')
  const { buffer } = new Uint8Array(file)
  const read = await parquetReadObjects({
    file: { byteLength: buffer.byteLength, slice: (start, end) => buffer.slice(start, end) },
    compressors: {
      ZSTD: (bytes, length) => Uint8Array.from(zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, length) })),
    },
  })
  let at = 0
  for (const [id, text, comment, price] of ticks(230_000)) {
    const row = read[at++]
    if (
      row?.id === BigInt(Number(id)) &&
      row.symbol === text &&
      (row.note ?? null) === comment &&
      (row.price ?? null) === (price === null ? null : Number(price))
    )
      continue
    assert.deepEqual(row, { id, symbol: text, note: comment, price })
  }
  assert.equal(read.length, at)
})

test('a row group ends at 16 MiB', () => {
  const text = 'x'.repeat(1024 * 1024)
  const rows = Array.from({ length: 40 }, (_, id) => [id, text, null, null])
  const { row_groups: groups } = parquetMetadata(new Uint8Array(encode(TICKS, rows).file).buffer)
  assert.deepEqual(
    groups.map(({ num_rows: count }) => count),
    [16n, 16n, 8n],
  )
})

test('a result without rows is a file with its columns', async () => {
  const { types, values } = await readWhole(encode(TICKS, []).file)
  assert.deepEqual([Object.keys(types), values.get('id')], [['id', 'symbol', 'note', 'price'], []])
})

test('what is sent before the footer is not a Parquet file', async () => {
  const { rows, file } = encode(TICKS, ticks(1000))
  await assert.rejects(readWhole(rows), ParquetError)
  for (let length = file.length - 1; length > 0; length -= 101)
    await assert.rejects(readWhole(file.subarray(0, length)), ParquetError)
})
