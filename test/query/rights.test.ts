/** What a caller is not allowed to read does not exist for that caller, in any call. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

onEveryEngine('rights', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    const setUp = [
      `CREATE TABLE secret (id Integer PRIMARY KEY, v Text) READ SCOPE 'Platform/Trading' WRITE SCOPE 'Platform/Trading'`,
      `CREATE TABLE open (id Integer PRIMARY KEY, v Text)`,
      `CREATE TABLE orders (id Integer PRIMARY KEY, owner Text NOT NULL, qty Integer NOT NULL) WRITE SCOPE 'Platform/Market' ROW FILTER (owner = :sub OR 'operator' IN (:role))`,
      `CREATE INDEX secret_v ON secret (v)`,
      `INSERT INTO secret VALUES (1, 'hidden')`,
      `INSERT INTO open VALUES (1, 'seen')`,
      `INSERT INTO orders VALUES (1, 'market', 10), (2, 'trader', 0), (3, 'trader', 30)`,
    ]
    for (const statement of setUp) assert.equal((await server.query(statement)).status, 200, statement)
  })
  after(() => server.stop())

  /** Every way to name a table; each must answer as if the table did not exist. */
  const WAYS = [
    'SELECT * FROM $',
    'SELECT v FROM "$"',
    'SELECT o.v FROM open o JOIN $ s ON s.id = o.id',
    'SELECT o.v FROM open o LEFT JOIN $ s ON true',
    'SELECT o.v FROM open o ASOF JOIN $ s ON o.id >= s.id',
    'SELECT v FROM open WHERE id IN (SELECT id FROM $)',
    'SELECT v FROM open WHERE EXISTS (SELECT 1 FROM $)',
    'SELECT (SELECT max(v) FROM $) AS x FROM open',
    'SELECT v FROM open UNION SELECT v FROM $',
    'WITH s AS (SELECT * FROM $) SELECT v FROM open',
    'SELECT x.v FROM (SELECT v FROM $) AS x',
    'INSERT INTO open SELECT id + 10, v FROM $',
    'UPDATE open SET v = (SELECT max(v) FROM $) WHERE id = 1',
    'DELETE FROM open WHERE id IN (SELECT id FROM $)',
    'EXPLAIN SELECT * FROM $',
    'DESCRIBE $',
    'SHOW COLUMNS FROM $',
    "INSERT INTO $ VALUES (2, 'x')",
    "UPDATE $ SET v = 'x' WHERE id = 1",
    'DELETE FROM $ ALL',
    'DROP TABLE $',
    'ALTER TABLE $ ADD COLUMN x Text',
    'CREATE INDEX i ON $ (v)',
    'SELECT v FROM open ORDER BY (SELECT max(v) FROM $)',
    'SELECT count(*) AS n FROM open HAVING count(*) > (SELECT count(*) FROM $)',
  ]

  test('a forbidden table gives exactly the responses of one that does not exist', async () => {
    for (const way of WAYS) {
      const forbidden = await server.query(way.replace('$', 'secret'), { as: 'market' })
      const absent = await server.query(way.replace('$', 'sacred'), { as: 'market' })
      const neutral = (text: string): string =>
        text.replaceAll(/secret|sacred/g, '…').replaceAll(/"RequestId":"[^"]*"/g, '')
      assert.equal(forbidden.status, absent.status, way)
      assert.equal(neutral(forbidden.text), neutral(absent.text), way)
      assert.doesNotMatch(forbidden.text, /hidden/, way)
    }
  })

  test('no hint, list or catalogue names a forbidden table, its columns or its index', async () => {
    for (const statement of [
      'SELECT * FROM secre',
      'SELECT * FROM secrets',
      'SHOW TABLES',
      'SELECT * FROM cataloguetables',
      'SELECT * FROM cataloguecolumns',
      'SELECT * FROM CatalogueTable',
    ]) {
      assert.doesNotMatch(
        (await server.query(statement, { as: 'market' })).text,
        /"secret"|did you mean secret/,
        statement,
      )
    }
    const call = await server.call('/query/secret/select', [], { as: 'market' })
    const absent = await server.call('/query/sacred/select', [], { as: 'market' })
    assert.deepEqual([call.status, call.json.Code, call.json.Hint], [absent.status, absent.json.Code, absent.json.Hint])
    for (const name of ['insert', 'update', 'delete']) {
      assert.equal(
        (await server.call(`/query/secret/${name}`, name === 'insert' ? { id: 9 } : [], { as: 'market' })).status,
        404,
        name,
      )
    }
  })

  test('a condition that would fail on a hidden table does not fail: the catalogue reveals nothing by its errors', async () => {
    for (const condition of [
      `1 / (CASE WHEN name = 'secret' THEN 0 ELSE 1 END) = 1`,
      `CAST(CASE WHEN name = 'secret' THEN 'x' ELSE '1' END AS Integer) = 1`,
      `1 / (CASE WHEN readscope = 'Platform/Trading' THEN 0 ELSE 1 END) = 1`,
    ]) {
      for (const table of ['cataloguetables', 'CatalogueTable']) {
        const reply = await server.query(`SELECT name FROM ${table} WHERE ${condition}`, { as: 'market' })
        assert.equal(reply.status, 200, `${table}: ${condition}: ${reply.text}`)
      }
    }
    const ways = [
      `SELECT 1 / (CASE WHEN tablename = 'secret' THEN 0 ELSE 1 END) AS x FROM cataloguecolumns`,
      `SELECT name FROM cataloguecolumns WHERE 1 / (CASE WHEN tablename = 'secret' THEN 0 ELSE 1 END) = 1`,
      `SELECT o.id FROM open o JOIN cataloguetables t ON 1 / (CASE WHEN t.name = 'secret' THEN 0 ELSE 1 END) = o.id`,
      `SELECT max(1 / (CASE WHEN name = 'secret' THEN 0 ELSE 1 END)) AS x FROM CatalogueTable`,
      `SELECT name FROM CatalogueTable ORDER BY 1 / (CASE WHEN name = 'secret' THEN 0 ELSE 1 END)`,
    ]
    for (const way of ways) assert.equal((await server.query(way, { as: 'market' })).status, 200, way)
  })

  test('a table that may be read cannot be written without its write scope, which the error names', async () => {
    for (const statement of [
      "INSERT INTO open VALUES (5, 'x')",
      "UPDATE open SET v = 'x' WHERE id = 1",
      'DELETE FROM open ALL',
    ]) {
      const reply = await server.query(statement, { as: 'market' })
      assert.deepEqual([reply.status, reply.json.Code], [403, 'IQL.Forbidden'], statement)
      assert.match(reply.json.detail, /Platform\/Admin/)
    }
    for (const statement of [
      'CREATE TABLE x (id Integer)',
      'DROP TABLE open',
      'ALTER TABLE open ADD COLUMN x Text',
      'CREATE INDEX x ON open (v)',
      'DROP INDEX x',
    ]) {
      assert.equal((await server.query(statement, { as: 'trader' })).status, 403, statement)
    }
  })

  test('a row filter shows each caller its own rows, wherever rows are read', async () => {
    const ids = async (statement: string, as: string): Promise<unknown[]> =>
      (await server.query(statement, { as })).json.Rows.map((row) => row.id)
    assert.deepEqual(await ids('SELECT id FROM orders ORDER BY id', 'market'), [1])
    assert.deepEqual(await ids('SELECT id FROM orders ORDER BY id', 'trader'), [2, 3])
    assert.deepEqual(await ids('SELECT id FROM orders ORDER BY id', 'admin'), [1, 2, 3], 'by role')
    assert.deepEqual(await ids('SELECT o.id FROM open x RIGHT JOIN orders o ON true ORDER BY o.id', 'market'), [1])
    assert.deepEqual(await ids("SELECT id FROM orders WHERE owner = 'trader' OR 1 = 1 ORDER BY id", 'market'), [1])
    assert.deepEqual(await ids('SELECT id FROM orders UNION ALL SELECT id FROM orders', 'market'), [1, 1])
    assert.deepEqual(
      (await server.query('SELECT count(*) AS n, sum(qty) AS s FROM orders', { as: 'market' })).json.Rows,
      [{ n: 1, s: '10' }],
    )
    assert.deepEqual((await server.query('SELECT (SELECT count(*) FROM orders) AS n', { as: 'market' })).json.Rows, [
      { n: 1 },
    ])
    assert.deepEqual((await server.call('/query/orders/select?columns=id', [], { as: 'market' })).json.Rows, [
      { id: 1 },
    ])
    const noWay = await server.call(
      '/query',
      { Statement: 'SELECT id FROM orders WHERE owner = :sub', Parameters: { sub: 'trader' } },
      { as: 'market' },
    )
    assert.deepEqual(noWay.json.Rows, [], 'a parameter with the name of a claim is not the claim')
  })

  test('a condition that would fail on a hidden row does not fail: it is not evaluated there', async () => {
    // Row 2, which market is not allowed to see, has qty 0.
    assert.equal((await server.query('SELECT id FROM orders WHERE 100 / qty > 1', { as: 'market' })).status, 200)
    assert.equal((await server.query('SELECT 100 / qty AS x FROM orders', { as: 'market' })).status, 200)
    assert.equal((await server.query('UPDATE orders SET qty = qty WHERE 100 / qty > 1', { as: 'market' })).status, 200)
    assert.equal((await server.query('DELETE FROM orders WHERE 100 / qty < 0', { as: 'market' })).status, 200)
    assert.equal(
      (await server.query('SELECT id FROM orders WHERE 100 / qty > 1', { as: 'trader' })).json.Code,
      'IQL.DivisionByZero',
    )
  })

  test('nor if the condition is cheaper than the filter, or an index could evaluate it first', async () => {
    const setUp = [
      `CREATE TABLE dear (id Integer PRIMARY KEY, owner Text NOT NULL, qty Integer NOT NULL) ROW FILTER (replace(lower(upper(owner)), 'x', 'y') = :sub AND CAST(json_text(CAST('{"a":' || CAST(id AS Text) || '}' AS Json), 'a') AS Integer) > 0)`,
      `CREATE INDEX dear_qty ON dear (qty)`,
      `INSERT INTO dear VALUES (1, 'admin', 10)`,
    ]
    for (const statement of setUp) assert.equal((await server.query(statement)).status, 200, statement)
    await server.service.tables.insert('dear', ['id', 'owner', 'qty'], [['2', 'market', '0']])
    for (const statement of [
      'SELECT id FROM dear WHERE 100 / qty > 1',
      'SELECT id FROM dear WHERE qty = 0 OR 100 / qty > 1',
      'SELECT o.id FROM open o JOIN dear d ON 100 / d.qty > o.id',
      'SELECT max(100 / qty) AS m FROM dear',
      'SELECT id FROM dear ORDER BY 100 / qty',
      'SELECT id FROM (SELECT id, 100 / qty AS x FROM dear) AS d WHERE x > 1',
    ]) {
      const { status, text } = await server.query(statement)
      assert.equal(status, 200, `${statement}: ${text}`)
    }
    const market = await server.query('SELECT id FROM dear WHERE 100 / qty > 1', { as: 'market' })
    assert.equal(market.json.Code, 'IQL.DivisionByZero', 'the row exists')
  })

  /** Of WAYS, those that name the table only to define or to describe it. */
  const isDefinition = (way: string): boolean => /^(DESCRIBE|SHOW|DROP|ALTER|CREATE)/.test(way)

  test('a caller with the right to define tables cannot read or write rows without the scope in any way, and the error names the scope', async () => {
    const ways = [
      ...WAYS.filter((way) => !isDefinition(way)),
      'INSERT INTO $ VALUES (2, 1) ON CONFLICT (id) DO UPDATE SET v = $.v RETURNING v',
      'DELETE FROM $ ALL RETURNING v',
      'EXPLAIN LIVE SELECT * FROM $',
      'EXPLAIN DELETE FROM $ ALL',
      'CREATE VIEW peek AS SELECT * FROM $',
    ]
    for (const way of ways) {
      const { status, json, text } = await server.query(way.replaceAll('$', 'secret'), { as: 'definer' })
      assert.deepEqual([status, json.Code], [403, 'IQL.Forbidden'], `${way}: ${text}`)
      assert.doesNotMatch(text, /hidden/, way)
      assert.match(json.detail, /secret needs the scope Platform\/Trading/, way)
    }
    for (const [path, body] of [
      ['select', []],
      ['select?columns=v', [{ ColumnName: 'id', Operator: '=', Value: 1 }]],
      ['insert', { id: 9 }],
      ['update', { Criteria: [{ ColumnName: 'id', Operator: '=', Value: 1 }], Assignments: { v: 'x' } }],
      ['delete', [{ ColumnName: 'id', Operator: '=', Value: 1 }]],
    ] as const) {
      const { status, json, text } = await server.call(`/query/secret/${path}`, body, { as: 'definer' })
      assert.deepEqual([status, json.Code, json.Scope], [403, 'Auth.MissingScope', 'Platform/Trading'], text)
    }
    const headers = { accept: 'text/event-stream' }
    const live = await server.query('SELECT * FROM secret', { as: 'definer', headers })
    assert.deepEqual([live.status, live.json.Code], [403, 'IQL.Forbidden'])
    // A view needs the scopes of all that it reads.
    assert.equal((await server.query('CREATE VIEW behind AS SELECT v FROM secret')).status, 200)
    const behind = await server.query('SELECT * FROM behind', { as: 'definer' })
    assert.deepEqual([behind.status, behind.json.Code], [403, 'IQL.Forbidden'])
    assert.equal((await server.query('DROP VIEW behind', { as: 'definer' })).status, 200)
    assert.deepEqual((await server.query('SELECT * FROM secret')).json.Rows, [{ id: 1, v: 'hidden' }])
  })

  test('who may define tables sees every definition, and changes it', async () => {
    const as = 'definer'
    const names = async (statement: string): Promise<string> => (await server.query(statement, { as })).text
    for (const statement of ['SHOW TABLES', 'SELECT * FROM cataloguetables', 'SELECT * FROM CatalogueTable'])
      assert.match(await names(statement), /"secret"/, statement)
    assert.match(await names(`SELECT * FROM cataloguecolumns WHERE tablename = 'secret'`), /"v".*"Text"/)
    for (const statement of ['DESCRIBE secret', 'SHOW COLUMNS FROM Secret'])
      assert.match(await names(statement), /"RowCount":2/, statement)
    const { json } = await server.query('DESCRIBE secrett', { as })
    assert.match(json.Hint, /secret/)
    for (const statement of [
      'CREATE TABLE IF NOT EXISTS secret (id Integer)',
      'ALTER TABLE secret ADD COLUMN extra Text',
      'ALTER TABLE secret RENAME COLUMN extra TO more',
      'ALTER TABLE secret DROP COLUMN more',
      `ALTER TABLE secret SET COMMENT 'nothing to see'`,
      `UPDATE CatalogueTable SET description = 'still nothing' WHERE name = 'secret'`,
      'DROP INDEX secret_v',
      'CREATE INDEX secret_v ON secret (v)',
      `CREATE TABLE own (id Integer PRIMARY KEY, v Text) READ SCOPE 'Platform/Trading'`,
      'DROP TABLE own',
    ]) {
      const { status, text } = await server.query(statement, { as })
      assert.equal(status, 200, `${statement}: ${text}`)
    }
    assert.equal((await server.query('CREATE TABLE secret (id Integer)', { as })).json.Code, 'IQL.TableExists')
    // What a definition reveals of the rows, whether values repeat, is said without the values.
    assert.equal((await server.query(`INSERT INTO secret VALUES (2, 'hidden')`)).status, 200)
    const unique = await server.query('CREATE UNIQUE INDEX secret_u ON secret (v)', { as })
    assert.equal(unique.status, 409, unique.text)
    assert.doesNotMatch(unique.text, /hidden/)
    assert.equal((await server.query('DELETE FROM secret WHERE id = 2')).status, 200)
  })

  test('without the right to define, what cannot be read stays unknown: also an index', async () => {
    for (const statement of ['DESCRIBE secret', 'SHOW COLUMNS FROM secret']) {
      const { status, json } = await server.query(statement, { as: 'market' })
      assert.deepEqual([status, json.Code], [400, 'IQL.UnknownTable'], statement)
    }
    const hidden = await server.query('DROP INDEX secret_v', { as: 'market' })
    const absent = await server.query('DROP INDEX sacred_v', { as: 'market' })
    assert.deepEqual([hidden.status, hidden.json.detail], [absent.status, absent.json.detail])
  })

  test('rows outside the filter cannot be written, changed into, deleted or overwritten', async () => {
    const refused = ["INSERT INTO orders VALUES (9, 'trader', 1)", "UPDATE orders SET owner = 'trader' WHERE id = 1"]
    for (const statement of refused) {
      const reply = await server.query(statement, { as: 'market' })
      assert.deepEqual([reply.status, reply.json.Code], [403, 'IQL.RowFilter'], statement)
      assert.equal(reply.json.Hint, 'Write only rows that you may read.', statement)
    }
    assert.equal((await server.query('DELETE FROM orders WHERE id = 2', { as: 'market' })).json.RowsAffected, 0)
    assert.equal((await server.query('UPDATE orders SET qty = 99 WHERE id = 3', { as: 'market' })).json.RowsAffected, 0)
    const upsert = await server.query(
      "INSERT INTO orders VALUES (3, 'market', 5) ON CONFLICT (id) DO UPDATE SET qty = excluded.qty, owner = excluded.owner",
      { as: 'market' },
    )
    assert.equal(upsert.json.RowsAffected ?? 0, 0, upsert.text)
    assert.deepEqual((await server.query('SELECT owner, qty FROM orders WHERE id = 3')).json.Rows, [
      { owner: 'trader', qty: 30 },
    ])
    assert.equal(
      (await server.query("INSERT INTO orders VALUES (10, 'market', 1)", { as: 'market' })).json.RowsAffected,
      1,
    )
  })

  test('a row filter may use :username, :client and :roles of the caller, and nothing else', async () => {
    const setUp = [
      `CREATE TABLE mine (id Integer PRIMARY KEY, owner Text) WRITE SCOPE 'Platform/Market' ROW FILTER (owner = :username)`,
      `CREATE TABLE ours (id Integer PRIMARY KEY, app Text) WRITE SCOPE 'Platform/Market' ROW FILTER (app = :client OR app = :client_id)`,
      `CREATE TABLE desks (id Integer PRIMARY KEY, desk Text) WRITE SCOPE 'Platform/Market' ROW FILTER (desk = :roles OR desk IN (:roles))`,
    ]
    for (const statement of setUp) assert.equal((await server.query(statement)).status, 200, statement)
    const own = [
      ['mine', 'trader', 'market'],
      ['ours', 'trader-client', 'market-client'],
      ['desks', 'trader', 'operator'],
    ]
    for (const [table, allowed, other] of own) {
      const insert = (id: number, value = '') =>
        server.query(`INSERT INTO ${table} VALUES (${id}, '${value}')`, { as: 'trader' })
      assert.equal((await insert(1, allowed)).status, 200, table)
      assert.equal((await insert(2, other)).json.Code, 'IQL.RowFilter', table)
      const count = `SELECT count(*) AS n FROM ${table}`
      assert.deepEqual((await server.query(count, { as: 'trader' })).json.Rows, [{ n: 1 }], table)
      assert.deepEqual((await server.query(count, { as: 'market' })).json.Rows, [{ n: 0 }], table)
      assert.deepEqual((await server.query(count, { as: 'service' })).json.Rows, [{ n: 0 }], table)
    }
    const unknown = await server.query('CREATE TABLE bad (id Integer, owner Text) ROW FILTER (owner = :email)')
    assert.equal(unknown.json.Code, 'IQL.BadDefinition')
    assert.deepEqual(unknown.json.Expected, [':sub', ':username', ':client', ':client_id', ':roles', ':role'])
    const list = await server.query('CREATE TABLE bad (id Integer, owner Text) ROW FILTER (owner > :roles)')
    assert.match(list.json.detail, /:roles is a list/)
  })

  test('a row filter of alternatives holds for writes to all rows as it does for reads', async () => {
    const setUp = [
      `CREATE TABLE shared (id Integer PRIMARY KEY, owner Text, rank Integer) WRITE SCOPE 'Platform/Market' ROW FILTER (owner = :sub OR rank > 5 OR 'operator' IN (:role))`,
      `INSERT INTO shared VALUES (1, 'market', 0), (2, 'trader', 9), (3, 'trader', 0)`,
    ]
    for (const statement of setUp) assert.equal((await server.query(statement)).status, 200, statement)
    const updated = await server.query('UPDATE shared SET rank = rank + 1 ALL', { as: 'market' })
    assert.equal(updated.json.RowsAffected, 2)
    assert.equal((await server.query('DELETE FROM shared ALL', { as: 'market' })).json.RowsAffected, 2)
    assert.deepEqual((await server.query('SELECT id FROM shared')).json.Rows, [{ id: 3 }])
  })

  test('names and values are never interpreted as SQL', async () => {
    const nasty = `x"; DROP TABLE open; --' OR '1'='1`
    assert.equal(
      (
        await server.query(
          `CREATE TABLE "${nasty.replaceAll('"', '""')}" ("a""b'c" Integer PRIMARY KEY, "select" Text)`,
        )
      ).status,
      200,
    )
    const path = `/query/${encodeURIComponent(nasty)}`
    const column = Object.fromEntries([[`a"b'c`, 1]])
    assert.equal((await server.call(`${path}/insert`, { ...column, select: nasty })).status, 200)
    const reply = await server.call(`${path}/select`, [{ ColumnName: 'select', Operator: '=', Value: nasty }])
    assert.deepEqual(reply.json.Rows, [{ ...column, select: nasty }])
    for (const operator of ['like', 'contains', 'startswith', 'in', '>=']) {
      const found = await server.call(`${path}/select`, [
        { ColumnName: 'select', Operator: operator, Value: operator === 'in' ? [nasty] : nasty },
      ])
      assert.equal(found.json.RowCount, 1, operator)
    }
    assert.equal(
      (await server.query(`SELECT count(*) AS n FROM open WHERE v = '${nasty.replaceAll("'", "''")}'`)).json.RowCount,
      1,
    )
    assert.equal((await server.query('SELECT count(*) AS n FROM open')).status, 200)
    assert.equal((await server.query(`DROP TABLE "${nasty.replaceAll('"', '""')}"`)).status, 200)
  })

  test('the tables of the identity store are not accessible', async () => {
    for (const name of [
      'users',
      'clients',
      'signing_keys',
      'sqlite_master',
      'sqlite_schema',
      '_gh_tables',
      '_gh_requests',
      'pg_class',
      'pg_authid',
      'gatehouse.users',
    ]) {
      const reply = await server.query(`SELECT * FROM ${name}`)
      assert.ok(reply.json.Code === 'IQL.UnknownTable' || reply.json.Code === 'IQL.Syntax', `${name}: ${reply.text}`)
    }
    for (const name of ['_gh_tables', 'sqlite_x', 'pg_x']) {
      assert.notEqual((await server.query(`CREATE TABLE ${name} (id Integer)`)).status, 500, name)
    }
  })
})
