/** The file of a column segment: what is written is read, and what is damaged is refused. */
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
  readDigits,
  TEXT,
  TIMESTAMP,
  UUID,
} from 'gatehouse-iql'
import {
  type RawValue,
  type ReadAt,
  Segment,
  type StoredColumn,
  writeSegment,
} from '../../../packages/server/src/query/columns/segment.ts'
import { Buffers, SegmentColumns } from '../../../packages/server/src/query/columns/segment-columns.ts'
import { anyText } from '../../support/any-text.ts'

const readFrom =
  (file: Buffer): ReadAt =>
  (offset, bytes) =>
    file.subarray(offset, offset + bytes)

function readColumn(file: Buffer, name: string): RawValue[] | undefined {
  const segment = new Segment(readFrom(file))
  if (segment.find(name) === undefined) return undefined
  const columns = new SegmentColumns(segment, [name], new Buffers())
  const decoded = columns.decode(0)
  if (decoded.kind === 'texts')
    return Array.from(decoded.codes.subarray(0, columns.rows), (code) => decoded.texts[code] ?? null)
  return Array.from(decoded.values.subarray(0, columns.rows), (rank) => numberAt(rank, decoded.column))
}

function numberAt(rank: number, column: StoredColumn): RawValue {
  if (Number.isNaN(rank)) return null
  if (column.kind !== 'numbers') return rank
  const number = column.least + rank * column.unit
  return column.isDouble ? number / 10 ** column.scale : BigInt(number)
}

function written(type: IqlType, values: readonly RawValue[]): Buffer {
  return writeSegment(
    'tag',
    [{ name: 'a', type }],
    values.map((value) => [value]),
  )
}

