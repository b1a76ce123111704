/** Rows beside a row filter are found by keys and indexes, and no condition that could fail is evaluated on a hidden row. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Database from 'better-sqlite3'
import { bind, parse } from 'gatehouse-iql'
import { createEmission, emitQuery } from '../../packages/server/src/query/engines/emit/query.ts'
import { emitDelete, emitUpdate } from '../../packages/server/src/query/engines/emit/write.ts'
import { SQLITE } from '../../packages/server/src/query/engines/sqlite/dialect/dialect.ts'
import { onEveryEngine } from '../support/engines.ts'
import { marketCatalogue } from './iql/market-catalogue.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const ROWS = 100

onEveryEngine('tables with a row filter', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    const setUp = [
      "CREATE TABLE owned (id Integer PRIMARY KEY, n Integer NOT NULL, owner Text NOT NULL) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'",
      'CREATE INDEX owned_n ON owned (n)',
      `INSERT INTO owned SELECT i, i * 2, CASE WHEN i % 2 = 0 THEN 'market' ELSE 'other' END FROM generate_series(1, ${ROWS}) AS i`,
      'ALTER TABLE owned SET ROW FILTER (owner = :sub)',
      "CREATE VIEW plain READ SCOPE 'Platform/Market' AS SELECT n, id AS number FROM owned",
      "CREATE VIEW both READ SCOPE 'Platform/Market' AS SELECT n, id FROM owned UNION ALL SELECT id, n FROM owned",
    ]
    for (const statement of setUp) assert.equal((await server.query(statement)).status, 200, statement)
  })
  after(() => server.stop())

  const rows = async (statement: string) => {
    const { status, text } = await server.query(statement, { as: 'market' })
    assert.equal(status, 200, text)
    return JSON.parse(text).Rows
  }

  test('a condition that fails on a hidden row does not fail', async () => {
    // Row 9 is hidden.
    const condition = '100 / (id - 9) > 50 AND id BETWEEN 8 AND 10'
    assert.deepEqual(await rows(`SELECT id FROM owned WHERE ${condition}`), [{ id: 10 }])
    for (const write of [`UPDATE owned SET n = 20 WHERE ${condition}`, `DELETE FROM owned WHERE ${condition}`]) {
      const { status, text } = await server.query(write, { as: 'market' })
      assert.deepEqual([status, JSON.parse(text).RowsAffected], [200, 1], text)
    }
  })

  test('what is compared of hidden rows shows nothing of them', async () => {
    assert.deepEqual(await rows("SELECT id FROM owned WHERE owner = 'other' OR id = 9 OR n IS NULL"), [])
    assert.deepEqual(await rows('SELECT n FROM plain WHERE number = 9'), [])
    assert.deepEqual(await rows('SELECT n, id FROM both WHERE n = 16'), [
      { n: 16, id: 8 },
      { n: 16, id: 32 },
    ])
    assert.deepEqual(await rows("SELECT id FROM owned WHERE NOT (owner = 'market') AND id < 20"), [])
    assert.deepEqual(
      await rows('SELECT l.id, r.id AS other FROM owned l LEFT JOIN owned r ON r.id = l.id - 1 WHERE l.id = 6'),
      [{ id: 6, other: null }],
    )
  })
})

for (const statement of [
  'SELECT qty FROM orders WHERE id = 8',
  'SELECT qty FROM orders WHERE id IN (8, 10)',
  'SELECT qty FROM orders WHERE id BETWEEN 8 AND 9',
  'SELECT qty FROM orders WHERE qty = 16 AND qty / id = 2',
  'SELECT a.id FROM orders a JOIN orders b ON b.id = a.qty WHERE a.id = 8 AND b.qty = 3',
  'SELECT n FROM (SELECT id AS n, qty FROM orders) AS o WHERE n = 8 AND qty > 0',
  'SELECT id FROM (SELECT id, desk FROM orders UNION ALL SELECT qty, desk FROM orders) AS o WHERE id = 8',
  'UPDATE orders SET desk = NULL WHERE id = 8 AND qty / id = 2',
  'DELETE FROM orders WHERE qty = 9',
])
  test(`${statement}: the rows of a table with a row filter are found`, () => {
    const plan = planOfSqlite(statement)
    const searches = plan.filter((line) => /^SEARCH .* USING (INTEGER PRIMARY KEY|INDEX orders_qty)/.test(line))
    assert.equal(searches.length, statement.split('orders').length - 1, plan.join('\n'))
  })

function planOfSqlite(text: string): string[] {
  const { statement } = bind(parse(text), text, marketCatalogue())
  const emission = createEmission(SQLITE)
  const facts = { findDefault: () => undefined, keyLimit: () => undefined }
  const emitted =
    statement.kind === 'query'
      ? emitQuery(statement, emission)
      : statement.kind === 'update'
        ? emitUpdate(statement, emission, facts, false)
        : statement.kind === 'delete'
          ? emitDelete(statement, emission, false)
          : assert.fail(statement.kind)
  const { sql, parameters, shared } = emission.placeholders.positional(emitted)
  const database = new Database(':memory:')
  database.exec('CREATE TABLE orders (id INTEGER PRIMARY KEY, owner TEXT, desk TEXT, qty INTEGER, limit_price INTEGER)')
  database.exec('CREATE INDEX orders_qty ON orders (qty)')
  database.function('gh_idiv', { varargs: true }, () => null)
  const named = Object.fromEntries([...(shared?.keys() ?? [])].map((name) => [name, null]))
  const rows = database
    .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .all(...parameters.map(() => null), named)
  database.close()
  return rows.map(({ detail }) => detail)
}
