/** A large table of the embedded engine is grouped by parts, partly by a second thread: the result is that of one sort. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { toWide } from '../../packages/server/src/query/engines/sqlite/representation.ts'
import { IN_LONG_RUNS, IS_LONG_RUN, openPlace } from '../support/engines.ts'
import { queryProcesses } from './query-processes.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

/** More than are sorted, and more than one thread groups alone. */
const ROWS = 340_000

describe('groups by parts', () => {
  let leave: () => Promise<void>
  let server: QueryServer
  before(async () => {
    const opened = await openPlace('sqlite')
    leave = opened.leave
    server = await startQueryServer(opened.place)
    await run(
      'CREATE TABLE rows (id Integer PRIMARY KEY, k Text, i Integer, d Decimal(12, 4), w Decimal(30, 2), f Double, b Boolean, big Integer NOT NULL) WITH (live = off)',
    )
    await run('CREATE TABLE sparse (id Timestamp PRIMARY KEY, k Text, i Integer) WITH (live = off)')
    await run(
      "CREATE TABLE filtered (id Integer PRIMARY KEY, k Text, i Integer) WITH (live = off) ROW FILTER (k <> 'k7' AND i > 0)",
    )
    await run('CREATE TABLE pairs (id Integer PRIMARY KEY, k Text NOT NULL, i Integer NOT NULL) WITH (live = off)')
    fillTables(join(opened.place.dataFolder, 'query.db'))
  })
  after(async () => {
    await server.stop()
    await leave()
  })

  async function run(statement: string): Promise<readonly Record<string, unknown>[]> {
    const { status, text, json } = await server.query(statement)
    assert.equal(status, 200, `${statement}: ${text}`)
    return json.Rows
  }

  async function answer(statement: string): Promise<unknown> {
    const { json } = await server.query(statement)
    return json.Rows ?? json.Code
  }

  /** A query in WITH is not grouped by parts. */
  const inOneSort = (statement: string): string =>
    statement.replace(/^(.*) FROM (\w+)/, 'WITH source AS (SELECT * FROM $2) $1 FROM source AS $2')

  /** Each a way of its own: of columns, keys that are not numbered, filters, wide sums, many groups, and what is not split. */
  const every = [
    'SELECT k, count(*) AS n, count(i) AS c, sum(i) AS s, avg(i) AS a, min(i) AS l, max(i) AS h FROM rows GROUP BY k',
    'SELECT k, b, sum(w) AS s, max(w) AS h, sum(d * d) AS q, sum(i * i) AS r, sum(d * i + 1) AS t FROM rows WHERE i % 40 = 3 GROUP BY k, b',
    'SELECT k, count(*) AS n, sum(i) AS s FROM sparse GROUP BY k',
    'SELECT k, count(*) AS n, sum(i) AS s FROM filtered GROUP BY k',
    'SELECT k, sum(big) AS s, avg(big) AS a FROM rows GROUP BY k',
    'SELECT k, sum(w * w) AS s FROM rows GROUP BY k',
    'SELECT id * 2 AS g, count(*) AS n FROM rows GROUP BY id * 2 ORDER BY g LIMIT 5 OFFSET 200000',
    'SELECT k, count(DISTINCT i) AS n, median(i) AS m, sum(f) AS s FROM rows WHERE i % 40 = 3 GROUP BY k',
  ]
  const inLongRuns = [
    'SELECT k, sum(d) AS s, avg(d) AS a, min(d) AS l, max(f) AS h, min(k) AS t, bool_and(b) AS x, bool_or(b) AS y FROM rows GROUP BY k',
    'SELECT i % 7 AS g, count(*) AS n, sum(d) FILTER (WHERE b) AS s, count(*) FILTER (WHERE i > 100) AS c FROM rows GROUP BY i % 7',
    'SELECT f, count(*) AS n FROM rows WHERE i > 0 AND f IS NOT NULL GROUP BY f HAVING count(*) > 100 ORDER BY n DESC, f LIMIT 20 OFFSET 3',
    'SELECT DISTINCT count(*) % 3 AS n FROM rows GROUP BY k ORDER BY n',
    'SELECT k, sum(i) + count(*) * 2 AS n FROM rows WHERE i < -10000 GROUP BY k',
    'SELECT i, count(*) AS n, sum(d) AS s FROM rows GROUP BY i ORDER BY sum(d) DESC, i',
    'SELECT k, sum(big * i) AS s FROM rows GROUP BY k',
    'SELECT k, count(*) AS n FROM rows WHERE 1 / (i - 5) > 0 GROUP BY k',
  ]
  for (const statement of IS_LONG_RUN ? [...every, ...inLongRuns] : every)
    test(statement, async () => {
      assert.deepEqual(await answer(statement), await answer(inOneSort(statement)))
    })

  test('parameters and literals have their values in each part', async () => {
    const statement = 'SELECT k, count(*) AS n FROM rows WHERE k > :low AND k < :high OR k = :low GROUP BY k'
    const parameters = { low: 'k2', high: 'k30' }
    const reply = (iql: string) => server.call('/query', { Statement: iql, Parameters: parameters })
    const [parts, whole] = [await reply(statement), await reply(inOneSort(statement))]
    assert.equal(parts.status, 200, parts.text)
    assert.deepEqual(parts.json.Rows, whole.json.Rows)
    assert.ok(parts.json.Rows.length > 5)
  })

  test(
    'it takes less processor time than one sort',
    existsSync('/proc/self/stat') ? IN_LONG_RUNS : { skip: true },
    async () => {
      const statement = 'SELECT k, count(*) AS n, sum(i) AS s, max(f) AS h FROM rows GROUP BY k'
      // The least of several, because other programs can only add to it.
      const used = { parts: Number.POSITIVE_INFINITY, whole: Number.POSITIVE_INFINITY }
      const measure = async (way: keyof typeof used, iql: string): Promise<void> => {
        const start = await readerTicks()
        await run(iql)
        used[way] = Math.min(used[way], (await readerTicks()) - start)
      }
      for (let round = 0; round < 3; round++) {
        await measure('parts', statement)
        await measure('whole', inOneSort(statement))
      }
      assert.ok(used.parts < 0.95 * used.whole, JSON.stringify(used))
    },
  )

  test('both threads see the same rows while others write', async () => {
    const [first, last] = [0, ROWS - 1]
    const total = String((await run('SELECT sum(i) AS s FROM pairs'))[0]?.s)
    let isOver = false
    const writer = (async () => {
      for (let amount = 1; !isOver; amount++) {
        // One row at each end of the table: the two are in parts of different threads.
        const change = `CASE WHEN id = ${first} THEN ${amount} ELSE ${-amount} END`
        const { json } = await server.query(`UPDATE pairs SET i = 1 + ${change} WHERE id = ${first} OR id = ${last}`)
        assert.equal(json.RowsAffected, 2)
      }
    })()
    for (let round = 0; round < 8; round++) {
      const groups = await run('SELECT k, sum(i) AS s, count(*) AS n FROM pairs GROUP BY k')
      const sum = groups.reduce((all, { s }) => all + BigInt(String(s)), 0n)
      assert.equal(String(sum), total)
    }
    isOver = true
    await writer
  })
})

