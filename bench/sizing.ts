/** `npm run sizing`: what a core and a GiB of this machine carry, as the table of docs/scaling.md#sizing. */
import { cpus, totalmem } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { HERE } from './support/checkout.ts'
import { type Caller, load, requestBytes } from './support/http-load.ts'
import { type LiveConnection, type LiveServer, startLive } from './support/live-server.ts'

const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 5000)
const CALLERS = 32
const ROWS = 100_000
const STREAMS = Number(process.env.BENCH_STREAMS ?? 5000)
const STATEMENTS = Number(process.env.BENCH_STATEMENTS ?? 1000)
const SIGN_INS = Number(process.env.BENCH_SIGN_INS ?? 400)
const SYMBOLS = 1000
const TOKEN = '/connect/token'
const SERVICE = 'grant_type=client_credentials&client_id=demo-service&client_secret=demo-service-secret'
const PASSWORD = 'grant_type=password&client_id=demo-cli&username=alice&password=wonderland-1'
const NO_RATE_LIMITS = Object.fromEntries(
  ['token', 'pages', 'query', 'stream', 'admin'].map((name) => [`--limit-${name}`, '']),
)

interface Figure {
  readonly what: string
  readonly value: string
}

print([...(await withServer(rates)), ...(await withServer(memory))])

/** Memory is measured on a server of its own: one that was busy has memory left, which would be missing from the figures. */
async function withServer(measure: (server: LiveServer) => Promise<Figure[]>): Promise<Figure[]> {
  const server = await startLive(HERE, NO_RATE_LIMITS)
  try {
    await fill(server)
    return await measure(server)
  } finally {
    await server.stop()
  }
}

async function rates(server: LiveServer): Promise<Figure[]> {
  return [
    await perCore(server, 'access tokens for programs (client_credentials)', form(SERVICE)),
    await perCore(server, 'sign-ins with a password (Argon2id, 19 MiB)', form(PASSWORD)),
    await perCore(server, 'queries of one row by its key', byKey(server)),
    await perCore(server, 'queries of 100 rows', hundredRows(server)),
    await perCore(server, 'inserts of one row, durable', inserts(server)),
  ]
}

async function memory(server: LiveServer): Promise<Figure[]> {
  return [await atRest(server), await grantMemory(server), ...(await streams(server))]
}

async function atRest({ use }: LiveServer): Promise<Figure> {
  await sleep(2000)
  return { what: 'memory of one process with a table of 100,000 rows', value: `${Math.round(use().residentMiB)} MiB` }
}

async function fill({ query, insert }: LiveServer): Promise<void> {
  await query('CREATE TABLE sizes (id Integer PRIMARY KEY, symbol Text NOT NULL, price Decimal(18, 4) NOT NULL)')
  await query('CREATE INDEX sizes_symbol ON sizes (symbol)')
  for (let from = 0; from < ROWS; from += 1000)
    await insert(
      'sizes',
      Array.from({ length: 1000 }, (_, index) => ({
        id: from + index,
        symbol: `S${(from + index) % SYMBOLS}`,
        price: '45.1000',
      })),
    )
}

function form(body: string): () => Buffer {
  const request = requestBytes('POST', TOKEN, {}, body)
  return () => request
}

function statement({ headers }: LiveServer, Statement: string, Parameters: () => object): () => Buffer {
  return () =>
    requestBytes('POST', '/query', headers, JSON.stringify({ Statement, Parameters: Parameters() }), 'application/json')
}

function byKey(of: LiveServer): () => Buffer {
  return statement(of, 'SELECT id, symbol, price FROM sizes WHERE id = :id', () => ({ id: random(ROWS) }))
}

function hundredRows(of: LiveServer): () => Buffer {
  return statement(of, 'SELECT id, price FROM sizes WHERE symbol = :symbol', () => ({ symbol: `S${random(SYMBOLS)}` }))
}

