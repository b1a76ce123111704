/** The stream of the client library against the real server: restarts, revocation, expiry, dead and idle sockets. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { WebSocket as Ws } from 'ws'
import {
  type Auth,
  AuthError,
  ConnectionError,
  clientCredentials,
  Gatehouse,
  type GatehouseOptions,
  getToken,
  password,
  type StateChange,
  type TokenSource,
} from '../../packages/client/src/index.ts'
import { ADMIN, ALICE, post } from '../support/demo-user.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const LATE_MS = 30_000
const TICKER = fileURLToPath(new URL('../../examples/ticker/ticker.ts', import.meta.url))
const CLI = { clientId: 'demo-cli' }
interface Price {
  readonly Symbol: string
  readonly Bid: number
}

let place: TestPlace
let leave: () => Promise<void>
let server: TestServer
let port: number
const clients: Gatehouse[] = []
const rejections: unknown[] = []
process.on('unhandledRejection', (error) => rejections.push(error))

const start = (): Promise<TestServer> =>
  startTestServer(place, {
    flags: {
      '--demo': 'true',
      '--port': String(port),
      '--stream-controllers': TICKER,
      '--stream-drain-time': '0',
    },
  })

function open(more: Partial<GatehouseOptions> = {}, url = server.issuer): { gate: Gatehouse; states: StateChange[] } {
  const auth: Auth = password({ ...CLI, ...ALICE })
  const gate = new Gatehouse<TokenSource>(url, { issuer: server.issuer, auth, ...more })
  const states: StateChange[] = []
  gate.on('state', (change) => states.push(change))
  clients.push(gate)
  return { gate, states }
}
const seen = (states: readonly StateChange[], state: string, from = 0): boolean =>
  states.slice(from).some((change) => change.state === state)

before(async () => {
  const opened = await openPlace('sqlite')
  place = opened.place
  leave = opened.leave
  port = await freePort()
  process.env.TICKER_INTERVAL_MS = '50'
  server = await start()
})
afterEach(() => {
  for (const client of clients.splice(0)) client.close()
})
after(async () => {
  await server.stop()
  await leave()
  assert.deepEqual(rejections, [])
})

test('requests and subscriptions; each connects automatically', async () => {
  const { gate, states } = open()
  assert.equal(gate.stream.state, 'ended')
  const info = await gate.stream.request<{ Class: string }>('Platform', 'QueryServerInfo')
  assert.equal(info.Class, 'Gatehouse')
  assert.deepEqual(
    states.map(({ state }) => state),
    ['connecting', 'online'],
  )
  const prices = gate.stream.subscribe<Price>('Ticker', 'Price/ACME')
  await prices.ready()
  const bids: number[] = []
  for await (const { Symbol: symbol, Bid } of prices) {
    assert.equal(symbol, 'ACME')
    if (bids.push(Bid) === 3) break
  }
  // The last one has left: the same topic can be subscribed to again, and sends its state again.
  const again = gate.stream.subscribe<Price>('Ticker', 'Price/ACME', { slow: 'latest' })
  const second = gate.stream.subscribe<Price>('Ticker', 'Price/ACME', { slow: 'latest' })
  for (const subscription of [again, second])
    for await (const { Bid } of subscription) {
      assert.ok(Bid > 0)
      break
    }
  await assert.rejects(gate.stream.request('Platform', 'Nonsense'), { code: 'Operation.Unknown' })
  await assert.rejects(gate.stream.subscribe('Ticker', 'Price/NONE').ready(), { code: 'Operation.Unknown' })
  await assert.rejects(async () => {
    for await (const _ of gate.stream.subscribe('Nobody', 'Price')) assert.fail()
  }, /Nobody/)
})

test('an abort ends a request, a subscription and a wait', async () => {
  const { gate } = open()
  const reason = new Error('enough')
  const abort = new AbortController()
  const prices = gate.stream.subscribe('Ticker', 'Price/ACME', { signal: abort.signal })
  await assert.rejects(async () => {
    for await (const _ of prices) abort.abort(reason)
  }, reason)
  await assert.rejects(gate.stream.request('Platform', 'QueryServerInfo', undefined, { signal: abort.signal }), reason)
  const away = open({ auth: getToken(() => 'x') }, 'http://127.0.0.1:1')
  await assert.rejects(away.gate.stream.request('Platform', 'QueryServerInfo', undefined, { timeout: 50 }), {
    code: 'client.timeout',
  })
})

test('closed and used again at once, there is one connection', async () => {
  const { gate, states } = open()
  await gate.stream.connect()
  gate.stream.close()
  assert.equal(gate.stream.state, 'ended')
  const prices = gate.stream.subscribe<Price>('Ticker', 'Price/ACME')
  await prices.ready()
  const admin = open({ auth: password({ ...CLI, ...ADMIN }) }).gate
  await until('the first connection is gone', LATE_MS, async () => {
    const streams = await Array.fromAsync(admin.admin.streams.list())
    return streams.filter(({ username }) => username === 'alice').length === 1
  })
  assert.deepEqual(
    states.map(({ state }) => state),
    ['connecting', 'online', 'ended', 'connecting', 'online'],
  )
})

test('a consumer that reads too slowly gets an error, or only the latest message', async () => {
  const { gate } = open()
  const prices = gate.stream.subscribe<Price>('Ticker', 'Price/BOLT', { slow: 'latest' })
  await prices.ready()
  const other = gate.stream.subscribe<Price>('Ticker', 'Price/BOLT')
  let count = 0
  for await (const _ of other) if (++count === 10) break
  let waited = 0
  for await (const _ of prices) {
    waited++
    if (waited === 2) break
  }
  assert.equal(waited, 2)
})

test('a restarted server: requests in flight fail, subscriptions go on, a fresh token comes first', async () => {
  const tokens: (string | null)[] = []
  const { gate, states } = open({
    fetch: (url, init) => {
      if (url.endsWith('/connect/token')) tokens.push(new URLSearchParams(String(init?.body)).get('grant_type'))
      return fetch(url, init)
    },
  })
  const prices = gate.stream.subscribe<Price>('Ticker', 'Price/ACME', { slow: 'latest' })
  const resumed: boolean[] = []
  prices.onResume = ({ recovered }) => resumed.push(recovered)
  await prices.ready()
  await server.stop()
  await until('the loss is noticed', LATE_MS, () => seen(states, 'offline'))
  assert.equal(states.find(({ state }) => state === 'offline')?.code, 1012)
  await assert.rejects(gate.stream.request('Platform', 'QueryServerInfo', undefined, { timeout: 10 }), ConnectionError)
  server = await start()
  await until('the subscription is back', LATE_MS, () => resumed.length > 0)
  assert.deepEqual(resumed, [false])
  for await (const { Bid } of prices) {
    assert.ok(Bid > 0)
    break
  }
  assert.equal(gate.stream.state, 'online')
  assert.equal(tokens[0], 'password')
})

test('an expiring token is renewed on the open socket', async () => {
  await server.stop()
  server = await startTestServer(place, {
    flags: {
      '--demo': 'true',
      '--port': String(port),
      '--stream-controllers': TICKER,
      '--stream-drain-time': '0',
      '--access-token-lifetime': '3',
    },
  })
  let renewals = 0
  const { gate, states } = open({
    fetch: (url, init) => {
      if (String(init?.body).startsWith('grant_type=refresh_token')) renewals++
      return fetch(url, init)
    },
  })
  const prices = gate.stream.subscribe<Price>('Ticker', 'Price/ACME', { slow: 'latest' })
  // Each renewal replaces a token that would have expired by the next.
  for await (const _ of prices) if (renewals >= 3) break
  assert.ok(!seen(states, 'offline'))
  // On a slow machine a renewal may come late; without it each token would lapse first.
  assert.ok(states.filter(({ state }) => state === 'lapsed').length < 3)
  gate.close()
  await server.stop()
  server = await start()
})

test('a revoked token: the stream lapses, takes a fresh one, and the subscriptions are opened again', async () => {
  const { gate, states } = open()
  const prices = gate.stream.subscribe<Price>('Ticker', 'Price/ACME', { slow: 'latest' })
  await prices.ready()
  await post(server, '/connect/revocation', { token: await gate.auth.token(), client_id: 'demo-cli' })
  await until('the stream is online again', LATE_MS, () => seen(states, 'lapsed') && states.at(-1)?.state === 'online')
  let count = 0
  for await (const _ of prices) if (++count === 3) break
})

test('4000 ends the session: everything that waits is rejected, and nothing is retried', async () => {
  const { gate, states } = open()
  const prices = gate.stream.subscribe<Price>('Ticker', 'Price/ACME')
  await prices.ready()
  const admin = open({ auth: password({ ...CLI, ...ADMIN }) }).gate
  const [alice] = await Array.fromAsync(admin.admin.users.list({ prefix: 'alice' }))
  await admin.admin.streams.clear({ user: String(alice?.id) })
  await assert.rejects(async () => {
    for await (const _ of prices);
  }, AuthError)
  assert.deepEqual([states.at(-1)?.state, states.at(-1)?.code, gate.stream.state], ['ended', 4000, 'ended'])
})

test('a token that is never accepted ends it with an AuthError', async () => {
  const { gate } = open({ auth: getToken(() => 'nonsense') })
  await assert.rejects(gate.stream.connect(), AuthError)
})

test('a right that is taken away ends only the subscription that needs it', async () => {
  const auth = clientCredentials({
    clientId: 'demo-service',
    clientSecret: 'demo-service-secret',
    scope: 'Platform/News',
  })
  const { gate } = open({ auth })
  await assert.rejects(gate.stream.subscribe('Ticker', 'Price/ACME').ready(), { code: 'Authority', name: 'AuthError' })
  assert.equal(gate.stream.state, 'online')
})

test('a proxy that cuts idle sockets, and a network that is gone without a word', async () => {
  const proxy = await startTcpProxy('127.0.0.1', server.port)
  try {
    const { gate, states } = open({ heartbeat: 200 }, `http://127.0.0.1:${proxy.port}`)
    const prices = gate.stream.subscribe<Price>('Ticker', 'Price/ACME', { slow: 'latest' })
    let resumed = 0
    prices.onResume = () => resumed++
    await prices.ready()
    proxy.cut()
    proxy.mend()
    await until('it is back after a cut', LATE_MS, () => resumed === 1)
    const before = states.length
    proxy.hold()
    await until('the dead socket is noticed', LATE_MS, () => seen(states, 'offline', before))
    assert.equal(states.slice(before).find(({ state }) => state === 'offline')?.code, 'client.dead')
    proxy.cut()
    proxy.mend()
    await until('it is back after silence', LATE_MS, () => resumed === 2)
    // An idle connection is kept alive by the heartbeat.
    const idle = open({ heartbeat: 100 }, `http://127.0.0.1:${proxy.port}`)
    await idle.gate.stream.connect()
    await new Promise((resolve) => setTimeout(resolve, 500))
    assert.equal(idle.states.length, 2)
  } finally {
    await proxy.close()
  }
})

test('a server that is full says when to come back', async (t) => {
  const other = await openPlace('sqlite')
  const flags = { '--demo': 'true', '--stream-max-connections-per-address': '1', '--stream-drain-time': '0' }
  const full = await startTestServer(other.place, { flags })
  try {
    const first = new Gatehouse(full.issuer, { auth: password({ ...CLI, ...ALICE }) })
    t.after(() => first.close())
    await first.stream.connect()
    const second = new Gatehouse(full.issuer, { auth: password({ ...CLI, ...ALICE }) })
    t.after(() => second.close())
    const refused = new Promise<StateChange>((resolve) => {
      second.on('state', (change) => {
        if (change.state === 'offline') resolve(change)
      })
    })
    second.stream.connect().catch(() => {})
    assert.ok(Number((await refused).retryIn) >= 10_000)
    second.close()
    first.close()
  } finally {
    await full.stop()
    await other.leave()
  }
})

test('the WebSocket of ws works as well, for Node 20', async () => {
  const { gate } = open({ WebSocket: Ws as never })
  assert.ok(await gate.stream.request('Platform', 'QueryServerInfo'))
})
