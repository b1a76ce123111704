/** Two nodes on PostgreSQL that declare, change, purge, publish to and remove the same feeds at the same time. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const FEEDS = ['First', 'Second']
const ROUNDS = 10

let place: TestPlace
let leave: () => Promise<void>
let otherFolder: string
let nodes: readonly TestServer[] = []
let admin: string

before(async () => {
  ;({ place, leave } = await openPlace('postgres'))
  otherFolder = await mkdtemp(join(tmpdir(), 'gatehouse-node-'))
  const flags = { '--demo': 'true', '--master-key': randomBytes(32).toString('base64'), '--issuer': 'http://localhost' }
  const here = await startTestServer(place, { flags })
  nodes = [here, await startTestServer({ ...place, dataFolder: otherFolder }, { flags })]
  admin = (await signIn(here, ADMIN)).access_token
})
after(async () => {
  for (const node of nodes) await node.stop()
  await rm(otherFolder, { recursive: true, force: true })
  await leave()
  await stopOwnPostgres()
})

const send = (at: number, method: string, path: string, body?: unknown, headers = {}): Promise<Response> =>
  fetch(`http://127.0.0.1:${nodes[at]?.port}${path}`, {
    method,
    headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json', 'if-match': '*', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })

const WORK: readonly ((at: number, feed: string, round: number) => Promise<Response>)[] = [
  (at, name) => send(at, 'POST', '/admin/feeds', { name, keep: 'all', history: { messages: 100 } }),
  (at, name, round) =>
    send(at, 'PATCH', `/admin/feeds/${name}`, {
      history: { messages: 50 + round },
      keep: round % 2 ? 'all' : 'latest',
    }),
  (at, name) => send(at, 'POST', `/admin/feeds/${name}/purge`),
  (at, name, round) => send(at, 'POST', `/feeds/${name}/A`, round, { 'idempotency-key': `${at} ${round}` }),
  (at, name, round) => send(at, 'POST', `/feeds/${name}/A`, round),
  (at, name) => send(at, 'GET', `/feeds/${name}/A?last=10`),
  (at, name) => send(at, 'DELETE', `/admin/feeds/${name}`),
]

test('no request fails, and nothing is left of what was removed', async () => {
  const failed: string[] = []
  const seen = new Set<number>()
  const act = async (work: number, at: number, feed: string): Promise<void> => {
    for (let round = 0; round < ROUNDS; round++) {
      const reply = await WORK[work]?.(at, feed, round)
      const text = await reply?.text()
      seen.add(reply?.status ?? 0)
      if (reply === undefined || reply.status >= 500) failed.push(`${work}: ${reply?.status} ${text}`)
    }
  }
  await Promise.all(
    FEEDS.flatMap((feed) => WORK.flatMap((_work, work) => nodes.map((_node, at) => act(work, at, feed)))),
  )
  assert.deepEqual(failed, [])
  assert.ok(
    [200, 201, 204, 404, 409].every((status) => seen.has(status)),
    [...seen].join(),
  )
  for (const { log } of nodes)
    assert.deepEqual(
      log.filter((line) => line.includes('feeds error')),
      [],
    )

  const client = new pg.Client({ connectionString: place.databaseUrl })
  await client.connect()
  const names = async (sql: string): Promise<readonly string[]> =>
    (await client.query<{ name: string }>(sql)).rows.map(({ name }) => name)
  try {
    await until('what is stored is what is declared', 10_000, async () => {
      const declared = await names('select generation as name from gatehouse.feeds order by 1')
      const stored = await names('select name from gatehouse_feeds.feeds order by 1')
      const dropped = await names('select name from gatehouse.dropped_feeds')
      return dropped.length === 0 && JSON.stringify(declared) === JSON.stringify(stored)
    })
  } finally {
    await client.end()
  }

  for (const name of FEEDS) {
    await send(0, 'DELETE', `/admin/feeds/${name}`)
    const declared = await send(1, 'POST', '/admin/feeds', { name, keep: 'all', history: { messages: 100 } })
    assert.equal(declared.status, 201)
    assert.equal((await send(0, 'POST', `/feeds/${name}/A`, 'new')).status, 200)
    const read = (await (await send(1, 'GET', `/feeds/${name}/A?last=10`)).json()) as { Messages: { Data: unknown }[] }
    assert.deepEqual(
      read.Messages.map(({ Data: data }) => data),
      ['new'],
    )
  }
})
