/** Backends of PostgreSQL that ignore their cancellation: they count until they are gone, and are terminated when the server stops. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { openPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

let server: QueryServer
let observer: pg.Client
let leave: () => Promise<void>
let hasStopped = false
const stopped = new Set<number>()
before(async () => {
  const opened = await openPlace('postgres')
  leave = opened.leave
  server = await startQueryServer(opened.place, { limits: { perUser: 2 } })
  observer = new pg.Client({ connectionString: opened.place.databaseUrl })
  await observer.connect()
})
after(async () => {
  for (const pid of stopped) process.kill(pid, 'SIGCONT')
  await observer.end()
  if (!hasStopped) await server.stop()
  await leave()
  await stopOwnPostgres()
})

/** A process that is stopped by a signal looks like one that runs on without asking for interrupts. */
async function freezeNext(): Promise<number> {
  const sql = `SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%generate_series%'
    AND datname = current_database() AND pid <> pg_backend_pid() AND pid <> ALL ($1::int[])`
  let pid = 0
  await until('the statement runs', 10_000, async () => {
    pid = (await observer.query<{ pid: number }>(sql, [[...stopped]])).rows[0]?.pid ?? 0
    return pid !== 0
  })
  stopped.add(pid)
  process.kill(pid, 'SIGSTOP')
  return pid
}

function thaw(pid: number): void {
  stopped.delete(pid)
  process.kill(pid, 'SIGCONT')
}

async function isRunning(pid: number): Promise<boolean> {
  const { rows } = await observer.query(`SELECT FROM pg_stat_activity WHERE pid = $1 AND state = 'active'`, [pid])
  return rows.length > 0
}

const listed = (): string[] => [...server.service.activity.list()].map(({ statement }) => statement)
const logged = (word: string): Record<string, unknown>[] =>
  server.log
    .filter((line) => line.includes('is still running in the database') && line.includes(word))
    .map((line) => JSON.parse(line))

test('a backend that ignores its cancellation counts until it is gone, and is terminated when the server stops', async () => {
  const leaving = new AbortController()
  const begin = (name: string): Promise<number> => {
    const body = `SELECT count(*) AS ${name} FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b`
    const headers = { authorization: 'Bearer admin', 'content-type': 'text/plain' }
    fetch(`${server.url}/query`, { method: 'POST', headers, body, signal: leaving.signal }).catch(() => {})
    return freezeNext()
  }
  const first = await begin('one')
  const second = await begin('two')
  leaving.abort()
  await until('both are logged', 15_000, async () => logged('cancellation').length === 2)
  const line = logged('cancellation').find(({ pid }) => pid === first)
  assert.deepEqual([line?.level, line?.owner, line?.ignores], ['warn', 'user:admin', 'cancellation'])
  assert.match(String(line?.statement), /^SELECT count\(\*\) AS one FROM/)
  assert.equal(listed().length, 2, 'they are listed')
  assert.equal(server.service.load().busy >= 2, true, 'and count as busy')
  const refused = await server.query('SELECT count(*) AS n FROM generate_series(1, 100000) AS a')
  assert.deepEqual([refused.status, refused.json.Code], [429, 'Limit.Concurrency'], 'and against their owner')

  thaw(first)
  await until('the first is gone', 10_000, async () => listed().length === 1)
  assert.equal(await isRunning(first), false)
  assert.equal((await server.query('SELECT count(*) AS n FROM generate_series(1, 100000) AS a')).status, 200)

  await server.stop()
  hasStopped = true
  const [left] = logged('termination')
  assert.deepEqual([left?.pid, left?.owner, logged('cancellation').length], [second, 'user:admin', 2])
  thaw(second)
  await until('the second ends', 10_000, async () => !(await isRunning(second)))
})
