/** Rate limits: the sliding window, the headers, clients behind a proxy, and one limit over two nodes. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { SlidingWindow } from '../../packages/server/src/http/limits/sliding-window.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { createTestClock, startTestServer, type TestServer } from '../support/server.ts'

const TEN_A_MINUTE = { requests: 10, seconds: 60 }

test('the eleventh request of a minute is refused, and Retry-After is exact', () => {
  const clock = createTestClock(1_700_000_040_000 - (1_700_000_040_000 % 60_000))
  const window = new SlidingWindow(clock)
  clock.advance(30_000)
  for (let left = 9; left >= 0; left--)
    assert.deepEqual(window.take('a', TEN_A_MINUTE), { allowed: true, remaining: left, seconds: 30 })
  const refused = window.take('a', TEN_A_MINUTE)
  assert.equal(refused.allowed, false)
  assert.equal(window.take('b', TEN_A_MINUTE).allowed, true)
  clock.advance((refused.seconds - 1) * 1000)
  assert.equal(window.take('a', TEN_A_MINUTE).allowed, false)
  clock.advance(1000)
  assert.equal(window.take('a', TEN_A_MINUTE).allowed, true)
})

test('a budget spent at the end of one window is not full again at the start of the next', () => {
  const clock = createTestClock(1_700_000_040_000 - (1_700_000_040_000 % 60_000))
  const window = new SlidingWindow(clock)
  clock.advance(59_000)
  for (let index = 0; index < 10; index++) window.take('a', TEN_A_MINUTE)
  clock.advance(2_000)
  let allowed = 0
  for (let index = 0; index < 10; index++) if (window.take('a', TEN_A_MINUTE).allowed) allowed += 1
  assert.ok(allowed <= 1, String(allowed))
})

test('a key in use is not forgotten when more keys come than are kept', () => {
  const window = new SlidingWindow(createTestClock(1_700_000_040_000))
  const budget = { requests: 100, seconds: 3600 }
  let taken = 0
  for (let index = 0; index < 250_000; index++) {
    if (index % 5_000 === 0) assert.equal(window.take('busy', budget).remaining, 100 - ++taken)
    window.take(`idle ${index}`, budget)
  }
  assert.equal(window.take('idle 0', budget).remaining, 99, 'an idle one is')
})

describe('limits by address', () => {
  let server: TestServer
  let opened: { place: TestPlace; leave(): Promise<void> }
  before(async () => {
    opened = await openPlace('sqlite')
    server = await startTestServer(opened.place, {
      flags: { '--limit-exempt': '198.51.100.0/24', '--limit-pages': 'address=3/60', '--trusted-proxies': '127.0.0.1' },
    })
  })
  after(async () => {
    await server.stop()
    await opened.leave()
  })
  const from = (address: string, path = '/nothing') =>
    fetch(server.issuer + path, { headers: { 'x-forwarded-for': address } })

  test('replies carry the policy and the remaining budget, then 429 with Retry-After', async () => {
    const first = await from('192.0.2.1')
    assert.equal(first.headers.get('ratelimit-policy'), '"address";q=3;w=60')
    assert.match(first.headers.get('ratelimit') ?? '', /^"address";r=2;t=\d+$/)
    await from('192.0.2.1')
    await from('192.0.2.1')
    const refused = await from('192.0.2.1')
    assert.equal(refused.status, 429)
    assert.ok(Number(refused.headers.get('retry-after')) >= 1)
    assert.match(refused.headers.get('ratelimit') ?? '', /^"address";r=0;t=\d+$/)
    assert.partialDeepStrictEqual(await refused.json(), { Code: 'http.too_many_requests', status: 429 })
  })

  test('another address behind the same proxy is counted for itself; a /64 of IPv6 is one address', async () => {
    assert.equal((await from('192.0.2.2')).status, 404)
    for (let index = 1; index <= 3; index++) assert.equal((await from(`2001:db8:1:2::${index}`)).status, 404)
    assert.equal((await from('2001:db8:1:2:ffff::9')).status, 429)
    assert.equal((await from('2001:db8:1:3::1')).status, 404)
  })

  test('an unreadable address counts as well', async () => {
    for (let index = 0; index < 3; index++) assert.equal((await from('192.0.2.3', '/%ff')).status, 404)
    assert.equal((await from('192.0.2.3', '/%ff')).status, 429)
  })

  test('the port that a proxy appends does not matter, and all invalid addresses count as one', async () => {
    for (const spelt of ['192.0.2.50:1001', '192.0.2.50:1002', '192.0.2.50'])
      assert.equal((await from(spelt)).status, 404, spelt)
    assert.equal((await from('192.0.2.50:1003')).status, 429)
    for (const spelt of ['[2001:db8:5::1]:1001', '[2001:db8:5::2]', '2001:db8:5::3'])
      assert.equal((await from(spelt)).status, 404, spelt)
    assert.equal((await from('[2001:db8:5::4]:1002')).status, 429)
    for (const spelt of ['unknown', '_hidden', 'made-up']) assert.equal((await from(spelt)).status, 404, spelt)
    assert.equal((await from('another')).status, 429)
  })

  test('a chain of trusted proxies that append ports is followed', async () => {
    for (let index = 0; index < 3; index++)
      assert.equal((await from(`192.0.2.${60 + index}, 127.0.0.1:900${index}`)).status, 404)
    for (const spelt of ['192.0.2.70:1001, 127.0.0.1:9000', '192.0.2.70,127.0.0.1', '192.0.2.70'])
      assert.equal((await from(spelt)).status, 404, spelt)
    assert.equal((await from('192.0.2.70:1002, 127.0.0.1:9001')).status, 429)
  })

  test('X-Forwarded-For of an untrusted caller is ignored', async () => {
    for (let index = 0; index < 3; index++) await from(`203.0.113.${index}, 192.0.2.77`)
    assert.equal((await from('203.0.113.99, 192.0.2.77')).status, 429)
  })

  test('exempt networks and health checks are never refused', async () => {
    for (let index = 0; index < 6; index++) {
      assert.equal((await from('198.51.100.7')).status, 404)
      assert.equal((await from('192.0.2.1', '/healthz')).status, 200)
    }
  })
})

describe('a proxy on an exempt address', () => {
  let opened: { place: TestPlace; leave(): Promise<void> }
  before(async () => {
    opened = await openPlace('sqlite')
  })
  after(() => opened.leave())

  /** The statuses of six requests with these headers, where three are allowed, and the warnings. */
  async function sixRequests(flags: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>>) {
    const server = await startTestServer(opened.place, { flags: { '--limit-pages': 'address=3/60', ...flags } })
    try {
      const statuses: number[] = []
      for (let index = 0; index < 6; index++)
        statuses.push((await fetch(`${server.issuer}/nothing`, { headers })).status)
      // Its own requests are exempt all the same.
      assert.equal((await fetch(`${server.issuer}/nothing`)).status, 404)
      return { statuses, warnings: server.log.filter((line) => line.includes('trusted_proxies')) }
    } finally {
      await server.stop()
    }
  }
  const LIMITED = [404, 404, 404, 429, 429, 429]
  const UNLIMITED = [404, 404, 404, 404, 404, 404]

  test('that is not listed: what it forwards is limited as one address, and one warning says what to set', async () => {
    for (const headers of [
      { 'x-forwarded-for': '203.0.113.5' },
      { forwarded: 'for=203.0.113.5' },
      { 'x-real-ip': '203.0.113.5' },
      { 'x-forwarded-proto': 'https' },
      { via: '1.1 proxy' },
    ]) {
      const { statuses, warnings } = await sixRequests({}, headers)
      assert.deepEqual(statuses, LIMITED, Object.keys(headers)[0])
      assert.equal(warnings.length, 1)
      assert.partialDeepStrictEqual(JSON.parse(warnings[0] ?? ''), { level: 'warn', address: '127.0.0.1' })
    }
  })

  test('that is not listed while others are', async () => {
    const { statuses } = await sixRequests({ '--trusted-proxies': '192.0.2.1' }, { 'x-forwarded-for': '203.0.113.5' })
    assert.deepEqual(statuses, LIMITED)
  })

  test('that is listed and does not say for whom it forwards', async () => {
    const { statuses, warnings } = await sixRequests({ '--trusted-proxies': '127.0.0.1' }, { via: '1.1 proxy' })
    assert.deepEqual([statuses, warnings.length], [LIMITED, 1])
  })

  test('that is listed: an exempt client is exempt', async () => {
    const flags = { '--trusted-proxies': '127.0.0.1' }
    const { statuses, warnings } = await sixRequests(flags, { 'x-forwarded-for': '127.0.0.1' })
    assert.deepEqual([statuses, warnings], [UNLIMITED, []])
  })
})

describe('limits over two nodes', () => {
  let nodes: TestServer[]
  let opened: { place: TestPlace; leave(): Promise<void> }
  before(async () => {
    opened = await openPlace('postgres')
    const flags = { '--limit-exempt': '', '--limit-pages': 'address=20/3600' }
    nodes = [await startTestServer(opened.place, { flags }), await startTestServer(opened.place, { flags })]
  })
  after(async () => {
    for (const node of nodes) await node.stop()
    await opened.leave()
    await stopOwnPostgres()
  })

  test('counts of one node reach the other within two seconds', async () => {
    const statuses = async (node: TestServer | undefined, count: number) => {
      const seen: number[] = []
      for (let index = 0; index < count; index++) seen.push((await fetch(`${node?.issuer}/nothing`)).status)
      return seen
    }
    assert.ok(!(await statuses(nodes[0], 15)).includes(429))
    assert.ok(!(await statuses(nodes[1], 3)).includes(429))
    await new Promise((resolve) => setTimeout(resolve, 2_200))
    assert.ok((await statuses(nodes[1], 6)).includes(429))
  })
})
