/** Live statements when something breaks: a killed server, a lost database, altered tables, a restored backup. Never a gap. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, rm } from 'node:fs/promises'
import { afterEach, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { SCHEMA } from '../../../packages/server/src/query/engines/postgres/representation.ts'
import { openDatabase } from '../../../packages/server/src/store/database/database.ts'
import { DatabaseServers } from '../../../packages/server/src/store/database/servers/servers.ts'
import {
  IS_LONG_RUN,
  onEveryEngineInLongRuns,
  openPlace,
  shortOnSqlite,
  type TestPlace,
} from '../../support/engines.ts'
import { createPostgresDatabase, type PostgresServer, startPostgres, stopOwnPostgres } from '../../support/postgres.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/until.ts'
import { type QueryServer, type ServerOptions, startQueryServer } from '../query-server.ts'
import { type Held, ModelClient, openEvents, readText, type Transport } from './model-client.ts'

const KILLED = fileURLToPath(new URL('../crash-server.ts', import.meta.url))
const STATEMENTS = {
  keys: 'SELECT id, pair FROM log',
  family: 'SELECT id FROM log WHERE kind = 1',
  rerun: 'SELECT kind, count(*) AS c, sum(id) AS s FROM log GROUP BY kind',
} as const
type Name = keyof typeof STATEMENTS
const NAMES: readonly Name[] = ['keys', 'family', 'rerun']
const CREATE = 'CREATE TABLE log (id Integer PRIMARY KEY, pair Integer NOT NULL, kind Integer NOT NULL)'
const WITHIN_MS = 10_000

const opened = new Set<Transport>()

/** Follows all statements on the server, from where clients before them were. */
async function followAll(url: string, before?: ReadonlyMap<Name, ModelClient>): Promise<Map<Name, ModelClient>> {
  const clients = new Map<Name, ModelClient>()
  for (const name of NAMES) clients.set(name, await follow(url, STATEMENTS[name], before?.get(name)?.kept.at(-1)))
  return clients
}

async function follow(url: string, text: string, held?: Held): Promise<ModelClient> {
  const statement = { text, parameters: {}, user: 'admin', tables: [], method: 'keys', isOrdered: false } as const
  // A pair is written in one commit: half of it is half a commit.
  const isWhole = (rows: readonly unknown[]): boolean => {
    const ids = new Set((rows as { id: number }[]).map(({ id }) => id))
    return text !== STATEMENTS.keys || (rows as { pair: number }[]).every(({ pair }) => ids.has(pair))
  }
  const client = new ModelClient(statement, 50, ({ applier }) => assert.ok(isWhole(applier.rows), 'half a commit'))
  const transport = openEvents({ port: Number(new URL(url).port), token: 'admin' })
  opened.add(transport)
  await transport.subscribe(client, held)
  await until('the first state', WITHIN_MS, () => client.applier.isWhole && client.applier.seen.pieces > 0)
  return client
}

/** All hold what a query returns now. */
async function agree(url: string, clients: ReadonlyMap<Name, ModelClient>): Promise<void> {
  for (const [name, client] of clients) {
    const { status, text } = await post(url, STATEMENTS[name])
    assert.equal(status, 200, text)
    const wanted = readText(JSON.parse(text).Rows, false)
    await until(`${name} holds the result`, WITHIN_MS, () => client.applier.isWhole && client.text === wanted)
    assert.equal(client.failure, undefined, String(client.failure))
    assert.equal(client.ended, undefined)
  }
}

function closeAll(): void {
  for (const transport of opened) transport.close()
  opened.clear()
}

/** What a test has started, also when it fails. The last one first. */
const started: (() => unknown)[] = []

async function stopAll(): Promise<void> {
  closeAll()
  for (const stop of started.splice(0).reverse()) await stop()
}

async function startServer(place: TestPlace, options: ServerOptions = {}): Promise<QueryServer> {
  const server = await startQueryServer(place, options)
  started.push(server.stop)
  return server
}

async function post(url: string, body: string): Promise<{ readonly status: number; readonly text: string }> {
  const headers = { authorization: 'Bearer admin', 'content-type': 'text/plain' }
  const response = await fetch(`${url}/query`, { method: 'POST', body, headers })
  return { status: response.status, text: await response.text() }
}

