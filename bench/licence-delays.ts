/** Licensed data with a delay: what delayed subscribers cost, how late they get what is old enough, how soon a change reaches them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { RawData } from 'ws'
import { contender } from './feeds.ts'
import type { Checkout } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { openNodes } from './support/feed-nodes.ts'
import { FEED_OF, type FeedConnection, type FeedServer, gatehouseFeeds } from './support/feed-peers.ts'
import { type LiveServer, startLive } from './support/live-server.ts'
import { countMarks, markedData } from './support/marked-messages.ts'
import { paced, percentiles } from './support/percentiles.ts'
import { serviceToken } from './support/tokens.ts'

const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 3_000)
/** The shortest delay that a product can have. */
const DELAY_MS = 1_000
/** After this, all has arrived that was published before. */
const DRAIN_MS = DELAY_MS + 1_000
const FEED = FEED_OF.history

/** The administrator has it in real time, the service with a delay. */
const DECLARED = `products: [{ name: ALL, delay: 1 second, default: realtime, covers: [{ feed: ${FEED} }] }]
entitlements: [{ product: ALL, client: demo-service, access: delayed }]
`

// ── What half of the subscribers cost ─────────────────────────────────────────────────────────────────────────────────

/** Deliveries a second to one half. */
const HALF_DELIVERIES = 30_000

const halves = [1_000, 10_000].map(
  (all): Measurement => ({
    name: `licence-halves${all === 1_000 ? '' : '-10k'}`,
    about: `processor time of ${(all / 2).toLocaleString('en')} delayed subscribers beside as many in real time; of as many more in real time`,
    columns: { delayed: 'ms per 1000', realtime: 'ms per 1000', ratio: '' },
    targets: { ratio: { most: 1.1 } },
    subject: (checkout) => twoHalves(checkout, all / 2),
    async *references() {},
  }),
)

async function twoHalves(checkout: Checkout, half: number): Promise<Contender> {
  let rounds = 0
  const peer = await gatehouseFeeds(checkout, 'history', {}, DECLARED)
  return contender('gatehouse', peer, (server) => measureHalves(server, half, rounds++ % 2 === 1))
}

/**
 * The same messages to one half in real time, and then to another half besides, which is delayed or in real time: what the second half
 * takes is the difference. Every phase is equally long, so that the time of a server at rest is in none of the differences.
 */
async function measureHalves(server: FeedServer, half: number, isDelayedFirst: boolean): Promise<Figures> {
  let delivered = 0
  const count = (): void => {
    delivered++
  }
  const publisher = await server.connect()
  const publish = async (milliseconds: number, subscribers: number) => {
    const [before, from] = [server.use().cpuMs, delivered]
    let expected = 0
    await paced(HALF_DELIVERIES / half, milliseconds, () => {
      expected += subscribers
      return publisher.publish(markedData())
    })
    await sleep(DRAIN_MS)
    // Where other programs run.
    for (let turn = 0; turn < 100 && delivered - from < expected; turn++) await sleep(100)
    if (delivered - from !== expected) throw new Error(`${delivered - from} deliveries, not ${expected}`)
    return { cpu: server.use().cpuMs - before, deliveries: expected }
  }
  const first = await follow(server, half, count)
  await publish(ROUND_MS / 2, half)
  const alone = await publish(ROUND_MS, half)
  const measure = async (token: string): Promise<number> => {
    const second = await follow(server, half, count, token)
    await publish(ROUND_MS / 2, 2 * half)
    const both = await publish(ROUND_MS, 2 * half)
    close(second)
    await sleep(1_000)
    return ((both.cpu - alone.cpu) / (both.deliveries - alone.deliveries)) * 1_000
  }
  const [admin, service] = server.tokens
  const cost = { delayed: 0, realtime: 0 }
  if (isDelayedFirst) cost.delayed = await measure(service)
  cost.realtime = await measure(admin)
  if (!isDelayedFirst) cost.delayed = await measure(service)
  close([publisher, ...first])
  return { ...cost, ratio: cost.delayed / cost.realtime }
}

/** Subscribers; `onLatency` gets the milliseconds since a message was published. */
async function follow(
  server: FeedServer,
  count: number,
  onMessage: () => void,
  token?: string,
  onLatency?: (milliseconds: number) => void,
): Promise<FeedConnection[]> {
  const connections = await connectAll(server, count, token)
  for (const { socket } of connections) countMarks(socket, onMessage, onLatency)
  return connections
}

