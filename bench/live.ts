/** Live queries: delivery, families, fan-out, the cost of the change log; compared with Socket.IO, polling and PGlite. */
import { setTimeout as sleep } from 'node:timers/promises'
import { HERE } from './support/checkout.ts'
import { type Contender, type Figures, type Measurement, median } from './support/compare.ts'
import { load, requestBytes } from './support/http-load.ts'
import { pgliteChanges, socketIoBroadcast } from './support/live-peers.ts'
import { type LiveServer, startLive } from './support/live-server.ts'
import { countMessages } from './support/message-counter.ts'
import { connectPaced } from './support/paced.ts'
import { paced, percentiles } from './support/percentiles.ts'

const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 4_000)
const SUBSCRIBERS = Number(process.env.BENCH_SUBSCRIBERS ?? 5_000)
const MAX_RATE_MS = 1000 / 50
const TRADES =
  'CREATE TABLE fills (id Integer PRIMARY KEY, symbol Text NOT NULL, price Decimal(18, 4) NOT NULL, quantity Integer NOT NULL)'
const BY_SYMBOL = 'SELECT id, price, quantity FROM fills WHERE symbol = :s'

let ids = 0
const fill = (symbol: number) => ({ id: ++ids, symbol: `S${symbol}`, price: '101.25', quantity: ids % 500 })

type Work = (server: LiveServer) => Promise<Figures>

/** Each round starts a new server. */
function contender(name: string, work: Work, checkout = HERE): Contender {
  return {
    name,
    async measure() {
      const server = await startLive(checkout)
      try {
        return await work(server)
      } finally {
        await server.stop()
      }
    },
  }
}

const latency: Measurement = {
  name: 'live-latency',
  about: 'from a commit to its delivery, beyond the wait of MaxRate: 500 inserts/s, 100 subscribers of 10 statements',
  columns: { p50: 'ms', p99: 'ms', cpu: 'ms per s' },
  targets: { p50: { most: 10 }, p99: { most: 60 } },
  subject: async (checkout) => contender('gatehouse', (server) => deliveries(server, 500), checkout),
  async *references() {
    yield contender('at 50 inserts/s', (server) => deliveries(server, 50))
  },
}

async function deliveries(server: LiveServer, perSecond: number): Promise<Figures> {
  await server.query(TRADES)
  const committed = new Map<number, number>()
  const waits: number[] = []
  let isMeasured = false
  const connections = await Promise.all(Array.from({ length: 100 }, () => server.connect()))
  for (const [index, connection] of connections.entries()) {
    let last = 0
    await connection.subscribe(BY_SYMBOL, { s: `S${index % 10}` }, (message) => {
      const now = performance.now()
      for (const { Key } of JSON.parse(message.toString()).Data.Put) {
        const at = committed.get(Key[0])
        if (isMeasured) waits.push(at === undefined ? 0 : Math.max(0, now - Math.max(at, last + MAX_RATE_MS)))
      }
      last = now
    })
  }
  const insert = async (): Promise<void> => {
    const row = fill(Math.floor(Math.random() * 10))
    await server.insert('fills', [row])
    committed.set(row.id, performance.now())
  }
  await paced(perSecond, ROUND_MS / 2, insert)
  isMeasured = true
  const before = server.use().cpuMs
  await paced(perSecond, ROUND_MS, insert)
  const cpu = (server.use().cpuMs - before) / (ROUND_MS / 1000)
  await sleep(200)
  for (const connection of connections) connection.end()
  return { ...percentiles(waits), cpu }
}

const family: Measurement = {
  name: 'live-family',
  about: '1,000 statements that differ in one value, at 1,000 changes/s; and 10 of them at the same changes',
  columns: { cpu: 'ms per s', delivered: 'rows/s' },
  ratios: [{ column: 'cpu', to: '10 statements', most: 1.5 }],
  subject: async (checkout) => contender('gatehouse', (server) => watched(server, 1000), checkout),
  async *references() {
    yield contender('10 statements', (server) => watched(server, 10))
  },
}

