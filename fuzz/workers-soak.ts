/**
 * Soak test of several workers: `node fuzz/workers-soak.ts [minutes] [postgres]`. Clients insert, look up, stream, follow live results
 * and have their tokens revoked, while one worker after another is killed and all of them are replaced on SIGHUP. At the end every
 * acknowledged row is there, once. Prints rates, memory and descriptors every tenth of the time.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { bearer, identify } from '../test/support/demo-user.ts'
import { freshRequest, type Reply, type RequestOptions } from '../test/support/fresh-request.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../test/support/postgres.ts'
import { type RunningProcess, serveProcess } from '../test/support/process.ts'
import { connect, type StreamClient } from '../test/support/stream-client.ts'
import { until } from '../test/support/until.ts'
import { useOfProcess } from './support/process-use.ts'

const WORKERS = 2
const WRITERS = 8
const READERS = 2
const STREAMS = 8
const PARTS = 10
/** Between two disturbances, and every which of them is a reload. */
const DISTURB_MS = 4000
const RELOAD_EVERY = 3
const RETRY_MS = 20
/** How soon a stream is back, a revocation is felt, and a killed worker is replaced, on a busy machine. */
const BACK_MS = 20_000
const SCOPE = 'Platform/Market Platform/Trading Platform/Admin'
const CLIENT = { client_id: 'service', client_secret: 'secret-of-the-service' }

const counts = { writes: 0, lookups: 0, messages: 0, revoked: 0, broken: 0, back: 0, kills: 0, reloads: 0 }
const acknowledged: string[] = []
let isRunning = true

/** Repeated while the connection breaks or the reply is 503; an idempotency key makes that safe for inserts. */
async function request(server: RunningProcess, path: string, options: RequestOptions): Promise<Reply> {
  for (;;) {
    try {
      const reply = await freshRequest(server.port, path, options)
      if (reply.status !== 503) return reply
    } catch {
      counts.broken++
    }
    await sleep(RETRY_MS)
  }
}

function form(server: RunningProcess, path: string, fields: Record<string, string>): Promise<Reply> {
  const body = new URLSearchParams({ ...fields, ...CLIENT }).toString()
  return request(server, path, { body, type: 'application/x-www-form-urlencoded' })
}

async function newToken(server: RunningProcess): Promise<string> {
  const { status, body } = await form(server, '/connect/token', { grant_type: 'client_credentials', scope: SCOPE })
  assert.equal(status, 200, body)
  return JSON.parse(body).access_token
}

async function write(server: RunningProcess, token: string, agent: http.Agent | undefined): Promise<void> {
  while (isRunning) {
    const id = randomUUID()
    const { status, body } = await request(server, '/query/ledger/insert', {
      ...{ token, type: 'application/json', body: JSON.stringify({ id, n: acknowledged.length % 1000 }) },
      headers: { 'idempotency-key': id },
      ...(agent && { agent }),
    })
    // A second insert of the same row would be refused.
    assert.equal(status, 200, body)
    acknowledged.push(id)
    counts.writes++
    await sleep(2)
  }
}

/** What has been acknowledged is seen by every worker. */
async function read(server: RunningProcess, token: string): Promise<void> {
  while (isRunning) {
    const id = acknowledged.at(-1 - Math.floor(Math.random() * 5))
    if (id !== undefined) {
      const options = { token, body: `SELECT n FROM ledger WHERE id = '${id}'`, headers: { accept: 'text/csv' } }
      const { status, body } = await request(server, '/query', options)
      assert.equal(status, 200, body)
      assert.match(body, /^n\s+\d+\s*$/, `${id} is missing`)
      counts.lookups++
    }
    await sleep(5)
  }
}

async function openStream(server: RunningProcess, token: string): Promise<StreamClient> {
  const deadline = performance.now() + BACK_MS
  for (;;) {
    try {
      const stream = await connect(server.port, bearer(token))
      stream.send({ Controller: 'Query', Topic: 'Live/l', Action: 'Sub', Data: { Statement: LIVE, MaxRate: 5 } })
      return stream
    } catch (error) {
      if (performance.now() > deadline) throw new Error('a stream could not come back', { cause: error })
      await sleep(RETRY_MS)
    }
  }
}
const LIVE = 'SELECT id, n FROM ledger WHERE n = 7'

/** Asks again and again; comes back when its worker ends, and has its token revoked now and then. */
async function stream(server: RunningProcess): Promise<void> {
  while (isRunning) {
    const token = await newToken(server)
    const open = await openStream(server, token)
    let isOpen = true
    void open.closed.then(() => {
      isOpen = false
    })
    const revokeAt = performance.now() + 1000 + Math.random() * 10_000
    while (isRunning && isOpen && performance.now() < revokeAt) {
      const reply = await Promise.race([identify(open), open.closed.then(() => undefined)])
      if (reply !== undefined) counts.messages++
      await sleep(20)
    }
    if (!isOpen) {
      counts.back++
      continue
    }
    await form(server, '/connect/revocation', { token })
    const isRejected = async () =>
      !isOpen || (await Promise.race([identify(open), open.closed.then(() => undefined)]))?.Result !== 'Success'
    await until('the revocation is felt', BACK_MS, isRejected)
    counts.revoked++
    open.socket.terminate()
    await open.closed
  }
}