/** The processor time of all readers, in hundredths of a second. */
async function readerTicks(): Promise<number> {
  const ids = await queryProcesses('read')
  const stats = ids.map((id) => readFileSync(`/proc/${id}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [])
  return stats.reduce((sum, fields) => sum + Number(fields[11]) + Number(fields[12]), 0)
}

/** Fills the tables in the file: statements of IQL would take longer than all tests. */
function fillTables(path: string): void {
  const database = new Sqlite(path)
  database.exec('BEGIN; CREATE TEMP TABLE wide (n INTEGER PRIMARY KEY, w BLOB)')
  const insert = database.prepare('INSERT INTO wide VALUES (?, ?)')
  for (let n = 0n; n < 97n; n++) insert.run(n, toWide((n - 40n) * 10n ** 25n + n))
  const some = (every: number, value: string): string => `iif(n % ${every} > 0, ${value}, NULL)`
  const values = [
    'n - 200000',
    some(11, "'k' || (n * 7919 % 90)"),
    some(13, 'n % 977 - 400'),
    some(7, '(n % 8191 - 4000) * 123'),
    '(SELECT w FROM wide WHERE wide.n = numbers.n % 97)',
    some(17, 'n % 1009 / 8.0'),
    some(5, 'n % 3 = 0'),
    '4611686018427387904 + n % 3',
  ]
  database.exec(`
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${ROWS - 1})
    INSERT INTO main.rows SELECT ${values.join(', ')} FROM numbers;
    INSERT INTO sparse SELECT id * 1000003, k, i FROM main.rows WHERE id % 2 = 0;
    INSERT INTO filtered SELECT id, k, i FROM main.rows WHERE id < 0;
    INSERT INTO pairs SELECT id + 200000, 'p' || abs(id % 2), 1 FROM main.rows;
    DELETE FROM main.rows WHERE id BETWEEN -1000 AND 10000 OR id % 101 = 0;
    COMMIT`)
  database.close()
}