/** Every change is delivered to one of the statements, however many there are. */
async function watched(server: LiveServer, statements: number): Promise<Figures> {
  await server.query(TRADES)
  let delivered = 0
  const connections = await Promise.all(Array.from({ length: 10 }, () => server.connect()))
  for (let symbol = 0; symbol < statements; symbol++) {
    await connections[symbol % 10]?.subscribe(BY_SYMBOL, { s: `S${symbol}` }, (message) => {
      delivered += JSON.parse(message.toString()).Data.Put?.length ?? 0
    })
  }
  const insert = () =>
    server.insert(
      'fills',
      Array.from({ length: 20 }, () => fill(Math.floor(Math.random() * statements))),
    )
  await paced(50, ROUND_MS / 2, insert)
  delivered = 0
  const before = server.use().cpuMs
  await paced(50, ROUND_MS, insert)
  const seconds = ROUND_MS / 1000
  const figures = { cpu: (server.use().cpuMs - before) / seconds, delivered: delivered / seconds }
  for (const connection of connections) connection.end()
  return figures
}

const fanOut: Measurement = {
  name: 'live-fanout',
  about: `20 changes/s of one statement to ${SUBSCRIBERS.toLocaleString('en')} subscribers; Socket.IO broadcasts the same bytes`,
  columns: { rate: '1/s', cpu: 'ms per 1000', last: 'ms', server: 'of a CPU', client: 'of a CPU' },
  ratios: [
    { column: 'rate', to: 'Socket.IO', least: 1 },
    { column: 'cpu', to: 'Socket.IO', most: 1 },
  ],
  subject: async (checkout) => contender('gatehouse', toAll, checkout),
  async *references() {
    yield { name: 'Socket.IO', measure: () => socketIoBroadcast(SUBSCRIBERS, CHANGE, toSubscribers) }
  },
}

/** A change as ours is, for Socket.IO to broadcast. */
const CHANGE =
  '{"Kind":"Change","Put":[{"Key":[1],"Row":{"id":1,"price":"101.2500","quantity":1234}}],"Position":"kJ0ZqJ0pYV8f0a2nF1yqWwAxMjM0NS5hYmNkZWZn"}'

async function toAll(server: LiveServer): Promise<Figures> {
  await server.query(TRADES)
  await server.insert('fills', [{ ...fill(0), id: 1 }])
  const connections = []
  let delivered = 0
  while (connections.length < SUBSCRIBERS) {
    const some = await Promise.all(Array.from({ length: 50 }, () => server.connect()))
    await Promise.all(some.map((connection) => connection.subscribe(BY_SYMBOL, { s: 'S0' }, () => {})))
    // A Progress message is shorter than a change.
    for (const { socket } of some) countMessages(socket, CHANGE.length, () => delivered++)
    connections.push(...some)
  }
  const change = () => server.query('UPDATE fills SET quantity = quantity + 1 WHERE id = 1')
  const figures = await toSubscribers(server, change, () => delivered)
  for (const connection of connections) connection.end()
  return figures
}

const CHANGE_MS = 1000 / 20

/** At most 20 changes a second: the next change is made only when all subscribers have received the previous one. */
async function toSubscribers(
  server: { use(): { readonly cpuMs: number } },
  change: () => Promise<void>,
  delivered: () => number,
): Promise<Figures> {
  const times: number[] = []
  const once = async (): Promise<void> => {
    const target = delivered() + SUBSCRIBERS
    const began = performance.now()
    await change()
    while (delivered() < target) await sleep(1)
    times.push(performance.now() - began)
  }
  for (let warm = 0; warm < 10; warm++) await once()
  times.length = 0
  const changes = Math.ceil(ROUND_MS / CHANGE_MS)
  const [cpu, own, started] = [server.use().cpuMs, process.cpuUsage(), performance.now()]
  for (let count = 0; count < changes; count++) {
    const wait = started + count * CHANGE_MS - performance.now()
    if (wait > 0) await sleep(wait)
    await once()
  }
  const usedMs = server.use().cpuMs - cpu
  const { user, system } = process.cpuUsage(own)
  const ms = Math.max(changes * CHANGE_MS, performance.now() - started)
  const count = changes * SUBSCRIBERS
  return {
    rate: (count / ms) * 1000,
    cpu: (usedMs / count) * 1000,
    last: median(times),
    server: usedMs / ms,
    client: (user + system) / 1000 / ms,
  }
}

