/** Materialized views: what can be kept, that their rows are those of their query, and what they take and refuse. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../../support/engines.ts'
import { openEvents } from '../../support/event-client.ts'
import { until } from '../../support/until.ts'
import { type QueryServer, type Reply, startQueryServer } from '../query-server.ts'

const TRADES = `id Integer PRIMARY KEY, symbol Text NOT NULL, price Decimal(18, 4) NOT NULL, quantity Integer NOT NULL,
  executed_at Timestamp NOT NULL, venue Text, note Text`
const BARS = `SELECT symbol, time_bucket('1 minute', executed_at) AS bar, first(price, executed_at) AS open, max(price) AS high,
  min(price) AS low, last(price, executed_at) AS close, sum(quantity) AS volume FROM trades WHERE quantity > 0 GROUP BY symbol, bar`
const HOURS = `SELECT symbol, time_bucket('1 hour', bar) AS hour, first(open, bar) AS open, max(high) AS high, min(low) AS low,
  last(close, bar) AS close, sum(volume) AS volume FROM bars GROUP BY symbol, hour`

onEveryEngine('materialized views', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    await run(
      `CREATE TABLE trades (${TRADES})`,
      'CREATE INDEX trades_symbol ON trades (symbol, executed_at)',
      `INSERT INTO trades (id, symbol, price, quantity, executed_at) VALUES
        (1, 'A', 10, 5, '2026-01-05T10:00:10Z'), (2, 'A', 11, 7, '2026-01-05T10:00:50Z'),
        (3, 'B', 20, 1, '2026-01-05T10:00:30Z'), (4, 'A', 12, 2, '2026-01-05T10:01:05Z')`,
    )
  })
  after(() => server.stop())

  const run = async (...statements: readonly string[]): Promise<void> => {
    for (const statement of statements) {
      const reply = await server.query(statement)
      assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    }
  }
  const rows = async (statement: string, as = 'admin'): Promise<readonly Record<string, unknown>[]> => {
    const reply = await server.query(statement, { as })
    assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    return reply.json.Rows
  }
  const refused = async (statement: string, code: string, as = 'admin'): Promise<Reply> => {
    const reply = await server.query(statement, { as })
    assert.equal(reply.json.Code, code, `${statement}: ${reply.text}`)
    return reply
  }
  /** The view has the rows of its query. */
  const same = async (view: string, query: string): Promise<void> => {
    await run(`REFRESH MATERIALIZED VIEW ${view}`)
    assert.deepEqual(await rows(`SELECT * FROM ${view} ORDER BY 1, 2`), await rows(`${query} ORDER BY 1, 2`))
  }
  const wrong = async (view: string): Promise<number> =>
    (await server.query(`REFRESH MATERIALIZED VIEW ${view} FULL`)).json.RowsAffected

  test('the rows are those of the query after every kind of change, over two levels', async () => {
    await run(`CREATE MATERIALIZED VIEW bars AS ${BARS}`, `CREATE MATERIALIZED VIEW hours AS ${HOURS}`)
    await same('bars', BARS)
    for (const change of [
      `INSERT INTO trades (id, symbol, price, quantity, executed_at) VALUES (5, 'A', 9, 4, '2026-01-05T10:00:55Z')`,
      `UPDATE trades SET symbol = 'B' WHERE id = 5`,
      `UPDATE trades SET executed_at = '2026-01-05T11:00:55Z', price = 77 WHERE id = 5`,
      'UPDATE trades SET quantity = 0 WHERE id = 1',
      'DELETE FROM trades WHERE id = 4',
      `UPDATE trades SET id = 50, symbol = 'C' WHERE id = 5`,
      `UPDATE trades SET note = repeat('x', 5000) WHERE id = 2`,
      `UPDATE trades SET symbol = 'D' WHERE id = 2`,
      `INSERT INTO trades (id, symbol, price, quantity, executed_at) VALUES (1, 'Z', 1, 1, '2026-01-05T10:00:00Z')
        ON CONFLICT (id) DO UPDATE SET symbol = 'E', quantity = 3`,
      'DELETE FROM trades ALL',
      `INSERT INTO trades (id, symbol, price, quantity, executed_at) VALUES
        (1, 'A', 10, 5, '2026-01-05T10:00:10Z'), (2, 'A', 11, 7, '2026-01-05T10:00:50Z'), (3, 'B', 20, 1, '2026-01-05T10:00:30Z')`,
    ]) {
      await run(change)
      await same('hours', HOURS)
      await same('bars', BARS)
    }
    assert.equal(await wrong('bars'), 0)
    assert.equal(await wrong('hours'), 0)
  })

  test('LATEST ON, HAVING, months and zones are kept', async () => {
    const queries = {
      latest: 'SELECT symbol, price, executed_at FROM trades LATEST ON executed_at PARTITION BY symbol',
      busy: 'SELECT symbol, count(*) AS n, avg(price) AS mean, median(price) AS middle FROM trades GROUP BY symbol HAVING count(*) > 1',
      months: `SELECT time_bucket('1 month', executed_at) AS month, symbol, sum(quantity) AS q FROM trades GROUP BY month, symbol`,
      days: `SELECT symbol, time_bucket('1 day', executed_at, 'America/New_York') AS day, count(*) AS n FROM trades GROUP BY symbol, day`,
      hourly: `SELECT symbol, time_bucket('1 hour', executed_at, 'America/New_York') AS hour, count(*) AS n FROM trades GROUP BY symbol, hour`,
    }
    for (const [name, query] of Object.entries(queries)) await run(`CREATE MATERIALIZED VIEW ${name} AS ${query}`)
    const check = async (): Promise<void> => {
      for (const [name, query] of Object.entries(queries)) await same(name, query)
    }
    await check()
    // New York sets its clocks back on 2026-11-01 at 06:00Z, and forward on 2026-03-08 at 07:00Z.
    const times = [
      '2026-11-01T04:30:00Z',
      '2026-11-01T05:30:00Z',
      '2026-11-01T06:30:00Z',
      '2026-11-02T04:59:00Z',
      '2026-03-08T06:59:00Z',
    ]
    for (const [index, time] of times.entries()) {
      await run(
        `INSERT INTO trades (id, symbol, price, quantity, executed_at) VALUES (${100 + index}, 'A', ${index + 1}, 1, '${time}')`,
      )
      await check()
    }
    await run('DELETE FROM trades WHERE id >= 100')
    await check()
    for (const name of Object.keys(queries)) await run(`DROP MATERIALIZED VIEW ${name}`)
  })

  test('what cannot be kept is refused with the part and a hint', async () => {
    const hints: Record<string, string> = {
      [BARS.replace('GROUP BY symbol, bar', 'GROUP BY symbol, bar ORDER BY symbol')]: 'order where',
      [`${BARS} LIMIT 5`]: 'limit where',
      'SELECT DISTINCT symbol FROM trades': 'GROUP BY',
      'SELECT count(*) AS n FROM trades': 'group by the columns',
      'SELECT symbol, price FROM trades': 'group by the columns',
      'SELECT count(*) AS n FROM trades GROUP BY symbol': 'add the expression to SELECT',
      'SELECT venue, count(*) AS n FROM trades GROUP BY venue': 'coalesce(venue',
      'SELECT CAST(price AS Double) AS p, count(*) AS n FROM trades GROUP BY p': 'CAST(p AS Decimal',
      'SELECT price, count(*) AS n FROM trades GROUP BY price': 'CREATE INDEX trades_price ON trades (price)',
      'SELECT a.symbol, count(*) AS n FROM trades a JOIN trades b ON a.id = b.id GROUP BY a.symbol': 'join where',
      'SELECT symbol, count(*) AS n FROM trades WHERE executed_at < now() GROUP BY symbol': 'compare with it',
      'SELECT symbol, count(*) AS n FROM trades WHERE price > (SELECT 1) GROUP BY symbol': 'where the view is read',
      'SELECT symbol, count(*) AS n FROM trades WHERE quantity = :q GROUP BY symbol': 'filter where',
      'SELECT symbol, count(*) AS n FROM trades GROUP BY symbol UNION SELECT symbol, 1 FROM trades': 'a view of both',
      'SELECT name, count(*) AS n FROM cataloguetables GROUP BY name': 'a table of your own',
    }
    for (const [query, hint] of Object.entries(hints)) {
      const { json } = await refused(`CREATE MATERIALIZED VIEW no AS ${query}`, 'IQL.BadDefinition')
      assert.ok(json.Hint.includes(hint), `${query}: ${json.Hint}`)
    }
    await refused(`CREATE MATERIALIZED VIEW bars AS ${BARS}`, 'IQL.TableExists')
    await run(`CREATE MATERIALIZED VIEW IF NOT EXISTS bars AS ${BARS}`)
    await refused(`CREATE MATERIALIZED VIEW no AS ${BARS} WITH NO DATA`, 'IQL.Syntax')
    await refused(`CREATE MATERIALIZED VIEW no AS ${BARS}`, 'IQL.Forbidden', 'trader')
    await run(
      'CREATE TABLE silent (id Integer PRIMARY KEY, v Text NOT NULL) WITH (live = off)',
      'CREATE TABLE keyless (id Integer, v Text NOT NULL)',
    )
    const silent = await refused(
      'CREATE MATERIALIZED VIEW no AS SELECT id, count(*) AS n FROM silent GROUP BY id',
      'IQL.BadDefinition',
    )
    assert.match(silent.json.Hint, /SET WITH \(live = on\)/)
    await refused('CREATE MATERIALIZED VIEW no AS SELECT v, count(*) AS n FROM keyless GROUP BY v', 'IQL.BadDefinition')
  })

  test('it is only read, by statements, calls and bulk inserts', async () => {
    await refused(`INSERT INTO bars (symbol) VALUES ('X')`, 'IQL.NotWritable')
    await refused(`UPDATE bars SET open = 1 ALL`, 'IQL.NotWritable')
    await refused('DELETE FROM bars ALL', 'IQL.NotWritable')
    const call = await server.call('/Query/bars/Insert', { symbol: 'X' })
    assert.equal(call.status, 403, call.text)
    for (const statement of [
      'DROP TABLE bars',
      'DROP VIEW bars',
      'ALTER TABLE bars ADD COLUMN x Integer',
      'ALTER VIEW bars SET COMMENT NULL',
    ])
      await refused(statement, 'IQL.BadDefinition')
    assert.deepEqual(await rows(`SELECT name FROM CatalogueTable WHERE name = 'bars'`), [])
    await run('CREATE INDEX bars_volume ON bars (volume)')
    await run('DROP INDEX bars_volume')
  })

  test('what it uses cannot go: Data.InUse with the views', async () => {
    for (const statement of [
      'DROP TABLE trades',
      'ALTER TABLE trades DROP COLUMN quantity',
      'ALTER TABLE trades RENAME COLUMN price TO cost',
      'ALTER TABLE trades SET WITH (live = off)',
      'DROP INDEX trades_symbol',
      `ALTER TABLE trades SET ROW FILTER (venue = 'X')`,
      'DROP MATERIALIZED VIEW bars',
    ]) {
      const { json } = await refused(statement, 'Data.InUse')
      assert.ok(JSON.stringify(json).includes(statement.includes('MATERIALIZED') ? '"hours"' : '"bars"'), statement)
    }
  })

  test('other changes of its table leave it as it is, without a build', async () => {
    await run('REFRESH MATERIALIZED VIEW bars')
    const builds = async (): Promise<number | undefined> => (await server.service.views.find('bars'))?.builds
    const before = await builds()
    await run(
      `INSERT INTO trades (id, symbol, price, quantity, executed_at) VALUES (60, 'Q', 1, 1, '2026-01-05T10:00:00Z')`,
      'ALTER TABLE trades ADD COLUMN extra Integer',
      `INSERT INTO trades (id, symbol, price, quantity, executed_at) VALUES (61, 'Q', 2, 1, '2026-01-05T10:00:01Z')`,
      'ALTER TABLE trades RENAME COLUMN extra TO more',
      `UPDATE trades SET symbol = 'R' WHERE id = 60`,
      'ALTER TABLE trades DROP COLUMN more',
    )
    await same('bars', BARS)
    assert.equal(await builds(), before)
    await run('DELETE FROM trades WHERE id >= 60')
  })

  test('its rights are those of its table and its own; its row filter is that of its table', async () => {
    await run(
      `CREATE TABLE orders (id Integer PRIMARY KEY, desk Text NOT NULL, qty Integer NOT NULL) READ SCOPE 'Platform/Trading'
        ROW FILTER (desk = :sub OR 'operator' IN (:role))`,
      'CREATE INDEX orders_desk ON orders (desk)',
      `INSERT INTO orders VALUES (1, 'trader', 10), (2, 'trader', 5), (3, 'other', 7)`,
      'CREATE MATERIALIZED VIEW by_desk AS SELECT desk AS d, sum(qty) AS total FROM orders GROUP BY d',
      'CREATE MATERIALIZED VIEW by_desk_again AS SELECT d, max(total) AS most FROM by_desk GROUP BY d',
    )
    assert.deepEqual(await rows('SELECT d, total FROM by_desk', 'trader'), [{ d: 'trader', total: '15' }])
    assert.deepEqual(await rows('SELECT d FROM by_desk_again', 'trader'), [{ d: 'trader' }])
    assert.equal((await rows('SELECT d FROM by_desk')).length, 2)
    await refused('SELECT d FROM by_desk', 'IQL.UnknownTable', 'market')
    await refused(
      'CREATE MATERIALIZED VIEW no AS SELECT id, count(*) AS n FROM orders GROUP BY id',
      'IQL.BadDefinition',
    )
    await run(`ALTER MATERIALIZED VIEW by_desk SET READ SCOPE 'Platform/Admin' COMMENT 'Desks'`)
    await refused('SELECT d FROM by_desk', 'IQL.UnknownTable', 'trader')
    await refused('SELECT d FROM by_desk_again', 'IQL.UnknownTable', 'trader')
    await refused('REFRESH MATERIALIZED VIEW by_desk', 'IQL.UnknownTable', 'trader')
    await run('ALTER MATERIALIZED VIEW by_desk SET READ SCOPE NULL')
    await refused('REFRESH MATERIALIZED VIEW by_desk FULL', 'IQL.Forbidden', 'trader')
    assert.equal((await server.query('REFRESH MATERIALIZED VIEW by_desk', { as: 'trader' })).status, 200)
    await run('DROP MATERIALIZED VIEW by_desk_again', 'DROP MATERIALIZED VIEW by_desk')
  })

  test('a query that fails at a new row is Data.ViewFailed until a commit corrects it', async () => {
    const query = 'SELECT symbol, sum(100 / quantity) AS s FROM trades GROUP BY symbol'
    await run(`CREATE MATERIALIZED VIEW parts AS ${query}`, 'REFRESH MATERIALIZED VIEW parts')
    const live = await openEvents(`${server.url}/query`, {
      token: 'admin',
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: 'SELECT * FROM parts',
    })
    await live.next()
    await run(
      `INSERT INTO trades (id, symbol, price, quantity, executed_at) VALUES (70, 'A', 1, 0, '2026-01-05T10:00:00Z')`,
    )
    let reply = await server.query('SELECT * FROM parts')
    await until('the view fails', 2000, async () => {
      reply = await server.query('SELECT * FROM parts')
      return reply.status === 409
    })
    assert.equal(reply.json.Code, 'Data.ViewFailed')
    assert.match(reply.text, /"Cause"/)
    // Live queries end with it.
    assert.match(JSON.stringify(await live.next()), /Data\.ViewFailed/)
    live.close()
    await run('UPDATE trades SET quantity = 4 WHERE id = 70')
    await until('it is mended', 2000, async () => (await server.query('SELECT * FROM parts')).status === 200)
    await same('parts', query)
    await run('DELETE FROM trades WHERE id = 70', 'DROP MATERIALIZED VIEW parts')
    await run(
      `INSERT INTO trades (id, symbol, price, quantity, executed_at) VALUES (70, 'A', 1, 0, '2026-01-05T10:00:00Z')`,
    )
    await refused(`CREATE MATERIALIZED VIEW parts AS ${query}`, 'Data.ViewFailed')
    assert.deepEqual(await rows(`SELECT name FROM cataloguetables WHERE name = 'parts'`), [])
    await run('DELETE FROM trades WHERE id = 70')
  })

  test('a live query on it is kept by keys', async () => {
    const [plan] = await rows(`EXPLAIN LIVE SELECT * FROM bars WHERE symbol = 'A'`)
    assert.equal(plan?.method, 'keys')
    const client = await openEvents(`${server.url}/query`, {
      token: 'admin',
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: `SELECT symbol, volume FROM bars WHERE symbol = 'L'`,
    })
    await client.next()
    await run(
      `INSERT INTO trades (id, symbol, price, quantity, executed_at) VALUES (80, 'L', 1, 6, '2026-01-05T10:00:00Z')`,
    )
    const change = await client.next()
    assert.match(JSON.stringify(change), /"volume":"?6/)
    client.close()
    await run('DELETE FROM trades WHERE id = 80')
  })

  test('the catalogue says how far it is', async () => {
    await run('REFRESH MATERIALIZED VIEW bars')
    const show = async () => {
      const { json } = await server.call('/catalogue/tables/bars', undefined, { method: 'GET' })
      return json as unknown as { ismaterialized: boolean; isview: boolean; kept: Record<string, unknown> }
    }
    const shown = await show()
    assert.equal(shown.ismaterialized, true)
    assert.equal(shown.isview, false)
    assert.equal(shown.kept.state, 'ready')
    assert.equal(shown.kept.rows, (await rows('SELECT * FROM bars')).length)
    // How many there are would tell of rows that a caller does not see.
    await run('ALTER TABLE trades SET ROW FILTER (symbol = :username)')
    assert.equal((await show()).kept.rows, null)
    await run('ALTER TABLE trades SET ROW FILTER NULL')
    const [row] = await rows(`SELECT ismaterialized, isview, view FROM cataloguetables WHERE name = 'bars'`)
    assert.equal(row?.ismaterialized, true)
    assert.match(String(row?.view), /^SELECT symbol/)
  })

  test('a restarted server goes on from the position, without a build', async () => {
    await run('REFRESH MATERIALIZED VIEW hours')
    const before = await server.service.views.list()
    await server.stop()
    server = await startQueryServer(place())
    await run(
      `INSERT INTO trades (id, symbol, price, quantity, executed_at) VALUES (90, 'N', 1, 6, '2026-01-05T10:00:00Z')`,
    )
    await same('hours', HOURS)
    await same('bars', BARS)
    const after = await server.service.views.list()
    assert.deepEqual(
      after.map(({ name, builds }) => [name, builds]),
      before.map(({ name, builds }) => [name, builds]),
    )
  })
})
