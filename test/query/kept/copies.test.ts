/**
 * Bars that have outlived their rows, in copies of the database: restored from `backup_url`, moved to PostgreSQL and back, on two nodes. No bar
 * changes or goes, no closed row is stored, and each copy goes on without a build.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { readStatus } from '../../../packages/server/src/replication/spool/status.ts'
import { ADMIN, signIn } from '../../support/demo-user.ts'
import { createPostgresDatabase, type PostgresDatabase, stopOwnPostgres } from '../../support/postgres.ts'
import { type RunningProcess, runGatehouse, serveProcess } from '../../support/process.ts'
import { untilStored } from '../../support/replicated-folder.ts'
import { until } from '../../support/until.ts'

const DAY = 86_400_000
const BACKUP_KEY = randomBytes(32).toString('base64')
const LIMIT_MS = 60_000
const HOURS = `SELECT symbol, time_bucket('1 hour', at) AS hour, sum(qty) AS q, count(*) AS n FROM ticks GROUP BY symbol, hour`
const DAYS = `SELECT symbol, time_bucket('1 day', hour, 'Europe/Berlin') AS day, sum(q) AS q FROM hours GROUP BY symbol, day`

let scratch: string
const running = new Set<RunningProcess>()
const databases: PostgresDatabase[] = []
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-copies-'))
})
afterEach(async () => {
  for (const server of running) await server.stop('SIGKILL')
  running.clear()
  for (const database of databases.splice(0)) await database.drop()
})
after(async () => {
  await stopOwnPostgres()
  await rm(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
})

test('on SQLite: a copy of backup_url has the bars and goes on', async () => {
  const [data, restored] = [join(scratch, 'sqlite'), join(scratch, 'sqlite-restored')]
  const backup = ['--backup-url', `file://${join(scratch, 'sqlite-target')}`, '--backup-key', BACKUP_KEY]
  const first = await Node.start(['--data', data, ...backup])
  const bars = await outlive(first)
  await untilStored(data)
  await first.stop()
  await gatehouse('restore', backup[1] ?? '', '--data', restored, '--backup-key', BACKUP_KEY)
  const second = await Node.start(['--data', restored])
  await second.must('REFRESH MATERIALIZED VIEW days')
  assert.equal(await second.builds(), 1)
  await goOn(second, bars)
})

test('on PostgreSQL: a restored dump has the bars, and what its log says nothing of is evaluated anew', async () => {
  const [data, restored] = [join(scratch, 'postgres'), join(scratch, 'postgres-restored')]
  const [from, to] = [await newDatabase(), await newDatabase()]
  const backup = ['--backup-url', `file://${join(scratch, 'postgres-target')}`, '--backup-key', BACKUP_KEY]
  const flags = ['--data', data, '--database-url', from, ...backup]
  const first = await Node.start(flags)
  const bars = await outlive(first)
  const began = Date.now()
  await gatehouse('backups', 'take', ...flags)
  await until('a dump is stored', LIMIT_MS, () => (readStatus(data)?.moment ?? 0) > began)
  await first.stop()
  await gatehouse('restore', backup[1] ?? '', '--data', restored, '--database-url', to, '--backup-key', BACKUP_KEY)
  const second = await Node.start(['--data', restored, '--database-url', to])
  await goOn(second, bars)
})

test('moved to PostgreSQL, kept there by two nodes, and moved back', async () => {
  const [data, back] = [join(scratch, 'moved'), join(scratch, 'moved-back')]
  const url = await newDatabase()
  const first = await Node.start(['--data', data])
  const bars = await outlive(first)
  await first.stop()
  await gatehouse('move', '--data', data, '--to', url)

  const shared = ['--database-url', url, '--issuer', 'http://localhost:5997']
  const masterKey = await readFile(join(data, 'master.key'), 'base64')
  const nodes = [
    await Node.start(['--data', data, ...shared]),
    await Node.start(['--data', join(scratch, 'second'), '--master-key', masterKey, ...shared]),
  ] as const
  const grown = await goOn(nodes[0], bars)
  await until('the second node has them', LIMIT_MS, async () => {
    return JSON.stringify(await nodes[1].bars()) === JSON.stringify(grown)
  })
  assert.match(await nodes[1].refuse(lateRow(7)), /Data\.TooOld/)
  // The node that keeps the views is killed: another does it.
  const builds = await nodes[1].builds()
  await nodes[0].kill()
  await nodes[1].must(`UPDATE ticks SET qty = 1000 WHERE id = 5`, 'REFRESH MATERIALIZED VIEW days')
  const taken = await nodes[1].bars()
  assert.deepEqual(old(taken), old(bars))
  assert.notDeepEqual(taken, grown)
  assert.equal(await nodes[1].builds(), builds)
  await nodes[1].stop()

  await gatehouse('move', '--data', data, '--database-url', url, '--to', back)
  const last = await Node.start(['--data', back])
  assert.deepEqual(await last.bars(), taken)
  await goOn(last, taken, 50)
})

/** Rows of 45, 40 and 31 days ago are deleted by a retention; their bars stay. Returns the bars. */
async function outlive(node: Node): Promise<Bars> {
  await node.must(
    'CREATE TABLE ticks (id Integer PRIMARY KEY, symbol Text NOT NULL, at Timestamp NOT NULL, qty Integer NOT NULL)',
    'CREATE INDEX ticks_symbol ON ticks (symbol, at)',
    'CREATE INDEX ticks_at ON ticks (at)',
    `INSERT INTO ticks VALUES ${[45, 40, 31, 20, 1].map((days, index) => `(${index + 1}, 'A', '${ago(days)}', ${index + 1})`).join(', ')}`,
    `CREATE MATERIALIZED VIEW hours AS ${HOURS}`,
    `CREATE MATERIALIZED VIEW days AS ${DAYS}`,
    'REFRESH MATERIALIZED VIEW days',
    `ALTER TABLE ticks SET WITH (retention = '30 days' ON at)`,
  )
  await until('the rows are deleted', LIMIT_MS, async () => {
    await node.post('/admin/retention/ticks/run')
    return (await node.rows('SELECT id FROM ticks')).length === 2
  })
  const bars = await node.bars()
  assert.deepEqual([bars.hours.length, bars.days.length], [5, 5])
  return bars
}

