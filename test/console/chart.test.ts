/** What charts draw of a result: the columns, the order, exact values next to doubles, and bounds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseColumns, suitableKind } from '../../packages/console/src/chart/choose.ts'
import { buildPoints, type ChartSource, type Points } from '../../packages/console/src/chart/points.ts'
import { findZone } from '../../packages/console/src/chart/statement-zone.ts'
import { timeTicks } from '../../packages/console/src/chart/ticks.ts'
import { TimeAxis } from '../../packages/console/src/chart/time-axis.ts'
import { boundText, exactText, summarize, tagText } from '../../packages/console/src/chart/words.ts'
import { numberText } from '../../packages/console/src/ui/number.ts'

function buildSource(columns: Readonly<Record<string, string>>, rows: readonly (readonly unknown[])[]): ChartSource {
  return {
    columns: Object.entries(columns).map(([name, type]) => ({ name, type })),
    size: rows.length,
    row: (index) => rows[index] ?? [],
  }
}

function drawn(source: ChartSource, view: Parameters<typeof buildPoints>[1]): Points {
  const points = buildPoints(source, view)
  assert.ok(typeof points !== 'string', String(points))
  return points
}

const TRADES = { at: 'Timestamp', symbol: 'Text', price: 'Decimal(18, 4)', quantity: 'Integer' }

test('absent members are chosen from the result', () => {
  const { columns } = buildSource(TRADES, [])
  assert.deepEqual(chooseColumns(columns, {}), {
    kind: 'line',
    x: 0,
    y: [2],
    series: undefined,
    volume: 3,
  })
  assert.deepEqual(chooseColumns(columns, { view: 'bar', x: 'SYMBOL', y: ['price'] }), {
    kind: 'bar',
    x: 1,
    y: [2],
    series: undefined,
    volume: undefined,
  })
  const candles = buildSource({ close: 'Double', open: 'Double', t: 'Date', low: 'Double', high: 'Double' }, [])
  assert.deepEqual(chooseColumns(candles.columns, { view: 'candles' }), {
    kind: 'candles',
    x: 2,
    y: [1, 4, 3, 0],
    series: undefined,
    volume: undefined,
  })
})

test('open, high, low and close over a time are candles, and their volume has a pane of its own', () => {
  const bars = { t: 'Timestamp', open: 'Double', high: 'Double', low: 'Double', close: 'Double', Volume: 'Integer' }
  const source = buildSource(bars, [['2026-11-16T10:00:00Z', 1, 3, 1, 2, 500]])
  assert.equal(suitableKind(source.columns), 'candles')
  assert.equal(suitableKind(buildSource(TRADES, []).columns), 'line')
  assert.equal(suitableKind(buildSource({ sector: 'Text', sum: 'Decimal(38, 4)' }, []).columns), 'bar')
  const { series } = drawn(source, { view: 'candles' })
  assert.deepEqual(
    series.map(({ name, role }) => `${name} ${role}`),
    ['open value', 'high value', 'low value', 'close value', 'Volume volume'],
  )
})

test('moving averages begin when there are enough points', () => {
  const rows = [1, 2, 3, 4.5].map((price, at) => [new Date(at * 1000).toISOString(), price])
  const { series } = drawn(buildSource({ at: 'Timestamp', price: 'Double' }, rows), { averages: [3] })
  assert.deepEqual(series[1]?.drawn, [undefined, undefined, 2, 9.5 / 3])
  assert.deepEqual([series[1]?.name, series[1]?.exact[3]], ['MA 3', '3.17'])
})

const HOUR = 3_600_000
const DAY = 24 * HOUR

test('nights and weekends take hardly any room, and lines end there', () => {
  const day = (start: number) => Array.from({ length: 78 }, (_, at) => start + at * 300_000)
  const times = [...day(0), ...day(DAY), ...day(4 * DAY)]
  const axis = new TimeAxis(times, true)
  assert.deepEqual(
    [axis.breaks, axis.gaps],
    [
      [78, 156],
      [78, 156],
    ],
  )
  const positions = times.map((time) => axis.at(time))
  assert.ok((positions[78] ?? 0) - (positions[77] ?? 0) < HOUR)
  assert.deepEqual(
    positions.map((position) => axis.timeAt(position)),
    times,
  )
  assert.deepEqual(new TimeAxis(times, false).breaks, [])
  const days = Array.from({ length: 20 }, (_, at) => (Math.floor(at / 5) * 7 + (at % 5)) * DAY)
  assert.deepEqual([new TimeAxis(days, true).breaks, new TimeAxis(days, true).gaps], [[5, 10, 15], []])
  const random = [0, 1, 3, 4, 9, 11, 12, 20, 21, 22].map((minute) => minute * 600_000)
  assert.deepEqual(new TimeAxis(random, true).gaps, [], 'points at random times have no gaps')
})

test('ticks of time are round in the zone of the axis', () => {
  const start = Date.UTC(2026, 10, 16, 14, 30)
  const axis = new TimeAxis([start, start + 6 * HOUR], true)
  const labels = (zone: string) => timeTicks(axis, start, start + 6 * HOUR, 8, zone).map(({ label }) => label)
  assert.deepEqual(labels('UTC').slice(0, 3), ['Nov 16 15:00', '16:00', '17:00'])
  assert.deepEqual(labels('Asia/Tokyo').slice(0, 2), ['Nov 17 00:00', '01:00'])
  assert.equal(labels('Asia/Kolkata')[0], 'Nov 16 21:00')
})

/** Half hours of trading days in New York, from 9:30 to 16:00. */
function halfHours(weeks: number): number[] {
  const monday = Date.UTC(2026, 9, 5, 13, 30)
  return Array.from({ length: weeks * 65 }, (_, at) => {
    const day = Math.floor(at / 13)
    return monday + (Math.floor(day / 5) * 7 + (day % 5)) * DAY + (at % 13) * (HOUR / 2)
  })
}

