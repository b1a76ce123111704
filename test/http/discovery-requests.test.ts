/** The discovery documents: the same reply for every spelling of the request, logged, counted and rate-limited. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { createTestClock, useServer } from '../support/server.ts'

const DISCOVERY = '/.well-known/openid-configuration'
const PLAIN = [DISCOVERY, `${DISCOVERY}/jwks`, '/.well-known/oauth-authorization-server', `/gate${DISCOVERY}`]
const VARY = new Set(['request-id', 'date', 'ratelimit', 'connection', 'keep-alive'])

describe('discovery documents', () => {
  const clock = createTestClock()
  const flags = {
    '--issuer': 'https://id.example/gate',
    '--metrics-port': '0',
    '--trusted-proxies': '127.0.0.1',
    '--limit-exempt': '',
    '--limit-pages': 'address=10/60',
  }
  const server = useServer({ clock, flags })
  // To the beginning of an unused rate-limit window.
  beforeEach(() => clock.advance(120_000 - (clock() % 60_000)))

  const ask = (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${server.port}${path}`, init)
  const lasting = ({ headers }: Response) => [...headers].filter(([name]) => !VARY.has(name)).sort()

  for (const path of PLAIN)
    test(`${path}: every spelling of the request gets the same reply`, async () => {
      const plain = await ask(path)
      const text = await plain.text()
      assert.equal(plain.status, 200)
      assert.equal(plain.headers.get('strict-transport-security'), 'max-age=31536000')
      assert.equal(plain.headers.get('access-control-allow-origin'), '*')
      for (const other of [`${path}?x=1`, path.toUpperCase().replace('/GATE', '/gate')]) {
        const answer = await ask(other)
        assert.equal(await answer.text(), text, other)
        assert.deepEqual(lasting(answer), lasting(plain), other)
      }
      const head = await ask(path, { method: 'HEAD' })
      assert.equal(await head.text(), '')
      assert.deepEqual(lasting(head), lasting(plain))
      assert.equal((await ask(path, { method: 'POST' })).status, 405)
    })

  test('the reply carries the request id, and is logged and counted', async () => {
    const answer = await ask(DISCOVERY, { headers: { 'request-id': 'mine-7', 'x-forwarded-for': '198.51.100.7' } })
    assert.equal(answer.headers.get('request-id'), 'mine-7')
    assert.match((await ask(DISCOVERY)).headers.get('request-id') ?? '', /^[0-9a-f-]{36}$/)
    const line = JSON.parse(server.log.find((text) => text.includes('mine-7')) ?? '{}')
    assert.partialDeepStrictEqual(line, {
      req: { method: 'GET', path: DISCOVERY, address: '198.51.100.7' },
      res: { status: 200 },
      msg: 'request',
    })
    assert.equal(typeof line.ms, 'number')
    const metrics = await (await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`)).text()
    assert.match(
      metrics,
      new RegExp(`^gatehouse_http_requests_total{method="GET",route="${DISCOVERY}",status="200"} \\d+$`, 'm'),
    )
  })

  test('past the rate limit the reply is 429, counted by route', async () => {
    const from = { headers: { 'x-forwarded-for': '198.51.100.8' } }
    const first = await ask(DISCOVERY, from)
    assert.equal(first.headers.get('ratelimit-policy'), '"address";q=10;w=60')
    assert.match(first.headers.get('ratelimit') ?? '', /^"address";r=9;/)
    for (let count = 0; count < 9; count++) assert.equal((await ask(DISCOVERY, from)).status, 200)
    const [plain, applied] = [await ask(DISCOVERY, from), await ask(`${DISCOVERY}?x`, from)]
    assert.equal(plain.status, 429)
    assert.ok(Number(plain.headers.get('retry-after')) >= 1)
    assert.equal(await plain.text(), await applied.text())
    assert.deepEqual(lasting(plain), lasting(applied))
    const metrics = await (await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`)).text()
    assert.match(metrics, /^gatehouse_http_rejected_total{group="pages",by="address"} 2$/m)
    assert.match(
      metrics,
      new RegExp(`^gatehouse_http_requests_total{method="GET",route="${DISCOVERY}",status="429"} 2$`, 'm'),
    )
  })
})
