/** A table with column segments answers over HTTP as one without: whichever literals its plan was made with, and for every caller. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onSqlite } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'

const TIMING = { tickMs: 50, sweepMs: 60_000, rebuildSeconds: 600, orphanMs: 60_000, segmentRows: 500, smallRows: 500 }
const COLUMNS =
  'id Integer PRIMARY KEY, k Text, p Decimal(18, 4), q Integer NOT NULL, x Double, ok Boolean, ts Timestamp, dt Date'
const VALUES = `n, CASE WHEN n % 11 > 0 THEN 'k' || CAST(n % 7 AS Text) END, CASE WHEN n % 13 > 0 THEN round(CAST(n * 7 % 1000 AS Decimal(18, 4)) / 8, 4) END,
  n * 31 % 97, CAST(n % 50 AS Double) / 4, n % 3 = 0, TIMESTAMP '2026-01-01' + n * INTERVAL '37 minutes', DATE '2026-01-01' + n % 90`

/** `t` is the table. */
const STATEMENTS: readonly string[] = [
  'SELECT count(*) AS n, sum(p) AS s, avg(x) AS a, min(ts) AS f, max(dt) AS l FROM t',
  'SELECT k, count(*) AS n, sum(p * q) AS s, vwap(p, q) AS v, stddev(p) AS d FROM t GROUP BY k',
  'SELECT k, median(p) AS m, count(DISTINCT q) AS c, percentile_cont(0.9, x) AS r FROM t WHERE ok GROUP BY k',
  "SELECT k, time_bucket(INTERVAL '1 day', ts) AS b, first(p, ts) AS o, last(p, ts) AS c FROM t GROUP BY k, time_bucket(INTERVAL '1 day', ts)",
  "SELECT k, time_bucket(INTERVAL '2 days', ts) AS b, first(p, ts) AS o, last(p, ts) AS c FROM t GROUP BY k, time_bucket(INTERVAL '2 days', ts)",
  "SELECT date_trunc('month', ts) AS b, sum(x) AS s FROM t GROUP BY date_trunc('month', ts)",
  "SELECT date_trunc('day', ts) AS b, sum(x) AS s FROM t GROUP BY date_trunc('day', ts)",
  'SELECT k, count(*) AS n FROM t WHERE p > 40 AND q < 60 GROUP BY k',
  'SELECT k, count(*) AS n FROM t WHERE p > 99.5 AND q < 7 GROUP BY k',
  "SELECT k, count(*) AS n FROM t WHERE k = 'k1' AND x >= 2.5 GROUP BY k",
  "SELECT k, count(*) AS n FROM t WHERE k = 'k3' AND x >= 3 GROUP BY k",
  "SELECT ok, count(*) AS n FROM t WHERE dt BETWEEN '2026-01-10' AND '2026-02-03' AND q IN (1, 2, 3, 50) GROUP BY ok HAVING count(*) > 2 ORDER BY n DESC LIMIT 5",
  'SELECT a.k, count(*) AS n, sum(a.p - b.p) AS s FROM t AS a ASOF JOIN t AS b ON a.k = b.k AND a.ts > b.ts WHERE a.q > 20 GROUP BY a.k',
  'SELECT a.k, count(*) AS n, sum(a.p - b.p) AS s FROM t AS a ASOF JOIN t AS b ON a.k = b.k AND a.ts > b.ts WHERE a.q > 30 GROUP BY a.k',
  "SELECT date_trunc('day', a.ts, 'Europe/Berlin') AS d, max(b.k) AS k FROM t AS a ASOF LEFT JOIN t AS b ON a.ok = b.ok AND a.dt <= b.dt GROUP BY date_trunc('day', a.ts, 'Europe/Berlin')",
  'SELECT k, 1 / (count(*) - count(*)) AS e FROM t GROUP BY k',
]

onSqlite('answers from column segments', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place(), { columnTiming: TIMING })
    for (const [name, options] of [
      ['segmented', 'WITH (columns = on)'],
      ['plain', ''],
    ]) {
      await must(`CREATE TABLE ${name} (${COLUMNS}) ${options}`)
      await must(`INSERT INTO ${name} SELECT ${VALUES} FROM generate_series(1, 3000) AS n`)
    }
    await until('history is in segments', 5000, async () => {
      const status = (await server.service.columns?.status())?.find(({ table }) => table === 'segmented')
      return status?.ready === 5
    })
  })
  after(() => server.stop())

  const must = async (statement: string): Promise<void> => {
    const { status, text } = await server.query(statement)
    assert.equal(status, 200, `${statement}: ${text}`)
  }
  const answer = async (statement: string, table: string): Promise<unknown> => {
    const { status, json } = await server.query(statement.replaceAll(/\bt\b/g, table))
    return status === 200 ? json.Rows : [status, json.Code, json.detail]
  }
  const compare = async (): Promise<void> => {
    for (const statement of STATEMENTS)
      assert.deepEqual(await answer(statement, 'segmented'), await answer(statement, 'plain'), statement)
  }

  test('from history and the rows after it', compare)

  test('EXPLAIN says for each whether it is', async () => {
    for (const statement of STATEMENTS) {
      const { json } = await server.query(`EXPLAIN ${statement.replaceAll(/\bt\b/g, 'segmented')}`)
      assert.match(JSON.stringify(json.Rows), /columns: 5 segments, 0 from rows, 0 skipped/, statement)
    }
  })

  test('from history of which some has changed', async () => {
    for (const table of ['segmented', 'plain']) {
      await must(`UPDATE ${table} SET k = 'new', p = p + 1 WHERE id BETWEEN 700 AND 710`)
      await must(`DELETE FROM ${table} WHERE id = 1999`)
      await must(`INSERT INTO ${table} (id, k, p, q) VALUES (-5, 'k1', 1, 1), (5000, 'k2', 2, 2)`)
    }
    await compare()
  })
})