const writes: Measurement = {
  name: 'live-writes',
  about: 'durable inserts, 64 at once, with the change log and nobody live',
  columns: { rate: '1/s', cpu: 'ms per 1000' },
  ratios: [{ column: 'rate', to: 'live = off', least: 0.9 }],
  subject: async (checkout) => contender('gatehouse', (server) => inserts(server, ''), checkout),
  async *references() {
    yield contender('live = off', (server) => inserts(server, ' WITH (live = off)'))
  },
}

async function inserts(server: LiveServer, options: string): Promise<Figures> {
  await server.query(TRADES + options)
  const next = () =>
    requestBytes('POST', '/query/fills/insert', server.headers, JSON.stringify(fill(1)), 'application/json')
  const callers = Array.from({ length: 64 }, () => ({ next }))
  await load(server.port, callers, ROUND_MS / 2)
  const before = server.use().cpuMs
  const { responses, seconds } = await load(server.port, callers, ROUND_MS)
  return { rate: responses / seconds, cpu: ((server.use().cpuMs - before) / responses) * 1000 }
}

const POLLERS = 50
const POLLED = 'SELECT id, price, quantity FROM fills WHERE id <= 100'

const polling: Measurement = {
  name: 'live-polling',
  about: `${POLLERS} subscribers of 100 rows, 10 changes/s; and as many clients that ask 10 times a second`,
  columns: { cpu: 'ms per s' },
  ratios: [{ column: 'cpu', to: 'polling', most: 0.1 }],
  subject: async (checkout) => contender('gatehouse', (server) => fresh(server, 'live'), checkout),
  async *references() {
    yield contender('polling', (server) => fresh(server, 'polling'))
    yield contender('only the changes', (server) => fresh(server, 'nobody'))
  },
}

async function fresh(server: LiveServer, way: 'live' | 'polling' | 'nobody'): Promise<Figures> {
  await server.query(TRADES)
  await server.insert(
    'fills',
    Array.from({ length: 100 }, (_row, index) => ({ ...fill(0), id: index + 1 })),
  )
  const connections = []
  if (way === 'live') {
    for (let count = 0; count < POLLERS; count++) {
      const connection = await server.connect()
      await connection.subscribe(POLLED, {}, () => {})
      connections.push(connection)
    }
  }
  const change = () =>
    server.query('UPDATE fills SET quantity = quantity + 1 WHERE id = :id', { id: 1 + Math.floor(Math.random() * 100) })
  const next = () => requestBytes('POST', '/query', server.headers, POLLED, 'text/plain; charset=utf-8')
  const poller = { port: server.port, byKey: next }
  const round = async (milliseconds: number): Promise<void> => {
    const changes = paced(10, milliseconds, change)
    if (way === 'polling')
      await (await connectPaced(poller, { connections: POLLERS, perSecond: 10 * POLLERS, next }))(milliseconds)
    await changes
  }
  await round(ROUND_MS / 2)
  const before = server.use().cpuMs
  await round(ROUND_MS)
  const cpu = (server.use().cpuMs - before) / (ROUND_MS / 1000)
  for (const connection of connections) connection.end()
  return { cpu }
}

const CHANGES = 1000
/** Of a table with 1,000 rows the statement has 100. */
const GROUP = 'SELECT id, n FROM counters WHERE g = 1'

const pglite: Measurement = {
  name: 'live-pglite',
  about: `${CHANGES.toLocaleString('en')} updates of a watched row, until the subscriber holds the last; live.incrementalQuery of PGlite`,
  columns: { rate: 'changes/s', cpu: 'ms per 1000' },
  ratios: [{ column: 'rate', to: 'PGlite', least: 1 }],
  subject: async (checkout) => contender('gatehouse', counters, checkout),
  async *references() {
    yield { name: 'PGlite', measure: () => pgliteChanges(CHANGES) }
  },
}

