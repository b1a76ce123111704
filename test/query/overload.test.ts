/** A query that takes too long, is too large or is no longer wanted ends, and does not affect others. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onEveryEngine, shortOnSqlite } from '../support/engines.ts'
import { createNums, ENDLESS, sendQuery } from './nums.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const MILLISECONDS = 4000

onEveryEngine('under load', (place, engine) => {
  let server: QueryServer
  /** For work that must not end at the time limit, however busy the machine is. */
  let patient: QueryServer
  before(async () => {
    server = await startQueryServer(place(), {
      limits: { milliseconds: MILLISECONDS, perUser: 5, concurrency: 3, waiting: 4, resultRows: 1000 },
    })
    await createNums(server)
  })
  before(async () => {
    patient = await startQueryServer(place(), { limits: { milliseconds: 60_000, resultRows: 1000 } })
  })
  after(async () => {
    await patient.stop()
    await server.stop()
  })

  test('a query past its time limit is 408, and its process or backend is freed', async (t) => {
    const hasty = await startQueryServer(place(), { limits: { milliseconds: 1000, concurrency: 1 } })
    t.after(() => hasty.stop())
    const started = performance.now()
    const reply = await hasty.query(ENDLESS)
    assert.deepEqual([reply.status, reply.json.Code], [408, 'Limit.Time'])
    assert.ok(performance.now() - started < 6000)
    let next = reply
    // A new process may take longer to start than the time limit, on a busy machine.
    for (let count = 0; count < 10 && next.status === 408; count++)
      next = await hasty.query('SELECT count(*) AS n FROM nums WHERE n % 2 = 0')
    assert.equal(next.json.Rows[0]?.n, 2500)
    assert.equal(hasty.service.running.size, 0)
  })

  test('a query is cancelled by its Request-Id, but not by another user', shortOnSqlite(engine), async () => {
    const query = server.query(ENDLESS, { as: 'trader', headers: { 'request-id': 'long-one' } })
    await until(() => server.service.running.size === 1)
    const other = await server.call('/query/long-one', undefined, { method: 'DELETE', as: 'market' })
    assert.deepEqual([other.status, other.json.Code], [404, 'Request.UnknownRequest'])
    assert.equal((await server.call('/query/long-one', undefined, { method: 'DELETE', as: 'trader' })).status, 204)
    const reply = await query
    assert.equal(reply.json.Code, 'Limit.Cancelled')
    assert.equal((await server.call('/query/long-one', undefined, { method: 'DELETE', as: 'trader' })).status, 404)
  })

  test('a query is cancelled when its client disconnects', async () => {
    const socket = sendQuery(server, ENDLESS, 'admin')
    await until(() => server.service.running.size === 1)
    const left = performance.now()
    socket.destroy()
    await until(() => server.service.running.size === 0)
    assert.ok(performance.now() - left < MILLISECONDS / 2, 'long before its time limit')
    assert.ok(server.log.some((line) => line.includes('"status":499')))
  })

  test('an administrator can cancel any query', shortOnSqlite(engine), async () => {
    const query = server.query(ENDLESS, { as: 'trader', headers: { 'request-id': 'theirs' } })
    await until(() => server.service.running.size === 1)
    assert.equal((await server.call('/query/theirs', undefined, { method: 'DELETE', as: 'admin' })).status, 204)
    assert.equal((await query).json.Code, 'Limit.Cancelled')
  })

  test(
    'a Request-Id is unique among the running queries of one user, not among those of two',
    shortOnSqlite(engine),
    async () => {
      const headers = { 'request-id': 'alike' }
      const queries = [
        server.query(ENDLESS, { as: 'trader', headers }),
        server.query(ENDLESS, { as: 'market', headers }),
      ]
      await until(() => server.service.running.size === 2)
      const again = await server.query(ENDLESS, { as: 'trader', headers })
      assert.deepEqual([again.status, again.json.Code], [400, 'Request.BadRequestId'])
      assert.equal((await server.call('/query/alike', undefined, { method: 'DELETE', as: 'market' })).status, 204)
      await until(() => server.service.running.size === 1)
      assert.equal((await server.call('/query/alike', undefined, { method: 'DELETE', as: 'trader' })).status, 204)
      for (const query of queries) assert.equal((await query).json.Code, 'Limit.Cancelled')
    },
  )

  test('the rows that a write returns are bounded: JSON reports that some are missing, CSV, Arrow and Parquet undo the write', async () => {
    // 70 MB in all, little more than is held in memory.
    const update = `UPDATE nums SET t = 'changed' ALL RETURNING n, repeat('x', 14000) AS x`
    for (const accept of ['text/csv', 'application/vnd.apache.arrow.stream', 'application/vnd.apache.parquet']) {
      const { status, json } = await patient.query(update, { headers: { accept } })
      assert.deepEqual([status, json.Code], [422, 'Limit.Bytes'], accept)
      assert.deepEqual((await patient.query(`SELECT count(*) AS n FROM nums WHERE t = 'changed'`)).json.Rows, [
        { n: 0 },
      ])
    }
    const { status, json } = await patient.query(update.replace(`'changed'`, 't'))
    assert.deepEqual([status, json.RowsAffected, json.Truncated], [200, 5000, true])
    assert.deepEqual([json.RowCount, json.Rows.length], [1000, 1000])
  })

  test('a write by key with a long query in RETURNING or ON CONFLICT does not block the service', async () => {
    const long = ENDLESS.replace(' AS n', '')
    const writes = [
      `UPDATE nums SET t = t WHERE n = 1 RETURNING (${long}) AS x`,
      `DELETE FROM nums WHERE n = -1 RETURNING (${long}) AS x`,
      `INSERT INTO nums VALUES (1, 'x') ON CONFLICT (n) DO UPDATE SET n = (${long})`,
      `INSERT INTO nums VALUES (1, 'x') ON CONFLICT (n) DO UPDATE SET t = 'y' WHERE (${long}) > 0`,
    ]
    for (const write of writes) {
      const headers = { 'request-id': 'long-write' }
      const reply = server.query(write, { headers })
      if (!write.startsWith('DELETE')) {
        await until(() => server.service.running.size === 1)
        await server.call('/query/long-write', undefined, { method: 'DELETE' })
      }
      assert.equal((await reply).status, write.startsWith('DELETE') ? 200 : 499, write)
    }
  })

  if (engine === 'sqlite') {
    test('a short write that waits behind a long one can be cancelled, and is then not written', async () => {
      const long = server.query(`UPDATE nums SET t = t WHERE (${ENDLESS.replace(' AS n', '')}) > 0`, {
        headers: { 'request-id': 'first' },
      })
      await until(() => server.service.running.size === 1)
      const short = server.query("INSERT INTO nums VALUES (-7, 'x')", { headers: { 'request-id': 'second' } })
      const next = server.query("UPDATE nums SET t = 'y' WHERE t = 'z'", { headers: { 'request-id': 'third' } })
      await until(() => server.service.running.size === 3)
      for (const id of ['second', 'third']) await server.call(`/query/${id}`, undefined, { method: 'DELETE' })
      assert.equal((await short).json.Code, 'Limit.Cancelled')
      assert.equal((await next).json.Code, 'Limit.Cancelled')
      assert.equal(server.service.running.size, 1, 'the long one still runs')
      await server.call('/query/first', undefined, { method: 'DELETE' })
      await long
      assert.equal((await server.query("INSERT INTO nums VALUES (-8, 'x')")).status, 200)
      assert.equal((await server.query('DELETE FROM nums WHERE n IN (-7, -8)')).json.RowsAffected, 1)
    })

    test('a query that would collect a long text is 422 before its process runs out of memory, and the next one is answered', async () => {
      const hungry =
        "SELECT string_agg(DISTINCT CAST(a.n * 5000 + b.n AS Text) || replace(replace(a.t, 'x', a.t), 'x', a.t), ',') AS x FROM nums a CROSS JOIN nums b"
      const reply = await patient.query(hungry)
      assert.deepEqual([reply.status, reply.json.Code], [422, 'Limit.Value'], reply.text.slice(0, 300))
      assert.equal((await patient.query('SELECT count(*) AS n FROM nums')).json.Rows[0]?.n, 5000)
    })
  }

  test('lookups by key are answered while every reader is busy, and further queries wait or are refused', async () => {
    const long = Array.from({ length: 3 }, (_item, index) =>
      server.query(ENDLESS, { as: 'trader', headers: { 'request-id': `busy-${index}` } }),
    )
    await until(() => server.service.running.size === 3)
    const lookup = await server.query("SELECT name FROM cataloguetables WHERE name = 'nums'", { as: 'market' })
    assert.equal(lookup.status, 200)
    assert.equal(server.service.running.size, 3, 'the long ones still run')
    // More than may wait, and each as long as the test.
    const others = ['market', 'market', 'market', 'market', 'news', 'news', 'news', 'news'].map((as, index) => ({
      as,
      id: `other-${index}`,
      reply: server.query(ENDLESS, { as, headers: { 'request-id': `other-${index}` } }),
    }))
    const refused = await Promise.any(
      others.map(async ({ reply }) => {
        const { status, headers } = await reply
        assert.equal(status, 503)
        return headers.get('retry-after')
      }),
    )
    assert.ok(refused !== null)
    const ids = [...long.keys()].map((index) => ({ as: 'trader', id: `busy-${index}` }))
    for (const { as, id } of [...ids, ...others]) await server.call(`/query/${id}`, undefined, { method: 'DELETE', as })
    await Promise.all(others.map(({ reply }) => reply))
    await Promise.all(long)
  })

  test('one user can run a limited number of queries at the same time', shortOnSqlite(engine), async () => {
    const long = Array.from({ length: 7 }, (_item, index) =>
      server.query(ENDLESS, { as: 'news', headers: { 'request-id': `mine-${index}` } }),
    )
    const first = await Promise.race(long)
    assert.deepEqual([first.status, first.json.Code], [429, 'Limit.Concurrency'])
    assert.equal(first.headers.get('retry-after'), '1')
    for (let index = 0; index < 7; index++)
      await server.call(`/query/mine-${index}`, undefined, { method: 'DELETE', as: 'news' })
    await Promise.all(long)
  })

  test(
    'a CSV, Arrow or Parquet result beyond the byte limit does not look complete',
    shortOnSqlite(engine),
    async (t) => {
      const small = await startQueryServer(place(), { limits: { resultBytes: 200_000 } })
      t.after(() => small.stop())
      const sql = 'SELECT a.n, b.t FROM nums a CROSS JOIN nums b'
      for (const accept of ['text/csv', 'application/vnd.apache.arrow.stream'])
        await assert.rejects(small.query(sql, { headers: { accept } }), TypeError, accept)
      // Its first row group would be larger than the limit: nothing has been sent.
      const headers = { accept: 'application/vnd.apache.parquet' }
      const { status, json } = await small.query(sql, { headers })
      assert.deepEqual([status, json.Code], [422, 'Limit.Bytes'])
      const larger = await startQueryServer(place(), { limits: { resultBytes: 2_000_000 } })
      t.after(() => larger.stop())
      const many = `SELECT a.n * b.n * 7919 % 1000003 AS n, CAST(a.n * b.n AS Text) AS t FROM nums a CROSS JOIN nums b`
      await assert.rejects(larger.query(many, { headers }), TypeError)
      const lines = (await small.query(sql, { headers: { accept: 'application/x-ndjson' } })).text.trim().split('\n')
      assert.equal(JSON.parse(lines.at(-1) ?? '').Truncated, true)
    },
  )

  test(
    'a result at the row limit is marked as truncated, and its cursor continues there',
    shortOnSqlite(engine),
    async () => {
      const first = await server.query('SELECT n FROM nums ORDER BY n')
      assert.deepEqual([first.json.RowCount, first.json.Truncated], [1000, true])
      const second = await fetch(`${server.url}/query?after=${first.json.NextCursor}`, {
        method: 'POST',
        body: 'SELECT n FROM nums ORDER BY n',
        headers: { authorization: 'Bearer admin', 'content-type': 'text/plain' },
      })
      assert.equal(JSON.parse(await second.text()).Rows[0].n, 1000)
      const wrong = await fetch(`${server.url}/query?after=${first.json.NextCursor}`, {
        method: 'POST',
        body: 'SELECT n FROM nums ORDER BY n DESC',
        headers: { authorization: 'Bearer admin', 'content-type': 'text/plain' },
      })
      assert.equal(JSON.parse(await wrong.text()).Code, 'Request.BadCursor')
      const none = await server.call('/query/nums/select?columns=n&limit=0', [])
      assert.deepEqual([none.json.RowCount, none.json.Truncated, none.json.NextCursor], [0, undefined, undefined])
      const all: number[] = []
      for (let after = ''; ; ) {
        const page = await server.call(`/query/nums/select?columns=n&orderby=-n&limit=700${after}`, [])
        all.push(...page.json.Rows.map((row) => Number(row.n)))
        if (page.json.NextCursor === undefined) break
        after = `&after=${page.json.NextCursor}`
      }
      assert.deepEqual(
        all,
        Array.from({ length: 5000 }, (_item, index) => 4999 - index),
      )
    },
  )

  test(
    'an error after the first rows is visible: JSON and NDJSON contain it, the other formats break off',
    shortOnSqlite(engine),
    async () => {
      // Unordered: an engine that sorts would reach the error before the first row.
      const failing = 'SELECT n, t, 1 / (4900 - n) AS x FROM nums WHERE n < 4950'
      const ndjson = await server.query(failing, { headers: { accept: 'application/x-ndjson' } })
      assert.equal(ndjson.status, 200)
      assert.equal(JSON.parse(ndjson.text.trimEnd().split('\n').at(-1) ?? '').Error.Code, 'IQL.DivisionByZero')
      await assert.rejects(server.query(failing, { headers: { accept: 'text/csv' } }))
      const unlimited = await startQueryServer(place())
      try {
        const { status, json } = await unlimited.query(failing)
        assert.deepEqual([status, json.Error.Code, json.RowCount], [200, 'IQL.DivisionByZero', undefined])
        assert.ok(json.Rows.length > 0)
      } finally {
        await unlimited.stop()
      }
    },
  )

  test('a client that does not read its result neither uses memory nor blocks others', async () => {
    const sql = 'SELECT a.n, a.t, b.t AS u FROM nums a CROSS JOIN nums b WHERE b.n < 200'
    const before = process.memoryUsage().rss
    const socket = sendQuery(server, sql, 'admin')
    await sleep(1500)
    assert.equal((await server.query('SELECT count(*) AS n FROM nums', { as: 'market' })).status, 200)
    assert.ok(process.memoryUsage().rss - before < 64 * 1024 * 1024)
    socket.destroy()
    await until(() => server.service.running.size === 0)
  })

  test('hostile statements are refused in milliseconds', shortOnSqlite(engine), async () => {
    const hostile = [
      `SELECT ${'('.repeat(20_000)}1${')'.repeat(20_000)} AS x`,
      `SELECT ${Array.from({ length: 20_000 }, (_item, n) => n).join(' + ')} AS x`,
      `SELECT 1 AS x WHERE 1 IN (${Array.from({ length: 15_000 }, () => 1).join(',')})`,
      `SELECT '${'a'.repeat(200_000)}' AS x`,
      'SELECT \u0000 AS x',
      `SELECT ${'NOT '.repeat(10_000)}true AS x`,
      `SELECT ${'-'.repeat(1)}${'(-'.repeat(5000)}1${')'.repeat(5000)} AS x`,
      Array.from({ length: 2000 }, () => 'SELECT 1 AS x').join(' UNION ALL '),
    ]
    for (const statement of hostile) {
      const started = performance.now()
      const reply = await server.query(statement)
      assert.ok(reply.status === 400 || reply.status === 413, `${reply.status} ${statement.slice(0, 40)}`)
      assert.ok(performance.now() - started < 2000, statement.slice(0, 40))
    }
  })

  test('Idempotency-Key: a repeated request gets the first response and inserts nothing', async () => {
    const headers = { 'idempotency-key': 'once-1' }
    const first = await server.call('/query/nums/insert', { n: 100_001, t: 'once' }, { headers })
    const again = await server.call('/query/nums/insert', { n: 100_001, t: 'once' }, { headers })
    assert.deepEqual([first.status, again.status, again.json.Rows], [200, 200, first.json.Rows])
    const other = await server.call('/query/nums/insert', { n: 100_002, t: 'other' }, { headers })
    assert.deepEqual([other.status, other.json.Code], [422, 'Request.IdempotencyMismatch'])
    const together = await Promise.all(
      Array.from({ length: 5 }, () =>
        server.call('/query/nums/insert', { n: 100_003 }, { headers: { 'idempotency-key': 'once-2' } }),
      ),
    )
    assert.deepEqual(
      together.map(({ status }) => status),
      [200, 200, 200, 200, 200],
    )
    assert.equal((await server.query('DELETE FROM nums WHERE n > 100000')).json.RowsAffected, 2)
  })
})

async function until(condition: () => boolean): Promise<void> {
  for (const end = performance.now() + 8000; !condition(); await sleep(20)) {
    if (performance.now() > end) throw new Error('It did not come to pass')
  }
}
