/** Opening the query service on PostgreSQL with various databases and users: unfit ones are refused with a remedy. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { examine } from '../../packages/server/src/cli/doctor/doctor.ts'
import { loadConfig } from '../../packages/server/src/config/load.ts'
import { openQuery } from '../../packages/server/src/query/service.ts'
import { deriveKey } from '../support/derived-key.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { createLocalBus } from '../support/local-bus.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startQueryServer } from './query-server.ts'

let place: TestPlace
let admin: pg.Client
let leave: () => Promise<void>
const suffix = randomBytes(6).toString('hex')
const user = `plain_${suffix}`
const databases: string[] = []
before(async () => {
  ;({ place, leave } = await openPlace('postgres'))
  admin = await connect(place.databaseUrl)
  await admin.query(`CREATE ROLE ${user} LOGIN PASSWORD 'plain'`)
})
after(async () => {
  for (const name of databases) await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  await admin.query(`DROP OWNED BY ${user}; DROP ROLE ${user}`)
  await admin.end()
  await leave()
  await stopOwnPostgres()
})

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

/** A new database, and its URL for the given user. */
async function makeDatabase(options: string, as?: string): Promise<TestPlace> {
  const name = `place_${databases.length}_${suffix}`
  databases.push(name)
  await admin.query(`CREATE DATABASE ${name} TEMPLATE template0 LOCALE 'C' ${options}`)
  const url = new URL(place.databaseUrl)
  url.pathname = `/${name}`
  if (as !== undefined) Object.assign(url, { username: as, password: 'plain' })
  return { ...place, databaseUrl: url.href }
}

function openOn({ dataFolder, databaseUrl }: TestPlace): Promise<unknown> {
  return openQuery({
    deriveKey,
    bus: createLocalBus(),
    clock: Date.now,
    onError: () => {},
    database: { dataFolder, databaseUrl },
  })
}

test('a database with another encoding is refused with a remedy', async () => {
  const latin = await makeDatabase(`ENCODING 'LATIN1'`)
  await assert.rejects(openOn(latin), { name: 'UnfitDatabase', message: /LATIN1.*UTF8.*template0/ })
})

test('a server before version 18 without ICU is refused with a remedy', async () => {
  const bare = await makeDatabase(`ENCODING 'UTF8'`)
  const client = await connect(bare.databaseUrl)
  // As in a build without ICU.
  await client.query(
    `CREATE FUNCTION no_icu() RETURNS event_trigger LANGUAGE plpgsql AS $$
       BEGIN RAISE EXCEPTION 'ICU is not supported in this build' USING ERRCODE = '0A000'; END $$`,
  )
  await client.query(
    `CREATE EVENT TRIGGER no_icu ON ddl_command_start WHEN TAG IN ('CREATE COLLATION') EXECUTE FUNCTION no_icu()`,
  )
  await assert.rejects(openOn(bare), { name: 'UnfitDatabase', message: /ICU.*18/ })
  const { rowCount } = await client.query(`SELECT 1 FROM pg_namespace WHERE nspname = 'gatehouse_data'`)
  assert.equal(rowCount, 0, 'nothing is left in the database')
  await client.query('DROP EVENT TRIGGER no_icu')
  await client.end()
  const server = await startQueryServer(bare)
  await server.stop()
})

test('a user who may not create or use the role works with its own rights', async () => {
  const first = await startQueryServer(place)
  await first.stop()
  assert.equal((await admin.query(`SELECT 1 FROM pg_roles WHERE rolname = 'gatehouse_query'`)).rowCount, 1)
  const own = await makeDatabase(`ENCODING 'UTF8' OWNER ${user}`, user)
  const server = await startQueryServer(own)
  await server.query('CREATE TABLE notes (id Integer PRIMARY KEY)')
  assert.equal((await server.call('/query/notes/insert', { id: 1 })).status, 200)
  assert.equal((await server.query('SELECT id FROM notes WHERE id = 1')).json.RowCount, 1)
  await server.stop()
})

