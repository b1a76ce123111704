/** DuckDB behind node:http, and QuestDB, with the rows of the other query measurements. Undefined where they cannot be fetched. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { duckdbFolder, questdbJar } from './fetched-peers.ts'
import { load, requestBytes } from './http-load.ts'
import { launch, launchPeer, newPort, temporaryFolder } from './program.ts'
import { batches, EVERYTHING, type QueryPeer, ROWS, type Row, TIMES } from './query-peers.ts'

export interface ColumnPeer extends Pick<QueryPeer, 'name' | 'port' | 'use' | 'stop'> {
  readonly everything: () => Buffer
  readonly ingest: (rows: readonly Row[]) => Buffer
}

const POLL_MS = 20

/** The key has an index. A commit waits until its write-ahead log is on the disk. */
export async function startDuckDb(): Promise<ColumnPeer | undefined> {
  const packages = duckdbFolder()
  if (packages === undefined) return undefined
  const folder = await temporaryFolder()
  const port = newPort()
  const program = await launchPeer('duckdb.js', port, [join(folder.path, 'duck.db'), packages])
  const post = (path: string, body: object) => requestBytes('POST', path, {}, JSON.stringify(body), 'application/json')
  const ingest = (rows: readonly Row[]) =>
    post('/append', { table: 'trades', rows: rows.map(({ id, symbol, price, qty }) => [id, symbol, price, qty]) })
  await send(port, [
    post('/query', {
      sql: 'CREATE TABLE trades (id INTEGER PRIMARY KEY, symbol VARCHAR NOT NULL, price DOUBLE NOT NULL, qty INTEGER NOT NULL)',
    }),
    post('/query', { sql: `CREATE TABLE ten AS SELECT i::INTEGER AS n FROM range(${TIMES}) AS r(i)` }),
    ...batches().map(ingest),
  ])
  return {
    name: 'DuckDB',
    port,
    use: program.use,
    everything: () => post('/stream', { sql: EVERYTHING }),
    ingest,
    async stop() {
      await program.stop()
      await folder.remove()
    },
  }
}

/** As it is delivered, its commits do not wait for the disk; here they do. Each row is a second after the one before. */
export async function startQuestDb(): Promise<ColumnPeer | undefined> {
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
    QDB_CAIRO_COMMIT_MODE: 'sync',
  }
  const program = await launch('java', ['-p', jar, '-m', 'io.questdb/io.questdb.ServerMain', '-d', folder.path], {
    readyAt: `http://127.0.0.1:${port}/exec?query=select%201`,
    environment,
    quiet: true,
  })
  const ask = (sql: string) => requestBytes('GET', `/exec?limit=0,10000000&query=${encodeURIComponent(sql)}`)
  const ingest = (rows: readonly Row[]) =>
    requestBytes('POST', '/write?precision=s', {}, rows.map(writeLine).join(''), 'text/plain; charset=utf-8')
  await send(port, [
    ask(
      'CREATE TABLE trades (ts TIMESTAMP, id LONG, symbol SYMBOL CAPACITY 65536, price DOUBLE, qty LONG) TIMESTAMP(ts) PARTITION BY DAY WAL',
    ),
    ask(`CREATE TABLE ten AS (SELECT (x - 1)::int AS n FROM long_sequence(${TIMES}))`),
    ...batches().map(ingest),
  ])
  await untilApplied(port)
  return {
    name: 'QuestDB',
    port,
    use: program.use,
    everything: () => ask(EVERYTHING),
    ingest,
    async stop() {
      await program.stop()
      await folder.remove()
    },
  }
}

/** A line of its protocol for ingestion. */
function writeLine({ id, symbol, price, qty }: Row): string {
  return `trades,symbol=${symbol} id=${id}i,price=${price},qty=${qty}i ${id}\n`
}

/** QuestDB confirms rows when they are in its log, before they can be read. */
async function untilApplied(port: number): Promise<void> {
  const count = `http://127.0.0.1:${port}/exec?query=${encodeURIComponent('SELECT count() FROM trades')}`
  while (!(await (await fetch(count)).text()).includes(`"dataset":[[${ROWS}]]`)) await sleep(POLL_MS)
}

/** One after the other. */
async function send(port: number, requests: readonly Buffer[]): Promise<void> {
  const left = requests.values()
  await load(port, [{ next: () => left.next().value }], Number.POSITIVE_INFINITY)
}
