/** A feed that was removed and is declared again under its name has none of the messages and keys of the one before. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { ADMIN, ALICE, bearer, signIn } from '../support/demo-user.ts'
import { onEveryEngine } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-feeds-'))
const file = join(folder, 'gatehouse.yaml')
after(() => rmSync(folder, { recursive: true }))

const SECRET = 'feeds: [{ name: Orders, read: Platform/Admin, keep: all, history: {} }]\nprune: true\n'
const OPEN = 'feeds: [{ name: Orders, read: identity, write: Platform/Admin, keep: all, history: {} }]\nprune: true\n'
const NONE = 'feeds: []\nprune: true\n'

onEveryEngine('a feed that is declared again', (place) => {
  const start = (declaration: string): Promise<TestServer> => {
    writeFileSync(file, declaration)
    return startTestServer(place(), { flags: { '--demo': 'true', '--demo-market': 'false', '--config': file } })
  }
  const publish = async (server: TestServer, data: string, key = data): Promise<void> => {
    const { headers } = bearer((await signIn(server, ADMIN)).access_token)
    const reply = await fetch(`http://127.0.0.1:${server.port}/feeds/Orders/A`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(data),
    })
    assert.equal(reply.status, 200, await reply.text())
  }
  const read = async (server: TestServer): Promise<unknown[]> => {
    const { access_token: token } = await signIn(server, ALICE)
    const reply = await fetch(`http://127.0.0.1:${server.port}/feeds/Orders/A?last=10`, bearer(token))
    const { Messages: messages } = (await reply.json()) as { Messages: { Data: unknown }[] }
    return messages.map(({ Data: data }) => data)
  }
  const during = async (declaration: string, act: (server: TestServer) => Promise<void>): Promise<void> => {
    const server = await start(declaration)
    try {
      await act(server)
    } finally {
      await server.stop()
    }
  }

  const query = async (name: string, schema: string, statement: string): Promise<Record<string, unknown>[]> => {
    const { dataFolder, databaseUrl } = place()
    if (databaseUrl === '') {
      const database = new Sqlite(join(dataFolder, name))
      try {
        return database.prepare<[], Record<string, unknown>>(statement).all()
      } finally {
        database.close()
      }
    }
    const client = new pg.Client({ connectionString: databaseUrl, options: `-c search_path=${schema}` })
    await client.connect()
    try {
      return (await client.query(statement)).rows
    } finally {
      await client.end()
    }
  }
  const countStored = async (): Promise<number> =>
    Number((await query('feeds.db', 'gatehouse_feeds', 'select count(*) as count from feeds'))[0]?.count)

  test('after it was removed from the file, and the server restarted', async () => {
    await during(SECRET, (server) => publish(server, 'secret'))
    await during(NONE, async () => {})
    await during(OPEN, async (server) => {
      assert.deepEqual(await read(server), [])
      await publish(server, 'secret')
      assert.deepEqual(await read(server), ['secret'])
      assert.equal(await countStored(), 1)
    })
  })

  test('what an earlier version removed and did not drop is dropped at the start', async () => {
    await during(SECRET, (server) => publish(server, 'left'))
    await query('identity.db', 'gatehouse', 'delete from feeds returning name')
    await during(OPEN, async (server) => {
      assert.deepEqual(await read(server), [])
      assert.equal(await countStored(), 1)
    })
  })

  test('after the command line removed it from a server that was stopped', async () => {
    await during(SECRET, (server) => publish(server, 'secret2'))
    const { dataFolder, databaseUrl } = place()
    const flags = databaseUrl === '' ? [] : ['--database-url', databaseUrl]
    const removed = await runInProcess(['feed', 'remove', 'Orders', '--yes', '--data', dataFolder, ...flags])
    assert.equal(removed.status, 0, removed.stderr)
    await during(OPEN, async (server) => assert.deepEqual(await read(server), []))
  })
})