/** One update at a time, as PGlite does them. */
async function counters(server: LiveServer): Promise<Figures> {
  await server.query('CREATE TABLE counters (id Integer PRIMARY KEY, g Integer NOT NULL, n Integer NOT NULL)')
  await server.insert(
    'counters',
    Array.from({ length: 1000 }, (_row, id) => ({ id, g: id % 10, n: 0 })),
  )
  const held = new Map<number, number>()
  const connection = await server.connect()
  await connection.subscribe(GROUP, {}, (message) => {
    for (const { Key, Row } of JSON.parse(message.toString()).Data.Put ?? []) held.set(Key[0], Row.n)
  })
  const update = (count: number) =>
    server.query('UPDATE counters SET n = :n WHERE id = :id', { n: count, id: 1 + (count % 100) * 10 })
  for (let count = -100; count < 0; count++) await update(Math.abs(count) + 1e6)
  const [cpu, started] = [server.use().cpuMs, performance.now()]
  for (let count = 1; count <= CHANGES; count++) await update(count)
  while (held.get(1 + (CHANGES % 100) * 10) !== CHANGES) await sleep(1)
  const seconds = (performance.now() - started) / 1000
  connection.end()
  return { rate: CHANGES / seconds, cpu: ((server.use().cpuMs - cpu) / CHANGES) * 1000 }
}

const STALLED = Number(process.env.BENCH_STALLED ?? 1000)
const STATEMENTS = Number(process.env.BENCH_STATEMENTS ?? 10_000)

const overload: Measurement = {
  name: 'live-overload',
  about: `delivery beside ${STALLED.toLocaleString('en')} subscribers who stop reading, ${STATEMENTS.toLocaleString('en')} statements and a join that runs for long`,
  columns: { p50: 'ms', p99: 'ms', growth: 'MiB', cpu: 'ms per s' },
  ratios: [{ column: 'p99', to: 'alone', most: 2 }],
  subject: async (checkout) => contender('beside', (server) => besideHostile(server), checkout),
  async *references() {
    yield contender('alone', async (server) => ({ ...(await deliveries(server, 50)), growth: 0 }))
  },
}

async function besideHostile(server: LiveServer): Promise<Figures> {
  await server.query('CREATE TABLE big (id Integer PRIMARY KEY, body Text NOT NULL)')
  await server.insert(
    'big',
    Array.from({ length: 20 }, (_row, id) => ({ id, body: 'x'.repeat(10_000) })),
  )
  await server.query('CREATE TABLE pairs (id Integer PRIMARY KEY, n Integer NOT NULL)')
  for (let first = 0; first < 20_000; first += 5_000)
    await server.insert(
      'pairs',
      Array.from({ length: 5_000 }, (_row, index) => ({ id: first + index, n: index })),
    )
  const before = server.use().proportionalMiB
  const connections = []
  while (connections.length < STALLED) {
    const connection = await server.connect()
    await connection.subscribe('SELECT id, body FROM big', {}, () => {})
    connection.socket.pause()
    connections.push(connection)
  }
  for (let count = 0; count < STATEMENTS; ) {
    const connection = await server.connect()
    connections.push(connection)
    const some = Array.from({ length: 100 }, () =>
      connection.subscribe('SELECT n FROM pairs WHERE id = :id', { id: count++ }, () => {}),
    )
    await Promise.all(some)
  }
  const heavy = await server.connect()
  connections.push(heavy)
  // Its first run is not waited for.
  heavy
    .subscribe('SELECT count(*) AS c FROM pairs a CROSS JOIN pairs b WHERE a.n * b.n < 0', {}, () => {})
    .catch(() => {})
  const stop = new AbortController()
  const changing = (async () => {
    for (let count = 0; !stop.signal.aborted; count++) {
      await server.query('UPDATE big SET body = repeat(:t, 1000) WHERE id = :id', {
        t: String(1e9 + count),
        id: count % 20,
      })
      await server.query('UPDATE pairs SET n = n + 1 WHERE id = :id', { id: count })
      await sleep(100)
    }
  })()
  const figures = await deliveries(server, 50)
  const growth = server.use().proportionalMiB - before
  stop.abort()
  await changing
  for (const connection of connections) connection.end()
  return { ...figures, growth }
}

export const live: readonly Measurement[] = [latency, family, fanOut, writes, polling, pglite, overload]
