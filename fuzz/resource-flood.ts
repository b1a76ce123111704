/**
 * Floods the query service with heavy queries of one user: `node fuzz/resource-flood.ts [sqlite,postgres] [requests] [kinds]`. Kinds are
 * time, disk and memory: what the queries take. Prints what another user notices, the time of a query that needs a reader or a
 * connection and of a lookup by key, and the most memory and temporary files that all queries had at once.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN, ALICE, signIn } from '../test/support/demo-user.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../test/support/postgres.ts'
import { serveProcess } from '../test/support/process.ts'
import { type QueryUse, useOfProcess, useOfQueries } from './support/process-use.ts'

const FLOOD = 32
const LONGEST_MS = 6_000
const repeated = (count: number, make: (index: number) => string, between: string): string =>
  Array.from({ length: count }, (_, index) => make(index)).join(between)

const HOSTILE = {
  /** About 10^12 rows. */
  time: [
    'SELECT count(*) AS n FROM nums a CROSS JOIN nums b CROSS JOIN nums c CROSS JOIN nums d WHERE a.n + b.n + c.n + d.n < 0',
  ],
  disk: [
    "SELECT max(r) AS n FROM (SELECT row_number() OVER (ORDER BY rpad(CAST(v AS Text), 10000) || 'x') AS r FROM generate_series(1, 1000000) AS v) AS q",
    "SELECT rpad('x', 10000) AS t, v FROM generate_series(1, 1000000) AS v ORDER BY t, v DESC",
    'SELECT count(*) AS n FROM (SELECT DISTINCT a.t || CAST(a.n * 5000 + b.n AS Text) AS t FROM nums a CROSS JOIN nums b) AS q',
  ],
  memory: [
    'SELECT max(r) AS n FROM (SELECT row_number() OVER (ORDER BY rpad(CAST(v AS Text), 100000)) AS r FROM generate_series(1, 100000) AS v) AS q',
    'SELECT rpad(CAST(v AS Text), 100000) AS t FROM generate_series(1, 100000) AS v ORDER BY t',
    `WITH w0 AS (SELECT rpad('x', 200000) AS t FROM generate_series(1, 1000) AS v), ${repeated(6, (level) => `w${level + 1} AS (SELECT left(t || t, 200000) AS t FROM w${level})`, ', ')} SELECT max(length(t)) AS n FROM w6`,
    `SELECT n FROM nums ORDER BY ${repeated(250, () => `rpad('x', 60000)`, ' || ')} || t`,
    `SELECT n FROM nums ORDER BY ${repeated(250, () => 't', ' || ')}`,
    `SELECT count(*) AS n FROM long WHERE ${repeated(400, (index) => `t LIKE '%a${index}'`, ' OR ')}`,
    "SELECT max(length(m)) AS n FROM (SELECT max(CASE WHEN v <= 10000 THEN 'a' ELSE rpad('x', 300000) END) AS m FROM generate_series(1, 20000) AS v GROUP BY v % 10000) AS q",
    'SELECT count(*) AS n FROM nums WHERE t NOT IN (SELECT repeat(CAST(v AS Text), 2000) AS t FROM generate_series(1, 1000000) AS v)',
  ],
} as const

type Kind = keyof typeof HOSTILE

/** Need a reader, and take from one to some dozen milliseconds. */
const PROBES = {
  scan: 'SELECT count(*) AS n FROM nums WHERE n % 2 = 0',
  join: 'SELECT count(*) AS n FROM nums a CROSS JOIN nums b WHERE b.n < 20 AND (a.n + b.n) % 7 = 0',
  lookup: 'SELECT t FROM nums WHERE n = 17',
} as const

type Ask = (user: 'alice' | 'admin', statement: string, signal?: AbortSignal) => Promise<number>

async function measure(ask: Ask, statement: string, requests: number): Promise<number[]> {
  const times: number[] = []
  const end = performance.now() + LONGEST_MS
  for (let request = 0; request < requests && performance.now() < end; request++) {
    const began = performance.now()
    assert.equal(await ask('admin', statement), 200)
    times.push(performance.now() - began)
    await sleep(2)
  }
  return times.sort((a, b) => a - b)
}

const at = (times: readonly number[], share: number): number =>
  Number((times[Math.floor(times.length * share)] ?? Number.NaN).toFixed(1))

