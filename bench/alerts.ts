/** Alerts: what their evaluation costs, from a commit to its webhook, many that fire at once, and writes to a table that has one. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type AlertReceiver, type ReceivedNotice, startAlertReceiver } from './support/alert-receiver.ts'
import { type Checkout, HERE } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { load, requestBytes } from './support/http-load.ts'
import { type LiveServer, startLive } from './support/live-server.ts'
import { paced, percentiles } from './support/percentiles.ts'

const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 4_000)
const FAMILY = Number(process.env.BENCH_FAMILY ?? 1_000)
const BURST = Number(process.env.BENCH_ALERTS ?? 10_000)
const MADE_AT_ONCE = 32
/** As often as an alert is evaluated. */
const ALERT_RATE = 4
const LONGEST_MS = 120_000
const LIMITS = { '--alerts-per-user': '1000000', '--alerts': '1000000' }
const FILLS =
  'CREATE TABLE fills (id Integer PRIMARY KEY, symbol Text NOT NULL, price Decimal(18, 4) NOT NULL, quantity Integer NOT NULL)'
const BY_SYMBOL = 'SELECT id, price, quantity FROM fills WHERE symbol = :s'

let ids = 0
const fill = (symbol: number, price = '101.25') => ({ id: ++ids, symbol: `S${symbol}`, price, quantity: ids % 500 })
const anySymbol = (): number => Math.floor(Math.random() * FAMILY)
/** What alerts wait for. */
const DEAR = '2000'

interface Place {
  readonly server: LiveServer
  readonly notices: readonly ReceivedNotice[]
  makeAlerts(count: number, members: object): Promise<void>
}

/** Each round starts a new server. */
function contender(name: string, work: (place: Place) => Promise<Figures>, checkout: Checkout = HERE): Contender {
  return {
    name,
    async measure() {
      const notices: ReceivedNotice[] = []
      const receiver = await startAlertReceiver((notice) => notices.push(notice))
      const server = await startLive(checkout, LIMITS)
      try {
        await server.query(FILLS)
        await server.query('CREATE INDEX fills_by_symbol ON fills (symbol)')
        await declareChannel(server, receiver)
        return await work({ server, notices, makeAlerts: (count, members) => makeAlerts(server, count, members) })
      } finally {
        await server.stop()
        await receiver.stop()
      }
    },
  }
}

function declareChannel(server: LiveServer, { url }: AlertReceiver): Promise<unknown> {
  return server.post('/admin/channels', { name: 'hook', kind: 'webhook', url, private: true })
}

async function makeAlerts(server: LiveServer, count: number, members: object): Promise<void> {
  const numbers = Array.from({ length: count }, (_alert, index) => index)
  for (let first = 0; first < count; first += MADE_AT_ONCE)
    await Promise.all(
      numbers.slice(first, first + MADE_AT_ONCE).map((number) =>
        server.post('/alerts', {
          ...{ name: `alert ${number}`, statement: BY_SYMBOL, parameters: { s: `S${number}` } },
          ...{ when: `price >= ${DEAR}`, group: '0 seconds', channels: ['hook'], ...members },
        }),
      ),
    )
}

async function untilTrue(isDone: () => boolean): Promise<void> {
  const end = performance.now() + LONGEST_MS
  while (!isDone() && performance.now() < end) await sleep(5)
}

const family: Measurement = {
  name: 'alerts-family',
  about: `${FAMILY.toLocaleString('en')} alerts that differ in one value, at 1,000 changes/s of which 10 match; and the same live statements`,
  columns: { cpu: 'ms per s', p50: 'ms', p99: 'ms', arrived: 'of matches' },
  targets: { p99: { most: 1_000 }, arrived: { least: 1, most: 1 } },
  ratios: [{ column: 'cpu', to: 'live statements', most: 1.3 }],
  subject: async (checkout) => contender('gatehouse', watchedByAlerts, checkout),
  async *references() {
    yield contender('live statements', watchedLive)
  },
}

async function watchedByAlerts({ server, notices, makeAlerts }: Place): Promise<Figures> {
  await makeAlerts(FAMILY, { mode: 'event' })
  const { cpu, committed } = await changeEvenly(server)
  const arrived = () =>
    notices
      .flatMap(({ keys, at }) => keys.map(([id]) => ({ id: Number(id), at })))
      .filter(({ id }) => committed.has(id))
  await untilTrue(() => arrived().length >= committed.size)
  const delays = arrived().map(({ id, at }) => at - (committed.get(id) ?? at))
  return { ...percentiles(delays), cpu, arrived: delays.length / committed.size }
}

async function watchedLive({ server }: Place): Promise<Figures> {
  const connections = await Promise.all(Array.from({ length: 10 }, () => server.connect()))
  for (let symbol = 0; symbol < FAMILY; symbol++)
    await connections[symbol % 10]?.subscribe(BY_SYMBOL, { s: `S${symbol}` }, () => {}, ALERT_RATE)
  const { cpu } = await changeEvenly(server)
  for (const connection of connections) connection.end()
  return { cpu }
}