/** A copy: its bars are there and follow new rows, closed ones are refused, and nothing is wrong. `first` is the number of a new row. */
async function goOn(node: Node, before: Bars, first = 10): Promise<Bars> {
  await node.must('REFRESH MATERIALIZED VIEW days')
  assert.deepEqual(await node.bars(), before)
  assert.match(await node.refuse(lateRow(first + 1)), /Data\.TooOld/)
  await node.must(`INSERT INTO ticks VALUES (${first}, 'B${first}', '${ago(2)}', 7)`, 'REFRESH MATERIALIZED VIEW days')
  const after = await node.bars()
  assert.equal(after.hours.length, before.hours.length + 1)
  assert.deepEqual(old(after), old(before))
  for (const view of ['hours', 'days'])
    assert.equal((await node.post(`/admin/views/${view}/refresh?full=true`)).wrong, 0, view)
  assert.deepEqual(await node.bars(), after)
  assert.deepEqual(await node.rows(`SELECT id FROM ticks WHERE at < '${ago(31)}'`), [])
  return after
}

interface Bars {
  readonly hours: readonly Record<string, unknown>[]
  readonly days: readonly Record<string, unknown>[]
}

/** Those whose rows are gone. */
function old({ hours, days }: Bars): Bars {
  return {
    hours: hours.filter(({ hour }) => String(hour) < ago(30)),
    days: days.filter(({ day }) => String(day) < ago(31)),
  }
}

const ago = (days: number) => new Date(Date.now() - days * DAY).toISOString()
const lateRow = (id: number) => `INSERT INTO ticks VALUES (${id}, 'A', '${ago(40)}', 1)`

async function gatehouse(...words: readonly string[]): Promise<void> {
  const { status, stderr } = await runGatehouse(words)
  assert.equal(status, 0, stderr)
}

async function newDatabase(): Promise<string> {
  const database = await createPostgresDatabase()
  databases.push(database)
  return database.url
}

/** A server with an administrator's token. */
class Node {
  readonly #program: RunningProcess
  readonly #token: string

  constructor(program: RunningProcess, token: string) {
    this.#program = program
    this.#token = token
  }

  static async start(flags: readonly string[]): Promise<Node> {
    const program = await serveProcess(['--demo', ...flags])
    running.add(program)
    return new Node(program, (await signIn(program, ADMIN)).access_token)
  }

  async #send(path: string, body?: string): Promise<Response> {
    const authorization = `Bearer ${this.#token}`
    return fetch(`http://127.0.0.1:${this.#program.port}${path}`, {
      method: 'POST',
      headers: { authorization, ...(body !== undefined && { 'content-type': 'text/plain; charset=utf-8' }) },
      ...(body !== undefined && { body }),
    })
  }

  async rows(statement: string): Promise<readonly Record<string, unknown>[]> {
    const reply = await this.#send('/query', statement)
    const text = await reply.text()
    assert.equal(reply.status, 200, `${statement}: ${text}`)
    return JSON.parse(text).Rows
  }

  async must(...statements: readonly string[]): Promise<void> {
    for (const statement of statements) await this.rows(statement)
  }

  /** Returns the reply. */
  async refuse(statement: string): Promise<string> {
    const reply = await this.#send('/query', statement)
    assert.equal(reply.status, 409, statement)
    return reply.text()
  }

  async bars(): Promise<Bars> {
    return {
      hours: await this.rows('SELECT * FROM hours ORDER BY symbol, hour'),
      days: await this.rows('SELECT * FROM days ORDER BY symbol, day'),
    }
  }

  async builds(): Promise<number> {
    const headers = { authorization: `Bearer ${this.#token}` }
    const reply = await fetch(`http://127.0.0.1:${this.#program.port}/admin/views/hours`, { headers })
    return JSON.parse(await reply.text()).builds
  }

  async post(path: string) {
    const reply = await this.#send(path)
    const text = await reply.text()
    assert.equal(reply.status, 200, `${path}: ${text}`)
    return JSON.parse(text)
  }

  stop(): Promise<unknown> {
    running.delete(this.#program)
    return this.#program.stop()
  }

  kill(): Promise<unknown> {
    running.delete(this.#program)
    return this.#program.stop('SIGKILL')
  }
}
