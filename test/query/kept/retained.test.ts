/** Retention and materialized views: the bars stay when the rows go, and a view can have a retention of its own. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'

const DAY = 86_400_000

onEveryEngine('retention of tables with materialized views', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
  })
  after(() => server.stop())

  const ago = (days: number) => new Date(Date.now() - days * DAY).toISOString()
  const must = async (...statements: readonly string[]) => {
    let reply = await server.query(statements[0] ?? '')
    for (const [index, statement] of statements.entries()) {
      if (index > 0) reply = await server.query(statement)
      assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    }
    return reply.json
  }
  const rows = async (statement: string) => (await must(statement)).Rows
  const round = async (table: string) => (await server.service.retention()).run(table, AbortSignal.timeout(60_000))
  const wrong = async (view: string) => (await must(`REFRESH MATERIALIZED VIEW ${view} FULL`)).RowsAffected
  const create = (table: string) =>
    must(
      `CREATE TABLE ${table} (id Integer PRIMARY KEY, symbol Text NOT NULL, at Timestamp NOT NULL, qty Integer NOT NULL)`,
      `CREATE INDEX ${table}_symbol ON ${table} (symbol, at)`,
      `CREATE INDEX ${table}_at ON ${table} (at)`,
    )
  /** Rows 1, 2, … of so many days ago, each with a quantity that is its number. */
  const fill = (table: string, days: readonly number[]) =>
    must(
      `INSERT INTO ${table} VALUES ${days.map((day, index) => `(${index + 1}, 'A', '${ago(day)}', ${index + 1})`).join(', ')}`,
    )

  test('views with a bucket of the time keep their rows, through every level; others lose them', async () => {
    await create('trades')
    await fill('trades', [45, 40, 30.5, 20, 1])
    const hours = `SELECT symbol, time_bucket('1 hour', at) AS hour, sum(qty) AS q, count(*) AS n FROM trades GROUP BY symbol, hour`
    await must(
      `CREATE MATERIALIZED VIEW hours AS ${hours}`,
      `CREATE MATERIALIZED VIEW days AS SELECT symbol, time_bucket('1 day', hour, 'America/New_York') AS day, sum(q) AS q FROM hours GROUP BY symbol, day`,
      'CREATE MATERIALIZED VIEW newest AS SELECT symbol, min(at) AS first_at, count(*) AS n FROM trades GROUP BY symbol',
      'REFRESH MATERIALIZED VIEW days',
      'REFRESH MATERIALIZED VIEW newest',
    )
    const [plan] = await rows(`EXPLAIN ALTER TABLE trades SET WITH (retention = '30 days' ON at)`)
    assert.deepEqual([plan?.rows, plan?.stay, plan?.go], [3, ['hours'], ['newest']])
    const before = [await rows('SELECT * FROM hours ORDER BY hour'), await rows('SELECT * FROM days ORDER BY day')]
    await must(`ALTER TABLE trades SET WITH (retention = '30 days' ON at)`)
    const ran = await round('trades')
    assert.equal((await rows('SELECT id FROM trades')).length, 2)
    // The cut is the start of the hour that holds the horizon.
    assert.match(ran?.Cut ?? '', /:00:00Z$/)
    await must('REFRESH MATERIALIZED VIEW days', 'REFRESH MATERIALIZED VIEW newest')
    assert.deepEqual(before, [
      await rows('SELECT * FROM hours ORDER BY hour'),
      await rows('SELECT * FROM days ORDER BY day'),
    ])
    assert.deepEqual(await rows('SELECT n FROM newest'), [{ n: 2 }])
    assert.deepEqual([await wrong('hours'), await wrong('days'), await wrong('newest')], [0, 0, 0])
    // What is open goes on.
    await must(
      'UPDATE trades SET qty = 100 WHERE id = 4',
      'DELETE FROM trades WHERE id = 5',
      'REFRESH MATERIALIZED VIEW days',
    )
    assert.deepEqual(
      (await rows('SELECT q FROM hours ORDER BY hour')).map(({ q }) => String(q)),
      ['1', '2', '3', '100'],
    )
    assert.equal((await must('ALTER TABLE trades ADD COLUMN note Text')).RowsAffected, 0)
    await must('REFRESH MATERIALIZED VIEW hours')
    assert.equal((await rows('SELECT * FROM hours')).length, 4)
    assert.equal((await server.service.views.find('hours'))?.rows, 4)
    // A file makes another view of it only once it is dropped.
    for (const materialized of [true, undefined] as const)
      await assert.rejects(
        server.service.tables.changeViews(
          [
            {
              name: 'hours',
              description: '',
              readScope: null,
              columns: [],
              query: `${hours.replace('sum', 'max')}`,
              materialized,
            },
          ],
          ['days'],
        ),
        /they would be lost/,
      )
    assert.equal((await must('DROP MATERIALIZED VIEW days')).RowsAffected, 0)
    assert.equal((await must('DROP MATERIALIZED VIEW hours')).RowsAffected, 3)
  })

  test('a view that fails holds the cut back: no row goes that it has not seen', async () => {
    await create('orders')
    await must(
      `CREATE MATERIALIZED VIEW parts AS SELECT symbol, time_bucket('1 hour', at) AS hour, sum(100 / qty) AS s FROM orders GROUP BY symbol, hour`,
      `INSERT INTO orders VALUES (1, 'A', '${ago(40)}', 5), (2, 'A', '${ago(1)}', 0)`,
    )
    await until('the view fails', 20_000, async () => (await server.service.views.find('parts'))?.state === 'failed')
    await must(`ALTER TABLE orders SET WITH (retention = '30 days' ON at)`)
    const rounds = round('orders')
    await until('rows are closed', 20_000, async () => {
      return (await server.query(`DELETE FROM orders WHERE id = 1`)).json.Code === 'Data.TooOld'
    })
    assert.deepEqual((await rows('SELECT id FROM orders ORDER BY id')).length, 2)
    await must('UPDATE orders SET qty = 4 WHERE id = 2')
    await rounds
    assert.equal((await rows('SELECT id FROM orders')).length, 1)
    await must('REFRESH MATERIALIZED VIEW parts')
    assert.equal((await rows('SELECT * FROM parts')).length, 2)
    assert.equal(await wrong('parts'), 0)
  })

  test('a view has a retention of its own: older groups are not evaluated, whatever its table does', async () => {
    await create('ticks')
    await fill('ticks', [45, 40, 20, 1])
    await must(
      `CREATE MATERIALIZED VIEW bars WITH (retention = '30 days' ON bar) AS
       SELECT symbol, time_bucket('1 minute', at) AS bar, sum(qty) AS q FROM ticks GROUP BY symbol, bar`,
      'REFRESH MATERIALIZED VIEW bars',
    )
    await round('bars')
    assert.equal((await rows('SELECT * FROM bars')).length, 2)
    await must('UPDATE ticks SET qty = 50 WHERE id IN (1, 3)', 'REFRESH MATERIALIZED VIEW bars')
    assert.deepEqual(
      (await rows('SELECT q FROM bars ORDER BY bar')).map(({ q }) => String(q)),
      ['50', '4'],
    )
    assert.equal(await wrong('bars'), 0)
    const status = await (await server.service.retention()).find('bars')
    assert.deepEqual([status?.time, status?.on], ['30 days', 'bar'])
    // Without it the groups are those of the table again.
    await must('ALTER MATERIALIZED VIEW bars SET WITH (retention = NULL)')
    await until('all are there', 20_000, async () => (await rows('SELECT * FROM bars')).length === 4)
    for (const [statement, code] of [
      [`ALTER MATERIALIZED VIEW bars SET WITH (hold = on)`, 'IQL.Syntax'],
      [`ALTER MATERIALIZED VIEW bars SET WITH (retention = '1 day' ON q)`, 'IQL.BadDefinition'],
    ] as const)
      assert.equal((await server.query(statement)).json.Code, code, statement)
  })

  test('a file that ends the retention of a view has its groups evaluated again', async () => {
    await create('prices')
    await fill('prices', [45, 25, 1])
    const query = `SELECT symbol, time_bucket('1 minute', at) AS bar, sum(qty) AS q FROM prices GROUP BY symbol, bar`
    const declare = (time?: string) =>
      server.service.tables.changeViews(
        [
          {
            ...{ name: 'minutes', description: '', readScope: null, columns: [], query, materialized: true },
            ...(time !== undefined && { retention: { time, on: 'bar' } }),
          },
        ],
        [],
      )
    const count = async () => (await rows('SELECT * FROM minutes')).length
    await declare('20 days')
    await must('REFRESH MATERIALIZED VIEW minutes')
    await round('minutes')
    assert.equal(await count(), 1)
    await declare()
    await until('all are there', 20_000, async () => (await count()) === 3)
  })
})