async function connectAll(server: FeedServer, count: number, token?: string): Promise<FeedConnection[]> {
  const connections: FeedConnection[] = []
  while (connections.length < count) {
    const length = Math.min(50, count - connections.length)
    const some = await Promise.all(Array.from({ length }, () => server.connect(token === undefined ? {} : { token })))
    await Promise.all(some.map((connection) => connection.subscribe()))
    connections.push(...some)
  }
  return connections
}

function close(connections: readonly FeedConnection[]): void {
  for (const { socket } of connections) socket.terminate()
}

// ── How late delayed readers are ──────────────────────────────────────────────────────────────────────────────────────

const MESSAGES_PER_SECOND = Number(process.env.BENCH_MESSAGES ?? 10_000)
const ROWS_PER_SECOND = Number(process.env.BENCH_INSERTED ?? 1_000)
/** In one request. */
const MESSAGES_TOGETHER = 100
const ROWS_TOGETHER = 20
const FEED_READERS = 4
const TABLE_READERS = 10

/** `least`: of all; below zero something was shown too early. */
const LATE = {
  columns: { p50: 'ms', p99: 'ms', least: 'ms', rate: '1/s', missing: '' },
  targets: { p99: { most: 1_000 }, least: { least: 0 }, missing: { most: 0 } },
  async *references() {},
} satisfies Partial<Measurement>

const lateness: readonly Measurement[] = [
  {
    ...LATE,
    name: 'licence-late-messages',
    about: `from when a message is old enough until it arrives, at ${MESSAGES_PER_SECOND.toLocaleString('en')} messages/s to a feed with ${FEED_READERS} delayed subscribers`,
    subject: async (checkout) =>
      contender('gatehouse', await gatehouseFeeds(checkout, 'history', {}, DECLARED), lateMessages),
  },
  {
    ...LATE,
    name: 'licence-late-rows',
    about: `from when a row is old enough until it arrives, at ${ROWS_PER_SECOND.toLocaleString('en')} rows/s into a table with ${TABLE_READERS} delayed live queries`,
    subject: async (checkout) => ({
      name: 'gatehouse',
      async measure() {
        const server = await startLive(checkout)
        try {
          return await lateRows(server)
        } finally {
          await server.stop()
        }
      },
    }),
  },
]

/** Milliseconds beyond the delay. They count from before something was sent, so that what its commit takes is in them. */
class Lateness {
  readonly #values: number[] = []
  #least = Number.POSITIVE_INFINITY
  #isMeasured = false
  expected = 0
  arrived = 0

  add(milliseconds: number): void {
    if (!this.#isMeasured) return
    const late = milliseconds - DELAY_MS
    this.#values.push(late)
    if (late < this.#least) this.#least = late
  }

  /** Warms up, measures, and waits for what is still on its way. `send` returns how many arrivals follow. */
  async measure(perSecond: number, together: number, send: () => Promise<number>): Promise<Figures> {
    let sent = 0
    const sendSome = async (): Promise<void> => {
      const arrivals = await send()
      this.expected += arrivals
      sent += together
    }
    await paced(perSecond / together, ROUND_MS / 2, sendSome)
    await sleep(DRAIN_MS)
    this.#isMeasured = true
    sent = 0
    const began = performance.now()
    await paced(perSecond / together, ROUND_MS, sendSome)
    const rate = sent / ((performance.now() - began) / 1_000)
    for (let turn = 0; turn < 100 && this.arrived < this.expected; turn++) await sleep(100)
    return { ...percentiles(this.#values), least: this.#least, rate, missing: this.expected - this.arrived }
  }
}

async function lateMessages(server: FeedServer): Promise<Figures> {
  const late = new Lateness()
  const onMessage = (): void => {
    late.arrived++
  }
  const [admin, service] = server.tokens
  const readers = await follow(server, FEED_READERS, onMessage, service, (milliseconds) => late.add(milliseconds))
  const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' }
  const publish = async (): Promise<number> => {
    const messages = Array.from({ length: MESSAGES_TOGETHER }, () => `{"Topic":"all","Data":${markedData()}}`)
    await post(server.port, `/feeds/${FEED}`, headers, `[${messages.join(',')}]`)
    return MESSAGES_TOGETHER * FEED_READERS
  }
  const figures = await late.measure(MESSAGES_PER_SECOND, MESSAGES_TOGETHER, publish)
  close(readers)
  return figures
}

async function post(port: number, path: string, headers: Readonly<Record<string, string>>, body: string) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body })
  const reply = await response.text()
  if (!response.ok) throw new Error(`${path}: ${reply}`)
}

const FILLS = 'CREATE TABLE fills (id Integer PRIMARY KEY, symbol Text NOT NULL, quantity Integer NOT NULL)'

async function lateRows(server: LiveServer): Promise<Figures> {
  const covers = [{ table: 'fills' }]
  await server.post('/admin/products', { name: 'ALL', delay: `${DELAY_MS / 1_000} second`, default: 'delayed', covers })
  const given = { product: 'ALL', user: 'admin', access: 'realtime', from: '2020-01-01' }
  await server.post('/admin/entitlements', given)
  await server.query(FILLS)
  const token = await serviceToken(server.port)
  await untilReadable(server.port, token)
  const late = new Lateness()
  const sentAt = new Map<number, number>()
  const connections = await Promise.all(Array.from({ length: TABLE_READERS }, () => server.connect(token)))
  for (const [index, connection] of connections.entries())
    await connection.subscribe('SELECT id, quantity FROM fills WHERE symbol = :s', { s: `S${index}` }, (message) => {
      const now = performance.now()
      for (const { Key } of JSON.parse(message.toString()).Data.Put ?? []) {
        late.arrived++
        late.add(now - (sentAt.get(Key[0]) ?? now))
      }
    })
  let ids = 0
  const insert = async (): Promise<number> => {
    const rows = Array.from({ length: ROWS_TOGETHER }, () => {
      sentAt.set(++ids, performance.now())
      return { id: ids, symbol: `S${ids % TABLE_READERS}`, quantity: ids % 500 }
    })
    await server.insert('fills', rows)
    return ROWS_TOGETHER
  }
  const figures = await late.measure(ROWS_PER_SECOND, ROWS_TOGETHER, insert)
  for (const connection of connections) connection.end()
  return figures
}

/** The copy of a table is there a moment after the table. */
async function untilReadable(port: number, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ Statement: 'SELECT id FROM fills WHERE id = 1' })
  for (let tries = 0; tries < 100; tries++) {
    const response = await fetch(`http://127.0.0.1:${port}/query`, { method: 'POST', headers, body })
    await response.arrayBuffer()
    if (response.ok) return
    await sleep(100)
  }
  throw new Error('The delayed table cannot be read')
}

