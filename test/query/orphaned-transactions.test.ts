/** PostgreSQL ends transactions and connections of a node that is gone without a word, so that nothing waits for their locks. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { type Database, openDatabase } from '../../packages/server/src/store/database/database.ts'
import { DatabaseServers } from '../../packages/server/src/store/database/servers/servers.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

let place: TestPlace
let leave: () => Promise<void>
let proxy: TcpProxy
let databaseUrl: string
let server: QueryServer
before(async () => {
  ;({ place, leave } = await openPlace('postgres'))
  const url = new URL(place.databaseUrl)
  proxy = await startTcpProxy(url.hostname, Number(url.port || 5432))
  url.host = `127.0.0.1:${proxy.port}`
  databaseUrl = url.href
  server = await startQueryServer({ ...place, databaseUrl })
  assert.equal((await server.query('CREATE TABLE notes (id Integer PRIMARY KEY, t Text)')).status, 200)
})
after(async () => {
  await server.stop()
  await proxy.close()
  await leave()
  await stopOwnPostgres()
})

test('a retry with the same Idempotency-Key is answered soon after the network lost the first transaction', async () => {
  const insert = () => server.call('/query/notes/insert', { id: 1 }, { headers: { 'idempotency-key': 'one' } })
  proxy.orphanAfter('_gh_requests (owner, key')
  assert.equal((await insert()).status, 503)
  assert.equal(await countIdle(), 1, 'the transaction is orphaned')
  const began = performance.now()
  const retry = await insert()
  assert.equal(retry.status, 200, retry.text)
  assert.ok(performance.now() - began < 25_000, `the retry took ${Math.round(performance.now() - began)} ms`)
  assert.equal(await countIdle(), 0)
  assert.equal((await server.query('SELECT count(*) AS n FROM notes')).json.Rows[0]?.n, 1)
})

test('transactions of the identity store are ended too, and every connection has keepalives on both sides', async () => {
  const database: Database = await openDatabase({ url: databaseUrl, dataFolder: place.dataFolder })
  try {
    const { rows } = await sql<{ setting: string }>`select current_setting('idle_in_transaction_session_timeout')
      || ' ' || current_setting('tcp_keepalives_idle') || ' ' || current_setting('tcp_user_timeout')
      || ' ' || current_setting('client_connection_check_interval') as setting`.execute(database.db)
    assert.deepEqual(rows, [{ setting: '10s 10 25000 10s' }])
  } finally {
    await database.close()
  }
  // A connection that holds a lock for long, such as that of a start, has no limit of its transaction.
  const servers = new DatabaseServers(databaseUrl, { dataFolder: place.dataFolder })
  const client = servers.createClient({ application_name: 'gatehouse start' })
  try {
    await client.connect()
    const { rows } = await client.query(`select current_setting('tcp_keepalives_idle') as idle,
      current_setting('idle_in_transaction_session_timeout') as transaction`)
    assert.deepEqual(rows, [{ idle: '10', transaction: '0' }])
  } finally {
    await client.end()
    await servers.close()
  }
})

async function countIdle(): Promise<number> {
  const client = new pg.Client({ connectionString: place.databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query(`select count(*)::int as n from pg_stat_activity
      where state = 'idle in transaction' and datname = current_database()`)
    return rows[0].n
  } finally {
    await client.end()
  }
}
