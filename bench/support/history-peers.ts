/** Programs with the same history of trades and quotes: ours with columns and without, and DuckDB behind node:http. QuestDB: history-questdb.ts. */
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Checkout } from './checkout.ts'
import { serve } from './checkout.ts'
import { duckdbFolder } from './fetched-peers.ts'
import { load, requestBytes } from './http-load.ts'
import type { TreeUse } from './process-tree.ts'
import { launchPeer, newPort, temporaryFolder } from './program.ts'
import { adminToken } from './tokens.ts'

/** Rows of trades, in thousands; of quotes there are a tenth. */
export const THOUSANDS = Number(process.env.BENCH_THOUSANDS ?? 1000)

export type HistoryStatement = 'groups' | 'bars' | 'asof' | 'filter' | 'percentiles' | 'distinct'

export interface HistoryPeer {
  readonly name: string
  readonly port: number
  readonly statements: Readonly<Record<HistoryStatement, string>>
  request(statement: string): Buffer
  use(): TreeUse
  /** Makes it forget results that it has kept. */
  forget(): Promise<void>
  /** In MiB: of the column segments where there are some, otherwise of the database. */
  readonly disk: number
  stop(): Promise<void>
}

const GROUPS = 'SELECT symbol, count(*) AS trades, sum(size) AS volume, max(price) AS high FROM fills GROUP BY symbol'
const ASOF =
  'SELECT count(*) AS matches, sum(t.price - q.bid) AS cost FROM fills AS t ASOF JOIN bids AS q ON t.symbol = q.symbol AND t.ts >= q.ts'
const FILTER =
  "SELECT count(*) AS trades, sum(size) AS volume FROM fills WHERE symbol = 'S7' AND ts >= TIMESTAMP '2026-01-02T06:00:00Z' AND ts < TIMESTAMP '2026-01-02T12:00:00Z'"
const DISTINCT = 'SELECT count(DISTINCT price) AS prices FROM fills'

const OURS: HistoryPeer['statements'] = {
  groups: GROUPS,
  bars: bars("time_bucket(INTERVAL '1 hour', ts)", 'first(price, ts)', 'last(price, ts)'),
  asof: ASOF,
  filter: FILTER,
  percentiles: 'SELECT symbol, percentile_cont(0.9, price) AS p90, median(price) AS p50 FROM fills GROUP BY symbol',
  distinct: DISTINCT,
}

/** Open, high, low, close and volume of each hour. */
function bars(bucket: string, open: string, close: string): string {
  return `SELECT symbol, ${bucket} AS bar, ${open} AS opening, max(price) AS high, min(price) AS low, ${close} AS closing, sum(size) AS volume FROM fills GROUP BY symbol, ${bucket}`
}

/** At once: a longer write is stopped after five seconds while the server's own wait, as they do on a busy machine. */
const INSERTED_ROWS = 100_000

/** Four trades a second; each price has two digits after the point. */
export async function startHistory(checkout: Checkout, hasColumns: boolean): Promise<HistoryPeer> {
  const folder = await temporaryFolder()
  const data = join(folder.path, 'data')
  const port = newPort()
  const flags = {
    '--demo': 'true',
    '--demo-market': 'false',
    '--port': String(port),
    '--log-level': 'warn',
    '--data': data,
    '--query-seconds': '3600',
  }
  const program = await serve(checkout, flags, { readyAt: `http://127.0.0.1:${port}/readyz`, readyMs: 300_000 })
  const headers = { authorization: `Bearer ${await adminToken(port)}`, accept: 'application/x-ndjson' }
  const request = (iql: string) => requestBytes('POST', '/query', headers, iql, 'text/plain; charset=utf-8')
  const run = (iql: string) => load(port, [{ next: () => request(iql) }], 0)
  const options = hasColumns ? ' WITH (columns = on)' : ''
  await run(
    `CREATE TABLE fills (id Integer PRIMARY KEY, ts Timestamp NOT NULL, symbol Text NOT NULL, price Decimal(18,4) NOT NULL, size Integer NOT NULL)${options}`,
  )
  await run(
    `CREATE TABLE bids (id Integer PRIMARY KEY, ts Timestamp NOT NULL, symbol Text NOT NULL, bid Decimal(18,4) NOT NULL)${options}`,
  )
  const insert = async (table: string, rows: number, values: string): Promise<void> => {
    for (let from = 0; from < rows; from += INSERTED_ROWS)
      await run(
        `INSERT INTO ${table} SELECT n, ${values} FROM generate_series(${from}, ${Math.min(rows, from + INSERTED_ROWS) - 1}) AS n`,
      )
  }
  const [start, rows] = ["TIMESTAMP '2026-01-01T00:00:00Z'", THOUSANDS * 1000]
  const priced = (factor: number, of: number) => `CAST(100 + n * ${factor} % ${of} * 0.01 AS Decimal(18,4))`
  const symbol = (factor: number) => `'S' || CAST(n * ${factor} % 100 AS Text)`
  await insert(
    'fills',
    rows,
    `${start} + INTERVAL '250 milliseconds' * n, ${symbol(7919)}, ${priced(7907, 10_007)}, n % 500`,
  )
  await insert(
    'bids',
    rows / 10,
    `${start} + INTERVAL '2500 milliseconds' * n, ${symbol(7901)}, ${priced(7879, 10_009)}`,
  )
  await run('CREATE INDEX bids_by_symbol ON bids (symbol, ts)')
  if (hasColumns) await untilWritten(port, headers)
  return {
    name: hasColumns ? 'gatehouse' : 'without columns',
    port,
    statements: OURS,
    request,
    use: program.use,
    forget: () => rm(join(data, 'columns', 'parts'), { recursive: true, force: true }),
    disk: hasColumns ? await readSize(join(data, 'columns')) : await readSize(join(data, 'query.db')),
    async stop() {
      await program.stop()
      await folder.remove()
    },
  }
}

