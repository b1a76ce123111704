/**
 * Floods the query service with heavy queries: `node fuzz/query-flood.ts [sqlite,postgres] [requests] [flooding users]`, seven users
 * by default. Prints what another user notices: the time of queries that need a reader or a connection, and of a lookup by key.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN, signIn } from '../test/support/demo-user.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../test/support/postgres.ts'
import { serveProcess } from '../test/support/process.ts'

/** Of each user that floods: as many as a user may have. */
const FLOOD = 32
const LONGEST_MS = 6_000
/** About 10^12 rows. */
const ENDLESS =
  'SELECT count(*) AS n FROM nums a CROSS JOIN nums b CROSS JOIN nums c CROSS JOIN nums d WHERE a.n + b.n + c.n + d.n < 0'
/** Need a reader, and take from one to some dozen milliseconds. */
const PROBES = {
  scan: 'SELECT count(*) AS n FROM nums WHERE n % 2 = 0',
  join: 'SELECT count(*) AS n FROM nums a CROSS JOIN nums b WHERE b.n < 20 AND (a.n + b.n) % 7 = 0',
  lookup: 'SELECT t FROM nums WHERE n = 17',
  'filtered lookup': 'SELECT t FROM hidden WHERE n = 17',
} as const

/** Undefined for the user who does not flood. */
type Ask = (flooder: number | undefined, statement: string, signal?: AbortSignal) => Promise<number>

async function measure(ask: Ask, statement: string, requests: number): Promise<number[]> {
  const times: number[] = []
  const end = performance.now() + LONGEST_MS
  for (let request = 0; request < requests && performance.now() < end; request++) {
    const began = performance.now()
    assert.equal(await ask(undefined, statement), 200)
    times.push(performance.now() - began)
    await sleep(2)
  }
  return times.sort((a, b) => a - b)
}

const at = (times: readonly number[], share: number): number =>
  Number((times[Math.floor(times.length * share)] ?? Number.NaN).toFixed(1))

async function attack(ask: Ask, requests: number, users: number): Promise<Record<string, Record<string, number>>> {
  for (const statement of Object.values(PROBES)) await measure(ask, statement, 20)
  const alone = new Map<string, number[]>()
  for (const [name, statement] of Object.entries(PROBES)) alone.set(name, await measure(ask, statement, requests))
  const stop = new AbortController()
  const flood = Array.from({ length: FLOOD * users }, async (_item, index) => {
    while (!stop.signal.aborted) {
      const status = await ask(index % users, ENDLESS, stop.signal).catch(() => 0)
      if (status !== 408 && status !== 0) await sleep(200)
    }
  })
  await sleep(1500)
  const rows: Record<string, Record<string, number>> = {}
  for (const [name, statement] of Object.entries(PROBES)) {
    const before = alone.get(name) ?? []
    const beside = await measure(ask, statement, requests)
    rows[name] = {
      requests: beside.length,
      'p50 alone': at(before, 0.5),
      'p50 beside': at(beside, 0.5),
      'p99 alone': at(before, 0.99),
      'p99 beside': at(beside, 0.99),
      'most beside': at(beside, 1 - Number.EPSILON),
    }
  }
  stop.abort()
  await Promise.all(flood)
  return rows
}

async function main(engine: string, requests: number, users: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-flood-'))
  const database = engine === 'postgres' ? await createPostgresDatabase() : undefined
  const place = ['--data', folder, ...(database === undefined ? [] : ['--database-url', database.url])]
  const server = await serveProcess(['--demo', ...place])
  try {
    const { access_token: own } = await signIn(server, ADMIN)
    const tokens: string[] = []
    for (let user = 0; user < users; user++) tokens.push(await createUser(server, own, `flooder-${user}`))
    const ask: Ask = async (flooder, statement, signal) => {
      const token = flooder === undefined ? own : tokens[flooder]
      const reply = await fetch(`http://127.0.0.1:${server.port}/query`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
        body: statement,
        ...(signal === undefined ? {} : { signal }),
      })
      await reply.arrayBuffer()
      return reply.status
    }
    for (const table of [
      'nums (n Integer PRIMARY KEY, t Text)',
      'hidden (n Integer PRIMARY KEY, t Text) ROW FILTER (t <> :sub)',
    ])
      assert.equal(await ask(undefined, `CREATE TABLE ${table}`), 200)
    for (let start = 0; start < 5000; start += 500) {
      const rows = Array.from({ length: 500 }, (_row, index) => `(${start + index}, '${'x'.repeat(40)}')`)
      for (const table of ['nums', 'hidden'])
        assert.equal(await ask(undefined, `INSERT INTO ${table} VALUES ${rows}`), 200)
    }
    console.log(`${engine}, ${users} users flood`)
    console.table(await attack(ask, requests, users))
  } finally {
    await server.stop()
    await database?.drop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function createUser(server: { readonly port: number }, adminToken: string, username: string): Promise<string> {
  const user = { username, password: 'flood-the-server-1', roles: ['trader'] }
  const reply = await fetch(`http://127.0.0.1:${server.port}/admin/users`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(user),
  })
  assert.equal(reply.status, 201, await reply.text())
  return (await signIn(server, user)).access_token
}

for (const engine of (process.argv[2] ?? 'sqlite,postgres').split(','))
  await main(engine, Number(process.argv[3] ?? 300), Number(process.argv[4] ?? 7))
await stopOwnPostgres()