test('a user who may create roles, but did not create this one, becomes a member and uses it', async () => {
  await admin.query(`ALTER ROLE ${user} CREATEROLE`)
  await admin.query(`GRANT gatehouse_query TO ${user}`)
  const own = await makeDatabase(`ENCODING 'UTF8' OWNER ${user}`, user)
  for (const start of ['first', 'second']) {
    const server = await startQueryServer(own)
    if (start === 'first') await server.query('CREATE TABLE notes (id Integer PRIMARY KEY)')
    assert.equal((await server.call('/query/notes/insert', { id: start.length })).status, 200)
    await server.stop()
  }
  const client = await connect(own.databaseUrl)
  await client.query('SET ROLE gatehouse_query')
  assert.equal((await client.query('SELECT id FROM gatehouse_data.notes')).rowCount, 2)
  await assert.rejects(client.query('CREATE TABLE gatehouse_data.more (id int)'), { code: '42501' })
  await assert.rejects(client.query('DELETE FROM gatehouse_data._gh_tables'), { code: '42501' })
  await client.end()
})

test('temporary files are limited where the user may set the limit, or has one; otherwise the doctor says so', async () => {
  const own = await makeDatabase(`ENCODING 'UTF8' OWNER ${user}`, user)
  const found = async (): Promise<string[]> => {
    const { config } = loadConfig({ flags: { '--data': own.dataFolder, '--database-url': own.databaseUrl } })
    return (await examine(config)).flatMap(({ code, mend = '' }) =>
      code === 'database.temp_files' && mend.includes(`TO ${user} `) ? [code] : [],
    )
  }
  const sorted = async (tempBytes: number, tempBytesPerUser = tempBytes * 3) => {
    const server = await startQueryServer(own, { limits: { concurrency: 4, tempBytes, tempBytesPerUser } })
    const reply = await server.query(
      `SELECT max(r) AS n FROM (SELECT row_number() OVER (ORDER BY rpad(CAST(v AS Text), 1000)) AS r FROM generate_series(1, 60000) AS v) AS q`,
    )
    await server.stop()
    return reply.status === 200 ? reply.json.Rows[0]?.n : /more than (\d+)/.exec(reply.json.detail)?.[1]
  }
  const limit = 1024 * 1024
  await admin.query(`ALTER ROLE ${user} SET work_mem = '64kB'`)
  assert.deepEqual([await sorted(limit), await found()], [60_000, ['database.temp_files']])
  await admin.query(`ALTER ROLE ${user} SET temp_file_limit = '${limit}B'`)
  assert.deepEqual([await sorted(2 * limit), await found()], [String(limit), []])
  await admin.query(`GRANT SET ON PARAMETER temp_file_limit TO ${user}`)
  assert.equal(await sorted(100 * limit), String(limit), 'a lower limit remains')
  await admin.query(`ALTER ROLE ${user} RESET temp_file_limit`)
  assert.deepEqual([await sorted(limit), await found()], [String(limit), []])
  assert.equal(await sorted(100 * limit), 60_000)
  assert.equal(await sorted(100 * limit, 3 * limit), String(limit), 'three connections of a user share')
})

test('a table is created while the rights of the log of another table are being changed', async () => {
  const own = await makeDatabase("ENCODING 'UTF8'")
  const server = await startQueryServer(own)
  assert.equal((await server.query('CREATE TABLE one (id Integer PRIMARY KEY)')).status, 200)
  const client = await connect(own.databaseUrl)
  const { rows } = await client.query(
    `SELECT log, oid::regprocedure AS function FROM gatehouse_data._gh_logs JOIN pg_proc ON proname = log`,
  )
  const [{ log, function: name }] = rows
  await client.query('BEGIN')
  await client.query(`GRANT INSERT ON gatehouse_data.${log} TO gatehouse_query`)
  await client.query(`GRANT EXECUTE ON FUNCTION ${name} TO gatehouse_query`)
  const reply = await server.query('CREATE TABLE two (id Integer PRIMARY KEY)')
  await client.query('ROLLBACK')
  assert.equal(reply.status, 200, reply.text)
  await client.query('SET ROLE gatehouse_query')
  await assert.rejects(client.query(`DELETE FROM gatehouse_data.${log.replace('one', 'two')}`), { code: '42501' })
  await client.end()
  await server.stop()
})
