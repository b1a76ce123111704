/** The figures of Operations: the text of /metrics, increases, quantiles, the bounded history, what needs attention. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CHARTS, History, LONGEST_HISTORY } from '../../packages/console/src/areas/operations/figures.ts'
import {
  increaseOf,
  nodeOf,
  parseMetrics,
  quantileOf,
  sumOf,
} from '../../packages/console/src/areas/operations/metrics.ts'
import { problemsOf } from '../../packages/console/src/areas/operations/problems.ts'
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
  assert.equal(sumOf(scrape, 'a_total'), 7)
  assert.equal(
    sumOf(scrape, 'a_total', ({ route }) => route === '/c'),
    4,
  )
  assert.equal(sumOf(scrape, 'b'), Number.POSITIVE_INFINITY)
  assert.equal(sumOf(scrape, 'c'), 1500)
  assert.equal(sumOf(scrape, 'd'), undefined)
})

test('a counter that was reset and a new counter count from zero', () => {
  const before = parseMetrics('a{x="1"} 10\na{x="2"} 100')
  const after = parseMetrics('a{x="1"} 15\na{x="2"} 3\na{x="3"} 2')
  assert.equal(increaseOf(before, after, 'a'), 5 + 3 + 2)
})

test('quantiles are those between two scrapes, interpolated inside the bucket', () => {
  const buckets = (small: number, middle: number, all: number) =>
    parseMetrics(`h_bucket{le="0.1"} ${small}\nh_bucket{le="0.5"} ${middle}\nh_bucket{le="+Inf"} ${all}`)
  const before = buckets(1000, 1000, 1000)
  assert.equal(quantileOf(0.5, before, buckets(1010, 1010, 1010), 'h'), 0.05)
  assert.ok(Math.abs((quantileOf(0.75, before, buckets(1005, 1010, 1010), 'h') ?? 0) - 0.3) < 1e-9)
  assert.equal(quantileOf(0.99, before, buckets(1000, 1000, 1010), 'h'), 0.5)
  assert.equal(quantileOf(0.5, before, before, 'h'), undefined)
})

test('the text of the server itself gives figures for its charts', () => {
  const metrics = new Metrics()
  metrics.watch('gatehouse_build_info', () => [[{ version: '1', node: '24', name: 'node-a' }, 1]])
  metrics.watch('nodejs_eventloop_lag_seconds', () => [[{ statistic: 'p99' }, 0.02]])
  const history = new History()
  history.add(1000, parseMetrics(metrics.render()), 5000)
  assert.equal(history.points.length, 0)
  for (let request = 0; request < 30; request++) {
    metrics.count('gatehouse_http_requests_total', { method: 'GET', route: '/a', status: request < 3 ? '500' : '200' })
    metrics.observe('gatehouse_http_request_seconds', { route: '/a' }, 0.02)
    metrics.observe('gatehouse_http_request_seconds', { route: '/admin/audit' }, 20)
  }
  const scrape = parseMetrics(metrics.render())
  assert.equal(nodeOf(scrape), 'node-a')
  history.add(4000, scrape, 5000)
  const figureOf = (title: string, line: string) => {
    const chart = CHARTS.findIndex((one) => one.title === title)
    return history.points.at(-1)?.figures[chart]?.[CHARTS[chart]?.lines.findIndex(({ name }) => name === line) ?? -1]
  }
  assert.equal(figureOf('Requests', 'HTTP'), 10)
  assert.equal(figureOf('Errors', 'HTTP 5xx'), 1)
  assert.equal(figureOf('Event-loop lag', 'p99'), 20)
  assert.ok((figureOf('HTTP latency', 'p99') ?? Number.NaN) < 100, 'without the requests that wait on purpose')
  assert.equal(figureOf('Statement latency', 'p50'), undefined)
})

test('the history is bounded, and a pause is a gap', () => {
  const history = new History()
  for (let at = 1; at <= 2 * LONGEST_HISTORY; at++) history.add(at * 1000, new Map(), 5000)
  assert.equal(history.points.length, LONGEST_HISTORY)
  history.add(3_000_000, new Map(), 5000)
  assert.deepEqual(history.points.at(-2)?.figures.flat(), [])
})

test('what needs attention is said in a sentence each', () => {
  const node = { node: 'b', ready: false, checks: { database: 'is away', bus: 'ok' }, bus_lag_ms: 0 }
  const nodes = { items: [{ ...node, event_loop_lag_ms: { mean: 1, p99: 250, max: 300 } }], silent: ['a'] } as never
  const scrape = parseMetrics(
    'gatehouse_disk_free_bytes 5\ngatehouse_disk_size_bytes 100\ngatehouse_audit_lost_total 0',
  )
  assert.deepEqual(problemsOf(nodes, scrape), [
    'a does not reply.',
    'b is not ready (database: is away).',
    'The event loop of b is 250 ms late: it needs more CPU.',
    'The disk is almost full: 5 % are free. Writes fail when it is full.',
  ])
})
