/** Materialized views: bars that are kept and followed live, how far they are behind, what they cost writers, and their build. */
import { setTimeout as sleep } from 'node:timers/promises'
import { HERE } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { load, requestBytes } from './support/http-load.ts'
import { type LiveServer, startLive } from './support/live-server.ts'
import { paced, percentiles } from './support/percentiles.ts'
import { clientToken } from './support/tokens.ts'

const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 6_000)
const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000)
const SYMBOLS = 100
/** Of each symbol, from before: what a statement that runs again reads. */
const HISTORY = Number(process.env.BENCH_HISTORY ?? 600)
const PER_SECOND = 1_000
/** Trades of one request. */
const TOGETHER = 20

const TRADES =
  'CREATE TABLE trades (id Integer PRIMARY KEY, symbol Text NOT NULL, price Decimal(18, 4) NOT NULL, quantity Integer NOT NULL, at Timestamp NOT NULL)'
const INDEX = 'CREATE INDEX trades_symbol ON trades (symbol, at)'
/** Has all that bars are made of: no row of the table is read. */
const COVERING = 'CREATE INDEX trades_symbol ON trades (symbol, at, price, quantity)'
const BARS = `SELECT symbol, time_bucket('1 minute', at) AS bar, first(price, at) AS open, max(price) AS high, min(price) AS low,
  last(price, at) AS close, sum(quantity) AS volume, count(*) AS n FROM trades`
const KEPT = `CREATE MATERIALIZED VIEW bars AS ${BARS} GROUP BY symbol, bar`
const LEVELS = ['hour', 'day'].map((unit, index) => {
  const [table, time] = index === 0 ? ['bars', 'bar'] : ['bars_hour', 'hour']
  return `CREATE MATERIALIZED VIEW bars_${unit} AS SELECT symbol, time_bucket('1 ${unit}', ${time}) AS ${unit}, first(open, ${time}) AS open,
    max(high) AS high, min(low) AS low, last(close, ${time}) AS close, sum(volume) AS volume, sum(n) AS n FROM ${table} GROUP BY symbol, ${unit}`
})

/** A build of a million rows may take longer than the usual limit where other programs run. */
const LIMITS = { '--query-seconds': '600' }

type Work = (server: LiveServer) => Promise<Figures>

