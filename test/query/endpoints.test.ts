/** The endpoints of the query service over real sockets, on both engines. */
import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../support/engines.ts'
import { endWriters, queryProcesses } from './query-processes.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

onEveryEngine('the query service', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    const created = await server.query(
      `CREATE TABLE Trades (id Integer PRIMARY KEY, symbol Text NOT NULL, price Decimal(18,4), qty Integer DEFAULT 100, at Timestamp)
       READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Trading' COMMENT 'Every trade'`,
    )
    assert.equal(created.status, 200, created.text)
    const rows = [
      { id: 1, symbol: 'BHP', price: '45.10', at: '2026-01-02T03:04:05.123456Z' },
      { id: 2, symbol: 'RIO', price: 120.5, qty: 7 },
      { id: 3, symbol: 'CBA', price: null },
    ]
    assert.equal((await server.call('/query/trades/insert', rows)).json.RowsAffected, 3)
  })
  after(() => server.stop())

  test('a call without a token is 401 with a challenge (RFC 6750 §3)', async () => {
    const response = await fetch(`${server.url}/query`, {
      method: 'POST',
      body: 'SELECT 1 AS one',
      headers: { 'content-type': 'text/plain' },
    })
    assert.equal(response.status, 401)
    assert.equal(response.headers.get('www-authenticate'), 'Bearer, DPoP algs="ES256 PS256 Ed25519 EdDSA"')
    const wrong = await server.query('SELECT 1 AS one', { as: 'stranger' })
    assert.equal(wrong.status, 401)
    assert.match(wrong.headers.get('www-authenticate') ?? '', /error="invalid_token"/)
  })

  test('a token without any platform scope is 403 and names the missing scope', async () => {
    const reply = await server.query('SELECT 1 AS one', { as: 'nobody' })
    assert.deepEqual([reply.status, reply.json.Code], [403, 'Auth.MissingScope'])
    assert.match(reply.json.Scope, /^Platform\//)
  })

  test('a token for another audience is invalid, whatever its scopes', async () => {
    const reply = await server.query('SELECT 1 AS one', { as: 'elsewhere' })
    assert.deepEqual([reply.status, reply.json.Code], [401, 'Auth.InvalidToken'])
    assert.match(String(reply.json.Hint), /gatehouse token/)
    assert.match(reply.headers.get('www-authenticate') ?? '', /error="invalid_token"/)
  })

  test('an error is a problem (RFC 9457) with its position, the expected tokens and a hint', async () => {
    const { status, headers, json } = await server.query('SELECT symbol,\n  prize FROM trades')
    assert.equal(headers.get('content-type'), 'application/problem+json; charset=utf-8')
    const { detail, Code, Position, Hint } = json
    assert.deepEqual(
      { status, detail, Code, Position, Hint },
      {
        status: 400,
        detail: 'There is no column prize',
        Code: 'IQL.UnknownColumn',
        Position: { Offset: 17, Line: 2, Column: 3 },
        Hint: 'did you mean price?',
      },
    )
    for (const member of ['type', 'title', 'status']) assert.ok(member in json, member)
    const syntax = await server.query('SELECT symbol FROM trades WHERE')
    assert.deepEqual([syntax.status, syntax.json.Code, syntax.json.Position.Offset], [400, 'IQL.Syntax', 31])
    assert.ok(syntax.json.Expected.length > 0)
    const long = await server.query(`SELECT '${'x'.repeat(70_000)}' AS x`)
    assert.deepEqual([long.status, long.json.Code], [413, 'IQL.TooLong'])
  })

  test('the result of a statement has Columns, then Rows, then the trailer', async () => {
    const reply = await server.query('select symbol, price from trades where qty >= 100 order by symbol', {
      headers: { 'request-id': 'abc-1' },
    })
    assert.equal(reply.status, 200)
    assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.equal(reply.headers.get('request-id'), 'abc-1')
    assert.ok(
      reply.text.startsWith(
        '{"Columns":{"symbol":{"Ordinal":0,"Type":"Text","Nullable":false},"price":{"Ordinal":1,"Type":"Decimal(18, 4)","Nullable":true}},' +
          '"Rows":[{"symbol":"BHP","price":"45.1000"},{"symbol":"CBA","price":null}],"RowCount":2,"RequestId":"abc-1","ElapsedMs":',
      ),
      reply.text,
    )
  })

  test('with writes=refused a statement reads, or is not run', async () => {
    const send = (text: string, writes: string) =>
      server.call(`/query?writes=${writes}`, { Statement: text }).then(({ status, json }) => [status, json.Code])
    for (const text of [
      "INSERT INTO trades (id, symbol) VALUES (9, 'X')",
      'UPDATE trades SET qty = 0 WHERE id > 0',
      '/* select */ DELETE FROM trades WHERE id > 0 RETURNING id',
      "DELETE FROM CatalogueTable WHERE name = 'Trades'",
      'CREATE TABLE other (id Integer PRIMARY KEY)',
      'ALTER TABLE trades ADD COLUMN other Text',
      'ALTER TABLE trades ADD CHECK (qty > 0)',
      'CREATE TABLE other AS SELECT id FROM trades',
      'DROP TABLE trades',
    ])
      assert.deepEqual(await send(text, 'refused'), [422, 'Request.WritesRefused'], text)
    for (const text of [
      'SELECT id FROM trades',
      'EXPLAIN DELETE FROM trades WHERE id > 0',
      'DESCRIBE trades',
      'SHOW TABLES',
    ])
      assert.deepEqual(await send(text, 'refused'), [200, undefined], text)
    assert.deepEqual(await send('DELETE FROM trades WHERE id < 0', 'allowed'), [200, undefined])
    assert.deepEqual(await send('SELECT id FROM trades', 'some'), [400, 'Request.BadParameter'])
    assert.deepEqual((await server.query('SELECT count(*) AS n FROM trades WHERE qty > 0')).json.Rows, [{ n: 3 }])
  })

  test('EXPLAIN ANALYZE runs the query, and says how many rows there were and how long they took', async () => {
    const analyzed = await server.call('/query', {
      Statement: 'EXPLAIN ANALYZE SELECT id FROM trades WHERE id > :least',
      Parameters: { least: 1 },
    })
    const lines: string[] = analyzed.json.Rows.map(({ plan }) => String(plan))
    const total = lines.findIndex((line) =>
      /^\d+ rows? in [\d.]+ ms, the first of them after [\d.]+ ms; \d+ bytes$/.test(line),
    )
    const [plans, steps] = [lines.slice(0, total + 1), lines.slice(total + 1)]
    const { json } = await server.query('SELECT count(*) AS n FROM trades WHERE id > 1')
    assert.equal(plans.at(-1)?.split(' ')[0], String(json.Rows[0]?.n))
    if (place().engine === 'sqlite') assert.deepEqual(steps, [], 'SQLite does not measure steps')
    else
      assert.ok(
        steps.some((line) => new RegExp(`^ +.*scan of trades: ${json.Rows[0]?.n} rows?, [\\d.]+ ms$`).test(line)),
        steps.join('\n'),
      )
    const plain = await server.query('EXPLAIN SELECT id FROM trades WHERE id > 1')
    assert.deepEqual(
      plans.slice(0, -1),
      plain.json.Rows.map(({ plan }) => String(plan)),
    )
    const write = await server.query('EXPLAIN ANALYZE DELETE FROM trades ALL')
    assert.deepEqual([write.status, write.json.Position.Offset], [400, 16])
  })

  test('the catalogue lists the tables that the caller may read, with name and issystem', async () => {
    const reply = await server.call('/query/cataloguetables/select?columns=name,issystem&orderby=name', undefined, {
      as: 'market',
    })
    assert.deepEqual(reply.json.Rows, [
      { name: 'CatalogueTable', issystem: true },
      { name: 'Trades', issystem: false },
      { name: 'alertevents', issystem: true },
      { name: 'alertstates', issystem: true },
      { name: 'cataloguecolumns', issystem: true },
      { name: 'cataloguetables', issystem: true },
    ])
    const hidden = await server.query('SELECT name FROM cataloguetables WHERE NOT issystem', { as: 'news' })
    assert.deepEqual(hidden.json.Rows, [])
  })

  test('Select accepts criteria, columns in either form, order and limit; paths are case-insensitive', async () => {
    const mixed = await server.call('/query/trades/select?column=qty&columns=symbol,id&column=ID&column=price', [])
    assert.deepEqual(Object.keys(mixed.json.Columns), ['symbol', 'id', 'qty', 'price'])
    for (const [wrong, hint] of [
      ['colums=symbol', 'did you mean columns?'],
      ['limt=2', 'did you mean limit?'],
    ]) {
      const { status, json } = await server.call(`/query/trades/select?${wrong}`, [])
      assert.deepEqual([status, json.Code, json.Hint], [400, 'Request.BadParameter', hint])
    }
    assert.equal((await server.call('/query/trades/select?utm_source=mail', [])).status, 200)
    const reply = await server.call('/Query/TRADES/Select?columns=symbol,id&column=ID&orderby=-id&limit=2', [
      { ColumnName: 'ID', Operator: '>', Value: 0 },
    ])
    assert.deepEqual(reply.json.Rows, [
      { symbol: 'CBA', id: 3 },
      { symbol: 'RIO', id: 2 },
    ])
    assert.equal(typeof reply.json.NextCursor, 'string')
    assert.equal(reply.json.Truncated, undefined)
    const next = await server.call(
      `/query/trades/select?columns=symbol,id&orderby=-id&limit=2&after=${reply.json.NextCursor}`,
      [{ ColumnName: 'ID', Operator: '>', Value: 0 }],
    )
    assert.deepEqual(next.json.Rows, [{ symbol: 'BHP', id: 1 }])
    assert.equal(next.json.NextCursor, undefined)
  })

  test('numbers are exact in both directions', async () => {
    const inserted = await server.call(
      '/query/trades/insert',
      '{"id": 9223372036854775807, "symbol": "MAX", "price": 99999999999999.9999}',
    )
    assert.match(
      inserted.text,
      /"Rows":\[\{"id":9223372036854775807,"symbol":"MAX","price":"99999999999999.9999","qty":100,"at":null\}\]/,
    )
    const reply = await server.query("SELECT id, price FROM trades WHERE symbol = 'MAX'")
    assert.match(reply.text, /"id":9223372036854775807,"price":"99999999999999.9999"/)
    const asText = await fetch(`${server.url}/query?integers=strings&rows=arrays`, {
      method: 'POST',
      body: "SELECT id FROM trades WHERE symbol = 'MAX'",
      headers: { authorization: 'Bearer admin', 'content-type': 'text/plain' },
    })
    assert.match(await asText.text(), /"Rows":\[\["9223372036854775807"\]\]/)
    assert.equal((await server.query("DELETE FROM trades WHERE symbol = 'MAX'")).json.RowsAffected, 1)
  })

  test('a call without a content type is read as JSON, and another one is 415', async () => {
    const call = (path: string, body: string, headers: Record<string, string> = {}) =>
      fetch(server.url + path, {
        method: 'POST',
        // A string would be sent as text/plain.
        body: Buffer.from(body),
        headers: { authorization: 'Bearer admin', ...headers },
      })
    const row = '{"id": 77, "symbol": "PLAIN", "price": 1}'
    const inserted = await call('/query/trades/insert', row)
    assert.equal(inserted.status, 200, await inserted.text())
    const criteria = '[{"ColumnName": "id", "Operator": "=", "Value": 77}]'
    const selected = await call('/query/trades/select?column=symbol', criteria)
    assert.match(await selected.text(), /"Rows":\[\{"symbol":"PLAIN"\}\]/)
    assert.equal((await call('/query/trades/delete', criteria)).status, 200)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    assert.equal((await call('/query/trades/insert', row, form)).status, 415)
    assert.equal((await call('/query/trades/insert', 'id,symbol', form)).status, 415)
    assert.equal((await call('/query', 'SELECT 1 AS x')).status, 415)
  })

  test('a value that does not fit is 422 with the column, the value and the reason', async () => {
    const reply = await server.call('/query/trades/insert', { id: 4, symbol: 'X', price: 1.23456 })
    assert.deepEqual([reply.status, reply.json.Code], [422, 'Data.BadValue'])
    assert.match(
      reply.json.detail,
      /1\.23456 of the column price \(Decimal\(18, 4\)\) has more than 4 digits after the point/,
    )
    assert.deepEqual([reply.json.Column, reply.json.Value], ['price', 1.23456])
    assert.equal(reply.json.Hint, 'Correct the value that the message names.')
  })

  test('an unknown table in the path is 404, and unknown columns and operators are 400 that list what is valid', async () => {
    assert.equal((await server.call('/query/nosuch/select', [])).status, 404)
    const column = await server.call('/query/trades/select', [{ ColumnName: 'prize', Operator: '=', Value: 1 }])
    assert.deepEqual(
      [column.status, column.json.Expected, column.json.Hint],
      [400, ['id', 'symbol', 'price', 'qty', 'at'], 'did you mean price?'],
    )
    const operator = await server.call('/query/trades/select', [{ ColumnName: 'price', Operator: '~', Value: 1 }])
    assert.equal(operator.status, 400)
    assert.ok(operator.json.Expected.includes('startswith'))
  })

  test('a duplicate key is 409', async () => {
    const reply = await server.call('/query/trades/insert', [
      { id: 50, symbol: 'NEW' },
      { id: 1, symbol: 'OLD' },
    ])
    assert.deepEqual([reply.status, reply.json.Code], [409, 'Data.UniqueViolation'])
    assert.deepEqual((await server.query('SELECT id FROM trades WHERE id = 50')).json.Rows, [], 'all or nothing')
  })

  test('CatalogueTable defines a table through Insert and drops it through Delete', async () => {
    const definition = {
      name: 'Notes',
      columns: [
        { name: 'id', type: 'Integer', primarykey: true },
        { name: 'body', type: 'Text' },
      ],
      description: 'Notes',
    }
    const refused = await server.call('/query/cataloguetable/insert', definition, { as: 'trader' })
    assert.equal(refused.status, 403)
    assert.equal((await server.call('/query/cataloguetable/insert', definition)).status, 200)
    assert.equal((await server.call('/query/notes/insert', { id: 1, body: 'first' })).json.RowsAffected, 1)
    assert.deepEqual((await server.query('SELECT body FROM notes')).json.Rows, [{ body: 'first' }])
    const dropped = await server.call('/query/cataloguetable/delete', [
      { ColumnName: 'name', Operator: '=', Value: 'Notes' },
    ])
    assert.equal(dropped.json.RowsAffected, 1)
    assert.equal((await server.call('/query/notes/select', [])).status, 404)
  })

  test('names that the engines generate do not collide with those of callers', async () => {
    const statements = [
      'CREATE TABLE made (id Integer PRIMARY KEY, a Integer UNIQUE)',
      'CREATE TABLE made_pkey (id Integer PRIMARY KEY)',
      'CREATE TABLE made_a_key (id Integer PRIMARY KEY)',
      'ALTER TABLE made ADD COLUMN b Integer UNIQUE',
      'ALTER TABLE made RENAME COLUMN b TO c',
      'ALTER TABLE made ADD COLUMN b Integer UNIQUE',
      `CREATE INDEX ${'i'.repeat(52)}1 ON made (a)`,
      `CREATE INDEX ${'i'.repeat(52)}2 ON made (a)`,
    ]
    for (const statement of statements) assert.equal((await server.query(statement)).status, 200, statement)
    const long = await server.query(`CREATE INDEX ${'i'.repeat(54)} ON made (a)`)
    assert.equal(long.json.Code, 'IQL.BadName')
  })

  test('columns may have the names that the engines use for row identifiers', async () => {
    const columns = 'id Integer PRIMARY KEY, rowid Integer, oid Integer, n Integer'
    const statements = [
      `CREATE TABLE odd (${columns})`,
      `CREATE TABLE odder (${columns}, _rowid_ Integer)`,
      `CREATE TABLE odd_hidden (${columns}) ROW FILTER (id < 100)`,
      'CREATE TABLE times (at Integer PRIMARY KEY)',
      ...['odd', 'odder', 'odd_hidden'].map(
        (table) => `INSERT INTO ${table} (id, rowid, oid, n) VALUES (1, 7, 7, 7), (2, 7, 7, 7), (3, 7, 7, 7)`,
      ),
      'INSERT INTO times (at) VALUES (1), (2), (5)',
    ]
    for (const statement of statements) assert.equal((await server.query(statement)).status, 200, statement)
    for (const table of ['odd', 'odder', 'odd_hidden']) {
      const joined = `SELECT t.at, o.id FROM times t ASOF JOIN ${table} o ON t.at >= o.id ORDER BY 1`
      const { json } = await server.query(joined)
      assert.deepEqual(
        json.Rows.map(({ at, id }) => [at, id]),
        [
          [1, 1],
          [2, 2],
          [5, 3],
        ],
        table,
      )
    }
  })

  test('statements that differ in their literals share a plan, and each has its own rows and errors', async () => {
    const before = server.service.planner.size
    for (const [id, symbol] of ['', 'BHP', 'RIO', 'CBA', ''].entries()) {
      const { json } = await server.query(`SELECT symbol FROM trades WHERE id = ${id} AND symbol <> 'it''s ${id}'`)
      assert.deepEqual(json.Rows, symbol === '' ? [] : [{ symbol }], String(id))
    }
    assert.equal(server.service.planner.size, before + 1)
    for (const [since, rows] of [
      ['2026-01-01', 1],
      ['2026-01-03T00:00:00Z', 0],
    ] as const) {
      const { json } = await server.query(`SELECT id FROM trades WHERE price = 45.1 AND at >= '${since}'`)
      assert.equal(json.RowCount, rows, since)
    }
    const wrong = await server.query("SELECT id FROM trades WHERE price = 45.1000000 AND at >= '2026-02-30'")
    assert.deepEqual([wrong.json.Code, wrong.json.Position.Offset], ['IQL.BadLiteral', 57])
    for (const [id, qty] of [
      [101, 5],
      [102, 6],
    ] as const) {
      const inserted = await server.query(`INSERT INTO trades (id, symbol, qty) VALUES (${id}, 'S${id}', ${qty})`)
      assert.equal(inserted.json.RowsAffected, 1, inserted.text)
      const deleted = await server.query(`DELETE FROM trades WHERE id = ${id} RETURNING symbol, qty`)
      assert.deepEqual(deleted.json.Rows, [{ symbol: `S${id}`, qty }])
    }
  })

  test('plans of large calls are not cached', async () => {
    const before = server.service.planner.size
    const value = Array.from({ length: 2000 }, (_item, index) => index)
    const reply = await server.call('/query/cataloguetables/select', [
      { ColumnName: 'name', Operator: 'in', Value: value.map(String) },
    ])
    assert.equal(reply.status, 200)
    assert.equal(server.service.planner.size, before)
  })

  test('of two concurrent changes of one table each is complete, or refused as a conflict', async () => {
    await server.query('CREATE TABLE raced (id Integer PRIMARY KEY)')
    const replies = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => server.query(`ALTER TABLE raced ADD COLUMN ${name} Integer`)),
    )
    for (const { status } of replies) assert.ok(status === 200 || status === 409, String(status))
    const columns = (await server.query('SHOW COLUMNS FROM raced')).json.Rows
    assert.equal(columns.length, 1 + replies.filter(({ status }) => status === 200).length)
    for (const { status, json } of replies) if (status === 409) assert.equal(json.Code, 'Data.Conflict')
  })

  test('an index of a large table is created apart from the event loop', async (t) => {
    if (place().engine !== 'sqlite') return t.skip('PostgreSQL is another process')
    if (process.platform !== 'linux') return t.skip('there is no /proc')
    await server.query('CREATE TABLE large (id Integer PRIMARY KEY, n Integer)')
    await server.service.tables.insert(
      'large',
      ['id', 'n'],
      Array.from({ length: 10_500 }, (_row, n) => [String(n), String(n % 7)]),
    )
    for (const statement of ['CREATE INDEX large_n ON large (n)', 'DROP INDEX large_n', 'DROP TABLE large']) {
      // The process is kept for the next write: when there is none, one that is there afterwards has run this one.
      await endWriters()
      const reply = await server.query(statement)
      assert.equal(reply.status, 200, reply.text)
      assert.equal((await queryProcesses('write')).length, 1, statement)
    }
  })

  test('only the owner can read the database file', async (t) => {
    if (place().engine !== 'sqlite') return t.skip('PostgreSQL keeps its own files')
    for (const name of ['query.db', 'query.db-wal', 'query.db-shm'])
      assert.equal((await stat(join(place().dataFolder, name))).mode & 0o777, 0o600, name)
  })

  test('parameters are accepted in the query string or in a JSON envelope', async () => {
    const response = await fetch(`${server.url}/query?p.low=100&p.1=RIO`, {
      method: 'POST',
      body: 'SELECT symbol FROM trades WHERE price > :low AND symbol = $1',
      headers: { authorization: 'Bearer admin', 'content-type': 'text/plain' },
    })
    assert.match(await response.text(), /"Rows":\[\{"symbol":"RIO"\}\]/)
    const envelope = await server.call('/query', {
      Statement: 'SELECT symbol FROM trades WHERE price = :p',
      Parameters: { p: 45.1 },
    })
    assert.deepEqual(envelope.json.Rows, [{ symbol: 'BHP' }])
  })
})
