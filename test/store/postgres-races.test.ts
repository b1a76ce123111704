/** Errors of PostgreSQL under load that are retried: serialization failures, terminated connections, stale plans. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { type Database, openDatabase } from '../../packages/server/src/store/database/database.ts'
import { transact } from '../../packages/server/src/store/database/transaction.ts'
import { openPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'

let database: Database
let url: string
let leave: () => Promise<void>
before(async () => {
  const opened = await openPlace('postgres')
  leave = opened.leave
  url = opened.place.databaseUrl
  database = await openDatabase({ dataFolder: opened.place.dataFolder, url })
  await sql`create sequence tries`.execute(database.db)
  // Fails with a serialization failure until it has been tried often enough; a sequence is not rolled back.
  await sql`create function contended(needed bigint) returns bigint language plpgsql as $$
    declare tried bigint := nextval('tries');
    begin
      if tried < needed then raise exception 'lost a race' using errcode = '40001'; end if;
      return tried;
    end $$`.execute(database.db)
})
after(async () => {
  await database.close()
  await leave()
  await stopOwnPostgres()
})

test('a statement with a serialization failure (40001) is retried', async () => {
  await sql`alter sequence tries restart`.execute(database.db)
  const { rows } = await sql<{ tried: number }>`select contended(3) as tried`.execute(database.db)
  assert.deepEqual(rows, [{ tried: 3 }])
})

test('a transaction with a serialization failure is retried as a whole, a few times', async () => {
  await sql`alter sequence tries restart`.execute(database.db)
  let begun = 0
  await transact(database.db, async (tx) => {
    begun++
    await sql`select contended(4)`.execute(tx)
  })
  assert.equal(begun, 4)
  await assert.rejects(
    transact(database.db, (tx) => sql`select contended(1000)`.execute(tx)),
    { code: '40001' },
  )
})

test('terminated connections are replaced, and the next query succeeds', async () => {
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  const slow = sql`select pg_sleep(5)`.execute(database.db)
  const refused = assert.rejects(slow)
  await admin.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'gatehouse' and datname = current_database()",
  )
  await refused
  await admin.end()
  await until('the pool has noticed', 1000, () => database.pool()?.idle === 0)
  const { rows } = await sql<{ one: number }>`select 1 as one`.execute(database.db)
  assert.deepEqual(rows, [{ one: 1 }])
})

test('a prepared statement is prepared again after the table has changed', async () => {
  const one = await openDatabase({ dataFolder: '', url, poolSize: 1 })
  await sql`create table gatehouse.growing (a integer)`.execute(one.db)
  const read = () => sql<object>`select * from growing`.execute(one.db)
  await read()
  await sql`alter table gatehouse.growing add column b integer`.execute(database.db)
  await sql`insert into gatehouse.growing values (1, 2)`.execute(database.db)
  assert.deepEqual((await read()).rows, [{ a: 1, b: 2 }])
  await one.close()
})
