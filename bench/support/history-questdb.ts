/** QuestDB with the history of trades and quotes. Its prices are Doubles, and its percentiles approximate: it has no exact ones. */
import { join } from 'node:path'
import { questdbJar } from './fetched-peers.ts'
import { type HistoryPeer, type HistoryStatement, readSize, THOUSANDS } from './history-peers.ts'
import { load, requestBytes } from './http-load.ts'
import { launch, newPort, temporaryFolder } from './program.ts'

const STATEMENTS: Readonly<Record<HistoryStatement, string>> = {
  groups: 'SELECT symbol, count(*) AS trades, sum(size) AS volume, max(price) AS high FROM fills GROUP BY symbol',
  bars: 'SELECT symbol, ts AS bar, first(price) AS opening, max(price) AS high, min(price) AS low, last(price) AS closing, sum(size) AS volume FROM fills SAMPLE BY 1h',
  asof: 'SELECT count(*) AS matches, sum(t.price - q.bid) AS cost FROM fills AS t ASOF JOIN bids AS q ON (symbol)',
  filter:
    "SELECT count(*) AS trades, sum(size) AS volume FROM fills WHERE symbol = 'S7' AND ts >= '2026-01-02T06:00:00Z' AND ts < '2026-01-02T12:00:00Z'",
  percentiles:
    'SELECT symbol, approx_percentile(price, 0.9, 3) AS p90, approx_median(price, 3) AS p50 FROM fills GROUP BY symbol',
  distinct: 'SELECT count_distinct(price) AS prices FROM fills',
}

/** On all processors. */
export async function startQuestHistory(): Promise<HistoryPeer | undefined> {
  const jar = questdbJar()
  if (jar === undefined) return undefined
  const folder = await temporaryFolder()
  const port = newPort()
  const environment = {
    QDB_HTTP_BIND_TO: `127.0.0.1:${port}`,
    QDB_HTTP_MIN_ENABLED: 'false',
    QDB_PG_ENABLED: 'false',
    QDB_LINE_TCP_ENABLED: 'false',
    QDB_TELEMETRY_ENABLED: 'false',
  }
  const program = await launch('java', ['-p', jar, '-m', 'io.questdb/io.questdb.ServerMain', '-d', folder.path], {
    readyAt: `http://127.0.0.1:${port}/exec?query=select%201`,
    environment,
    quiet: true,
  })
  const request = (sql: string) => requestBytes('GET', `/exec?limit=0,100000000&query=${encodeURIComponent(sql)}`)
  const rows = THOUSANDS * 1000
  for (const sql of [
    `CREATE TABLE fills AS (${series(rows, 250_000, 7919, 7907, 10_007, 'price')}), CAST(symbol AS SYMBOL) TIMESTAMP(ts) PARTITION BY DAY`,
    `CREATE TABLE bids AS (${series(rows / 10, 2_500_000, 7901, 7879, 10_009, 'bid')}), CAST(symbol AS SYMBOL) TIMESTAMP(ts) PARTITION BY DAY`,
  ])
    await load(port, [{ next: () => request(sql) }], 0)
  return {
    name: 'QuestDB',
    port,
    statements: STATEMENTS,
    request,
    use: program.use,
    async forget() {},
    disk: await readSize(join(folder.path, 'db')),
    async stop() {
      await program.stop()
      await folder.remove()
    },
  }
}

/** As those of the other programs (history-peers.ts). */
function series(rows: number, step: number, symbol: number, factor: number, of: number, price: string): string {
  const size = price === 'price' ? ', (x - 1) % 500 AS size' : ''
  return `SELECT x - 1 AS id, timestamp_sequence('2026-01-01T00:00:00.000000Z', ${step}L) AS ts, ('S' || ((x - 1) * ${symbol} % 100)) AS symbol, 100 + (x - 1) * ${factor} % ${of} * 0.01 AS ${price}${size} FROM long_sequence(${rows})`
}
