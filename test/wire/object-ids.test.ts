/** The catalogue over the wire: object ids are stored with the table, rights are the token's, statements mix with those on tables. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { ADMIN, ALICE } from '../support/demo-user.ts'
import { onEveryEngine, type TestPlace } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const FLAGS = { '--demo': 'true', '--wire-port': '0', '--wire-writes': 'true' }
const IDS = `SELECT relname, oid FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY relname`

onEveryEngine('the catalogue over the wire', (place) => {
  test('object ids stay when the server restarts, other tables go, and an earlier version has written the tables', async () => {
    const first = await serve(place(), async (server) => {
      await as(
        ADMIN,
        server,
        'CREATE TABLE first (a Integer PRIMARY KEY)',
        'CREATE TABLE second (a Integer PRIMARY KEY, b Text)',
      )
      const before = await readIds(server)
      await as(ADMIN, server, 'DROP TABLE first')
      const after = await readIds(server)
      assert.equal(after.get('second'), before.get('second'))
      assert.equal(after.get('second_pkey'), before.get('second_pkey'))
      assert.ok(Number(after.get('second')) > 16_384)
      assert.equal(new Set(after.values()).size, after.size)
      return after
    })
    assert.deepEqual(await serve(place(), readIds), first)
    await onCatalogue(place(), 'UPDATE _gh_tables SET id = NULL')
    const numbered = await serve(place(), readIds)
    assert.equal(new Set(numbered.values()).size, first.size)
    await onCatalogue(place(), 'ALTER TABLE _gh_tables DROP COLUMN id')
    assert.deepEqual(await serve(place(), readIds), numbered)
  })

  test('a statement on the catalogue sees what its caller may read, in blocks and with parameters', async () => {
    await serve(place(), async (server) => {
      await as(ADMIN, server, `CREATE TABLE hidden_one (a Integer PRIMARY KEY) READ SCOPE 'Platform/Admin'`)
      const alice = await connect(server, ALICE)
      const admin = await connect(server, ADMIN)
      try {
        const find = 'SELECT relname FROM pg_catalog.pg_class WHERE relname = $1 AND relkind = ANY($2)'
        assert.deepEqual((await admin.query(find, ['hidden_one', ['r']])).rows, [{ relname: 'hidden_one' }])
        assert.deepEqual((await alice.query(find, ['hidden_one', ['r']])).rows, [])
        assert.deepEqual((await alice.query(find, ['trades', ['r', 'v']])).rows, [{ relname: 'trades' }])
        await alice.query('BEGIN')
        const { rows } = await alice.query(
          "SELECT count(*)::int AS n FROM information_schema.columns WHERE table_name = 'trades'",
        )
        assert.deepEqual(rows, [{ n: 7 }])
        await assert.rejects(alice.query("SELECT 'hidden_one'::regclass"), { code: '42P01' })
        await assert.rejects(alice.query('SELECT 1 FROM pg_class'), { code: '25P02' })
        await alice.query('ROLLBACK')
        await assert.rejects(alice.query('SELECT * FROM trades, pg_class'), { code: '0A000' })
        await assert.rejects(alice.query('SELECT relnme FROM pg_class'), { code: '42703', position: '8' })
        await admin.query('DROP TABLE hidden_one')
        assert.deepEqual((await admin.query(find, ['hidden_one', ['r']])).rows, [])
      } finally {
        await alice.end()
        await admin.end()
      }
    })
  })
})

async function serve<Result>(place: TestPlace, use: (server: TestServer) => Promise<Result>): Promise<Result> {
  const server = await startTestServer(place, { flags: FLAGS })
  try {
    return await use(server)
  } finally {
    await server.stop()
  }
}

async function connect(server: TestServer, { username, password }: typeof ALICE): Promise<pg.Client> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port: server.wirePort ?? 0,
    user: username,
    password,
    database: 'gatehouse',
  })
  await client.connect()
  return client
}

async function as(user: typeof ALICE, server: TestServer, ...statements: readonly string[]): Promise<void> {
  const client = await connect(server, user)
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

async function readIds(server: TestServer): Promise<Map<string, number>> {
  const client = await connect(server, ADMIN)
  try {
    const { rows } = await client.query<{ relname: string; oid: number }>(IDS)
    return new Map(rows.map(({ relname, oid }) => [relname, oid]))
  } finally {
    await client.end()
  }
}

async function onCatalogue({ dataFolder, databaseUrl }: TestPlace, statement: string): Promise<void> {
  if (databaseUrl === '') {
    const database = new Sqlite(join(dataFolder, 'query.db'))
    database.exec(statement)
    database.close()
    return
  }
  const client = new pg.Client({ connectionString: databaseUrl, options: '-c search_path=gatehouse_data' })
  await client.connect()
  await client.query(statement)
  await client.end()
}