async function must(url: string, ...statements: readonly string[]): Promise<void> {
  for (const statement of statements) {
    const { status, text } = await post(url, statement)
    assert.equal(status, 200, `${statement}: ${text}`)
  }
}

const findPair = (id: number): string =>
  `INSERT INTO log VALUES (${id}, ${id + 1}, ${id % 4 > 1 ? 1 : 0}), (${id + 1}, ${id}, 0)`

async function startKillable({ dataFolder, databaseUrl }: TestPlace): Promise<{ url: string; process: ChildProcess }> {
  const child = spawn(process.execPath, [KILLED, dataFolder, databaseUrl], { stdio: ['ignore', 'pipe', 'inherit'] })
  started.push(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout, 'data')
  return { url: String(line).trim(), process: child }
}

onEveryEngineInLongRuns('live statements when something breaks', (place, engine) => {
  afterEach(stopAll)

  test('kill -9 during writes: the clients come back to the next server and continue, with nothing lost or twice', async () => {
    let server = await startKillable(place())
    await must(server.url, CREATE)
    let clients = await followAll(server.url)
    let next = 0
    const rounds = IS_LONG_RUN ? 2 : 1
    for (let round = 0; round < rounds; round++) {
      const { url } = server
      const writers = Array.from({ length: 4 }, async () => {
        for (;;) {
          next += 2
          if (
            !(await post(url, findPair(next)).then(
              ({ status }) => status === 200,
              () => false,
            ))
          )
            return
        }
      })
      const target = (clients.get('keys')?.applier.size ?? 0) + 60
      await until('some were sent', WITHIN_MS, () => (clients.get('keys')?.applier.size ?? 0) > target)
      server.process.kill('SIGKILL')
      await once(server.process, 'exit')
      await Promise.all(writers)
      closeAll()
      server = await startKillable(place())
      clients = await followAll(server.url, clients)
      assert.equal(clients.get('keys')?.answers.recovered, 1, 'rows were only added: the log has all of it')
      await agree(server.url, clients)
    }
    closeAll()
    server.process.kill('SIGKILL')
    await once(server.process, 'exit')
  })

  test('ALTER TABLE during writes is a Reset with the new columns', async () => {
    const server = await startServer(place())
    const all = await follow(server.url, 'SELECT * FROM log')
    const clients = await followAll(server.url)
    let isOver = false
    const writing = (async () => {
      for (let id = 100_000; !isOver && id < 101_000; id += 2)
        await must(server.url, `INSERT INTO log (id, pair, kind) VALUES (${id}, ${id + 1}, 1), (${id + 1}, ${id}, 0)`)
    })()
    await must(server.url, 'ALTER TABLE log ADD COLUMN note Text')
    await until('it is a Reset', WITHIN_MS, () => all.applier.reasons.length > 0 && all.applier.isWhole)
    isOver = true
    await writing
    await agree(server.url, clients)
    // A reader that is slow under these writes may be reset once more.
    assert.equal(all.applier.reasons[0], 'Definition')
    assert.ok(all.applier.rows.every((row) => Object.hasOwn(row as object, 'note')))
    for (const { applier } of clients.values())
      await until('it is a Reset', WITHIN_MS, () => applier.reasons[0] === 'Definition')
    await agree(server.url, clients)
  })

  test(
    'a restored backup: what a client has seen since is void, even if as much has happened again',
    shortOnSqlite(engine),
    async () => {
      const copy = await backup(place(), engine)
      started.push(copy.leave)
      let server = await startQueryServer(place())
      const clients = await followAll(server.url)
      for (let id = 200_000; id < 200_010; id += 2)
        await must(server.url, `INSERT INTO log (id, pair, kind) VALUES (${id}, ${id + 1}, 1), (${id + 1}, ${id}, 0)`)
      await agree(server.url, clients)
      closeAll()
      await server.stop()
      server = await startServer(copy.place)
      for (let id = 300_000; id < 300_010; id += 2)
        await must(server.url, `INSERT INTO log (id, pair, kind) VALUES (${id}, ${id + 1}, 1), (${id + 1}, ${id}, 0)`)
      const later = await followAll(server.url, clients)
      for (const client of later.values()) {
        assert.deepEqual(client.applier.reasons, ['Expired'])
        assert.equal(client.answers.reset, 1)
      }
      await agree(server.url, later)
    },
  )
})

