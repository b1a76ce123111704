/** first and last hold one value at a time in PostgreSQL, not all of them; medians hold a limited number. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { onEveryEngine } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const MIB = 1024 * 1024
const ROWS = 100
const MAX_GROWTH_MIB = 60

onEveryEngine('the memory of aggregates', (place, engine) => {
  let server: QueryServer
  const bytes = randomBytes(MIB).toString('base64')
  before(async () => {
    server = await startQueryServer(place())
    assert.equal((await server.query('CREATE TABLE one (id Integer PRIMARY KEY, b Binary, t Text)')).status, 200)
    assert.equal((await server.query('CREATE TABLE many (n Integer PRIMARY KEY)')).status, 200)
    assert.equal((await server.call('/query/one/insert', { id: 1, b: bytes, t: bytes })).status, 200)
    const rows = Array.from({ length: ROWS }, (_, n) => ({ n }))
    assert.equal((await server.call('/query/many/insert', rows)).status, 200)
  })
  after(() => server.stop())

  for (const call of ['first(b, n)', 'last(b, n)', 'first(t, n)', 'max(t)']) {
    test(call, async () => {
      const statement = `SELECT ${call} AS x FROM one CROSS JOIN many`
      const earlier = engine === 'postgres' ? await largestProcess(place().databaseUrl) : undefined
      const reply = await server.query(statement)
      assert.equal(reply.status, 200, reply.text.slice(0, 300))
      assert.ok(reply.json.Rows[0]?.x === bytes)
      if (earlier === undefined) return
      const growth = ((await largestProcess(place().databaseUrl)) ?? 0) - earlier
      assert.ok(growth < MAX_GROWTH_MIB, `${growth} MiB`)
    })
  }

  test('medians share the values that they may hold, and a larger group is refused', async () => {
    // 64 medians of more than 18 digits, which count as four each: 16,383 values for each.
    const medians = Array.from({ length: 64 }, (_, k) => `median(CAST(a.n AS Decimal(38, 0))) AS m${k}`)
    const select = `SELECT ${medians.join(', ')} FROM many a`
    const small = await server.query(select)
    assert.equal(small.status, 200, small.text.slice(0, 300))
    assert.equal(Number(small.json.Rows[0]?.m1), 49.5)
    const large = await server.query(`${select} CROSS JOIN many b CROSS JOIN many c WHERE c.n < 2`)
    assert.deepEqual([large.status, large.json.Code], [422, 'Limit.Memory'], large.text.slice(0, 300))
    // The same of Integers: 65,535 values for each.
    const integers = `SELECT ${medians.join(', ').replaceAll('CAST(a.n AS Decimal(38, 0))', 'a.n')} FROM many a`
    const larger = await server.query(`${integers} CROSS JOIN many b CROSS JOIN many c WHERE c.n < 7`)
    assert.deepEqual([larger.status, larger.json.Code], [422, 'Limit.Memory'], larger.text.slice(0, 300))
  })
})

/** The most memory that a process of a query connection has used, in MiB; undefined where it cannot be seen. */
async function largestProcess(connectionString: string): Promise<number | undefined> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'gatehouse query'",
  )
  await client.end()
  const files = rows.map(({ pid }) => `/proc/${pid}/status`).filter((file) => existsSync(file))
  if (files.length === 0) return undefined
  return Math.max(...files.map((file) => Number(/VmHWM:\s*(\d+)/.exec(readFileSync(file, 'utf8'))?.[1] ?? 0) / 1024))
}
