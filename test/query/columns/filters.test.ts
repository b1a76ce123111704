/** Conditions on the columns of a segment: every operator with values at, between and beyond those of the column. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DOUBLE, INTEGER } from 'gatehouse-iql'
import { Filter } from '../../../packages/server/src/query/columns/filters.ts'
import type { ColumnFilter } from '../../../packages/server/src/query/columns/plan.ts'
import { type RawValue, Segment, writeSegment } from '../../../packages/server/src/query/columns/segment.ts'
import { Buffers, SegmentColumns } from '../../../packages/server/src/query/columns/segment-columns.ts'

type Compare = Extract<ColumnFilter, { kind: 'compare' }>
type Operator = Compare['operator']
const COMPARISONS: readonly Operator[] = ['=', '<>', '<', '<=', '>', '>=', 'is distinct from', 'is not distinct from']
const LISTS: readonly Operator[] = ['in', 'not in']

type Ordered = bigint | number

/** What SQL says; null is unknown. */
function expected(value: Ordered | null, operator: Operator, values: readonly (Ordered | null)[]): boolean | null {
  const [first = null] = values
  switch (operator) {
    case 'is distinct from':
      return value !== first
    case 'is not distinct from':
      return value === first
    case 'in':
      return value === null ? null : values.includes(value)
    case 'not in':
      return value === null || values.includes(null) ? null : !values.includes(value)
  }
  if (value === null || first === null) return null
  const order = value < first ? -1 : value > first ? 1 : 0
  const accepted = { '=': [0], '<>': [-1, 1], '<': [-1], '<=': [-1, 0], '>': [1], '>=': [0, 1] }[operator]
  return accepted.includes(order)
}

/** As the column is, and as if its rows were sorted by it. */
function check(
  column: readonly (Ordered | null)[],
  operator: Operator,
  values: readonly (Ordered | null)[],
  shift = 0,
): void {
  checkColumn(column, operator, values, shift)
  const sorted = column.filter((value) => value !== null).sort((one, other) => (one < other ? -1 : one > other ? 1 : 0))
  checkColumn(sorted, operator, values, shift)
}

function checkColumn(
  column: readonly (Ordered | null)[],
  operator: Operator,
  values: readonly (Ordered | null)[],
  shift: number,
): void {
  const type = [...column, ...values].some((value) => typeof value === 'number') ? DOUBLE : INTEGER
  const file = writeSegment(
    'tag',
    [{ name: 'a', type }],
    column.map((value) => [value]),
  )
  const segment = new Segment((offset, bytes) => file.subarray(offset, offset + bytes))
  const stored = segment.find('a')
  // Some of the integers are too far apart.
  if (stored === undefined) return
  const filter = new Filter(
    { kind: 'compare', column: 0, operator, values: values.map((_value, index) => index), shift },
    (index): RawValue => values[index] ?? null,
  )
  assert.ok(filter.canFilter(stored))
  const power = 10n ** BigInt(shift)
  const scaled = column.map((value) => (typeof value === 'bigint' ? value * power : value))
  const fits = scaled.map((value) => (expected(value, operator, values) === true ? 1 : 0))
  const columns = new SegmentColumns(segment, ['a'], new Buffers())
  const mask = new Uint8Array(column.length).fill(1)
  filter.apply(columns.decode(0), column.length, mask)
  assert.deepEqual([...mask], fits, `${operator} ${values.join()}`)
  const range = filter.rangeIn(stored)
  if (range !== undefined && filter.decide(stored, column.length) === undefined) {
    columns.narrow(0, range)
    assert.equal(columns.count, fits.filter(Boolean).length, `${operator} ${values.join()}`)
    const { least, unit, scale } = stored.kind === 'numbers' ? stored : { least: 0, unit: 1, scale: 0 }
    const decoded = columns.decode(0)
    const left = decoded.kind === 'numbers' ? [...decoded.values.subarray(0, columns.count)] : []
    assert.deepEqual(
      left.map((distance) => (least + distance * unit) / 10 ** scale),
      column.filter((_value, index) => fits[index] === 1).map(Number),
    )
  }
  const decided = filter.decide(stored, column.length)
  if (decided !== undefined)
    assert.ok(
      fits.every((fit) => fit === (decided ? 1 : 0)),
      `all are ${decided}`,
    )
}

