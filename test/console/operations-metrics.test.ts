/** The figures of Operations: the text of /metrics, quantiles, the bounded history of a node, what needs attention. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { axisLabels, figureText } from '../../packages/console/src/areas/operations/figure-text.ts'
import { addSamples, CHARTS, LONGEST_HISTORY } from '../../packages/console/src/areas/operations/figures.ts'
import { parseMetrics, sumSeries } from '../../packages/console/src/areas/operations/metrics.ts'
import { findProblems } from '../../packages/console/src/areas/operations/problems.ts'
import { Figures, MOST_SAMPLES, quantileBetween } from '../../packages/server/src/telemetry/figure-history.ts'
import { Metrics } from '../../packages/server/src/telemetry/metrics.ts'

test('values and labels are read, with escapes, infinities and times; other lines are left out', () => {
  const scrape = parseMetrics(
    [
      '# HELP a_total What it is.',
      '# TYPE a_total counter',
      'a_total{route="/a/{b}",text="one \\"two\\" \\\\ \\n"} 3',
      'a_total{route="/c"} 4 1700000000000',
      'b +Inf',
      'c 1.5e3',
      'not a line',
      '{} 1',
    ].join('\r\n'),
  )
  assert.deepEqual([...scrape.keys()], ['a_total', 'b', 'c'])
  assert.deepEqual({ ...scrape.get('a_total')?.[0]?.labels }, { route: '/a/{b}', text: 'one "two" \\ \n' })
  assert.equal(sumSeries(scrape, 'a_total'), 7)
  assert.equal(
    sumSeries(scrape, 'a_total', ({ route }) => route === '/c'),
    4,
  )
  assert.equal(sumSeries(scrape, 'b'), Number.POSITIVE_INFINITY)
  assert.equal(sumSeries(scrape, 'c'), 1500)
  assert.equal(sumSeries(scrape, 'd'), undefined)
})

test('quantiles are those between two samples, interpolated inside the bucket', () => {
  const buckets = (...counts: readonly number[]) => ({
    bounds: [0.1, 0.5],
    counts,
    total: counts.reduce((sum, count) => sum + count, 0),
    largest: 60,
  })
  const before = buckets(1000, 0, 0)
  assert.equal(quantileBetween(0.5, before, buckets(1010, 0, 0)), 50)
  assert.ok(Math.abs((quantileBetween(0.75, before, buckets(1005, 5, 0)) ?? 0) - 300) < 1e-9)
  assert.equal(quantileBetween(0.99, before, buckets(1000, 0, 10)), 500)
  assert.equal(quantileBetween(0.5, before, before), undefined)
  const ended = { ...buckets(1000, 10, 0), largest: 0.3 }
  assert.equal(quantileBetween(0.99, before, ended), 300, 'no quantile is larger than what was observed')
})

test('latencies past the last bucket are said to be more, in the unit that suits them', () => {
  const metrics = new Metrics()
  const figures = new Figures({ metrics, loopDelay: () => ({ mean: 1, p99: 20, max: 30 }) })
  figures.sample(1000)
  metrics.observe('gatehouse_http_request_seconds', { route: '/a' }, 28)
  metrics.observe('gatehouse_query_seconds', { engine: 'sqlite' }, 28)
  figures.sample(6000)
  const point = addSamples([], { node: 'a', ...figures.since(0) }).at(-1)
  const shown = (title: string) => {
    const chart = CHARTS.findIndex((one) => one.title === title)
    return figureText(point?.figures[chart]?.[2], 'ms', point?.edges?.[chart]?.[2])
  }
  assert.equal(shown('HTTP latency'), '> 10 s')
  assert.equal(shown('Statement latency'), '28 s', 'the limit is 30 s: not 29.8, where the bucket ends at 30')
  assert.deepEqual(
    [undefined, 0, 0.42, 3.14, 250, 999, 1250, 12_400].map((value) => figureText(value, 'ms', 10_000)),
    ['–', '0 ms', '0.42 ms', '3.1 ms', '250 ms', '999 ms', '1.3 s', '> 10 s'],
  )
  assert.deepEqual(axisLabels([0, 5000, 10_000], 'ms'), ['0 s', '5 s', '10 s'])
  assert.deepEqual(axisLabels([0, 200, 400], 'ms'), ['0 ms', '200 ms', '400 ms'])
})

test('a node keeps the figures of its last hour, which the charts of the console show', () => {
  const metrics = new Metrics()
  const figures = new Figures({ metrics, loopDelay: () => ({ mean: 1, p99: 20, max: 30 }) })
  figures.sample(1000)
  for (let request = 0; request < 30; request++) {
    metrics.count('gatehouse_http_requests_total', { method: 'GET', route: '/a', status: request < 3 ? '500' : '200' })
    metrics.observe('gatehouse_http_request_seconds', { route: '/a' }, 0.02)
    metrics.observe('gatehouse_http_request_seconds', { route: '/admin/audit' }, 20)
  }
  figures.sample(4000)
  const points = addSamples([], { node: 'a', ...figures.since(0) })
  const readFigure = (title: string, line: string) => {
    const chart = CHARTS.findIndex((one) => one.title === title)
    return points.at(-1)?.figures[chart]?.[CHARTS[chart]?.lines.findIndex(({ name }) => name === line) ?? -1]
  }
  assert.equal(readFigure('Requests', 'HTTP'), 10)
  assert.equal(readFigure('Errors', 'HTTP 5xx'), 1)
  assert.equal(readFigure('Event-loop lag', 'p99'), 20)
  assert.ok((readFigure('HTTP latency', 'p99') ?? Number.NaN) < 100, 'without the requests that wait on purpose')
  assert.equal(readFigure('Statement latency', 'p50'), undefined)
  // Every line of every chart is a figure that nodes keep.
  const known = new Set(figures.since(0).figures)
  for (const { lines } of CHARTS) for (const { figure } of lines) assert.ok(known.has(figure), figure)
})

test('the history is bounded on both sides, and a pause is a gap', () => {
  const figures = new Figures({ metrics: new Metrics(), loopDelay: () => ({ mean: 0, p99: 0, max: 0 }) })
  for (let at = 1; at <= 2 * MOST_SAMPLES; at++) figures.sample(at * 1000)
  const all = figures.since(0)
  assert.equal(all.samples.length, MOST_SAMPLES)
  assert.equal(figures.since(2 * MOST_SAMPLES * 1000 - 1500).samples.length, 2)
  const points = addSamples(addSamples([], { node: 'a', ...all }), { node: 'a', ...all })
  assert.equal(points.length, LONGEST_HISTORY)
  const later = addSamples(points, { node: 'a', figures: all.figures, samples: [[3_000_000]] })
  assert.deepEqual(later.at(-2)?.figures.flat(), [])
  assert.equal(later.length, LONGEST_HISTORY)
})

test('what needs attention is said in a sentence each', () => {
  const node = { node: 'b', ready: false, checks: { database: 'is away', bus: 'ok' }, bus_lag_ms: 0 }
  const nodes = { items: [{ ...node, event_loop_lag_ms: { mean: 1, p99: 250, max: 300 } }], silent: ['a'] } as never
  const scrape = parseMetrics(
    'gatehouse_disk_free_bytes 5\ngatehouse_disk_size_bytes 100\ngatehouse_audit_lost_total 0',
  )
  assert.deepEqual(findProblems(nodes, scrape), [
    'a does not reply.',
    'b is not ready (database: is away).',
    'The event loop of b is 250 ms late: it needs more CPU.',
    'The disk is almost full: 5 % is free. Writes fail when it is full.',
  ])
})
