/** A rolling restart of two nodes on one PostgreSQL database behind a TCP balancer, under load: no acknowledged write is lost. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import WebSocket from 'ws'
import { createPostgresDatabase, stopOwnPostgres } from '../support/postgres.ts'
import { type RunningProcess, serveProcess } from '../support/process.ts'
import { startTcpBalancer, type TcpBalancer } from '../support/tcp-balancer.ts'
import { until } from '../support/until.ts'

let folder: string
let database: { url: string; drop(): Promise<void> }
let balancer: TcpBalancer
let nodes: RunningProcess[] = []
const masterKey = randomBytes(32).toString('base64')

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-rolling-'))
  database = await createPostgresDatabase()
  balancer = await startTcpBalancer()
  nodes = [await startNode('a'), await startNode('b')]
  balancer.send(nodes.map(({ port }) => port))
})
after(async () => {
  await balancer.close()
  for (const node of nodes) await node.stop()
  await database.drop()
  await stopOwnPostgres()
  await rm(folder, { recursive: true, force: true })
})

function startNode(name: string): Promise<RunningProcess> {
  return serveProcess(['--demo', '--stream-drain-time', '1', '--data', join(folder, name), '--issuer', issuer()], {
    environment: { GATEHOUSE_DATABASE_URL: database.url, GATEHOUSE_MASTER_KEY: masterKey },
  })
}

const issuer = () => `http://localhost:${balancer.port}`
const address = () => `http://127.0.0.1:${balancer.port}`

interface Load {
  running: boolean
  answered: number
  unanswered: number
  readonly wrong: string[]
}

/** Retries until there is a response: repeating a request whose connection broke is up to the client. */
async function send(load: Load, path: string, init: RequestInit): Promise<Response | undefined> {
  for (let attempt = 0; attempt < 50; attempt++) {
    try {
      const response = await fetch(address() + path, init)
      const body = await response.arrayBuffer()
      load.answered += 1
      if (response.status !== 200)
        load.wrong.push(`${path} ${response.status} ${Buffer.from(body).toString().slice(0, 200)}`)
      return new Response(body, { status: response.status })
    } catch {
      load.unanswered += 1
      await sleep(20)
    }
  }
  load.wrong.push(`${path} got no response`)
  return undefined
}

async function token(load: Load, form: Record<string, string>): Promise<string> {
  const response = await send(load, '/connect/token', { method: 'POST', body: new URLSearchParams(form) })
  const body: unknown = await response?.json()
  return typeof body === 'object' && body !== null && 'access_token' in body ? String(body.access_token) : ''
}

const ADMIN = { grant_type: 'password', username: 'admin', password: 'admin-please-change', client_id: 'demo-cli' }
const SERVICE = { grant_type: 'client_credentials', client_id: 'demo-service', client_secret: 'demo-service-secret' }

test('a rolling restart under load loses no acknowledged write and closes streams with 1012 only', {
  timeout: 120_000,
}, async () => {
  const load: Load = { running: true, answered: 0, unanswered: 0, wrong: [] }
  const admin = await token(load, ADMIN)
  const authorized = { authorization: `Bearer ${admin}` }
  await send(load, '/query', {
    method: 'POST',
    headers: { ...authorized, 'content-type': 'text/plain' },
    body: 'CREATE TABLE ledger (id Text PRIMARY KEY, worker Integer NOT NULL)',
  })
  // The node that did not create it hears of it a moment later.
  for (const { port } of nodes)
    await until('every node knows the table', 10_000, async () => {
      const tables = await fetch(`http://127.0.0.1:${port}/catalogue/tables/ledger`, { headers: authorized })
      await tables.arrayBuffer()
      return tables.ok
    })

  const acknowledged: string[] = []
  const issued: string[] = []
  const inserting = async (worker: number) => {
    while (load.running) {
      const id = randomUUID()
      const response = await send(load, '/query/ledger/insert', {
        method: 'POST',
        headers: { ...authorized, 'content-type': 'application/json', 'idempotency-key': id },
        body: JSON.stringify({ id, worker }),
      })
      if (response?.status === 200) acknowledged.push(id)
      await sleep(5)
    }
  }
  const signingIn = async () => {
    while (load.running) {
      issued.push(await token(load, SERVICE))
      await sleep(10)
    }
  }
  const closes: number[] = []
  const streaming = async () => {
    while (load.running) {
      const code = await streamOnce(admin, load)
      if (code !== undefined) closes.push(code)
    }
  }
  const work = [inserting(1), inserting(2), signingIn(), ...Array.from({ length: 6 }, streaming)]

  await sleep(1000)
  for (const index of [0, 1]) {
    const old = nodes[index]
    assert.ok(old)
    assert.equal(await old.stop(), 0, old.output().stderr)
    const fresh = await startNode(index === 0 ? 'a' : 'b')
    nodes = nodes.map((node) => (node === old ? fresh : node))
    balancer.send(nodes.map(({ port }) => port))
    await sleep(1000)
  }
  load.running = false
  await Promise.all(work)

  assert.deepEqual(load.wrong, [])
  assert.ok(acknowledged.length > 50 && issued.length > 20, `${acknowledged.length} inserts, ${issued.length} tokens`)
  assert.ok(closes.length >= 6, `${closes.length} streams were closed`)
  assert.deepEqual([...new Set(closes)], [1012])

  const rows = await send(load, '/query', {
    method: 'POST',
    headers: { ...authorized, 'content-type': 'text/plain', accept: 'application/x-ndjson' },
    body: 'SELECT id FROM ledger',
  })
  const kept = new Set((await rows?.text())?.match(/[0-9a-f-]{36}/g))
  assert.deepEqual(
    acknowledged.filter((id) => !kept.has(id)),
    [],
  )
  const last = issued.at(-1) ?? ''
  const basic = Buffer.from('demo-service:demo-service-secret').toString('base64')
  const checks = [issued[0] ?? '', last].map((value) =>
    fetch(`${address()}/connect/introspect`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({ token: value }),
    }),
  )
  for (const check of await Promise.all(checks)) assert.match(await check.text(), /"active":true/)
})

/** Keeps one connection and returns its close code; undefined if the load ended, or the connection was never open. */
function streamOnce(accessToken: string, load: Load): Promise<number | undefined> {
  return new Promise((resolve) => {
    let opened = false
    const socket = new WebSocket(`ws://127.0.0.1:${balancer.port}/Platform?version=1.1`, 'PlatformJson', {
      headers: { authorization: `Bearer ${accessToken}` },
    })
    const watch = setInterval(() => {
      if (load.running) return
      clearInterval(watch)
      socket.terminate()
      resolve(undefined)
    }, 50)
    socket.on('open', () => {
      opened = true
    })
    socket.on('error', () => {})
    socket.on('close', async (code) => {
      clearInterval(watch)
      if (!opened) await sleep(50)
      resolve(opened && load.running ? code : undefined)
    })
  })
}