async function untilWritten(port: number, headers: Readonly<Record<string, string>>): Promise<void> {
  for (let last = -1; ; ) {
    const response = await fetch(`http://127.0.0.1:${port}/admin/columns`, { headers: { ...headers, accept: '*/*' } })
    const { items } = (await response.json()) as { items: { ready: number; marked: number; missing: number }[] }
    const ready = items.reduce((sum, item) => sum + item.ready, 0)
    if (ready === last && ready > 0 && items.every(({ marked, missing }) => marked + missing === 0)) return
    last = ready
    // Longer than between two looks for rows without a segment.
    await sleep(12_000)
  }
}

/** In MiB. A file that is removed meanwhile, as QuestDB does, has none. */
export async function readSize(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return 0
  if (!found.isDirectory()) return found.size / 2 ** 20
  const names = await readdir(path).catch(() => [])
  const sizes = await Promise.all(names.map((name) => readSize(join(path, name))))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** On all processors, with a database file. */
export async function startDuckHistory(): Promise<HistoryPeer | undefined> {
  const packages = duckdbFolder()
  if (packages === undefined) return undefined
  const folder = await temporaryFolder()
  const file = join(folder.path, 'duck.db')
  const port = newPort()
  const program = await launchPeer('duckdb.js', port, [file, packages])
  const request = (sql: string) => requestBytes('POST', '/query', {}, JSON.stringify({ sql }), 'application/json')
  const [start, rows] = ["TIMESTAMP '2026-01-01'", THOUSANDS * 1000]
  const priced = (factor: number, of: number) => `(100 + n * ${factor} % ${of} * 0.01)::DECIMAL(18,4)`
  const symbol = (factor: number) => `'S' || (n * ${factor} % 100)`
  for (const sql of [
    `CREATE TABLE fills AS SELECT n AS id, ${start} + n * INTERVAL '250 milliseconds' AS ts, ${symbol(7919)} AS symbol, ${priced(7907, 10_007)} AS price, n % 500 AS size FROM range(${rows}) AS r(n)`,
    `CREATE TABLE bids AS SELECT n AS id, ${start} + n * INTERVAL '2500 milliseconds' AS ts, ${symbol(7901)} AS symbol, ${priced(7879, 10_009)} AS bid FROM range(${rows / 10}) AS r(n)`,
    'CHECKPOINT',
  ])
    await load(port, [{ next: () => request(sql) }], 0)
  return {
    name: 'DuckDB',
    port,
    statements: {
      groups: GROUPS,
      bars: bars("time_bucket(INTERVAL '1 hour', ts)", 'arg_min(price, ts)', 'arg_max(price, ts)'),
      asof: ASOF,
      filter: FILTER.replaceAll(/T(\d\d:\d\d:\d\d)Z/g, ' $1'),
      percentiles: 'SELECT symbol, quantile_cont(price, 0.9) AS p90, median(price) AS p50 FROM fills GROUP BY symbol',
      distinct: DISTINCT,
    },
    request,
    use: program.use,
    async forget() {},
    disk: await readSize(file),
    async stop() {
      await program.stop()
      await folder.remove()
    },
  }
}