async function attack(ask: Ask, requests: number, kind: Kind): Promise<Record<string, Record<string, number>>> {
  for (const statement of Object.values(PROBES)) await measure(ask, statement, 20)
  const alone = new Map<string, number[]>()
  for (const [name, statement] of Object.entries(PROBES)) alone.set(name, await measure(ask, statement, requests))
  const stop = new AbortController()
  const replies = new Map<number, number>()
  const flood = Array.from({ length: FLOOD }, async (_, client) => {
    for (let turn = client; !stop.signal.aborted; turn++) {
      const statement = HOSTILE[kind][turn % HOSTILE[kind].length] ?? ''
      const status = await ask('alice', statement, stop.signal).catch(() => 0)
      if (status !== 0) replies.set(status, (replies.get(status) ?? 0) + 1)
      if (status === 429 || status === 503) await sleep(200)
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
  console.log(`replies to the flood: ${[...replies].map(([status, times]) => `${times} × ${status}`).join(', ')}`)
  return rows
}

/** Looks at the processes of queries ten times a second. Returns the most that they had at once. */
function watch(look: () => QueryUse): () => QueryUse {
  let most: QueryUse = { memoryMiB: 0, temporaryMiB: 0 }
  const timer = setInterval(() => {
    const { memoryMiB, temporaryMiB } = look()
    most = {
      memoryMiB: Math.max(most.memoryMiB, memoryMiB),
      temporaryMiB: Math.max(most.temporaryMiB, temporaryMiB),
    }
  }, 100)
  return () => {
    clearInterval(timer)
    return most
  }
}

async function main(engine: string, requests: number, kinds: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-flood-'))
  const database = engine === 'postgres' ? await createPostgresDatabase() : undefined
  const place = ['--data', folder, ...(database === undefined ? [] : ['--database-url', database.url])]
  const server = await serveProcess(['--demo', ...place])
  try {
    const tokens = {
      alice: (await signIn(server, ALICE)).access_token,
      admin: (await signIn(server, ADMIN)).access_token,
    }
    const ask: Ask = async (user, statement, signal) => {
      const reply = await fetch(`http://127.0.0.1:${server.port}/query`, {
        method: 'POST',
        headers: { authorization: `Bearer ${tokens[user]}`, 'content-type': 'text/plain' },
        body: statement,
        ...(signal === undefined ? {} : { signal }),
      })
      await reply.arrayBuffer()
      return reply.status
    }
    assert.equal(await ask('admin', 'CREATE TABLE nums (n Integer PRIMARY KEY, t Text)'), 200)
    for (let start = 0; start < 5000; start += 500) {
      const rows = Array.from({ length: 500 }, (_row, index) => `(${start + index}, '${'x'.repeat(40)}')`)
      assert.equal(await ask('admin', `INSERT INTO nums VALUES ${rows}`), 200)
    }
    assert.equal(await ask('admin', 'CREATE TABLE long (id Integer PRIMARY KEY, t Text)'), 200)
    assert.equal(await ask('admin', `INSERT INTO long (id, t) VALUES (1, repeat('x', 7000000))`), 200)
    const name = database === undefined ? undefined : new URL(database.url).pathname.slice(1)
    for (const kind of kinds.filter(isKind)) {
      const most = watch(() => useOfQueries(server.child.pid ?? 0, name))
      console.log(`${engine}, queries that take ${kind}`)
      console.table(await attack(ask, requests, kind))
      const { memoryMiB, temporaryMiB } = most()
      const { residentMiB } = useOfProcess(server.child.pid ?? 0)
      console.log(
        `most at once: ${memoryMiB} MiB of memory, ${temporaryMiB} MiB of temporary files; the server has ${residentMiB} MiB`,
      )
    }
  } finally {
    await server.stop()
    await database?.drop()
    await rm(folder, { recursive: true, force: true })
  }
}

function isKind(kind: string): kind is Kind {
  return Object.hasOwn(HOSTILE, kind)
}

const kinds = (process.argv[4] ?? Object.keys(HOSTILE).join()).split(',')
for (const engine of (process.argv[2] ?? 'sqlite,postgres').split(','))
  await main(engine, Number(process.argv[3] ?? 300), kinds)
await stopOwnPostgres()
