/** Idempotency-Key: its owner, the request it identifies, and the rights that a replay needs. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { longestTurn } from './event-loop.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

onEveryEngineInLongRuns('repeated writes', (place) => {
  let server: QueryServer
  const now = Date.now()
  before(async () => {
    server = await startQueryServer(place(), { clock: () => now })
    const made = await server.query(
      `CREATE TABLE r (id Integer PRIMARY KEY, a Text DEFAULT 'x', n Integer DEFAULT 5, u Uuid DEFAULT gen_uuid(), f Double, b Binary) WRITE SCOPE 'Platform/Market'`,
    )
    assert.equal(made.status, 200)
  })
  after(() => server.stop())

  const once = (key: string, as = 'admin') => ({ as, headers: { 'idempotency-key': key } })

  test('the first response is replayed to the byte, apart from its id and time', async () => {
    const body = { id: 1, f: 'NaN', b: 'AP8=' }
    const first = await server.call('/query/r/insert', body, once('whole'))
    const again = await server.call('/query/r/insert', body, once('whole'))
    const neutral = (text: string): string => text.replace(/,"RequestId".*/, '')
    assert.equal(neutral(again.text), neutral(first.text))
    assert.match(again.text, /"f":"NaN","b":"AP8="/)
  })

  test('a long binary value is stored and replayed without holding the event loop', async () => {
    assert.equal((await server.query('CREATE TABLE long (id Integer PRIMARY KEY, b Binary)')).status, 200)
    const b = Buffer.alloc(4_000_000, 7).toString('base64')
    let id = 0
    const turn = await longestTurn(async () => {
      const body = { id: ++id, b }
      for (const round of ['first', 'again']) {
        const { status, json } = await server.call('/query/long/insert', body, once(`long-${id}`))
        assert.deepEqual([round, status, json.RowsAffected, json.Rows[0]?.b === b], [round, 200, 1, true])
      }
    })
    assert.ok(turn.milliseconds <= turn.limit, `${turn.milliseconds} ms in one turn, limit ${turn.limit} ms`)
  })

  test('the replayed response has the columns that the table had then', async () => {
    const first = await server.call('/query/r/insert', { id: 2 }, once('columns'))
    assert.equal((await server.query('ALTER TABLE r DROP COLUMN a')).status, 200)
    assert.equal((await server.query('ALTER TABLE r ADD COLUMN z Text')).status, 200)
    for (const accept of ['application/json', 'text/csv']) {
      const again = await server.call(
        '/query/r/insert',
        { id: 2 },
        {
          headers: { 'idempotency-key': 'columns', accept },
        },
      )
      if (accept === 'text/csv') assert.match(again.text, /^id,a,n,u,f,b\r\n2,x,5,/)
      else assert.deepEqual([again.json.Rows, again.json.Columns], [first.json.Rows, first.json.Columns], again.text)
    }
  })

  test('another table, call or body is another request, and so is another order of members', async () => {
    assert.equal((await server.query(`CREATE TABLE r2 (id Integer PRIMARY KEY, n Integer)`)).status, 200)
    assert.equal((await server.call('/query/r2/insert', { id: 1, n: 1 }, once('fixed'))).status, 200)
    for (const [path, body] of [
      ['/query/r2/insert', { id: 2, n: 1 }],
      ['/query/r2/insert', { n: 1, id: 1 }],
      ['/query/r/insert', { id: 1, n: 1 }],
      ['/query/r2/delete', [{ ColumnName: 'id', Operator: '=', Value: 1 }]],
    ] as const) {
      const { status, json } = await server.call(path, body, once('fixed'))
      assert.deepEqual([status, json.Code], [422, 'Request.IdempotencyMismatch'], path)
    }
    const spelled = await server.call('/Query/R2/Insert', { id: 1, n: 1 }, once('fixed'))
    assert.deepEqual([spelled.status, spelled.json.RowsAffected], [200, 1])
    assert.deepEqual((await server.query('SELECT count(*) AS n FROM r2')).json.Rows, [{ n: 1 }])
  })

  test('equal keys of two users are different keys', async () => {
    const mine = await server.call('/query/r/insert', { id: 10 }, once('shared', 'market'))
    const theirs = await server.call('/query/r/insert', { id: 10 }, once('shared', 'trader'))
    assert.deepEqual([mine.status, theirs.status, theirs.json.Code], [200, 409, 'Data.UniqueViolation'])
    assert.equal((await server.call('/query/r/insert', { id: 11 }, once('shared', 'trader'))).status, 200)
  })

  test('a caller who has lost the right to write or to read gets no replay', async () => {
    const body = { id: 20 }
    assert.equal((await server.call('/query/r/insert', body, once('lowered', 'market'))).status, 200)
    assert.equal((await server.query(`ALTER TABLE r SET WRITE SCOPE 'Platform/Trading'`)).status, 200)
    const unwritable = await server.call('/query/r/insert', body, once('lowered', 'market'))
    assert.deepEqual([unwritable.status, unwritable.json.Code], [403, 'IQL.Forbidden'])
    assert.equal((await server.query(`ALTER TABLE r SET READ SCOPE 'Platform/Trading'`)).status, 200)
    const unreadable = await server.call('/query/r/insert', body, once('lowered', 'market'))
    assert.deepEqual([unreadable.status, unreadable.json.Code], [404, 'Data.UnknownTable'])
    assert.equal((await server.query(`ALTER TABLE r SET READ SCOPE NULL WRITE SCOPE 'Platform/Market'`)).status, 200)
  })

  test('a refused write does not use up its key, and a key has 1 to 200 visible characters', async () => {
    assert.equal((await server.call('/query/r/insert', { id: 1 }, once('free'))).status, 409)
    assert.equal((await server.call('/query/r/insert', { id: 30 }, once('free'))).status, 200)
    for (const key of ['a b', 'k'.repeat(201)]) {
      const { status, json } = await server.call('/query/r/insert', { id: 31 }, once(key))
      assert.deepEqual([status, json.Code], [400, 'Request.BadParameter'])
    }
  })

  test('a statement that writes is made once as well, as text and in an envelope', async () => {
    assert.equal((await server.query('CREATE TABLE s (id Integer PRIMARY KEY, n Integer)')).status, 200)
    const neutral = (text: string): string => text.replace(/,"RequestId".*/, '')
    const total = async (): Promise<unknown> =>
      (await server.query('SELECT count(*) AS rows, sum(n) AS n FROM s', once('reading'))).json.Rows
    const text = 'INSERT INTO s SELECT coalesce(max(id), 0) + 1, CAST(:n AS Integer) FROM s RETURNING id, n'
    const headers = { 'idempotency-key': 'text', 'content-type': 'text/plain' }
    const insert = (n: number) => server.call(`/query?p.n=${n}`, text, { headers })
    const envelope = (body: unknown) => server.call('/query', body, once('envelope'))
    const update = { Statement: 'UPDATE s SET n = n + $1 WHERE id = $2', Parameters: [5, 1] }
    for (const round of ['first', 'again']) {
      const inserted = await insert(7)
      assert.deepEqual([round, inserted.status, inserted.json.Rows], [round, 200, [{ id: 1, n: 7 }]], inserted.text)
      const updated = await envelope(update)
      assert.deepEqual([round, updated.status, updated.json.RowsAffected], [round, 200, 1], updated.text)
    }
    assert.deepEqual(await total(), [{ rows: 1, n: '12' }])
    assert.equal(neutral((await envelope(update)).text), neutral((await envelope(update)).text))
    // Other parameters, or another statement, are another request.
    for (const reply of [
      await insert(8),
      await envelope({ ...update, Parameters: [6, 1] }),
      await envelope({ ...update, Statement: 'UPDATE s SET n = n - $1 WHERE id = $2' }),
      await server.query('DELETE FROM s ALL', once('text')),
      await server.call('/query/s/insert', { id: 3, n: 3 }, once('text')),
    ])
      assert.deepEqual([reply.status, reply.json.Code], [422, 'Request.IdempotencyMismatch'], reply.text)
    assert.deepEqual(await total(), [{ rows: 1, n: '12' }])
    // Two at the same time, and another caller.
    const both = await Promise.all([1, 2].map(() => server.query('DELETE FROM s ALL', once('delete'))))
    assert.deepEqual(
      both.map(({ status, json }) => [status, json.RowsAffected]),
      [
        [200, 1],
        [200, 1],
      ],
    )
    assert.equal((await server.query('DELETE FROM s ALL', once('delete', 'definer'))).json.RowsAffected, 0)
  })

  test('a key is nothing to a statement that reads, and a write without it is made as often as it is sent', async () => {
    assert.equal((await server.query('CREATE TABLE plain (n Integer)')).status, 200)
    for (const key of ['reader', 'not a key', 'reader']) {
      const { status, json } = await server.query('SELECT count(*) AS n FROM plain', once(key))
      assert.deepEqual([status, json.Rows], [200, [{ n: 0 }]])
    }
    assert.equal((await server.query('INSERT INTO plain VALUES (1)', once('reader'))).status, 200)
    const { status, json } = await server.query('INSERT INTO plain VALUES (1)', once('not a key'))
    assert.deepEqual([status, json.Code], [400, 'Request.BadParameter'])
    for (let count = 2; count <= 3; count++) {
      await server.query('INSERT INTO plain VALUES (1)')
      assert.deepEqual((await server.query('SELECT count(*) AS n FROM plain')).json.Rows, [{ n: count }])
    }
  })

  test('a caller who has lost the right to write gets no replay of a statement', async () => {
    const statement = 'INSERT INTO r (id) VALUES (40)'
    assert.equal((await server.query(statement, once('statement', 'market'))).status, 200)
    assert.equal((await server.query(`ALTER TABLE r SET WRITE SCOPE 'Platform/Trading'`)).status, 200)
    const { status, json } = await server.query(statement, once('statement', 'market'))
    assert.deepEqual([status, json.Code], [403, 'IQL.Forbidden'])
  })

  test('a statement that writes to the catalogue is made once', async () => {
    const statement = `INSERT INTO CatalogueTable (name, columns) VALUES ('made', '[{"name": "id", "type": "Integer"}]')`
    for (let round = 0; round < 2; round++) {
      const { status, json, text } = await server.query(statement, once('catalogue'))
      assert.deepEqual([status, json.RowsAffected], [200, 1], text)
    }
  })
})
