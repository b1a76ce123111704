/**
 * The oracle of materialized views while servers are killed: the keeper, PostgreSQL, and a primary that is not started again.
 * `KEPT_MINUTES=10 node --test test/query/kept/faults.test.ts` takes ten minutes for each engine.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseDatabaseUrl } from '../../../packages/server/src/config/database-url.ts'
import { type PostgresPair, startPostgresPair } from '../../support/postgres-pair.ts'
import { type RunningProcess, serveProcess } from '../../support/process.ts'
import { until } from '../../support/until.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'
import { Oracle, type OracleServer } from './oracle.ts'

const MASTER_KEY = randomBytes(32).toString('base64')
const MINUTES = Number(process.env.KEPT_MINUTES ?? 0.4)

test('on SQLite, while the server is killed', async (t) => {
  const folder = await temporaryFolder(t)
  const launch = () => Server.launch(folder)
  let server = await launch()
  t.after(() => server.kill())
  const oracle = new Oracle([server], Date.now() % 2 ** 31)
  await oracle.open()
  let kills = 0
  const steps = await run(
    oracle,
    async () => {
      const killed = oracle.stepUntilFailure()
      await wait(200)
      await server.kill()
      await killed
      kills++
      server = await launch()
      oracle.use([server])
    },
    () => kills > 0,
  )
  t.diagnostic(`${steps} commits, ${kills} kills`)
  assert.ok(kills > 0)
})

test('on PostgreSQL, while the keeper, the database and the primary are killed', async (t) => {
  const servers: Server[] = []
  const pair = await startPostgresPair()
  t.after(async () => {
    await Promise.all(servers.map((server) => server.kill()))
    await pair.stop()
  })
  const folders = [await temporaryFolder(t), await temporaryFolder(t)]
  const url = parseDatabaseUrl(pair.url)
  const launch = (folder = '') => Server.launch(folder, url)
  for (const folder of folders) servers.push(await launch(folder))
  let [kills, restarts] = [0, 0]
  const started = performance.now()
  let isPromoted = false
  const primary = () => (isPromoted ? pair.second : pair.first)
  const oracle = new Oracle(servers, Date.now() % 2 ** 31, async () => {
    await primary().query('TRUNCATE gatehouse_data.events')
  })
  await oracle.open()
  const steps = await run(
    oracle,
    async (turn) => {
      const isLate = performance.now() - started > MINUTES * 30_000
      // On a busy machine the time is over before all of them have been killed.
      if (isLate && !isPromoted && kills > 1 && restarts > 0) {
        isPromoted = true
        await oracle.settle()
        await failOver(pair)
        await oracle.recover()
        return
      }
      const failing = oracle.stepUntilFailure()
      await wait(200)
      if (turn % 3 === 2) {
        restarts++
        await primary().stop('kill')
        await failing
        await primary().start()
        return
      }
      const index = turn % 2
      await servers[index]?.kill()
      await failing
      kills++
      servers[index] = await launch(folders[index])
      oracle.use(servers)
    },
    () => isPromoted,
  )
  t.diagnostic(`${steps} commits, ${kills} kills of a node, ${restarts} of PostgreSQL, failed over: ${isPromoted}`)
  assert.ok(kills > 1 && restarts > 0)
})

test('on PostgreSQL, when the database is back after a while, a view that was behind goes on at once', async (t) => {
  const pair = await startPostgresPair()
  const started: QueryServer[] = []
  t.after(async () => {
    for (const each of started) await each.stop()
    await pair.stop()
  })
  const { first } = pair
  const place = { engine: 'postgres', dataFolder: await temporaryFolder(t), databaseUrl: first.url } as const
  const server = await startQueryServer(place)
  started.push(server)
  const run = async (statement: string): Promise<void> => {
    const { status, text } = await server.query(statement)
    assert.equal(status, 200, text)
  }
  await run('CREATE TABLE trades (id Integer PRIMARY KEY, symbol Text NOT NULL)')
  await run('CREATE INDEX trades_symbol ON trades (symbol)')
  await run('CREATE MATERIALIZED VIEW totals AS SELECT symbol, count(*) AS n FROM trades GROUP BY symbol')
  // The view cannot be written, and then the database is away.
  const blocking = first.query('BEGIN; LOCK TABLE gatehouse_data.totals IN EXCLUSIVE MODE; SELECT pg_sleep(60)')
  const blocked = blocking.catch(() => {})
  await until('it is locked', 5_000, async () => {
    const [row] = await first.query(
      `SELECT count(*)::int AS n FROM pg_locks WHERE relation = 'gatehouse_data.totals'::regclass AND mode = 'ExclusiveLock' AND granted`,
    )
    return row?.n === 1
  })
  await run("INSERT INTO trades (id, symbol) VALUES (1, 'A')")
  await wait(1_000)
  await first.stop('kill')
  await blocked
  await wait(17_000)
  await first.start()
  await until('it answers', 10_000, async () => (await server.query('SELECT id FROM trades')).status === 200)
  const began = performance.now()
  await run('REFRESH MATERIALIZED VIEW totals')
  const took = performance.now() - began
  assert.ok(took < 8_000, `${Math.round(took)} ms`)
  assert.deepEqual((await server.query('SELECT n FROM totals')).json.Rows, [{ n: 1 }])
})

/** Steps, and a fault now and then, until the time is over and all faults were. */
async function run(
  oracle: Oracle,
  fault: (turn: number) => Promise<void>,
  isDone: () => boolean = () => true,
): Promise<number> {
  const end = performance.now() + MINUTES * 60_000
  for (let turn = 0; performance.now() < end || !isDone(); turn++) {
    for (let step = 0; step < 40; step++) await oracle.step()
    await fault(turn)
    await oracle.recover()
    if (turn % 3 === 0) await oracle.settle()
  }
  await oracle.settle()
  return oracle.checked
}

