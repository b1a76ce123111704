/** Materialized views: bars that are kept and followed live, how far they are behind, what they cost writers, and their build. */
import { setTimeout as sleep } from 'node:timers/promises'
import { HERE } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { load, requestBytes } from './support/http-load.ts'
import { type LiveServer, startLive } from './support/live-server.ts'
import { paced, percentiles } from './support/percentiles.ts'

const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 6_000)
const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000)
const SYMBOLS = 100
/** Of each symbol, from before: what a statement that runs again reads. */
const HISTORY = 600
const PER_SECOND = 1_000
/** Trades of one request. */
const TOGETHER = 20

const TRADES =
  'CREATE TABLE trades (id Integer PRIMARY KEY, symbol Text NOT NULL, price Decimal(18, 4) NOT NULL, quantity Integer NOT NULL, at Timestamp NOT NULL)'
const INDEX = 'CREATE INDEX trades_symbol ON trades (symbol, at)'
const BARS = `SELECT symbol, time_bucket('1 minute', at) AS bar, first(price, at) AS open, max(price) AS high, min(price) AS low,
  last(price, at) AS close, sum(quantity) AS volume, count(*) AS n FROM trades`
const KEPT = `CREATE MATERIALIZED VIEW bars AS ${BARS} GROUP BY symbol, bar`
const LEVELS = ['hour', 'day'].map((unit, index) => {
  const [table, time] = index === 0 ? ['bars', 'bar'] : ['bars_hour', 'hour']
  return `CREATE MATERIALIZED VIEW bars_${unit} AS SELECT symbol, time_bucket('1 ${unit}', ${time}) AS ${unit}, first(open, ${time}) AS open,
    max(high) AS high, min(low) AS low, last(close, ${time}) AS close, sum(volume) AS volume, sum(n) AS n FROM ${table} GROUP BY symbol, ${unit}`
})

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

let ids = 0
/** All of one minute and day, so that each symbol has one bar that grows. */
const DAY = Date.parse('2026-11-02T09:00:00Z')
const trade = (symbol: number) => {
  const at = new Date(DAY + (ids % 59_000)).toISOString()
  return { id: ++ids, symbol: `S${symbol}`, price: `${100 + (ids % 50)}.25`, quantity: 1 + (ids % 500), at }
}

async function prepare(server: LiveServer, views: readonly string[]): Promise<void> {
  await server.query('DROP MATERIALIZED VIEW IF EXISTS bars_1h')
  await server.query('DROP MATERIALIZED VIEW IF EXISTS bars_1m')
  await server.query('DROP TABLE trades')
  await server.query(TRADES)
  await server.query(INDEX)
  for (const view of views) await server.query(view)
  for (let count = 0; count < HISTORY; count += 50)
    await server.insert(
      'trades',
      Array.from({ length: 50 * SYMBOLS }, (_row, index) => trade(index % SYMBOLS)),
    )
}

/** Follows the bar of each symbol, and measures when each trade is in it. */
async function follow(server: LiveServer, statement: string): Promise<Figures> {
  const sent = Array.from({ length: SYMBOLS }, () => HISTORY)
  const waiting: { n: number; at: number }[][] = Array.from({ length: SYMBOLS }, () => [])
  const waits: number[] = []
  let isMeasured = false
  const connections = await Promise.all(Array.from({ length: 10 }, () => server.connect()))
  for (let symbol = 0; symbol < SYMBOLS; symbol++)
    await connections[symbol % 10]?.subscribe(statement, { s: `S${symbol}` }, (message) => {
      const now = performance.now()
      for (const { Row } of JSON.parse(message.toString()).Data.Put ?? []) {
        const queue = waiting[symbol] ?? []
        while (queue[0] !== undefined && queue[0].n <= Number(Row.n)) {
          const seen = queue.shift()
          if (isMeasured && seen !== undefined) waits.push(Math.max(0, now - seen.at))
        }
      }
    })
  const insert = async (): Promise<void> => {
    const rows = Array.from({ length: TOGETHER }, () => Math.floor(Math.random() * SYMBOLS))
    await server.insert('trades', rows.map(trade))
    const at = performance.now()
    for (const symbol of rows) {
      sent[symbol] = (sent[symbol] ?? 0) + 1
      waiting[symbol]?.push({ n: sent[symbol] ?? 0, at })
    }
  }
  await paced(PER_SECOND / TOGETHER, ROUND_MS / 2, insert)
  isMeasured = true
  const before = server.use().cpuMs
  await paced(PER_SECOND / TOGETHER, ROUND_MS, insert)
  const cpu = (server.use().cpuMs - before) / (ROUND_MS / 1000)
  // The last of them may still be on their way.
  for (let turn = 0; turn < 100 && waiting.some(({ length }) => length > 0); turn++) await sleep(50)
  for (const connection of connections) connection.end()
  return { ...percentiles(waits), cpu, missing: waiting.reduce((sum, { length }) => sum + length, 0) }
}

const columns = { p50: 'ms', p99: 'ms', cpu: 'ms per s', missing: 'trades' }