test('half hours of weeks are labelled by days, those of years by months, at every width', () => {
  const drawLabels = (weeks: number, most: number) => {
    const times = halfHours(weeks)
    const axis = new TimeAxis(times, true)
    const [from, to] = [axis.at(times[0] ?? 0), axis.at(times.at(-1) ?? 0)]
    const ticks = timeTicks(axis, from, to, most, 'America/New_York')
    const apart = (to - from) / most
    for (const [index, { at }] of ticks.entries())
      assert.ok(index === 0 || at - (ticks[index - 1]?.at ?? 0) >= apart * 0.69, 'labels do not overlap')
    return ticks.map(({ label }) => label)
  }
  for (const most of [2, 3, 6, 12, 20]) {
    const days = drawLabels(6, most)
    assert.ok(days.length >= Math.max(2, most / 2), `${most}: ${days}`)
    assert.ok(
      days.every((label) => /^(Oct|Nov) \d+$/.test(label)),
      `${most}: ${days}`,
    )
    assert.ok(drawLabels(150, most).length >= 2, `${most}: ${drawLabels(150, most)}`)
  }
  assert.ok(drawLabels(6, 8).includes('Nov 2'), 'where a month begins')
  assert.ok(drawLabels(150, 12).includes('2027'))
  assert.match(drawLabels(150, 12).join(), /Jul|Oct/)
  assert.match(drawLabels(1, 20).join(), /\d\d:\d\d.*Oct \d.*\d\d:\d\d/)
})

test('the zone of a statement is that of its functions', () => {
  const bars = (zone: string) => `select time_bucket('30 minutes', executed_at, ${zone}) as t, max(price) from trades`
  assert.equal(findZone(bars("'America/New_York'")), 'America/New_York')
  assert.equal(findZone(bars(':zone'), { zone: 'Asia/Tokyo' }), 'Asia/Tokyo')
  assert.equal(findZone("select x at time zone 'Europe/London' from t"), 'Europe/London')
  for (const text of ['select 1', bars("'No/Where'"), `${bars("'UTC'")} where y at time zone 'Asia/Tokyo' = z`])
    assert.equal(findZone(text), undefined, text)
})

test('numbers have separators and the decimals of their column, and lose no digit', () => {
  assert.equal(numberText('1234567.5000', { decimals: 2 }), '1,234,567.50')
  assert.equal(numberText('0.1000000000000000000000000001', { decimals: 2 }), '0.1000000000000000000000000001')
  assert.equal(numberText(9007199254740993n), '9,007,199,254,740,993')
  assert.deepEqual(
    ['12.5', '-12.5', '0.00'].map((value) => numberText(value, { signed: true, decimals: 2 })),
    ['+12.50', '−12.50', '0.00'],
  )
  assert.deepEqual(
    ['NaN', 1e21, '2026'].map((value) => numberText(value, { grouped: false })),
    ['NaN', '1e+21', '2026'],
  )
})

test('what cannot be drawn is said', () => {
  const { columns } = buildSource(TRADES, [])
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
  const { x, series, exactX } = drawn(buildSource(TRADES, rows), { y: ['price', 'quantity'] })
  assert.deepEqual(x, [Date.UTC(2026, 10, 16, 10, 0, 1), Date.UTC(2026, 10, 16, 10, 0, 2)])
  assert.deepEqual(exactX, ['2026-11-16T10:00:01Z', '2026-11-16T10:00:02Z'])
  assert.deepEqual(series[0]?.drawn, [null, 0.1])
  assert.equal(exactText(series[0]?.exact[1]), '0.1000000000000000000000000001')
  assert.equal(exactText(series[1]?.exact[1]), 9007199254740993n.toLocaleString())
})

test('tags at the axis have seven digits, and at least two decimals', () => {
  const rows = [
    ['2026-11-16T10:00:01Z', '101.5321308724832215', '0.00001234567890', '123456789.1234', '-3.5000', '0.0000'],
  ]
  const columns = {
    ...{ at: 'Timestamp', a: 'Decimal(38, 16)', b: 'Decimal(18, 14)', c: 'Decimal(18, 4)' },
    ...{ d: 'Decimal(18, 4)', e: 'Decimal(18, 4)' },
  }
  const { series } = drawn(buildSource(columns, rows), { x: 'at', y: ['a', 'b', 'c', 'd', 'e'] })
  const shown = series.map((one) => tagText(one, undefined).replaceAll(',', ''))
  assert.deepEqual(shown, ['101.5321', '0.00001234568', '123456789.12', '-3.50', '0'])
})

test('a series for each value of a column; equal x are one place, and no point is lost', () => {
  const rows = [
    [1, 'A', 10],
    [1, 'B', 20],
    [1, 'A', 11],
    [2, 'B', 21],
  ]
  const { x, series } = drawn(buildSource({ x: 'Integer', s: 'Text', y: 'Integer' }, rows), { x: 'x', series: 's' })
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
  const { exactX, series } = drawn(buildSource({ x: 'Text', s: 'Text', y: 'Integer' }, rows), view)
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
    const points = drawn(buildSource(columns, rows), {})
    assert.equal(points.x.length, 20_000)
    assert.deepEqual([points.series[0]?.exact[0], points.series[0]?.exact.at(-1)], [1, 20_000])
    assert.match(boundText(points) ?? '', /^The (last|first) 20.000 of 20.001 rows$/)
  }
  assert.match(
    summarize(drawn(buildSource(columns, rising.slice(0, 3)), {}), 'Load'),
    /^Line chart of Load: 3 points, .* value 2\.$/,
  )
})
