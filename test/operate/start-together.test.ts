/** Nodes that start at the same moment on one database, or on one PostgreSQL server, all start. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { IS_LONG_RUN } from '../support/engines.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../support/postgres.ts'
import { serveProcess } from '../support/process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const ROUNDS = IS_LONG_RUN ? 6 : 1
const NODES = 4
const MASTER_KEY = randomBytes(32).toString('base64')
const DECLARATION = {
  roles: [{ name: 'trader', scopes: ['Platform/Market'] }],
  users: [{ username: 'alice', roles: ['trader'] }],
  tables: [{ name: 'trades', columns: [{ name: 'id', type: 'Integer', primary_key: true }] }],
}

let base: string
before(async () => {
  base = await mkdtemp(join(tmpdir(), 'gatehouse-together-'))
  await writeFile(join(base, 'declared.json'), JSON.stringify(DECLARATION))
})
after(async () => {
  await rm(base, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  await stopOwnPostgres()
})

/** Starts a node on each of the databases at the same time, and stops them; returns the reasons of those that failed. */
async function startTogether(urls: readonly string[]): Promise<unknown[]> {
  const starts = await Promise.allSettled(
    urls.map(async (databaseUrl): Promise<TestServer> => {
      const dataFolder = await mkdtemp(join(base, 'node-'))
      return startTestServer(
        { engine: 'postgres', dataFolder, databaseUrl },
        {
          flags: {
            '--master-key': MASTER_KEY,
            '--issuer': 'http://localhost:5999',
            '--config': join(base, 'declared.json'),
          },
        },
      )
    }),
  )
  const started = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []))
  await Promise.all(started.map((server) => server.stop()))
  return starts.flatMap((start) => (start.status === 'rejected' ? [start.reason] : []))
}

test(`${NODES} nodes start together on an empty database, and again on the same one, ${ROUNDS} times`, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const { url, drop } = await createPostgresDatabase()
    const nodes = Array.from({ length: NODES }, () => url)
    assert.deepEqual(await startTogether(nodes), [], `round ${round}, the first start`)
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query(`select count(*)::int as keys from gatehouse.signing_keys`)
    await client.end()
    assert.deepEqual(rows, [{ keys: 1 }], 'one signing key is created, not one by each node')
    assert.deepEqual(await startTogether(nodes), [], `round ${round}, the second start`)
    await drop()
  }
})

test('nodes that start together in several databases of one server share the role of queries', async () => {
  for (let round = 0; round < ROUNDS / 2; round++) {
    const databases = await Promise.all(Array.from({ length: NODES }, () => createPostgresDatabase()))
    assert.deepEqual(await startTogether(databases.map(({ url }) => url)), [], `round ${round}`)
    await Promise.all(databases.map(({ drop }) => drop()))
  }
})

test('processes that start together on a new SQLite folder agree on the master key', async () => {
  const folder = join(base, 'shared')
  const args = ['--data', folder, '--issuer', 'http://localhost:5999', '--config', join(base, 'declared.json')]
  const starts = await Promise.allSettled(Array.from({ length: 3 }, () => serveProcess(args)))
  const processes = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []))
  const keys = await Promise.all(processes.map(({ port }) => jwksAt(port)))
  await Promise.all(processes.map((server) => server.stop()))
  assert.deepEqual(
    starts.flatMap((start) => (start.status === 'rejected' ? [String(start.reason)] : [])),
    [],
  )
  assert.equal(new Set(keys).size, 1, 'all publish the same keys')
  assert.equal(JSON.parse(keys[0] ?? '').keys.length, 1)
  const again = await serveProcess(args)
  assert.equal(await again.stop(), 0, 'the key in the folder opens the signing keys')
})

async function jwksAt(port: number): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}/.well-known/openid-configuration/jwks`)).text()
}