const bars: Measurement = {
  name: 'views-live',
  about: `${SYMBOLS} live bars at ${PER_SECOND.toLocaleString('en')} trades/s: of a materialized view, with its keeper, and of a statement that runs again`,
  columns,
  targets: { p99: { most: 500 }, missing: { most: 0 } },
  ratios: [{ column: 'cpu', to: 'rerun', most: 0.2 }],
  subject: async (checkout) => {
    const work: Work = async (server) => {
      await prepare(server, [KEPT])
      await server.query('REFRESH MATERIALIZED VIEW bars')
      return follow(server, 'SELECT symbol, bar, open, high, low, close, volume, n FROM bars WHERE symbol = :s')
    }
    return contender('gatehouse', work, checkout)
  },
  async *references() {
    yield contender('rerun', async (server) => {
      await prepare(server, [])
      return follow(server, `${BARS} WHERE symbol = :s GROUP BY symbol, bar`)
    })
    yield contender('only the trades', async (server) => {
      await prepare(server, [])
      return follow(server, 'SELECT id AS n FROM trades WHERE symbol = :s AND id < 0')
    })
  },
}

const levels: Measurement = {
  name: 'views-levels',
  about: `the same of the third level: minutes, hours, days`,
  columns,
  targets: { p99: { most: 1_000 }, missing: { most: 0 } },
  subject: async (checkout) => {
    const work: Work = async (server) => {
      await prepare(server, [KEPT, ...LEVELS])
      await server.query('REFRESH MATERIALIZED VIEW bars_day')
      return follow(server, 'SELECT symbol, day, open, high, low, close, volume, n FROM bars_day WHERE symbol = :s')
    }
    return contender('gatehouse', work, checkout)
  },
  async *references() {},
}

const writes: Measurement = {
  name: 'views-writes',
  about: 'durable inserts, 64 at once, into a table with one materialized view',
  columns: { rate: '1/s', cpu: 'ms per 1000' },
  ratios: [{ column: 'rate', to: 'without', least: 0.7 }],
  subject: async (checkout) => contender('gatehouse', (server) => inserts(server, [KEPT]), checkout),
  async *references() {
    yield contender('without', (server) => inserts(server, []))
  },
}

async function inserts(server: LiveServer, views: readonly string[]): Promise<Figures> {
  await prepare(server, views)
  const next = () =>
    requestBytes(
      'POST',
      '/query/trades/insert',
      server.headers,
      JSON.stringify(trade(ids % SYMBOLS)),
      'application/json',
    )
  const callers = Array.from({ length: 64 }, () => ({ next }))
  await load(server.port, callers, ROUND_MS / 2)
  const before = server.use().cpuMs
  const { responses, seconds } = await load(server.port, callers, ROUND_MS)
  return { rate: responses / seconds, cpu: ((server.use().cpuMs - before) / responses) * 1000 }
}

const build: Measurement = {
  name: 'views-build',
  about: `the build of a view of ${ROWS.toLocaleString('en')} rows with ${(ROWS / 10).toLocaleString('en')} groups; its query, read to the end`,
  columns: { build: 's', query: 's', ratio: '' },
  targets: { ratio: { most: 2 } },
  subject: async (checkout) => contender('gatehouse', buildOnce, checkout),
  async *references() {},
}

async function buildOnce(server: LiveServer): Promise<Figures> {
  await server.query(
    'CREATE TABLE ticks (id Integer PRIMARY KEY, symbol Text NOT NULL, at Timestamp NOT NULL, price Decimal(18, 4) NOT NULL)',
  )
  await server.query('CREATE INDEX ticks_symbol ON ticks (symbol, at)')
  await server.query(`INSERT INTO ticks SELECT i, 'S' || CAST(i % 100 AS Text), TIMESTAMP '2026-01-01T00:00:00Z' + INTERVAL '6 seconds' * (i / 100), CAST(i % 1000 AS Decimal(18, 4)) / 7
    FROM generate_series(1, ${ROWS}) AS g (i)`)
  const query = `SELECT symbol, time_bucket('1 minute', at) AS bar, max(price) AS high, min(price) AS low, count(*) AS n FROM ticks GROUP BY symbol, bar`
  const readAll = async (): Promise<number> => {
    const began = performance.now()
    const response = await fetch(`http://127.0.0.1:${server.port}/query`, {
      method: 'POST',
      headers: { ...server.headers, 'content-type': 'application/json', accept: 'text/csv' },
      body: JSON.stringify({ Statement: query }),
    })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`The query failed: ${response.status}`)
    return (performance.now() - began) / 1000
  }
  await readAll()
  const seconds = await readAll()
  const began = performance.now()
  await server.query(`CREATE MATERIALIZED VIEW built AS ${query}`)
  await server.query('REFRESH MATERIALIZED VIEW built')
  const built = (performance.now() - began) / 1000
  return { build: built, query: seconds, ratio: built / seconds }
}

export const views: readonly Measurement[] = [bars, levels, writes, build]
