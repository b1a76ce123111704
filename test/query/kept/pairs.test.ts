/** Materialized views with what else touches their tables: other programs, column segments, zones that change, a file that is compacted. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { onEveryEngine } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'

const QUERY = `SELECT symbol, time_bucket('1 day', at, 'Europe/Berlin') AS day, count(*) AS n, sum(qty) AS q, min(note) AS note
  FROM trades GROUP BY symbol, day`

onEveryEngine('materialized views and other things', (place, engine) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    const columnar = engine === 'sqlite' ? ' WITH (columns = on)' : ''
    await must(
      `CREATE TABLE trades (id Integer PRIMARY KEY, symbol Text NOT NULL, at Timestamp NOT NULL, qty Integer NOT NULL, note Text)${columnar}`,
      'CREATE INDEX trades_symbol ON trades (symbol, at)',
    )
    const times = (id: number) => new Date(Date.parse('2026-10-24T20:00:00Z') + id * 600_000).toISOString()
    const rows = Array.from(
      { length: 500 },
      (_row, id) => `(${id}, '${'AB'[id % 2]}', '${times(id)}', ${id % 7}, NULL)`,
    )
    await must(`INSERT INTO trades VALUES ${rows.join()}`)
    await must(`CREATE MATERIALIZED VIEW days${columnar} AS ${QUERY}`, 'REFRESH MATERIALIZED VIEW days')
  })
  after(() => server.stop())

  const must = async (...statements: readonly string[]) => {
    let rows: readonly Record<string, unknown>[] = []
    for (const statement of statements) {
      const reply = await server.query(statement)
      assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
      rows = reply.json.Rows
    }
    return rows
  }
  const builds = async () => (await server.service.views.find('days'))?.builds ?? 0
  /** As its query, without a build. */
  const same = async () => {
    const before = await builds()
    await must('REFRESH MATERIALIZED VIEW days')
    assert.deepEqual(await must('SELECT * FROM days ORDER BY 1, 2'), await must(`${QUERY} ORDER BY 1, 2`))
    assert.equal(await builds(), before)
  }
  /** A statement of another program, with PostgreSQL's names of tables. */
  const foreign = async (sql: string) => {
    if (engine === 'sqlite') {
      const database = new Sqlite(join(place().dataFolder, 'query.db'), { timeout: 5000 })
      // The triggers of the change log need no function of the service.
      database.exec(sql.replaceAll('gatehouse_data.', ''))
      database.close()
      return
    }
    const client = new pg.Client(place().databaseUrl)
    await client.connect()
    try {
      await client.query(sql)
    } finally {
      await client.end()
    }
  }

  test('what other programs write is followed, and a TRUNCATE too', async () => {
    await foreign(`UPDATE gatehouse_data.trades SET symbol = 'C', qty = 100 WHERE id IN (1, 2, 300)`)
    await until(
      'the view has noticed',
      5000,
      async () => (await must(`SELECT n FROM days WHERE symbol = 'C'`)).length > 0,
    )
    await same()
    await foreign('DELETE FROM gatehouse_data.trades WHERE id BETWEEN 10 AND 200')
    await same()
    if (engine === 'sqlite') return
    await foreign(
      'CREATE TABLE gatehouse_data.copied AS SELECT * FROM gatehouse_data.trades; TRUNCATE gatehouse_data.trades',
    )
    await until('the view is empty', 5000, async () => (await must('SELECT n FROM days')).length === 0)
    await foreign(
      'INSERT INTO gatehouse_data.trades SELECT * FROM gatehouse_data.copied; DROP TABLE gatehouse_data.copied',
    )
    await same()
  })

  test('rows of the view are written by the keeper alone', async () => {
    if (engine === 'sqlite') return
    await assert.rejects(foreign(`SET ROLE gatehouse_query; DELETE FROM gatehouse_data.days`), /permission denied/)
    await server.stop()
    server = await startQueryServer(place())
    await assert.rejects(foreign(`SET ROLE gatehouse_query; UPDATE gatehouse_data.days SET n = 0`), /permission denied/)
    await same()
  })

  test('a row that another program changed in the view is found and corrected by FULL', async () => {
    await foreign(`UPDATE gatehouse_data.days SET n = 12345 WHERE symbol = 'A'`)
    const before = await must('SELECT * FROM days WHERE n = 12345')
    assert.ok(before.length > 0)
    const reply = await server.query('REFRESH MATERIALIZED VIEW days FULL')
    assert.equal(reply.json.RowsAffected, before.length)
    await same()
  })

  test('a zone whose clocks have changed has all of it evaluated', async () => {
    const before = await builds()
    await server.stop()
    await foreign(`UPDATE gatehouse_data._gh_views SET zones = 'of another release' WHERE key = 'days'`)
    server = await startQueryServer(place())
    await until('it is evaluated', 10_000, async () => (await builds()) === before + 1)
    await same()
  })

  test('a file that was vacuumed, and a log that was cut, lose nothing', async () => {
    await must('REFRESH MATERIALIZED VIEW days')
    await server.stop()
    if (engine === 'sqlite') await foreign('VACUUM')
    server = await startQueryServer(place())
    await must(`UPDATE trades SET qty = 77 WHERE id % 3 = 0`)
    await same()
    // As if there had been more changes than a log has: the position means nothing any more.
    const before = await builds()
    await server.stop()
    await foreign(`UPDATE gatehouse_data._gh_views SET position = '1.zzz' WHERE key = 'days'`)
    server = await startQueryServer(place())
    await must('DELETE FROM trades WHERE id % 5 = 0')
    await until('it is evaluated', 10_000, async () => (await builds()) === before + 1)
    await same()
  })

  test('many groups at once, long rows, and rows that change their key', async () => {
    await must(`INSERT INTO trades SELECT id + 10000, 'M' || CAST(id AS Text), at, qty, repeat('x', 3000) FROM trades`)
    await same()
    await must(`UPDATE trades SET symbol = 'N', id = id + 100000 WHERE id > 10000`)
    await same()
    await must(`DELETE FROM trades WHERE symbol = 'N'`)
    await same()
  })
})
