/** Stored responses of requests with an Idempotency-Key: bounded in number and bytes, of each owner and in all. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../support/engines.ts'
import { until } from '../support/until.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const LIMITS = { keysPerOwner: 20, keys: 30, bytesPerOwner: 300_000, bytes: 400_000 }

onEveryEngine('stored responses', (place) => {
  let server: QueryServer
  let now = Date.now()
  before(async () => {
    server = await startQueryServer(place(), { clock: () => ++now, limits: { responses: LIMITS } })
    const made = await server.query(
      `CREATE TABLE r (id Integer PRIMARY KEY, n Integer DEFAULT 0) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'`,
    )
    assert.equal(made.status, 200, made.text)
    assert.equal((await server.call('/query/r/insert', [{ id: 1 }, { id: 2 }])).status, 200)
  })
  after(() => server.stop())

  const update = (key: string, as = 'admin', id = 1) =>
    server.call(
      '/query',
      { Statement: `UPDATE r SET n = n + 1 WHERE id = ${id} RETURNING n, repeat('x', 100000) AS t` },
      { as, headers: { 'idempotency-key': key } },
    )
  const insert = (id: number, as = 'admin') =>
    server.call('/query/r/insert', { id }, { as, headers: { 'idempotency-key': `insert-${id}` } })

  test('past the bytes, the oldest responses of the same owner lose their rows, and are still not written again', async () => {
    assert.equal((await update('other', 'market', 2)).status, 200)
    for (let index = 0; index < 10; index++) assert.equal((await update(`long-${index}`)).json.Rows[0]?.n, index + 1)
    await until('the oldest has lost its rows', 5000, async () => (await update('long-0')).json.Truncated)
    const replies = await Promise.all(Array.from({ length: 10 }, (_, index) => update(`long-${index}`)))
    for (const { json } of replies) assert.equal(json.RowsAffected, 1)
    const whole = replies.flatMap(({ json }, index) => (json.Rows.length === 0 ? [] : [[index, json.Rows[0]?.n]]))
    assert.ok(whole.length >= 2 && whole.length <= 5, `${whole.length} of 10 are kept`)
    assert.deepEqual(whole.at(-1), [9, 10], 'the newest is')
    assert.deepEqual([replies[0]?.status, replies[0]?.json.Rows, replies[0]?.json.Truncated], [200, [], true])
    assert.deepEqual((await update('other', 'market', 2)).json.Rows[0]?.n, 1, 'and that of another owner')
    assert.deepEqual((await server.query('SELECT n FROM r ORDER BY id')).json.Rows, [{ n: 10 }, { n: 1 }])
  })

  test('past the number of keys, the oldest keys of the same owner are forgotten', async () => {
    assert.equal((await insert(50, 'market')).status, 200)
    for (let id = 100; id < 160; id++) assert.equal((await insert(id)).status, 200)
    await until('the oldest is forgotten', 5000, async () => (await insert(100)).status === 409)
    assert.equal((await insert(159)).status, 200)
    assert.equal((await insert(150)).status, 200)
    assert.equal((await insert(50, 'market')).status, 200)
  })
})
