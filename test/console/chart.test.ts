/** What charts draw of a result: the columns, the order, exact values next to doubles, and bounds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseColumns } from '../../packages/console/src/chart/choose.ts'
import { type ChartSource, type Points, pointsOf } from '../../packages/console/src/chart/points.ts'
import { boundText, exactText, summaryOf } from '../../packages/console/src/chart/words.ts'

function sourceOf(columns: Readonly<Record<string, string>>, rows: readonly (readonly unknown[])[]): ChartSource {
  return {
    columns: Object.entries(columns).map(([name, type]) => ({ name, type })),
    size: rows.length,
    row: (index) => rows[index] ?? [],
  }
}

function drawn(source: ChartSource, view: Parameters<typeof pointsOf>[1]): Points {
  const points = pointsOf(source, view)
  assert.ok(typeof points !== 'string', String(points))
  return points
}

const TRADES = { at: 'Timestamp', symbol: 'Text', price: 'Decimal(18, 4)', quantity: 'Integer' }

test('absent members are chosen from the result', () => {
  const { columns } = sourceOf(TRADES, [])
  assert.deepEqual(chooseColumns(columns, {}), { kind: 'line', x: 0, y: [2, 3], series: undefined })
  assert.deepEqual(chooseColumns(columns, { view: 'bar', x: 'SYMBOL', y: ['price'] }), {
    kind: 'bar',
    x: 1,
    y: [2],
    series: undefined,
  })
  const candles = sourceOf({ close: 'Double', open: 'Double', t: 'Date', low: 'Double', high: 'Double' }, [])
  assert.deepEqual(chooseColumns(candles.columns, { view: 'candles' }), {
    kind: 'candles',
    x: 2,
    y: [1, 4, 3, 0],
    series: undefined,
  })
})

test('what cannot be drawn is said', () => {
  const { columns } = sourceOf(TRADES, [])
  assert.equal(chooseColumns(columns, { y: ['pric'] }), 'The result has no column “pric”.')
  assert.match(String(chooseColumns(columns, { y: ['symbol'] })), /“symbol” is Text/)
  assert.match(String(chooseColumns(columns, { view: 'line', x: 'symbol' })), /choose bars/)
  assert.match(String(chooseColumns(columns, { view: 'candles' })), /four columns/)
})

test('lines are drawn in the order of x; values stay exact, NULL is a gap', () => {
  const rows = [
    ['2026-11-16T10:00:02Z', 'A', '0.1000000000000000000000000001', 9007199254740993n],
    ['2026-11-16T10:00:01Z', 'A', null, 2],
  ]
  const { x, series, exactX } = drawn(sourceOf(TRADES, rows), { y: ['price', 'quantity'] })
  assert.deepEqual(x, [Date.UTC(2026, 10, 16, 10, 0, 1), Date.UTC(2026, 10, 16, 10, 0, 2)])
  assert.deepEqual(exactX, ['2026-11-16T10:00:01Z', '2026-11-16T10:00:02Z'])
  assert.deepEqual(series[0]?.drawn, [null, 0.1])
  assert.equal(exactText(series[0]?.exact[1]), '0.1000000000000000000000000001')
  assert.equal(exactText(series[1]?.exact[1]), 9007199254740993n.toLocaleString())
})

test('a series for each value of a column; equal x are one place, and no point is lost', () => {
  const rows = [
    [1, 'A', 10],
    [1, 'B', 20],
    [1, 'A', 11],
    [2, 'B', 21],
  ]
  const { x, series } = drawn(sourceOf({ x: 'Integer', s: 'Text', y: 'Integer' }, rows), { x: 'x', series: 's' })
  assert.deepEqual(x, [1, 1, 2])
  assert.deepEqual(
    series.map(({ name, drawn: values }) => [name, [...values]]),
    [
      ['A', [10, 11, undefined]],
      ['B', [20, undefined, 21]],
    ],
  )
})

test('bars are in the order of the rows, with those of a series next to each other', () => {
  const rows = [
    ['b', 'one', 1],
    ['a', 'one', 2],
    ['b', 'two', 3],
  ]
  const view = { view: 'bar', x: 'x', series: 's' } as const
  const { exactX, series } = drawn(sourceOf({ x: 'Text', s: 'Text', y: 'Integer' }, rows), view)
  assert.deepEqual(exactX, ['b', 'a'])
  assert.deepEqual(
    series.map(({ drawn: values }) => [...values]),
    [
      [1, 2],
      [3, undefined],
    ],
  )
})

test('of many rows the newest are drawn, and the chart says so', () => {
  const rising = Array.from({ length: 20_001 }, (_, at) => [new Date(at * 1000).toISOString(), at])
  const columns = { at: 'Timestamp', value: 'Integer' }
  for (const rows of [rising, rising.toReversed()]) {
    const points = drawn(sourceOf(columns, rows), {})
    assert.equal(points.x.length, 20_000)
    assert.deepEqual([points.series[0]?.exact[0], points.series[0]?.exact.at(-1)], [1, 20_000])
    assert.match(boundText(points) ?? '', /^Shows the (last|first) 20.000 of 20.001 rows$/)
  }
  assert.match(
    summaryOf(drawn(sourceOf(columns, rising.slice(0, 3)), {}), 'Load'),
    /^Line chart of Load: 3 points, .* value 2\.$/,
  )
})
