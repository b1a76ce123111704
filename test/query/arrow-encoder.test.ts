/** The Arrow encoder: every value is read back exactly by the library, and a row takes no longer than in CSV. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Data, tableFromIPC } from 'apache-arrow'
import { decimal, type IqlType, type ResultColumn } from 'gatehouse-iql'
import type { Cell, RowEncoder } from '../../packages/server/src/query/model/result.ts'
import { createArrowEncoder } from '../../packages/server/src/query/results/arrow.ts'
import { createByteEncoder } from '../../packages/server/src/query/results/byte-encoder.ts'

function readColumns(types: Readonly<Record<string, IqlType>>): ResultColumn[] {
  return Object.entries(types).map(([name, type]) => ({ name, type, nullable: true }))
}

function encode(columns: readonly ResultColumn[], rows: readonly (readonly Cell[])[], batchRows: number): Uint8Array {
  const encoder = createArrowEncoder(columns)
  const parts: Uint8Array[] = []
  for (const [index, row] of rows.entries()) {
    encoder.add(row)
    if (index % batchRows === batchRows - 1) parts.push(encoder.take())
  }
  parts.push(encoder.take())
  return Buffer.concat(parts)
}

/** Values of each type in the forms that engines use, and what Arrow must hold of them. */
const MICROS_9999 = 253_402_300_799_999_999n
const CASES: readonly { type: IqlType; cells: readonly [Cell, unknown][] }[] = [
  {
    type: { kind: 'Integer' },
    cells: [
      [0, 0n],
      [-1, -1n],
      [Number.MIN_SAFE_INTEGER, BigInt(Number.MIN_SAFE_INTEGER)],
      ['-4294967297', -4_294_967_297n],
      ['9223372036854775807', 9_223_372_036_854_775_807n],
      [-9_223_372_036_854_775_808n, -9_223_372_036_854_775_808n],
    ],
  },
  {
    type: decimal(38, 4),
    cells: [
      ['0.0000', 0n],
      ['-0.0001', -1n],
      ['-0.0000', 0n],
      ['12345678.9012', 123_456_789_012n],
      ['-12345678901234567890.1234', -123_456_789_012_345_678_901_234n],
      ['9999999999999999999999999999999999.9999', 10n ** 38n - 1n],
      ['-9999999999999999999999999999999999.9999', 1n - 10n ** 38n],
    ],
  },
  {
    type: { kind: 'Timestamp' },
    cells: [
      ['1970-01-01T00:00:00Z', 0n],
      [-1n, -1n],
      [MICROS_9999, MICROS_9999],
      ['1969-12-31T23:59:59.999999Z', -1n],
      ['2024-02-29T12:34:56.5Z', 1_709_210_096_500_000n],
      ['2000-03-01T00:00:00.000001Z', 951_868_800_000_001n],
      ['0001-01-01T00:00:00Z', -62_135_596_800_000_000n],
      ['9999-12-31T23:59:59.999999Z', MICROS_9999],
    ],
  },
  {
    type: { kind: 'Date' },
    cells: [
      ['1970-01-01', 0],
      [-719_162n, -719_162],
      ['1900-02-28', -25_509],
      ['2000-02-29', 11_016],
      ['0001-01-01', -719_162],
      ['9999-12-31', 2_932_896],
    ],
  },
  {
    type: { kind: 'Time' },
    cells: [
      ['00:00:00', 0n],
      [86_399_999_999n, 86_399_999_999n],
      ['23:59:59.999999', 86_399_999_999n],
      ['01:02:03.4', 3_723_400_000n],
    ],
  },
  {
    type: { kind: 'Interval', months: false },
    cells: [
      ['00:00:00', 0n],
      ['-1 days -01:00:00.000001', -90_000_000_001n],
      ['3660000 days', 316_224_000_000_000_000n],
    ],
  },
  {
    type: { kind: 'Double' },
    cells: [
      [0.1, 0.1],
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
      ['plain', 'plain'],
      ['naïve 日本 🚪', 'naïve 日本 🚪'],
      ['x'.repeat(50_000), 'x'.repeat(50_000)],
      ['é'.repeat(50), 'é'.repeat(50)],
    ],
  },
]

