/** Reading Parquet: files that pyarrow and DuckDB wrote (fixtures/, made by make_fixtures.py), and files that are wrong on purpose. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readTimestamp } from 'gatehouse-iql'
import { ParquetError } from '../../../packages/server/src/query/bulk/parquet/file.ts'
import { IS_LONG_RUN } from '../../support/engines.ts'
import { assertSame, type PythonRows, readSpooled, readWhole } from './files.ts'

const FOLDER = new URL('./fixtures/', import.meta.url)
const fixture = (name: string): Buffer => readFileSync(new URL(name, FOLDER))
const rows: PythonRows = JSON.parse(fixture('rows.json').toString())
const names = readdirSync(FOLDER).filter((name) => name.endsWith('.parquet'))
/** Every seventh byte in npm run test:all. */
const STEP = IS_LONG_RUN ? 7 : 301
const SPECIAL = /refused|more-types|int96/

for (const name of names.filter((each) => !SPECIAL.test(each))) {
  test(`${name}: every value, exactly`, async () => {
    const { types, values } = await readWhole(fixture(name))
    assert.deepEqual(types, {
      id: 'Integer',
      i: 'Integer',
      i32: 'Integer',
      u32: 'Integer',
      d9: 'Decimal(9, 2)',
      d18: 'Decimal(18, 4)',
      d38: 'Decimal(38, 18)',
      f: 'Double',
      f32: 'Double',
      o: 'Boolean',
      t: 'Text',
      s: 'Timestamp',
      l: 'LocalTimestamp',
      a: 'Date',
      m: 'Time',
      b: 'Binary',
    })
    assert.ok((values.get('id') ?? []).length >= 60)
    assertSame({ types, values }, rows)
  })

  test(`${name}: every value, exactly, from pages in a file`, async () => {
    for (const memoryBytes of [1024, 4096]) {
      const file = await readSpooled(fixture(name), memoryBytes)
      assert.ok(file.isSpooled)
      assertSame(file, rows)
    }
  })
}

test('times of all units, halves, INT96, UUID, JSON, enumerations, and columns without a type', async () => {
  const more = await readWhole(fixture('pyarrow-more-types.parquet'))
  assert.deepEqual(Object.fromEntries(more.values), {
    ns: [1_500_000_000_000_000n, null],
    ms: [1_500_000_000_123_000n, null],
    tns: [86_399_999_999n, null],
    tms: [86_399_999_000n, null],
    half: [1.5, null],
    nothing: [null, null],
    fixed: [new Uint8Array(Buffer.from('abcd')), null],
  })
  assert.deepEqual(Object.values(more.types), [
    'Timestamp',
    'LocalTimestamp',
    'Time',
    'Time',
    'Double',
    'Null',
    'Binary',
  ])
  const int96 = await readWhole(fixture('pyarrow-int96.parquet'))
  assert.deepEqual(int96.values.get('int96'), [readTimestamp('2026-01-02T03:04:05.000006Z')])
  const duckdb = await readWhole(fixture('duckdb-more-types.parquet'))
  assert.deepEqual(Object.fromEntries(duckdb.values), {
    u: ['123e4567-e89b-12d3-a456-426614174000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', null],
    j: ['{"k": [1, null]}', '"x"', null],
    e: ['on', 'off', null],
  })
  assert.deepEqual(Object.values(duckdb.types), ['Uuid', 'Json', 'Text'])
})

for (const [name, message] of [
  ['refused-list', /column "tags" is nested/],
  ['refused-struct', /column "place" is nested/],
  ['refused-nanoseconds', /Column "ns": a time has nanoseconds: round it/],
  ['refused-decimal', /Column "d": a Decimal has up to 38 digits/],
  ['refused-uint64', /Column "u": 18446744073709551615 is larger than an Integer/],
  ['refused-interval', /Column "v": the type INTERVAL is not supported/],
] as const) {
  test(`${name}: the error says which column and what to do`, async () => {
    await assert.rejects(
      readWhole(fixture(`${name}.parquet`)),
      (error) => error instanceof ParquetError && message.test(error.message),
    )
  })
}

test('a file that is cut off is refused, wherever it is cut', async () => {
  const whole = fixture('pyarrow-zstd.parquet')
  for (let length = 0; length < whole.length; length += 97)
    await assert.rejects(readWhole(whole.subarray(0, length)), ParquetError)
})

test('a footer the end of which is overwritten with zeros is refused, wherever they begin', async () => {
  const whole = fixture('pyarrow-snappy.parquet')
  const end = whole.length - 8
  const start = end - whole.readUInt32LE(end)
  for (let from = start; from < end - 1; from += 7) {
    const file = Buffer.from(whole)
    file.fill(0, from, end)
    // Those of the last text, which says by which program, change nothing that is read.
    if (end - from > 60) await assert.rejects(readWhole(file), ParquetError, `from ${from - start}`)
  }
})

test('no byte of a file can make its reader fail with anything but a refusal', async () => {
  for (const name of [
    'pyarrow-delta.parquet',
    'duckdb-snappy.parquet',
    'pyarrow-v2-pages.parquet',
    'pyarrow-none.parquet',
  ]) {
    const whole = fixture(name)
    for (let at = 0; at < whole.length; at += STEP) {
      const changed = Buffer.from(whole)
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8)) ^ 0x80
      try {
        await readWhole(changed)
      } catch (error) {
        assert.ok(error instanceof ParquetError, `${name}, byte ${at}: ${error instanceof Error ? error.stack : error}`)
      }
    }
  }
})

test('a file whose values have more bytes than are allowed is refused', async () => {
  await assert.rejects(readWhole(fixture('pyarrow-zstd.parquet'), 10_000), /more than 10000 bytes/)
})
