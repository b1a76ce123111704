/** Tables defined as rows and changed by ALTER TABLE: idempotency keys, changes of rights on every node, limits. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { AuditEvent } from 'gatehouse-protocol'
import { onEveryEngine, shortOnSqlite } from '../support/engines.ts'
import { createLocalBus } from '../support/local-bus.ts'
import { soon } from '../support/until.ts'
import { longestTurn } from './event-loop.ts'
import { endWriters, queryProcesses } from './query-processes.ts'
import { type QueryServer, type Reply, startQueryServer } from './query-server.ts'

const ID = { name: 'id', type: 'Integer', primarykey: true }

onEveryEngine('writes to the catalogue', (place, engine) => {
  const bus = createLocalBus()
  const recorded: AuditEvent[] = []
  const audit = { record: (event: AuditEvent) => void recorded.push(event) }
  let server: QueryServer
  let other: QueryServer
  before(async () => {
    server = await startQueryServer(place(), { bus, audit, limits: { milliseconds: 3000 } })
    other = await startQueryServer(place(), { bus })
  })
  after(async () => {
    await server.stop()
    await other.stop()
    await bus.close()
  })

  const insert = (body: unknown, key?: string, at = server): Promise<Reply> =>
    at.call('/query/cataloguetable/insert', body, key === undefined ? {} : { headers: { 'idempotency-key': key } })

  test('a repeated Idempotency-Key gets the first response, also from another node and after a restart', async () => {
    const body = { name: 'once', columns: [ID] }
    const first = await insert(body, 'define-1')
    assert.equal(first.status, 200, first.text)
    recorded.length = 0
    for (const node of [server, other]) {
      const again = await insert(body, 'define-1', node)
      assert.deepEqual([again.status, again.json.Rows, again.json.RowsAffected], [200, first.json.Rows, 1])
    }
    assert.deepEqual(recorded, [], 'nothing is defined again')
    assert.equal((await insert(body)).status, 409, 'without the key the name is taken')
    await server.stop()
    server = await startQueryServer(place(), { bus, audit, limits: { milliseconds: 3000 } })
    assert.deepEqual((await insert(body, 'define-1')).json.Rows, first.json.Rows)
  })

  test('the key of one body is refused for another, and defines nothing', shortOnSqlite(engine), async () => {
    assert.equal((await insert({ name: 'kept', columns: [ID] }, 'define-2')).status, 200)
    const reply = await insert({ name: 'unkept', columns: [ID] }, 'define-2')
    assert.deepEqual([reply.status, reply.json.Code], [422, 'Request.IdempotencyMismatch'])
    assert.equal((await server.query('SELECT * FROM unkept')).json.Code, 'IQL.UnknownTable')
    const otherUser = await server.call(
      '/query/cataloguetable/insert',
      { name: 'kept', columns: [ID] },
      {
        as: 'trader',
        headers: { 'idempotency-key': 'define-2' },
      },
    )
    assert.equal(otherUser.status, 403, 'a key belongs to its owner')
  })

  test('of concurrent requests with one key one defines the table, and all get its response', async () => {
    const replies = await Promise.all(
      [server, other, server, other].map((node) => insert({ name: 'raced', columns: [ID] }, 'define-3', node)),
    )
    assert.deepEqual(
      replies.map(({ status, json }) => [status, json.RowsAffected]),
      replies.map(() => [200, 1]),
    )
  })

  test('a refused definition does not use up its key', shortOnSqlite(engine), async () => {
    assert.equal((await insert({ name: 'once', columns: [ID] }, 'define-4')).status, 409)
    assert.equal((await insert({ name: 'twice', columns: [ID] }, 'define-4')).status, 200)
  })

  test('Update and Delete of a definition also happen once for a key', shortOnSqlite(engine), async () => {
    await insert({ name: 'brief', columns: [ID] })
    const headers = { 'idempotency-key': 'define-5' }
    const criteria = [{ ColumnName: 'name', Operator: '=', Value: 'brief' }]
    assert.equal((await server.call('/query/cataloguetable/delete', criteria, { headers })).json.RowsAffected, 1)
    await insert({ name: 'brief', columns: [ID] })
    assert.equal((await server.call('/query/cataloguetable/delete', criteria, { headers })).json.RowsAffected, 1)
    assert.equal((await server.query('SELECT * FROM brief')).status, 200, 'the new one is not dropped')
  })

  test('rows that name different columns are all defined, or none', shortOnSqlite(engine), async () => {
    const rows = [
      { name: 'plain', columns: [ID] },
      { name: 'told', columns: [ID], description: 'With a word' },
    ]
    assert.equal((await insert(rows)).json.RowsAffected, 2)
    assert.equal((await server.query('SELECT * FROM told')).status, 200)
    const half = [
      { name: 'fresh', columns: [ID] },
      { name: 'told', columns: [ID], description: 'Again' },
    ]
    assert.equal((await insert(half)).status, 409)
    assert.equal((await server.query('SELECT * FROM fresh')).json.Code, 'IQL.UnknownTable')
  })

  test('ALTER TABLE SET changes the scopes for the next statements on every node, within a second, cached plans or not', async () => {
    await server.query("CREATE TABLE desk (id Integer PRIMARY KEY) COMMENT 'First'")
    await server.query('INSERT INTO desk VALUES (1)')
    const reads = async (): Promise<number[]> =>
      Promise.all(
        [server, other].map(async (node) => (await node.query('SELECT id FROM desk', { as: 'market' })).status),
      )
    await soon(reads, [200, 200])
    recorded.length = 0
    const set = await server.query("ALTER TABLE desk SET READ SCOPE 'Platform/Trading' WRITE SCOPE 'Platform/Trading'")
    assert.equal(set.status, 200, set.text)
    await soon(reads, [400, 400])
    assert.equal((await other.query('INSERT INTO desk VALUES (2)', { as: 'trader' })).status, 200)
    assert.deepEqual(
      recorded.map(({ event, target, details }) => ({ event, target, details })),
      [
        {
          event: 'query.defined',
          target: 'desk',
          details: { statement: 'rights', table: 'desk', changed: ['readscope', 'writescope'] },
        },
      ],
    )
    recorded.length = 0
    await server.query('ALTER TABLE desk ADD CONSTRAINT low CHECK (id < 1000)')
    const described = (await server.query('DESCRIBE desk')).json.Rows
    assert.deepEqual(
      described.map(({ name, checks }) => [name, checks]),
      [['id', 'low: id < 1000']],
    )
    await server.query('ALTER TABLE desk DROP CONSTRAINT low')
    const change = { statement: 'rights', table: 'desk', changed: ['checks'] }
    assert.deepEqual(
      recorded.map(({ details }) => details),
      [change, change],
    )
    const row = "SELECT description, readscope, writescope, rowfilter FROM CatalogueTable WHERE name = 'desk'"
    assert.deepEqual((await other.query(row)).json.Rows, [
      { description: 'First', readscope: 'Platform/Trading', writescope: 'Platform/Trading', rowfilter: null },
    ])
    await server.query('ALTER TABLE desk SET READ SCOPE NULL WRITE SCOPE NULL COMMENT NULL')
    await soon(reads, [200, 200])
    assert.equal((await other.query('INSERT INTO desk VALUES (3)', { as: 'trader' })).status, 403)
    assert.deepEqual((await server.query(row)).json.Rows, [
      { description: null, readscope: null, writescope: null, rowfilter: null },
    ])
  })

  test('ALTER TABLE SET ROW FILTER hides rows from the next statements on every node, and NULL shows them again', async () => {
    await server.query("CREATE TABLE book (id Integer PRIMARY KEY, owner Text) WRITE SCOPE 'Platform/Market'")
    await server.query("INSERT INTO book VALUES (1, 'market'), (2, 'trader')")
    const ids = async (): Promise<unknown[]> =>
      ((await other.query('SELECT id FROM book ORDER BY id', { as: 'market' })).json.Rows ?? []).map((row) => row.id)
    await soon(ids, [1, 2])
    assert.equal((await server.query('ALTER TABLE book SET ROW FILTER (owner = :sub)')).status, 200)
    await soon(ids, [1])
    assert.equal(
      (await server.query("INSERT INTO book VALUES (3, 'trader')", { as: 'market' })).json.Code,
      'IQL.RowFilter',
    )
    const held = await server.query('ALTER TABLE book DROP COLUMN owner')
    assert.equal(held.json.Code, 'IQL.BadDefinition', 'the new filter uses it')
    assert.equal((await server.query('ALTER TABLE book SET ROW FILTER NULL')).status, 200)
    await soon(ids, [1, 2])
  })

  test(
    'ALTER TABLE SET refuses values that it cannot store, and callers who may not define',
    shortOnSqlite(engine),
    async () => {
      await server.query('CREATE TABLE plainly (id Integer PRIMARY KEY)')
      for (const [statement, status, code] of [
        ["ALTER TABLE plainly SET READ SCOPE 'x'", 403, 'IQL.Forbidden'],
        ['ALTER TABLE nothere SET READ SCOPE NULL', 403, 'IQL.Forbidden'],
      ] as const) {
        const reply = await server.query(statement, { as: 'trader' })
        assert.deepEqual([reply.status, reply.json.Code], [status, code], statement)
      }
      for (const [statement, code, offset] of [
        ['ALTER TABLE plainly SET', 'IQL.Syntax', 23],
        ['ALTER TABLE plainly SET READ SCOPE', 'IQL.Syntax', 34],
        ["ALTER TABLE plainly SET COMMENT 'a' COMMENT 'b'", 'IQL.Syntax', 36],
        ['ALTER TABLE plainly SET ROW FILTER (owner = :sub)', 'IQL.UnknownColumn', 36],
        ['ALTER TABLE plainly SET ROW FILTER (id)', 'IQL.TypeMismatch', 36],
        ['ALTER TABLE nothere SET READ SCOPE NULL', 'IQL.UnknownTable', 12],
        ['ALTER TABLE cataloguetables SET READ SCOPE NULL', 'IQL.SystemTable', 12],
      ] as const) {
        const { json } = await server.query(statement)
        assert.deepEqual([json.Code, json.Position.Offset], [code, offset], statement)
      }
      const expected = (await server.query('ALTER TABLE plainly SET')).json.Expected
      assert.deepEqual(expected, ['READ', 'WRITE', 'REQUIRE', 'ROW', 'COMMENT', 'WITH'])
    },
  )

  test('a write to the catalogue with an endless query ends at its time limit and blocks no other', async (t) => {
    await server.query('CREATE TABLE digits (n Integer PRIMARY KEY)')
    const rows = Array.from({ length: 1000 }, (_row, n) => ({ n }))
    assert.equal((await server.call('/query/digits/insert', rows)).status, 200)
    // Little but what is endless is asked of it, so its time limit is short.
    const hasty = await startQueryServer(place(), { bus, limits: { milliseconds: 700 } })
    t.after(() => hasty.stop())
    const endless = '(SELECT count(*) FROM digits a, digits b, digits c, digits d WHERE a.n + b.n + c.n + d.n < 0)'
    for (const statement of [
      `INSERT INTO CatalogueTable (name, columns) SELECT 'x' || CAST(${endless} AS Text), JSON '[]'`,
      `UPDATE CatalogueTable SET description = 'x' WHERE ${endless} > 1`,
      `DELETE FROM CatalogueTable WHERE name = 'digits' AND ${endless} > 1`,
      `UPDATE CatalogueTable SET description = CAST(${endless} AS Text) WHERE name = 'digits'`,
    ]) {
      const started = performance.now()
      let slowest = 0
      let isDone = false
      const write = hasty.query(statement).finally(() => {
        isDone = true
      })
      while (!isDone) {
        const asked = performance.now()
        await hasty.query("SELECT name FROM cataloguetables WHERE name = 'digits'")
        slowest = Math.max(slowest, performance.now() - asked)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      const reply = await write
      assert.deepEqual([reply.status, reply.json.Code], [408, 'Limit.Time'], statement)
      assert.ok(performance.now() - started < 6000, statement)
      assert.ok(slowest < 1500, `${statement} held a lookup up for ${slowest} ms`)
    }
    assert.equal((await server.query('SELECT count(*) AS n FROM digits')).json.Rows[0]?.n, 1000)
  })

  test('a write to the catalogue accepts a limited number of rows', shortOnSqlite(engine), async () => {
    const reply = await server.query(
      "INSERT INTO CatalogueTable (name, columns) SELECT 'y' || CAST(a.n * 1000 + b.n AS Text), JSON '[]' FROM digits a, digits b",
    )
    assert.deepEqual([reply.status, reply.json.Code], [400, 'Limit.Complexity'])
  })

  test('many tables at once do not hold the event loop', shortOnSqlite(engine), async (t) => {
    const columns = JSON.stringify([ID, { name: 't', type: 'Text' }])
    let [count, attempt] = [0, 0]
    await endWriters()
    const turn = await longestTurn(async () => {
      const prefix = `many_${attempt++}`
      const rows = Array.from({ length: 100 }, (_row, index) => `('${prefix}_${index}', '${columns}')`)
      // The time limit of the other node is the usual one.
      const reply = await other.query(`INSERT INTO CatalogueTable (name, columns) VALUES ${rows}`)
      assert.equal(reply.status, 200, reply.text)
      count += reply.json.RowsAffected
    })
    if (engine === 'sqlite' && process.platform === 'linux')
      assert.equal((await queryProcesses('write')).length, 1, 'they are defined in the process for long writes')
    t.diagnostic(`${Math.round(turn.milliseconds)} of ${Math.round(turn.limit)} ms`)
    assert.ok(turn.milliseconds <= turn.limit, `${turn.milliseconds} ms of CPU in one turn, limit ${turn.limit} ms`)
    const { json } = await other.query("SELECT count(*) AS n FROM cataloguetables WHERE name LIKE 'many_%'")
    assert.deepEqual(json.Rows, [{ n: count }])
    assert.equal((await other.query("DELETE FROM CatalogueTable WHERE name LIKE 'many_%'")).json.RowsAffected, count)
  })

  test('the embedded engine has a limit of tables', async (t) => {
    if (engine !== 'sqlite') return t.skip('PostgreSQL has none')
    const { json } = await server.query('SELECT count(*) AS n FROM cataloguetables WHERE NOT issystem')
    const small = await startQueryServer(place(), { limits: { maxTables: Number(json.Rows[0]?.n) + 1 } })
    try {
      assert.equal((await small.query('CREATE TABLE last_one (id Integer)')).status, 200)
      const refused = await small.query('CREATE TABLE one_more (id Integer)')
      assert.deepEqual([refused.status, refused.json.Code], [422, 'Limit.Tables'])
      assert.equal((await insert({ name: 'one_more', columns: [ID] }, undefined, small)).json.Code, 'Limit.Tables')
      assert.equal((await small.query('DROP TABLE last_one')).status, 200)
      assert.equal((await small.query('CREATE TABLE one_more (id Integer)')).status, 200)
    } finally {
      await small.stop()
    }
  })
})
