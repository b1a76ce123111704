/** Groups, bars and an as-of join over many rows, compared with plain PostgreSQL on the same rows. */
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '../test/support/postgres.ts'
import { type Checkout, serve } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { load, requestBytes } from './support/http-load.ts'
import type { TreeUse } from './support/process-tree.ts'
import { launchPeer, newPort, temporaryFolder } from './support/program.ts'
import { adminToken } from './support/tokens.ts'

/** In thousands; a tenth of the rows has a bid. */
const THOUSANDS = Number(process.env.BENCH_THOUSANDS ?? 1000)

interface Statements {
  readonly groups: string
  readonly bars: string
  readonly asof: string
}

const GROUPS = 'SELECT symbol, count(*) AS trades, sum(qty) AS volume, max(price) AS high FROM ticks GROUP BY symbol'
const ASOF =
  'SELECT count(*) AS matches, sum(t.price - q.bid) AS cost FROM ticks AS t ASOF JOIN bids AS q ON t.symbol = q.symbol AND t.ts >= q.ts'

/** Open, high, low, close and volume of each hour. */
function bars(bucket: string, open: string, close: string): string {
  return `SELECT symbol, ${bucket} AS bar, ${open} AS opening, max(price) AS high, min(price) AS low, ${close} AS closing, sum(qty) AS volume FROM ticks GROUP BY symbol, ${bucket}`
}

export const analytics: Measurement = {
  name: 'query-analytics',
  about: `groups, hourly bars and an as-of join over ${THOUSANDS.toLocaleString('en')} thousand rows`,
  columns: { groups: 's', bars: 's', asof: 's', cpu: 'ms' },
  ratios: ['groups', 'bars', 'asof'].map((column) => ({ column, to: 'PostgreSQL', most: 1 })),
  subject: startGatehouse,
  async *references() {
    yield await startPlainPostgres()
  },
}

async function startGatehouse(checkout: Checkout): Promise<Contender> {
  const folder = await temporaryFolder()
  const port = newPort()
  const flags = {
    '--demo': 'true',
    '--demo-market': 'false',
    '--port': String(port),
    '--log-level': 'warn',
    '--data': join(folder.path, 'data'),
    '--query-seconds': '600',
  }
  const program = await serve(checkout, flags, { readyAt: `http://127.0.0.1:${port}/readyz` })
  const headers = { authorization: `Bearer ${await adminToken(port)}`, accept: 'application/x-ndjson' }
  const ask = (iql: string) => requestBytes('POST', '/query', headers, iql, 'text/plain; charset=utf-8')
  const fill = (table: string, thousands: number, columns: (row: string) => string): string[] =>
    slices(thousands).map(({ from, to }) => {
      const row = `(x.n * 1000 + y.n + ${from * 1000})`
      return `INSERT INTO ${table} SELECT ${row} AS id, ${columns(row)} FROM thousand AS x CROSS JOIN thousand AS y WHERE x.n < ${to - from}`
    })
  const numbers = Array.from({ length: 1000 }, (_, n) => `(${n})`).join(', ')
  for (const statement of [
    'CREATE TABLE thousand (n Integer PRIMARY KEY)',
    `INSERT INTO thousand (n) VALUES ${numbers}`,
    'CREATE TABLE ticks (id Integer PRIMARY KEY, ts Timestamp NOT NULL, symbol Text NOT NULL, price Double NOT NULL, qty Integer NOT NULL)',
    'CREATE TABLE bids (id Integer PRIMARY KEY, ts Timestamp NOT NULL, symbol Text NOT NULL, bid Double NOT NULL)',
    ...fill(
      'ticks',
      THOUSANDS,
      (row) =>
        `TIMESTAMP '2026-01-01T00:00:00Z' + INTERVAL '100 milliseconds' * ${row} AS ts, 'S' || CAST(${row} * 7919 % 100 AS Text) AS symbol, CAST(${row} % 10000 AS Double) / 100e0 AS price, ${row} % 500 AS qty`,
    ),
    ...fill(
      'bids',
      THOUSANDS / 10,
      (row) =>
        `TIMESTAMP '2026-01-01T00:00:00Z' + INTERVAL '1 second' * ${row} AS ts, 'S' || CAST(${row} * 7907 % 100 AS Text) AS symbol, CAST(${row} % 9999 AS Double) / 100e0 AS bid`,
    ),
    'CREATE INDEX bids_by_symbol ON bids (symbol, ts)',
  ])
    await load(port, [{ next: () => ask(statement) }], 0)
  const statements = {
    groups: GROUPS,
    bars: bars("time_bucket(INTERVAL '1 hour', ts)", 'first(price, ts)', 'last(price, ts)'),
    asof: ASOF,
  }
  return contender('gatehouse', port, program, statements, ask, () => folder.remove())
}