async function listWorkers(server: RunningProcess, token: string): Promise<number[]> {
  const { body } = await request(server, '/admin/nodes', { token })
  const { items } = JSON.parse(body) as { items: { node: string }[] }
  return items.map(({ node }) => Number(node.slice(hostname().length + 1))).toSorted((a, b) => a - b)
}

async function disturb(server: RunningProcess, token: string): Promise<void> {
  const replaced = () => server.output().stdout.split('"all workers have been replaced"').length
  for (let turn = 1; isRunning; turn++) {
    await sleep(DISTURB_MS)
    if (!isRunning) return
    const before = await listWorkers(server, token)
    if (turn % RELOAD_EVERY === 0) {
      const count = replaced()
      server.child.kill('SIGHUP')
      await until('all workers are replaced', 3 * BACK_MS, () => replaced() > count)
      counts.reloads++
      continue
    }
    const victim = before[turn % before.length]
    if (victim === undefined) continue
    process.kill(victim, 'SIGKILL')
    await until('all workers answer', BACK_MS, async () => {
      const now = await listWorkers(server, token)
      return now.length === WORKERS && !now.includes(victim)
    })
    counts.kills++
  }
}

async function sample(server: RunningProcess, token: string, minute: number) {
  const supervisor = useOfProcess(server.child.pid ?? 0)
  const workers = (await listWorkers(server, token)).map(useOfProcess)
  const figures = {
    minute: minute.toFixed(1),
    ...counts,
    'supervisor MiB': supervisor.residentMiB,
    'supervisor fds': supervisor.descriptors,
    'workers MiB': workers.map(({ residentMiB }) => residentMiB).join('+'),
    'workers fds': workers.map(({ descriptors }) => descriptors).join('+'),
  }
  console.log(JSON.stringify(figures))
  return supervisor
}

async function missing(server: RunningProcess, token: string): Promise<number> {
  const { body } = await request(server, '/query', {
    ...{ token, body: 'SELECT id FROM ledger', headers: { accept: 'text/csv' } },
  })
  const rows = body.match(/[0-9a-f-]{36}/g) ?? []
  const kept = new Set(rows)
  assert.equal(kept.size, rows.length, 'a row is there twice')
  return acknowledged.filter((id) => !kept.has(id)).length
}

async function main(minutes: number, database: { readonly url: string } | undefined): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-workers-soak-'))
  const file = join(folder, 'gatehouse.json')
  const client = { ...CLIENT, grant_types: ['client_credentials'], response_types: [], scope: SCOPE }
  const settings = { limit_exempt: '127.0.0.1', query_per_user: 1000, query_rows: 10_000_000 }
  await writeFile(file, JSON.stringify({ clients: [client], settings }))
  const url = database === undefined ? [] : ['--database-url', database.url]
  const flags = ['--workers', String(WORKERS), '--stream-drain-time', '0.5', '--stream-max-sessions-per-user', '1000']
  const server = await serveProcess([...flags, '--data', join(folder, 'data'), '--config', file, ...url])
  try {
    const token = await newToken(server)
    await request(server, '/query', { token, body: 'CREATE TABLE ledger (id Text PRIMARY KEY, n Integer)' })
    await until('all workers answer', BACK_MS, async () => (await listWorkers(server, token)).length === WORKERS)
    const agent = new http.Agent({ keepAlive: true })
    const work = Promise.all([
      ...Array.from({ length: WRITERS }, (_, index) => write(server, token, index % 2 === 0 ? agent : undefined)),
      ...Array.from({ length: READERS }, () => read(server, token)),
      ...Array.from({ length: STREAMS }, () => stream(server)),
      disturb(server, token),
    ])
    const samples = [await sample(server, token, 0)]
    for (let part = 1; part <= PARTS; part++) {
      await Promise.race([work, sleep((minutes * 60_000) / PARTS)])
      samples.push(await sample(server, token, (minutes * part) / PARTS))
    }
    isRunning = false
    await work
    agent.destroy()
    assert.equal(await missing(server, token), 0, 'acknowledged rows are missing')
    const [early, last] = [samples[2], samples.at(-1)]
    assert.ok(early !== undefined && last !== undefined)
    assert.ok(last.descriptors <= early.descriptors + 10, 'file descriptors of the supervisor leak')
    assert.ok(last.residentMiB <= early.residentMiB * 1.3 + 16, 'memory of the supervisor grows')
    assert.ok(counts.kills > 0 && counts.back > 0 && counts.revoked > 0, 'too short')
    console.log(`${acknowledged.length} acknowledged rows are there, once each`)
  } finally {
    isRunning = false
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

const database = process.argv[3] === 'postgres' ? await createPostgresDatabase() : undefined
try {
  await main(Number(process.argv[2] ?? 10), database)
} finally {
  await database?.drop()
  await stopOwnPostgres()
}