const orNull = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(values, { nil: null, freq: 6 })
const operators = fc.constantFrom(...COMPARISONS)

/** A column, and values that are those of the column, or next to them. */
function cases<T extends Ordered>(values: fc.Arbitrary<T>, near: (value: T) => T[]) {
  return fc.array(orNull(values), { minLength: 1, maxLength: 12 }).chain((column) => {
    const known = column.filter((value) => value !== null)
    const others = [...known.flatMap(near), null]
    return fc.record({
      column: fc.constant(column),
      given: fc.oneof(fc.constantFrom<T | null>(...others), orNull(values)),
      list: fc.array(fc.oneof(fc.constantFrom<T | null>(...others), values), { minLength: 1, maxLength: 5 }),
    })
  })
}

const integers = fc.oneof(
  fc.bigInt({ min: -5n, max: 300n }),
  fc.bigInt({ min: 0n, max: 9n }).map((n) => n * 1_000_000n),
  fc.bigInt({ min: 0n, max: 2n ** 53n - 10n }),
  fc.bigInt({ min: 2n ** 53n - 2n, max: 2n ** 53n }),
)
const doubles = fc.oneof(
  fc.integer({ min: -50, max: 50 }).map((n) => n / 4 + 0),
  fc.constantFrom(0.1, 0.2, 0.3, 0.30000000000000004),
)
const wildDoubles = fc.oneof(
  doubles,
  fc.constantFrom(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 5e-324, 1.7976931348623157e308, 0),
)
const nearDouble = (x: number): number[] => [x, x + 0.01, x - 0.01, x * (1 + 2 ** -52) + 0, x * (1 - 2 ** -53) + 0]

test('Integers', () => {
  fc.assert(
    fc.property(
      cases(integers, (n) => [n, n - 1n, n + 1n, n + 500n]),
      operators,
      ({ column, given }, operator) => check(column, operator, [given]),
    ),
    { numRuns: 600 },
  )
})

test('Integers beside Decimals with more digits after the point', () => {
  const small = fc.bigInt({ min: -300n, max: 300n })
  fc.assert(
    fc.property(
      cases(small, (n) => [n * 100n, n * 100n - 1n, n * 100n + 1n, n * 100n + 10n ** 25n]),
      operators,
      ({ column, given }, operator) => check(column, operator, [given], 2),
    ),
    { numRuns: 300 },
  )
})

test('Doubles with short decimals, and others', () => {
  for (const values of [doubles, wildDoubles])
    fc.assert(
      fc.property(cases(values, nearDouble), operators, ({ column, given }, operator) => {
        const isOfDoubles = column.some((value) => value !== null)
        if (isOfDoubles) check(column, operator, [given])
      }),
      { numRuns: 600 },
    )
})

test('lists', () => {
  fc.assert(
    fc.property(
      cases(integers, (n) => [n, n + 1n]),
      fc.constantFrom(...LISTS),
      ({ column, list }, operator) => check(column, operator, list),
    ),
    { numRuns: 300 },
  )
  fc.assert(
    fc.property(cases(wildDoubles, nearDouble), fc.constantFrom(...LISTS), ({ column, list }, operator) => {
      if (column.some((value) => value !== null)) check(column, operator, list)
    }),
    { numRuns: 300 },
  )
})

test('a value that is not stored as those of the column is left to the statement', () => {
  const file = writeSegment('tag', [{ name: 'a', type: DOUBLE }], [[1], [2.5]])
  const stored = new Segment((offset, bytes) => file.subarray(offset, offset + bytes)).find('a')
  assert.ok(stored !== undefined)
  for (const value of ['NaN', new Uint8Array(16), 1n]) {
    const filter = new Filter({ kind: 'compare', column: 0, operator: '<', values: [0], shift: 0 }, () => value)
    assert.equal(filter.canFilter(stored), false)
  }
})