/**
 * Without a write that the standby has not: nodes write all the time, such as the keeper its term, and where the new primary lacks a write that was
 * acknowledged, they stop all writes.
 */
async function failOver({ first, second }: PostgresPair): Promise<void> {
  await first.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
  await first.query('SELECT pg_reload_conf()')
  await until('commits wait for the standby', 20_000, async () => {
    const [row] = await first.query('SELECT sync_state FROM pg_stat_replication')
    return row?.sync_state === 'sync'
  })
  // A commit that had begun did not wait.
  await wait(500)
  const [at] = await first.query('select pg_current_wal_lsn()::text as lsn')
  await until('the standby has all', 20_000, async () => {
    const [row] = await second.query(`select pg_last_wal_replay_lsn() >= '${at?.lsn}' as done`)
    return row?.done === true
  })
  await first.stop('kill')
  await second.query('select pg_promote()')
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-faults-'))
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  return folder
}

/** `gatehouse serve`, which nodes of one database know each other by. */
class Server implements OracleServer {
  readonly #program: RunningProcess
  readonly #token: string

  constructor(program: RunningProcess, token: string) {
    this.#program = program
    this.#token = token
  }

  static async launch(folder: string, databaseUrl = ''): Promise<Server> {
    const database =
      databaseUrl === ''
        ? []
        : ['--database-url', databaseUrl, '--master-key', MASTER_KEY, '--issuer', 'http://localhost:5998']
    const program = await serveProcess(['--demo', '--data', folder, ...database])
    const form = { grant_type: 'password', username: 'admin', password: 'admin-please-change', client_id: 'demo-cli' }
    const response = await fetch(`http://127.0.0.1:${program.port}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    })
    return new Server(program, String(JSON.parse(await response.text()).access_token))
  }

  async query(statement: string) {
    const headers = { authorization: `Bearer ${this.#token}`, 'content-type': 'text/plain; charset=utf-8' }
    const reply = await fetch(`http://127.0.0.1:${this.#program.port}/query`, {
      method: 'POST',
      headers,
      body: statement,
    })
    const text = await reply.text()
    return { status: reply.status, text, json: JSON.parse(text) }
  }

  kill(): Promise<unknown> {
    return this.#program.stop('SIGKILL')
  }
}
