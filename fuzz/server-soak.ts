/**
 * Soak test of a whole server: `node fuzz/server-soak.ts [minutes] [postgres]`. Users sign in, refresh, stream, follow live results,
 * insert, query and are revoked; prints memory and descriptors of the server at the start, ten times on the way and at the end.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ADMIN, ALICE, bearer, post, signIn } from '../test/support/demo-user.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../test/support/postgres.ts'
import { type RunningProcess, serveProcess } from '../test/support/process.ts'
import { connect } from '../test/support/stream-client.ts'

const CLIENTS = 6
const PARTS = 10
const KEPT_ROWS = 1000
const LIVE = { Controller: 'Query', Topic: 'Live/soak', Action: 'Sub' }

let rounds = 0
let written = 0

async function query(server: RunningProcess, token: string, statement: string): Promise<void> {
  const headers = { ...bearer(token).headers, 'content-type': 'text/plain' }
  const reply = await fetch(`http://127.0.0.1:${server.port}/query`, { method: 'POST', headers, body: statement })
  const text = await reply.text()
  assert.equal(reply.status, 200, text)
}

/** One user, from sign-in to one of four ways of leaving. */
async function runClient(server: RunningProcess): Promise<void> {
  const round = rounds++
  const first = await signIn(server, round % 2 === 0 ? ALICE : ADMIN)
  const fields = { grant_type: 'refresh_token', client_id: 'demo-cli', refresh_token: first.refresh_token }
  const { access_token: token } = (await (await post(server, '/connect/token', fields)).json()) as typeof first
  const client = await connect(server.port, {
    perMessageDeflate: round % 3 === 0 ? { threshold: 0 } : false,
    ...bearer(token),
  })
  client.send({ ...LIVE, Data: { Statement: 'SELECT id, v FROM soak WHERE id % 10 = 3' } })
  await client.next()
  for (let row = 0; row < 10; row++) {
    const id = written++
    await query(server, token, `INSERT INTO soak VALUES (${id}, ${round})`)
    await query(server, token, `DELETE FROM soak WHERE id = ${id - KEPT_ROWS}`)
  }
  await query(server, token, 'SELECT count(*) AS n FROM soak a CROSS JOIN soak b WHERE b.id % 97 = 0')
  await client.next()
  if (round % 4 === 0) client.socket.close()
  else if (round % 4 === 1) client.socket.terminate()
  else if (round % 4 === 2) await post(server, '/connect/revocation', { token, client_id: 'demo-cli' })
  else client.send({ Controller: 'Query', Topic: 'Live/soak', Action: 'Unsub' })
  if (round % 4 === 3) client.socket.close()
  // A revoked token leaves the connection open for a while, without rights.
  if (round % 4 === 2) client.socket.close()
  await client.closed
}

function sample({ child }: RunningProcess, minute: number): Record<string, number> {
  const { pid = 0 } = child
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mib = (name: string): number =>
    Math.round(Number(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(status)?.[1]) / 1024)
  const descriptors = readdirSync(`/proc/${pid}/fd`).length
  return {
    minute: Number(minute.toFixed(1)),
    rounds,
    'RSS MiB': mib('VmRSS'),
    'anonymous MiB': mib('RssAnon'),
    descriptors,
  }
}

async function main(minutes: number, database: { readonly url: string } | undefined): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-soak-'))
  const url = database === undefined ? [] : ['--database-url', database.url]
  const limits = ['--limit-token', '', '--limit-stream', '', '--limit-query', '']
  const server = await serveProcess(['--demo', '--data', folder, ...url, ...limits])
  try {
    const { access_token: admin } = await signIn(server, ADMIN)
    await query(server, admin, "CREATE TABLE soak (id Integer PRIMARY KEY, v Integer) WRITE SCOPE 'Platform/Market'")
    const samples = [sample(server, 0)]
    console.log(samples[0])
    for (let part = 1; part <= PARTS; part++) {
      const end = performance.now() + (minutes * 60_000) / PARTS
      await Promise.all(
        Array.from({ length: CLIENTS }, async () => {
          while (performance.now() < end) await runClient(server)
        }),
      )
      await pause(1000)
      samples.push(sample(server, (minutes * part) / PARTS))
      console.log(samples.at(-1))
    }
    const [second, last] = [samples[2], samples.at(-1)]
    assert.ok((last?.descriptors ?? 0) <= (second?.descriptors ?? 0) + 10, 'file descriptors leak')
  } finally {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

const database = process.argv[3] === 'postgres' ? await createPostgresDatabase() : undefined
await main(Number(process.argv[2] ?? 10), database)
await database?.drop()
await stopOwnPostgres()
