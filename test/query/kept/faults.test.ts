/**
 * The oracle of materialized views while servers are killed: the keeper, PostgreSQL, and a primary that is not started again.
 * `KEPT_MINUTES=10 npm test -- test/query/kept/faults.test.ts` takes ten minutes for each engine.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type PostgresPair, startPostgresPair } from '../../support/postgres-pair.ts'
import { until } from '../../support/until.ts'
import { Oracle, type OracleServer } from './oracle.ts'

const PROGRAM = fileURLToPath(new URL('./oracle-server.ts', import.meta.url))
const MINUTES = Number(process.env.KEPT_MINUTES ?? 0.4)

test('on SQLite, while the server is killed', async (t) => {
  const folder = await temporaryFolder(t)
  const launch = () => Server.launch(folder, '')
  let server = await launch()
  t.after(() => server.stop())
  const oracle = new Oracle([server], Date.now() % 2 ** 31)
  await oracle.open()
  let kills = 0
  const steps = await run(oracle, async () => {
    const killed = oracle.stepUntilFailure()
    await wait(200)
    await server.kill()
    await killed
    kills++
    server = await launch()
    oracle.use([server])
  })
  t.diagnostic(`${steps} commits, ${kills} kills`)
  assert.ok(kills > 0)
})

test('on PostgreSQL, while the keeper, the database and the primary are killed', async (t) => {
  const pair = await startPostgresPair()
  const folders = [await temporaryFolder(t), await temporaryFolder(t)]
  const launch = (folder = '') => Server.launch(folder, pair.url)
  const servers = [await launch(folders[0]), await launch(folders[1])]
  t.after(async () => {
    await Promise.all(servers.map((server) => server.stop()))
    await pair.stop()
  })
  const oracle = new Oracle(servers, Date.now() % 2 ** 31)
  await oracle.open()
  let [kills, restarts] = [0, 0]
  const started = performance.now()
  let isPromoted = false
  const steps = await run(oracle, async (turn) => {
    const isLate = performance.now() - started > MINUTES * 30_000
    if (isLate && !isPromoted) {
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
      const primary = isPromoted ? pair.second : pair.first
      await primary.stop('kill')
      await failing
      await primary.start()
      return
    }
    const index = turn % 2
    await servers[index]?.kill()
    await failing
    kills++
    servers[index] = await launch(folders[index])
    oracle.use(servers)
  })
  t.diagnostic(`${steps} commits, ${kills} kills of a node, ${restarts} of PostgreSQL, failed over: ${isPromoted}`)
  assert.ok(kills > 0 && isPromoted)
})

/** Steps, and a fault now and then. */
async function run(oracle: Oracle, fault: (turn: number) => Promise<void>): Promise<number> {
  const end = performance.now() + MINUTES * 60_000
  for (let turn = 0; performance.now() < end; turn++) {
    for (let step = 0; step < 40; step++) await oracle.step()
    await fault(turn)
    await oracle.recover()
    if (turn % 3 === 0) await oracle.settle()
  }
  await oracle.settle()
  return oracle.checked
}

/** Without a write that the standby has not. */
async function failOver({ first, second }: PostgresPair): Promise<void> {
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

class Server implements OracleServer {
  readonly #child: ChildProcess
  readonly #url: string

  constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.#url = url
  }

  static async launch(folder: string, databaseUrl: string): Promise<Server> {
    const child = spawn(process.execPath, [PROGRAM, folder, databaseUrl], { stdio: ['pipe', 'pipe', 'ignore'] })
    const [url] = await once(createInterface(child.stdout), 'line')
    return new Server(child, String(url))
  }

  async query(statement: string) {
    const headers = { authorization: 'Bearer admin', 'content-type': 'text/plain; charset=utf-8' }
    const reply = await fetch(`${this.#url}/query`, { method: 'POST', headers, body: statement })
    const text = await reply.text()
    return { status: reply.status, text, json: JSON.parse(text) }
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }

  async stop(): Promise<void> {
    await this.kill()
  }
}