/** 50 inserts of 20 rows a second. `committed` is when each row that matches was committed, after a while. */
async function changeEvenly(server: LiveServer): Promise<{ cpu: number; committed: ReadonlyMap<number, number> }> {
  const committed = new Map<number, number>()
  let inserts = 0
  const insert = async (): Promise<void> => {
    const rows = Array.from({ length: 20 }, () => fill(anySymbol()))
    const isMatching = ++inserts % 5 === 0
    const dear = isMatching ? [fill(anySymbol(), DEAR)] : []
    await server.insert('fills', [...rows, ...dear])
    for (const { id } of dear) committed.set(id, performance.now())
  }
  await paced(50, ROUND_MS / 2, insert)
  committed.clear()
  const before = server.use().cpuMs
  await paced(50, ROUND_MS, insert)
  return { cpu: (server.use().cpuMs - before) / (ROUND_MS / 1000), committed }
}

const rate: Measurement = {
  name: 'alerts-rate',
  about: `changed rows that ${FAMILY.toLocaleString('en')} alerts evaluate, inserted as fast as they are taken, until the last has reached its webhook`,
  columns: { rate: 'rows/s', cpu: 'ms per 1000', last: 'ms' },
  subject: async (checkout) => contender('gatehouse', (place) => evaluateMany(place, FAMILY), checkout),
  async *references() {
    yield contender('without alerts', (place) => evaluateMany(place, 0))
  },
}

/** `last` is from the last commit to its webhook. */
async function evaluateMany({ server, notices, makeAlerts }: Place, alerts: number): Promise<Figures> {
  await makeAlerts(alerts, { mode: 'event' })
  const before = server.use().cpuMs
  const began = performance.now()
  let rows = 0
  const insert = async (): Promise<void> => {
    while (performance.now() - began < ROUND_MS) {
      const some = Array.from({ length: 500 }, () => fill(anySymbol()))
      await server.insert('fills', some)
      rows += some.length
    }
  }
  await Promise.all([insert(), insert()])
  await server.insert('fills', [fill(0, DEAR)])
  const committed = performance.now()
  if (alerts > 0) await untilTrue(() => notices.length > 0)
  const ended = performance.now()
  return {
    rate: (rows / (ended - began)) * 1000,
    cpu: ((server.use().cpuMs - before) / rows) * 1000,
    last: ended - committed,
  }
}

const burst: Measurement = {
  name: 'alerts-burst',
  about: `${BURST.toLocaleString('en')} alerts fire in one commit, until each webhook has arrived`,
  columns: { seconds: 's', arrived: 'of alerts', doubled: 'webhooks', loop: 'ms', longest: 'ms' },
  targets: { seconds: { most: 60 }, arrived: { least: 1 }, doubled: { most: 0 }, loop: { most: 100 } },
  subject: async (checkout) => contender('gatehouse', fireAtOnce, checkout),
  async *references() {},
}

/** `loop` and `longest` are of requests that a caller sends meanwhile, which wait for the event loop. */
async function fireAtOnce({ server, notices, makeAlerts }: Place): Promise<Figures> {
  await makeAlerts(BURST, {})
  const waits: number[] = []
  let isDone = false
  const probe = (async () => {
    while (!isDone) {
      const began = performance.now()
      await fetch(`http://127.0.0.1:${server.port}/healthz`).then((response) => response.text())
      waits.push(performance.now() - began)
      await sleep(10)
    }
  })()
  const began = performance.now()
  await server.insert(
    'fills',
    Array.from({ length: BURST }, (_row, symbol) => fill(symbol, DEAR)),
  )
  await untilTrue(() => notices.length >= BURST)
  const seconds = ((notices.at(-1)?.at ?? performance.now()) - began) / 1000
  isDone = true
  await probe
  const alerted = new Set(notices.map(({ alert }) => alert))
  return {
    seconds,
    arrived: alerted.size / BURST,
    doubled: notices.length - alerted.size,
    loop: percentiles(waits).p99,
    longest: Math.max(...waits),
  }
}

const writes: Measurement = {
  name: 'alerts-writes',
  about: 'durable inserts of one row, 64 at once, into a table with an alert; with none',
  columns: { rate: '1/s', cpu: 'ms per 1000' },
  subject: async (checkout) => contender('gatehouse', (place) => insertMany(place, 1), checkout),
  async *references() {
    yield contender('none declared', (place) => insertMany(place, 0))
  },
}

async function insertMany({ server, makeAlerts }: Place, alerts: number): Promise<Figures> {
  await makeAlerts(alerts, {})
  const next = () =>
    requestBytes('POST', '/query/fills/insert', server.headers, JSON.stringify(fill(0)), 'application/json')
  const callers = Array.from({ length: 64 }, () => ({ next }))
  await load(server.port, callers, ROUND_MS / 2)
  const before = server.use().cpuMs
  const { responses, seconds } = await load(server.port, callers, ROUND_MS)
  return { rate: responses / seconds, cpu: ((server.use().cpuMs - before) / responses) * 1000 }
}

export const alerts: readonly Measurement[] = [family, rate, burst, writes]