const orNull = <T extends RawValue>(values: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.option(values, { nil: null, freq: 5 })
/** Clustered, so that all widths and units occur. */
const integers = fc
  .record({
    least: fc.bigInt({ min: -(2n ** 53n), max: 2n ** 52n }),
    span: fc.constantFrom(0, 1, 0xfe, 0xff, 0xfffe, 0xffff, 0xfffffffe, 0xffffffff),
    unit: fc.constantFrom(1n, 1000n, 1_000_000n),
    at: fc.array(
      orNull(fc.double({ min: 0, max: 1, noNaN: true }).map((part) => BigInt(Math.round(part * 0xffffffff)))),
      { maxLength: 40 },
    ),
  })
  .map(({ least, span, unit, at }) => at.map((n) => (n === null ? null : least + (n % BigInt(span + 1)) * unit)))
const shortDoubles = fc
  .tuple(fc.maxSafeInteger(), fc.integer({ min: 0, max: 17 }))
  .map(([digits, scale]) => Number(`${digits}e-${scale}`))
  .filter((x) => !Object.is(x, -0))
const anyDoubles = fc.double({ noNaN: true }).filter((x) => !Object.is(x, -0))

test('integers, times and Decimals are read as they were written, or the column is not stored', () => {
  for (const type of [INTEGER, TIMESTAMP, DATE, BOOLEAN, decimal(18, 4)])
    fc.assert(
      fc.property(integers, (values) => {
        const read = readColumn(written(type, values), 'a')
        const isLong = values.some((value) => value !== null && (value > 2n ** 53n || value < -(2n ** 53n)))
        const known = values.filter((value) => value !== null)
        const range =
          known.reduce((a, b) => (b > a ? b : a), known[0] ?? 0n) -
          known.reduce((a, b) => (b < a ? b : a), known[0] ?? 0n)
        assert.equal(read === undefined, isLong || range >= 2n ** 53n)
        if (read !== undefined) assert.deepEqual(read, values)
      }),
      { numRuns: 60 },
    )
})

test('integers that differ by 2^53 or more are not stored: their distances would be rounded', () => {
  assert.equal(readColumn(written(INTEGER, [-4n, 9007199254740989n]), 'a'), undefined)
  assert.deepEqual(readColumn(written(INTEGER, [-4n, 9007199254740987n]), 'a'), [-4n, 9007199254740987n])
})

test('Doubles are read as they were written; a scaled one is the shortest decimal without its point', () => {
  for (const doubles of [shortDoubles, anyDoubles, fc.oneof(shortDoubles, anyDoubles)])
    fc.assert(
      fc.property(fc.array(orNull(doubles), { maxLength: 12 }), (values) => {
        const file = written(DOUBLE, values)
        assert.deepEqual(readColumn(file, 'a'), values)
        const segment = new Segment(readFrom(file))
        const column = segment.find('a')
        if (column?.kind !== 'numbers') return
        const columns = new SegmentColumns(segment, ['a'], new Buffers())
        const decoded = columns.decode(0)
        assert.ok(decoded.kind === 'numbers')
        for (const [index, value] of values.entries()) {
          if (value === null) continue
          const { unscaled, scale } = readDigits(String(value)) ?? { unscaled: 0n, scale: 0 }
          const stored: bigint = BigInt(column.least) + BigInt(decoded.values[index] ?? 0) * BigInt(column.unit)
          assert.equal(
            stored * 10n ** BigInt(Math.max(scale, 0)),
            unscaled * 10n ** BigInt(column.scale + Math.max(-scale, 0)),
          )
        }
      }),
      { numRuns: 150 },
    )
})

test('Doubles that have 16 digits with the scale of the others are stored as they are: two decimals could be the same Double', () => {
  const values = [45035996273.7, 0.12345]
  assert.equal(new Segment(readFrom(written(DOUBLE, values))).find('a')?.kind, 'doubles')
  assert.deepEqual(readColumn(written(DOUBLE, values), 'a'), values)
  assert.equal(new Segment(readFrom(written(DOUBLE, [4503599627.7, 0.12345]))).find('a')?.kind, 'numbers')
})

test('NaN, which SQLite has as a text, is not stored', () => {
  assert.equal(readColumn(written(DOUBLE, ['NaN', 1]), 'a'), undefined)
})

test('texts are read as they were written, in the order of their bytes', () => {
  const texts = fc.oneof(anyText(), fc.constantFrom('', 'a', '\0', '\u{FFFD}', '\u{10FFFF}', '\u{1F600}'))
  for (const type of [TEXT, UUID])
    fc.assert(
      fc.property(fc.array(orNull(texts), { maxLength: 40 }), (values) => {
        const file = written(type, values)
        assert.deepEqual(readColumn(file, 'a'), values)
        const segment = new Segment(readFrom(file))
        const column = segment.find('a')
        assert.ok(column?.kind === 'texts')
        const dictionary = segment.readDictionary(column)
        const sorted = dictionary.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
        assert.deepEqual(dictionary, sorted)
      }),
      { numRuns: 20 },
    )
})

test('more than 255 texts take two bytes each, and more than 65,534 are not stored', () => {
  const several = (count: number) => Array.from({ length: count }, (_, n) => `t${n}`)
  for (const count of [255, 256, 65_534])
    assert.deepEqual(readColumn(written(TEXT, [...several(count), null]), 'a'), [...several(count), null])
  assert.equal(readColumn(written(TEXT, several(65_535)), 'a'), undefined)
  assert.equal(
    readColumn(
      written(
        TEXT,
        [...'ab'].map((c) => c.repeat(9 * 1024 * 1024)),
      ),
      'a',
    ),
    undefined,
  )
})

test('types whose values have no fixed width are not stored', () => {
  for (const type of [JSON_TYPE, BINARY, decimal(19, 0)])
    assert.equal(readColumn(written(type, [null]), 'a'), undefined)
})

test('a file in which a byte is changed, or that is cut, is refused or read as it was written', () => {
  const columns = [
    { name: 'i', type: INTEGER },
    { name: 'x', type: DOUBLE },
    { name: 't', type: TEXT },
  ]
  const rows = [
    [1n, 0.5, 'a'],
    [null, Number.POSITIVE_INFINITY, null],
    [70_000n, 3, 'b'],
  ]
  const file = writeSegment('tag', columns, rows)
  const readAll = (bytes: Buffer) => columns.map(({ name }) => readColumn(bytes, name))
  const whole = readAll(file)
  const check = (bytes: Buffer): void => {
    let read: unknown
    try {
      read = readAll(bytes)
    } catch {
      return
    }
    assert.deepEqual(read, whole)
  }
  let refused = 0
  for (let at = 0; at < file.length; at++) {
    for (const bit of [1, 0x80, 0xff]) {
      const changed = Buffer.from(file)
      changed[at] = (changed[at] ?? 0) ^ bit
      check(changed)
    }
    try {
      readAll(file.subarray(0, at))
    } catch {
      refused++
    }
  }
  assert.ok(refused > 0.9 * file.length)
  assert.throws(() => new Segment(readFrom(Buffer.alloc(0))))
})