async function backup(
  place: TestPlace,
  engine: 'sqlite' | 'postgres',
): Promise<{ place: TestPlace; leave(): Promise<void> }> {
  const dataFolder = `${place.dataFolder}-copy`
  await cp(place.dataFolder, dataFolder, { recursive: true })
  const leave = () => rm(dataFolder, { recursive: true, maxRetries: 5, retryDelay: 200 })
  if (engine === 'sqlite') return { place: { ...place, dataFolder }, leave }
  const from = new URL(place.databaseUrl).pathname.slice(1)
  const database = await createPostgresDatabase()
  const url = new URL(database.url)
  const admin = new URL(database.url)
  admin.pathname = '/postgres'
  const client = new pg.Client({ connectionString: admin.href })
  await client.connect()
  await client.query(`DROP DATABASE "${url.pathname.slice(1)}"`)
  await client.query(`CREATE DATABASE "${url.pathname.slice(1)}" TEMPLATE "${from}"`)
  await client.end()
  return {
    place: { ...place, dataFolder, databaseUrl: url.href },
    async leave() {
      await leave()
      await database.drop()
    },
  }
}

describe('live statements while PostgreSQL is away', () => {
  afterEach(stopAll)

  test('all connections are cut, LISTEN too: what others write meanwhile arrives afterwards, without a Reset', async () => {
    const { place, leave } = await openPlace('postgres')
    const url = new URL(place.databaseUrl)
    const proxy = await startTcpProxy(url.hostname, Number(url.port))
    started.push(stopOwnPostgres, leave, proxy.close)
    url.host = `127.0.0.1:${proxy.port}`
    const server = await startServer({ ...place, databaseUrl: url.href })
    await must(server.url, CREATE, findPair(2))
    const clients = await followAll(server.url)
    const other = new pg.Client({ connectionString: place.databaseUrl })
    await other.connect()
    started.push(() => other.end())
    for (let round = 0; round < 2; round++) {
      proxy.cut()
      await other.query(findPair(100 + 4 * round).replace('log', `${SCHEMA}.log`))
      await other.query(`DELETE FROM ${SCHEMA}.log WHERE id < 10`)
      await until(
        'the outage is noticed',
        WITHIN_MS,
        async () => (await post(server.url, STATEMENTS.rerun)).status === 503,
      )
      proxy.mend()
      await until(
        'queries are answered again',
        WITHIN_MS,
        async () => (await post(server.url, STATEMENTS.rerun)).status === 200,
      )
      await agree(server.url, clients)
      await other.query(findPair(102 + 4 * round).replace('log', `${SCHEMA}.log`))
      await agree(server.url, clients)
    }
    for (const { applier } of clients.values()) assert.deepEqual(applier.reasons, [])
  })

  test('PostgreSQL is restarted: no Reset, and everything afterwards', async () => {
    const postgres: PostgresServer = await startPostgres()
    const { place, leave } = await openPlace('sqlite')
    started.push(leave, postgres.stop)
    const servers = new DatabaseServers(postgres.url, { isNode: true })
    started.push(() => servers.close())
    // The table of the primaries.
    await (await openDatabase({ dataFolder: place.dataFolder, url: postgres.url, servers })).close()
    await servers.recordHistory()
    const server = await startServer({ ...place, engine: 'postgres', databaseUrl: postgres.url }, { servers })
    await must(server.url, CREATE, findPair(2))
    const clients = await followAll(server.url)
    const [held] = clients.get('keys')?.kept ?? []
    await postgres.restart()
    await until(
      'queries are answered again',
      WITHIN_MS,
      async () => (await post(server.url, findPair(6))).status === 200,
    )
    await agree(server.url, clients)
    for (const { applier } of clients.values()) assert.deepEqual(applier.reasons, [])
    const back = await follow(server.url, STATEMENTS.keys, held)
    assert.equal(back.answers.reset, 0)
  })
})