// ── How soon a change reaches subscribers ─────────────────────────────────────────────────────────────────────────────

const SUBSCRIPTIONS = Number(process.env.BENCH_SUBSCRIPTIONS ?? 1_000)
/** An even number: a round ends with the access with which it began. */
const CHANGES = 10
const LONGEST_MS = 5_000

const change: Measurement = {
  name: 'licence-change',
  about: `from a request that changes an entitlement until it has reached ${SUBSCRIPTIONS.toLocaleString('en')} subscriptions, half of them on another node, with PostgreSQL between them`,
  columns: { p50: 'ms', p99: 'ms', missing: '' },
  targets: { p99: { most: 1_000 }, missing: { most: 0 } },
  subject: async (checkout) => {
    const nodes = await openNodes('postgres', checkout, DECLARED)
    return {
      name: 'gatehouse',
      async measure() {
        const [one, other] = await nodes.start()
        try {
          return await changes(one, other)
        } finally {
          await one.stop()
          await other.stop()
        }
      },
      close: () => nodes.close(),
    }
  },
  async *references() {},
}

async function changes(one: FeedServer, other: FeedServer): Promise<Figures> {
  const [admin, service] = one.tokens
  const connections = [
    ...(await connectAll(one, SUBSCRIPTIONS / 2, service)),
    ...(await connectAll(other, SUBSCRIPTIONS / 2, service)),
  ]
  const times: number[] = []
  const waiting = new Set<FeedConnection>()
  let wanted = ''
  let began = 0
  for (const connection of connections)
    connection.socket.on('message', (data: RawData) => {
      // A message without Data says the delay from now on.
      if (data.toString().includes(wanted) && waiting.delete(connection)) times.push(performance.now() - began)
    })
  let missing = 0
  for (let count = 0; count < CHANGES; count++) {
    const access = count % 2 === 0 ? 'realtime' : 'delayed'
    wanted = access === 'realtime' ? '"Delay":0' : `"Delay":${DELAY_MS / 1_000}`
    for (const connection of connections) waiting.add(connection)
    began = performance.now()
    await entitle(count % 4 < 2 ? one : other, admin, access)
    while (waiting.size > 0 && performance.now() - began < LONGEST_MS) await sleep(5)
    missing += waiting.size
    waiting.clear()
    await sleep(300)
  }
  close(connections)
  return { ...percentiles(times), missing }
}

async function entitle({ port }: FeedServer, token: string, access: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/admin/entitlements/ALL:client:demo-service`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'if-match': '*' },
    body: JSON.stringify({ access }),
  })
  const reply = await response.text()
  if (!response.ok) throw new Error(`The entitlement was not changed: ${reply}`)
}

export const licenceDelays: readonly Measurement[] = [...halves, ...lateness, change]