/** Each round starts a new server. */
function contender(name: string, work: Work, checkout = HERE): Contender {
  return {
    name,
    async measure() {
      const server = await startLive(checkout, LIMITS)
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

async function prepare(server: LiveServer, views: readonly string[], index = INDEX): Promise<void> {
  await server.query('DROP MATERIALIZED VIEW IF EXISTS bars_1h')
  await server.query('DROP MATERIALIZED VIEW IF EXISTS bars_1m')
  await server.query('DROP TABLE trades')
  await server.query(TRADES)
  await server.query(index)
  for (const view of views) await server.query(view)
  for (let count = 0; count < HISTORY; count += 50)
    await server.insert(
      'trades',
      Array.from({ length: 50 * SYMBOLS }, (_row, index) => trade(index % SYMBOLS)),
    )
}

/** Bars that are followed while trades come in. */
interface Followed {
  readonly bars: number
  /** The trades that each has from before. */
  readonly history: number
  readonly perSecond: number
  readonly together: number
  /** `onTrades` is called with how many trades the bar has. */
  subscribe(bar: number, onTrades: (trades: number) => void): Promise<void>
  /** A trade of each of these bars. */
  insert(bars: readonly number[]): Promise<void>
}

/** Measures when each trade is in its bar. */
async function measureBars(server: LiveServer, { bars, history, perSecond, together, ...work }: Followed) {
  const sent = Array.from({ length: bars }, () => history)
  /** How many trades each bar has shown. */
  const shown = Array.from({ length: bars }, () => history)
  const waiting: { n: number; at: number }[][] = Array.from({ length: bars }, () => [])
  const waits: number[] = []
  let isMeasured = false
  for (let bar = 0; bar < bars; bar++)
    await work.subscribe(bar, (trades) => {
      const now = performance.now()
      const queue = waiting[bar] ?? []
      shown[bar] = trades
      while (queue[0] !== undefined && queue[0].n <= trades) {
        const seen = queue.shift()
        if (isMeasured && seen !== undefined) waits.push(Math.max(0, now - seen.at))
      }
    })
  const insert = async (): Promise<void> => {
    const some = Array.from({ length: together }, () => Math.floor(Math.random() * bars))
    await work.insert(some)
    const at = performance.now()
    for (const bar of some) {
      const n = (sent[bar] ?? 0) + 1
      sent[bar] = n
      if (n > (shown[bar] ?? 0)) waiting[bar]?.push({ n, at })
      // It was in the bar before the insert was answered.
      else if (isMeasured) waits.push(0)
    }
  }
  await paced(perSecond / together, ROUND_MS / 2, insert)
  isMeasured = true
  const before = server.use().cpuMs
  await paced(perSecond / together, ROUND_MS, insert)
  const cpu = (server.use().cpuMs - before) / (ROUND_MS / 1000)
  // The last of them may still be on their way.
  for (let turn = 0; turn < 100 && waiting.some(({ length }) => length > 0); turn++) await sleep(50)
  return { ...percentiles(waits), cpu, missing: waiting.reduce((sum, { length }) => sum + length, 0) }
}

/** Of the rows of a message. */
function readTrades(message: Buffer): number[] {
  return (JSON.parse(message.toString()).Data.Put ?? []).map(({ Row }: { Row: { n: unknown } }) => Number(Row.n))
}

/** The bar of each symbol. */
async function follow(server: LiveServer, statement: string): Promise<Figures> {
  const connections = await Promise.all(Array.from({ length: 10 }, () => server.connect()))
  const figures = await measureBars(server, {
    ...{ bars: SYMBOLS, history: HISTORY, perSecond: PER_SECOND, together: TOGETHER },
    subscribe: async (symbol, onTrades) =>
      connections[symbol % 10]?.subscribe(statement, { s: `S${symbol}` }, (message) => {
        for (const trades of readTrades(message)) onTrades(trades)
      }),
    insert: (symbols) => server.insert('trades', symbols.map(trade)),
  })
  for (const connection of connections) connection.end()
  return figures
}

const columns = { p50: 'ms', p99: 'ms', cpu: 'ms per s', missing: 'trades' }

const bars: Measurement = {
  name: 'views-live',
  about: `${SYMBOLS} live bars at ${PER_SECOND.toLocaleString('en')} trades/s: of a materialized view, with its keeper, and of a statement that runs again`,
  columns,
  targets: { p99: { most: 500 }, missing: { most: 0 } },
  ratios: [{ column: 'cpu', to: 'rerun', most: 0.2 }],
  subject: async (checkout) => contender('gatehouse', (server) => followKept(server, INDEX), checkout),
  async *references() {
    yield contender('with an index that covers', (server) => followKept(server, COVERING))
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

async function followKept(server: LiveServer, index: string): Promise<Figures> {
  await prepare(server, [KEPT], index)
  await server.query('REFRESH MATERIALIZED VIEW bars')
  return follow(server, 'SELECT symbol, bar, open, high, low, close, volume, n FROM bars WHERE symbol = :s')
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

/** Each is a program that sees its own rows. */
const DESKS = Number(process.env.BENCH_DESKS ?? 100)

const filtered: Measurement = {
  name: 'views-filtered',
  about: `${(DESKS * SYMBOLS).toLocaleString('en')} live bars under row filters, of ${DESKS} desks with ${SYMBOLS} symbols each, at ${(DESKS * SYMBOLS).toLocaleString('en')} trades/s`,
  columns,
  targets: { p99: { most: 500 }, missing: { most: 0 } },
  subject: async (checkout) => contender('gatehouse', followFiltered, checkout),
  async *references() {},
}

async function followFiltered(server: LiveServer): Promise<Figures> {
  const desks = Array.from({ length: DESKS }, (_desk, number) => `D${number}`)
  await server.post('/admin/attributes', { name: 'desk', type: 'Text', many: true })
  const tokens = new Map<string, string>()
  // Rows that a caller does not see cannot be written either: the writer sees all.
  for (const [client_id, desk] of [['writer', desks], ...desks.map((each) => [each, each] as const)] as const) {
    const rights = { grant_types: ['client_credentials'], scope: 'Platform/Market Platform/Trading' }
    const made = await server.post('/admin/clients', { client_id, ...rights, attributes: { desk } })
    tokens.set(client_id, await clientToken(server.port, client_id, String(Object(made).client_secret)))
  }
  await server.query(
    `CREATE TABLE fills (id Integer PRIMARY KEY, desk Text NOT NULL, symbol Text NOT NULL, price Decimal(18, 4) NOT NULL, quantity Integer NOT NULL,
      at Timestamp NOT NULL) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Trading' ROW FILTER (desk = :attribute.desk)`,
  )
  await server.query('CREATE INDEX fills_by_bar ON fills (desk, symbol, at)')
  await server.query(
    `CREATE MATERIALIZED VIEW desk_bars READ SCOPE 'Platform/Market' AS SELECT desk, symbol, time_bucket('1 minute', at) AS bar, first(price, at) AS open,
      max(price) AS high, min(price) AS low, last(price, at) AS close, sum(quantity) AS volume, count(*) AS n FROM fills GROUP BY desk, symbol, bar`,
  )
  const insert = async (bars: readonly number[]): Promise<void> => {
    const response = await fetch(`http://127.0.0.1:${server.port}/query/fills/insert`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokens.get('writer')}`, 'content-type': 'application/json' },
      body: JSON.stringify(
        bars.map((bar) => ({ ...trade(bar % SYMBOLS), desk: desks[Math.floor(bar / SYMBOLS)] ?? '' })),
      ),
    })
    const reply = await response.text()
    if (!response.ok) throw new Error(`The insert failed: ${reply}`)
  }
  const all = Array.from({ length: DESKS * SYMBOLS }, (_bar, number) => number)
  for (let first = 0; first < all.length; first += 1_000) await insert(all.slice(first, first + 1_000))
  await server.query('REFRESH MATERIALIZED VIEW desk_bars')
  const connections = await Promise.all(desks.map((desk) => server.connect(tokens.get(desk))))
  const statement = 'SELECT symbol, bar, open, high, low, close, volume, n FROM desk_bars WHERE symbol = :s'
  const figures = await measureBars(server, {
    ...{ bars: all.length, history: 1, perSecond: all.length, together: Math.max(1, all.length / 50) },
    subscribe: async (bar, onTrades) =>
      connections[Math.floor(bar / SYMBOLS)]?.subscribe(statement, { s: `S${bar % SYMBOLS}` }, (message) => {
        for (const trades of readTrades(message)) onTrades(trades)
      }),
    insert,
  })
  for (const connection of connections) connection.end()
  return figures
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
  await server.query(`INSERT INTO ticks SELECT i, 'S' || CAST(i % 100 AS Text), TIMESTAMP '2026-01-01T00:00:00Z' + INTERVAL '6 seconds' * (i / 100), round(CAST(i % 1000 AS Decimal(18, 4)) / 7, 4)
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

export const views: readonly Measurement[] = [bars, levels, filtered, writes, build]
