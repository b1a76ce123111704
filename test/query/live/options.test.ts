/** WITH (live = off) in every place that defines or shows a table, and EXPLAIN LIVE. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'

onEveryEngineInLongRuns('tables that are not live', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
  })
  after(() => server.stop())

  const must = async (statement: string) => {
    const reply = await server.query(statement)
    assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    return reply.json
  }
  const isLive = async (table: string) => {
    const shown = ['cataloguetables', 'CatalogueTable'].map(
      (from) => `SELECT live FROM ${from} WHERE name = '${table}'`,
    )
    const [one, other] = await Promise.all(shown.map(async (statement) => (await must(statement)).Rows[0]?.live))
    assert.equal(one, other, table)
    return one
  }

  test('a table is live unless it is defined WITH (live = off); ALTER TABLE changes it', async () => {
    await must('CREATE TABLE ticks (id Integer PRIMARY KEY)')
    assert.equal(await isLive('ticks'), true)
    await must("CREATE TABLE bulk (id Integer PRIMARY KEY) COMMENT 'a' WITH (live = off) READ SCOPE 'Platform/Market'")
    assert.equal(await isLive('bulk'), false)
    await must('ALTER TABLE bulk SET WITH (LIVE = ON)')
    assert.equal(await isLive('bulk'), true)
    await must("ALTER TABLE bulk SET COMMENT 'b' WITH (live = off)")
    assert.equal(await isLive('bulk'), false)
    await must("ALTER TABLE bulk SET COMMENT 'c'")
    assert.equal(await isLive('bulk'), false, 'another change leaves it as it is')
    await must('ALTER TABLE bulk ADD COLUMN note Text')
    assert.equal(await isLive('bulk'), false)
    await must('INSERT INTO bulk VALUES (1, NULL)')
    assert.equal((await must('SELECT count(*) AS n FROM bulk')).Rows[0]?.n, 1)
  })

  test('rows of CatalogueTable say it too', async () => {
    const columns = [{ name: 'id', type: 'Integer', primarykey: true }]
    const created = await server.call('/query/CatalogueTable/insert', [
      { name: 'quiet', columns, live: false },
      { name: 'loud', columns },
    ])
    assert.equal(created.status, 200, created.text)
    assert.deepEqual([await isLive('quiet'), await isLive('loud')], [false, true])
    const { Rows } = await must("UPDATE CatalogueTable SET live = true WHERE name = 'quiet' RETURNING name, live")
    assert.deepEqual(Rows, [{ name: 'quiet', live: true }])
    assert.equal(await isLive('quiet'), true)
    await must("UPDATE CatalogueTable SET description = 'd', live = false WHERE name = 'quiet'")
    assert.equal(await isLive('quiet'), false)
  })

  test('other options and values are refused with what is expected', async () => {
    for (const [statement, expected] of [
      ['CREATE TABLE x (id Integer) WITH (alive = off)', ['LIVE', 'COLUMNS', 'RETENTION', 'HOLD']],
      ['CREATE TABLE x (id Integer) WITH (live = maybe)', ['ON', 'OFF']],
      ['ALTER TABLE ticks SET WITH live = off', ['(']],
    ] as const) {
      const { json } = await server.query(statement)
      assert.deepEqual([json.Code, json.Expected], ['IQL.Syntax', expected], statement)
    }
  })

  test('EXPLAIN LIVE says the method, the key and the reason', async () => {
    const explained = async (statement: string) => (await must(`EXPLAIN LIVE ${statement}`)).Rows
    assert.deepEqual(await explained('SELECT id FROM ticks WHERE id > 5'), [
      {
        method: 'keys',
        key: ['id'],
        reason: 'It reads one table, ticks: only rows whose keys have changed are read again.',
      },
    ])
    assert.deepEqual(await explained('SELECT count(*) AS n FROM ticks'), [
      { method: 'rerun', key: [], reason: 'An aggregate combines rows.' },
    ])
    assert.deepEqual(await explained('SELECT DISTINCT id FROM ticks'), [
      { method: 'rerun', key: null, reason: 'DISTINCT combines equal rows.' },
    ])
    assert.deepEqual(await explained('SELECT id FROM ticks LIMIT 5'), [
      {
        method: 'refused',
        key: null,
        reason: 'LIMIT without ORDER BY leaves open which rows it keeps: add ORDER BY before LIMIT.',
      },
    ])
    const { Columns } = await must('EXPLAIN LIVE SELECT id FROM ticks')
    assert.deepEqual(
      Object.entries(Columns).map(([name, { Type, Nullable }]) => [name, Type, Nullable]),
      [
        ['method', 'Text', false],
        ['key', 'Json', true],
        ['reason', 'Text', false],
      ],
    )
  })

  test('EXPLAIN LIVE takes a query over tables that the caller may read', async () => {
    const { json } = await server.query('EXPLAIN LIVE DELETE FROM ticks ALL')
    assert.equal(json.Code, 'IQL.Syntax')
    await must("CREATE TABLE secret (id Integer PRIMARY KEY) READ SCOPE 'Platform/Admin'")
    const hidden = await server.query('EXPLAIN LIVE SELECT id FROM secret', { as: 'market' })
    assert.equal(hidden.json.Code, 'IQL.UnknownTable')
  })
})
