/** DuckDB and QuestDB with the rows of the other query measurements, and the requests for the same work. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ColumnStore, launchDuckDb, launchQuestDb } from './column-stores.ts'
import { load, requestBytes } from './http-load.ts'
import { BY_KEY, BY_SYMBOL, batches, EVERYTHING, type QueryPeer, ROWS, type Row, rowOf, TIMES } from './query-peers.ts'

const POLL_MS = 20

/** The key has an index. */
export async function startDuckDb(): Promise<QueryPeer | undefined> {
  const store = await launchDuckDb()
  if (store === undefined) return undefined
  const { port, ask, use, stop } = store
  const post = (path: string, body: object) => requestBytes('POST', path, {}, JSON.stringify(body), 'application/json')
  const ingest = (rows: readonly Row[]) => post('/append', { table: 'trades', rows: rows.map(valuesOf) })
  await send(store, [
    ask(
      'CREATE TABLE trades (id INTEGER PRIMARY KEY, symbol VARCHAR NOT NULL, price DOUBLE NOT NULL, qty INTEGER NOT NULL)',
    ),
    ask(`CREATE TABLE ten AS SELECT i::INTEGER AS n FROM range(${TIMES}) AS r(i)`),
    ...batches().map(ingest),
  ])
  return {
    name: 'DuckDB',
    port,
    use,
    byKey: (id) => ask(`${BY_KEY}$1`, [id]),
    bySymbol: (symbol) => ask(`${BY_SYMBOL}$1`, [symbol]),
    insert: (id) => ask('INSERT INTO trades VALUES ($1, $2, $3, $4)', valuesOf(rowOf(id))),
    everything: () => post('/stream', { sql: EVERYTHING }),
    ingest,
    stop,
  }
}

export function startQuestDb(): Promise<QueryPeer | undefined> {
  return questDb('QuestDB', true)
}

/** As it is delivered: a commit can be lost when the machine fails. */
export function startQuestDbUnsynced(): Promise<QueryPeer | undefined> {
  return questDb('QuestDB, not synced', false)
}

/** The designated timestamp is its only ordered key, so rows are found by that; each is a second after the one before. */
async function questDb(name: string, isSynced: boolean): Promise<QueryPeer | undefined> {
  const store = await launchQuestDb({ isSynced })
  if (store === undefined) return undefined
  const { port, ask, use, stop } = store
  const ingest = (rows: readonly Row[]) =>
    requestBytes('POST', '/write?precision=s', {}, rows.map(lineOf).join(''), 'text/plain; charset=utf-8')
  await send(store, [
    ask(
      'CREATE TABLE trades (ts TIMESTAMP, id LONG, symbol SYMBOL CAPACITY 65536, price DOUBLE, qty LONG) TIMESTAMP(ts) PARTITION BY DAY WAL',
    ),
    ask(`CREATE TABLE ten AS (SELECT (x - 1)::int AS n FROM long_sequence(${TIMES}))`),
    ...batches().map(ingest),
  ])
  await untilApplied(port)
  return {
    name,
    port,
    use,
    byKey: (id) => ask(`${BY_KEY.replace('id = ', 'ts = ')}'${new Date(id * 1000).toISOString()}'`),
    bySymbol: (symbol) => ask(`${BY_SYMBOL}'${symbol}'`),
    insert: (id) => ingest([rowOf(id)]),
    everything: () => ask(EVERYTHING),
    ingest,
    stop,
  }
}

/** A line of its protocol for ingestion. */
function lineOf({ id, symbol, price, qty }: Row): string {
  return `trades,symbol=${symbol} id=${id}i,price=${price},qty=${qty}i ${id}\n`
}

/** QuestDB confirms rows when they are in its log, before they can be read. */
async function untilApplied(port: number): Promise<void> {
  const count = `http://127.0.0.1:${port}/exec?query=${encodeURIComponent('SELECT count() FROM trades')}`
  while (!(await (await fetch(count)).text()).includes(`"dataset":[[${ROWS}]]`)) await sleep(POLL_MS)
}

function valuesOf({ id, symbol, price, qty }: Row): readonly unknown[] {
  return [id, symbol, price, qty]
}

/** One after the other. */
async function send({ port }: ColumnStore, requests: readonly Buffer[]): Promise<void> {
  const left = requests.values()
  await load(port, [{ next: () => left.next().value }], Number.POSITIVE_INFINITY)
}