function inserts(of: LiveServer): () => Buffer {
  let id = ROWS
  return statement(of, "INSERT INTO sizes VALUES (:id, 'new', 1)", () => ({ id: id++ }))
}

/** Of the CPU time that the server and its children use, so that other programs on the machine hardly matter. */
async function perCore({ port, use }: LiveServer, what: string, next: () => Buffer): Promise<Figure> {
  const callers = Array.from({ length: CALLERS }, (): Caller => ({ next }))
  await load(port, callers, ROUND_MS)
  const before = use().cpuMs
  const { responses, seconds } = await load(port, callers, ROUND_MS)
  const cores = (use().cpuMs - before) / 1000 / seconds
  const each = responses / seconds / cores
  return {
    what,
    value: `${rounded(each)}/s per core (${rounded(responses / seconds)}/s with ${cores.toFixed(1)} cores)`,
  }
}

/** People who are signed in with a refresh token: they are in the database, not in memory. */
async function grantMemory({ port, use }: LiveServer): Promise<Figure> {
  let left = SIGN_INS
  const next = form(`${PASSWORD}&scope=openid+offline_access+Platform%2FMarket`)
  const callers = Array.from({ length: 8 }, (): Caller => ({ next: () => (left-- > 0 ? next() : undefined) }))
  await sleep(2000)
  const before = use().residentMiB
  await load(port, callers, 120_000)
  await sleep(2000)
  const each = ((use().residentMiB - before) * 1024) / SIGN_INS
  return { what: 'memory of a signed-in user without a connection', value: `${Math.max(0, each).toFixed(1)} KiB` }
}

async function streams(of: LiveServer): Promise<Figure[]> {
  const rest = of.use().residentMiB
  const connections: LiveConnection[] = []
  while (connections.length < STREAMS)
    connections.push(...(await Promise.all(Array.from({ length: 50 }, () => of.connect()))))
  await sleep(5000)
  const idle = of.use().residentMiB
  let messages = 0
  const count = () => {
    messages++
  }
  // Each reads a part of the table of its own, 100 rows at most.
  const own = 'SELECT id, price FROM sizes WHERE symbol = :symbol'
  const some = connections.slice(0, STATEMENTS)
  for (const [index, connection] of some.entries())
    await connection.subscribe(own, { symbol: `S${index % SYMBOLS}` }, count)
  await sleep(3000)
  const subscribed = of.use().residentMiB
  const shared = 'SELECT id, price FROM sizes WHERE id < 20'
  for (const connection of connections) await connection.subscribe(shared, {}, count)
  await sleep(3000)
  const { cpuMs: before } = of.use()
  messages = 0
  for (const end = performance.now() + ROUND_MS; performance.now() < end; ) {
    await of.query(`UPDATE sizes SET price = ${random(ROWS)} WHERE id = ${random(20)}`)
    await sleep(100)
  }
  await sleep(1000)
  const seconds = (of.use().cpuMs - before) / 1000
  for (const connection of connections) connection.end()
  return [
    { what: 'memory of a signed-in stream', value: `${(((idle - rest) * 1024) / STREAMS).toFixed(1)} KiB` },
    {
      what: 'memory of a live statement of its own with 100 rows of 2 columns',
      value: `${(((subscribed - idle) * 1024) / STATEMENTS).toFixed(1)} KiB`,
    },
    {
      what: `changes of a live statement that ${rounded(STREAMS)} streams share, delivered`,
      value: `${rounded(messages / seconds)}/s per core`,
    },
  ]
}

function random(below: number): number {
  return Math.floor(Math.random() * below)
}

/** Two digits say what a measurement of a few seconds can. */
function rounded(value: number): string {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1)
  return (Math.round(value / unit) * unit).toLocaleString('en')
}

function print(figures: readonly Figure[]): void {
  const [{ model = 'unknown' } = {}] = cpus()
  process.stdout.write(
    `${model.trim()}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}, SQLite\n\n`,
  )
  for (const { what, value } of figures) process.stdout.write(`| ${what} | ${value} |\n`)
}
