/** What Prometheus reads. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { open, readFile, statfs } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { openAuditLog } from '../../packages/server/src/store/audit/audit.ts'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { METRICS } from '../../packages/server/src/telemetry/metric-table.ts'
import { Metrics } from '../../packages/server/src/telemetry/metrics.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

test('a counter, a histogram and a watched gauge are written in the text format', () => {
  const metrics = new Metrics()
  metrics.count('gatehouse_tokens_total', { grant: 'password', outcome: 'issued' })
  metrics.count('gatehouse_tokens_total', { grant: 'password', outcome: 'issued' }, 2)
  metrics.count('gatehouse_tokens_total', { grant: 'a"b\\c\nd', outcome: '' })
  metrics.observe('gatehouse_http_request_seconds', { route: '/x' }, 0.003)
  metrics.observe('gatehouse_http_request_seconds', { route: '/x' }, 99)
  metrics.watch('gatehouse_streaming_queue_bytes', () => [[{}, 7]])
  const lines = metrics.render().split('\n')
  for (const line of [
    '# TYPE gatehouse_tokens_total counter',
    'gatehouse_tokens_total{grant="password",outcome="issued"} 3',
    'gatehouse_tokens_total{grant="a\\"b\\\\c\\nd",outcome=""} 1',
    '# TYPE gatehouse_http_request_seconds histogram',
    'gatehouse_http_request_seconds_bucket{route="/x",le="0.0025"} 0',
    'gatehouse_http_request_seconds_bucket{route="/x",le="0.005"} 1',
    'gatehouse_http_request_seconds_bucket{route="/x",le="10"} 1',
    'gatehouse_http_request_seconds_bucket{route="/x",le="+Inf"} 2',
    'gatehouse_http_request_seconds_count{route="/x"} 2',
    'gatehouse_streaming_queue_bytes 7',
  ])
    assert.ok(lines.includes(line), line)
})

test('a label with unbounded values does not grow the registry without bound', () => {
  const metrics = new Metrics()
  for (let index = 0; index < 5000; index++) metrics.count('gatehouse_queries_total', { outcome: `made-up-${index}` })
  const lines = metrics.render().split('\n')
  assert.ok(lines.length < 1100)
  assert.ok(lines.includes('gatehouse_queries_total{outcome="other"} 4000'))
})

describe('the metrics port', () => {
  let server: TestServer
  let place: { place: TestPlace; leave(): Promise<void> }
  const backedUpAt = Date.now() - 3_600_000
  before(async () => {
    place = await openPlace('sqlite')
    await (await startTestServer(place.place)).stop()
    const database = await openDatabase({ dataFolder: place.place.dataFolder, url: '' })
    for (const at of [backedUpAt - 60_000, backedUpAt]) {
      const audit = openAuditLog(database, { clock: () => at, node: 'test', onError: assert.ifError })
      audit.record({ event: 'backup.taken' })
      await audit.close()
    }
    await database.close()
    server = await startTestServer(place.place, { flags: { '--metrics-port': '0' } })
  })
  after(async () => {
    await server.stop()
    await place.leave()
  })

  const read = async () => await (await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`)).text()

  test('every line is a comment or a sample of a documented metric', async () => {
    await fetch(`${server.issuer}/healthz`)
    const text = await read()
    for (const line of text.trimEnd().split('\n')) {
      if (line.startsWith('# ')) continue
      const name = /^([a-z_]+)(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+-]+$/.exec(line)?.[1]
      assert.ok(name, line)
      assert.ok(
        Object.keys(METRICS).some((known) => name.replace(/_(bucket|sum|count)$/, '') === known || name === known),
        line,
      )
    }
  })

  test('requests are counted by route, never by path', async () => {
    await fetch(`${server.issuer}/healthz?secret=1`)
    await fetch(`${server.issuer}/some/secret/path`)
    const text = await read()
    assert.match(text, /gatehouse_http_requests_total\{method="GET",route="\/healthz",status="200"\} \d/)
    assert.match(text, /gatehouse_http_requests_total\{method="GET",route="none",status="404"\} 1/)
    assert.ok(!text.includes('secret'))
  })

  const readSample = async (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await read())?.[1])

  test('the disk of the data folder, and the newest backup', async () => {
    const { bavail, blocks, bsize } = await statfs(place.place.dataFolder)
    assert.equal(await readSample('gatehouse_disk_size_bytes'), blocks * bsize)
    // Other processes write, too.
    const free = await readSample('gatehouse_disk_free_bytes')
    assert.ok(Math.abs(free - bavail * bsize) < 0.05 * blocks * bsize, `${free} of ${bavail * bsize}`)
    await until(
      'the last backup is known',
      5000,
      async () => (await readSample('gatehouse_last_backup_timestamp_seconds')) > 0,
    )
    assert.equal(await readSample('gatehouse_last_backup_timestamp_seconds'), backedUpAt / 1000)
  })

  test('open descriptors and their limit', { skip: !existsSync('/proc/self/fd') }, async () => {
    const before = await readSample('process_open_fds')
    const files = await Promise.all(Array.from({ length: 200 }, () => open(place.place.dataFolder)))
    const during = await readSample('process_open_fds')
    await Promise.all(files.map((file) => file.close()))
    // The connections of the reader come and go.
    assert.ok(Math.abs(during - before - files.length) < 20, `${before}, then ${during}`)
    const limit = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim()
    assert.equal(await readSample('process_max_fds'), limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit))
  })

  test('nothing else is served there', async () => {
    assert.equal((await fetch(`http://127.0.0.1:${server.metricsPort}/healthz`)).status, 404)
  })

  test('the query string of a scrape is ignored', async () => {
    assert.equal((await fetch(`http://127.0.0.1:${server.metricsPort}/metrics?collect=all`)).status, 200)
  })

  test('RFC 6750 §3: with metrics_token, a scrape needs that token', async () => {
    const token = 'a-token-for-the-scraper'
    const other = await openPlace('sqlite')
    const guarded = await startTestServer(other.place, { flags: { '--metrics-port': '0', '--metrics-token': token } })
    try {
      const scrape = async (headers: Record<string, string>) => {
        const answer = await fetch(`http://127.0.0.1:${guarded.metricsPort}/metrics`, { headers })
        return [answer.status, answer.headers.get('www-authenticate')?.split(',')[0] ?? '']
      }
      assert.deepEqual(await scrape({}), [401, 'Bearer realm="gatehouse"'])
      assert.deepEqual(await scrape({ authorization: `Bearer ${token}x` }), [401, 'Bearer realm="gatehouse"'])
      assert.deepEqual(await scrape({ authorization: `Basic ${token}` }), [401, 'Bearer realm="gatehouse"'])
      assert.deepEqual(await scrape({ authorization: `Bearer ${token}` }), [200, ''])
    } finally {
      await guarded.stop()
      await other.leave()
    }
  })
})

test('Prometheus text format: quantile and le belong to summaries and histograms, not to our own labels', () => {
  for (const [name, { labels }] of Object.entries(METRICS))
    for (const label of labels) assert.ok(!['quantile', 'le'].includes(label), `${name}: ${label}`)
})

test('the dashboard uses only metrics and labels that exist', async () => {
  const text = await readFile(new URL('../../examples/grafana/gatehouse.json', import.meta.url), 'utf8')
  const dashboard: { panels: { title: string; targets: { expr: string }[] }[] } = JSON.parse(text)
  assert.ok(dashboard.panels.length > 10)
  const table: Readonly<Record<string, { labels: readonly string[] }>> = METRICS
  for (const { title, targets } of dashboard.panels) {
    for (const { expr } of targets) {
      const names = expr.match(/\b(gatehouse|process|nodejs)_\w+/g) ?? []
      assert.ok(names.length > 0, title)
      const [metric] = names.map((name) => table[name] ?? table[name.replace(/_bucket$/, '')])
      assert.ok(metric, `${title}: ${names.join(' ')}`)
      const grouped = /by \(([^)]*)\)/.exec(expr)?.[1]?.split(', ') ?? []
      const labels = [...grouped, ...(expr.match(/(?<=[{,])\w+(?==|!)/g) ?? [])]
      for (const label of labels) assert.ok(label === 'le' || metric.labels.includes(label), `${title}: ${label}`)
    }
  }
})