test('every value is read back exactly, with NULLs between, over batches of every size', () => {
  for (const { type, cells } of CASES) {
    const columns = readColumns({ v: type })
    for (const batchRows of [1, 7, 5000]) {
      // Enough rows that the buffers grow.
      const repeated = Array.from(
        { length: batchRows < 100 || type.kind === 'Text' ? 20 : 3000 },
        (_, index) => cells[index % cells.length],
      )
      const rows = repeated.flatMap((entry) => (entry === undefined ? [] : [[entry[0]], [null]]))
      const table = tableFromIPC(encode(columns, rows, batchRows))
      const read = table.batches.flatMap(({ data }) => {
        const [column] = data.children
        if (column === undefined) return []
        return Array.from({ length: column.length }, (_, index) =>
          column.getValid(index) ? valueAt(type, column, index) : null,
        )
      })
      const expected = repeated.flatMap((entry) => (entry === undefined ? [] : [entry[1], null]))
      assert.deepEqual(read, expected, `${type.kind}, batches of ${batchRows}`)
      if (type.kind === 'Text') assert.deepEqual([...(table.getChild('v') ?? [])], expected)
    }
  }
})

test('an interval with months is months, days and nanoseconds', () => {
  const bytes = encode(
    readColumns({ i: { kind: 'Interval', months: true } }),
    [['-1 mons 35 days 21:59:59.5'], [null]],
    10,
  )
  const values = Buffer.from(bytes)
  const expected = Buffer.alloc(16)
  expected.writeInt32LE(-1, 0)
  expected.writeInt32LE(35, 4)
  expected.writeBigInt64LE(79_199_500_000_000n, 8)
  assert.ok(values.includes(expected))
})

test('a value that is no time is NULL, and bytes are kept', () => {
  const columns = readColumns({ t: { kind: 'Timestamp' }, b: { kind: 'Binary' } })
  const table = tableFromIPC(encode(columns, [['nonsense', Uint8Array.of(0, 255)]], 10))
  assert.equal(table.getChild('t')?.get(0), null)
  assert.deepEqual([...(table.getChild('b')?.get(0) ?? [])], [0, 255])
})

function valueAt(type: IqlType, { values, valueOffsets }: Data, index: number) {
  const at = (array: ArrayLike<unknown>, place = index): unknown => array[place]
  switch (type.kind) {
    case 'Decimal': {
      const words = Array.from({ length: 4 }, (_, word) => BigInt(Number(at(values, index * 4 + word)) >>> 0))
      const bits = words.reduce((sum, word, place) => sum | (word << BigInt(32 * place)), 0n)
      return BigInt.asIntN(128, bits)
    }
    case 'Boolean':
      return ((Number(at(values, index >> 3)) >> (index & 7)) & 1) === 1
    case 'Text':
      return Buffer.from(values).toString('utf8', valueOffsets[index], valueOffsets[index + 1])
    default:
      return at(values)
  }
}

const TRADES = readColumns({
  id: { kind: 'Integer' },
  symbol: { kind: 'Text' },
  quantity: { kind: 'Integer' },
  price: decimal(18, 4),
  venue: { kind: 'Text' },
  executed: { kind: 'Timestamp' },
})

test('a row takes no longer in Arrow than in CSV', () => {
  const rows = Array.from({ length: 2000 }, (_, n): Cell[] => [
    BigInt(n),
    ['ACME', 'BOLT', 'CORN'][n % 3] ?? null,
    BigInt(n * 7),
    `${100 + (n % 50)}.${1000 + n}`,
    n % 5 === 0 ? null : 'XNYS',
    1_760_000_000_000_000n + BigInt(n * 1_234_000),
  ])
  const took = (create: () => RowEncoder): number => {
    const encoder = create()
    const started = process.cpuUsage()
    for (let index = 0; index < 40_000; index++) {
      encoder.add(rows[index % rows.length] ?? [])
      if (encoder.pending >= 65_536) encoder.take()
    }
    encoder.take()
    return process.cpuUsage(started).user
  }
  const csv: number[] = []
  const arrow: number[] = []
  for (let round = 0; round < 6; round++) {
    csv.push(took(() => createByteEncoder({ format: 'csv', rows: 'objects', integers: 'numbers' }, TRADES)))
    arrow.push(took(() => createArrowEncoder(TRADES)))
  }
  const [best, other] = [Math.min(...arrow), Math.min(...csv)]
  // The best of six, with room for noise; the library's builders took more than ten times as long as CSV.
  assert.ok(best < other * 1.5, `Arrow ${best} µs, CSV ${other} µs`)
})