/** The rows of one statement, in thousands: a table of a thousand numbers makes a million. */
function slices(thousands: number): { readonly from: number; readonly to: number }[] {
  return Array.from({ length: Math.ceil(thousands / 1000) }, (_, index) => ({
    from: index * 1000,
    to: Math.min(thousands, (index + 1) * 1000),
  }))
}

async function startPlainPostgres(): Promise<Contender> {
  const server = await startPostgres()
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  for (const statement of [
    `CREATE TABLE ticks AS SELECT i AS id, timestamptz '2026-01-01Z' + i * interval '100 milliseconds' AS ts, 'S' || (i * 7919 % 100) AS symbol, (i % 10000)::float8 / 100 AS price, i % 500 AS qty FROM generate_series(0::bigint, ${THOUSANDS * 1000 - 1}) AS i`,
    `CREATE TABLE bids AS SELECT i AS id, timestamptz '2026-01-01Z' + i * interval '1 second' AS ts, 'S' || (i * 7907 % 100) AS symbol, (i % 9999)::float8 / 100 AS bid FROM generate_series(0::bigint, ${THOUSANDS * 100 - 1}) AS i`,
    'CREATE INDEX bids_by_symbol ON bids (symbol, ts)',
    'VACUUM ANALYZE',
  ])
    await client.query(statement)
  await client.end()
  const port = newPort()
  const program = await launchPeer('express-pg.js', port, [server.url])
  const ask = (sql: string) => requestBytes('POST', '/query', {}, JSON.stringify({ sql }), 'application/json')
  const statements = {
    groups: GROUPS,
    bars: bars(
      "date_bin('1 hour', ts, timestamptz '2000-01-03Z')",
      '(array_agg(price ORDER BY ts))[1]',
      '(array_agg(price ORDER BY ts DESC))[1]',
    ),
    asof: 'SELECT count(*) AS matches, sum(t.price - q.bid) AS cost FROM ticks AS t CROSS JOIN LATERAL (SELECT bid FROM bids WHERE bids.symbol = t.symbol AND bids.ts <= t.ts ORDER BY bids.ts DESC LIMIT 1) AS q',
  }
  return contender('PostgreSQL', port, program, statements, ask, () => server.stop())
}

/** One request at a time, since each uses a processor or all of them. */
function contender(
  name: string,
  port: number,
  program: { use(): TreeUse; stop(): Promise<void> },
  { groups, bars: hourly, asof }: Statements,
  ask: (statement: string) => Buffer,
  clear?: () => Promise<void>,
): Contender {
  const seconds = async (statement: string): Promise<number> =>
    (await load(port, [{ next: () => ask(statement) }], 0)).seconds
  return {
    name,
    async measure(): Promise<Figures> {
      const before = program.use().cpuMs
      const taken = { groups: await seconds(groups), bars: await seconds(hourly), asof: await seconds(asof) }
      return { ...taken, cpu: program.use().cpuMs - before }
    },
    async close() {
      await program.stop()
      await clear?.()
    },
  }
}
