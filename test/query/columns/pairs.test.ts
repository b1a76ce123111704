/**
 * Column segments beside everything else that reads or changes a table: formats, PostgreSQL's protocol, live queries, row filters, changes
 * of definitions, retention. A table with columns answers as the same table without.
 */
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ADMIN, signIn } from '../../support/demo-user.ts'
import { onSqlite } from '../../support/engines.ts'
import { openEvents } from '../../support/event-client.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'
import { until } from '../../support/until.ts'
import { WireSession } from '../../support/wire-session.ts'
import { writeSegments } from './written-segments.ts'

const ROWS = 2400
const SEGMENT_ROWS = 350
const DEFINITION =
  'id Integer PRIMARY KEY, k Text, p Decimal(18, 4), q Integer NOT NULL, x Double, ok Boolean, ts Timestamp NOT NULL, dt Date, owner Text NOT NULL'
const VALUES = `n, CASE WHEN n % 11 > 0 THEN 'k' || CAST(n % 7 AS Text) END, CASE WHEN n % 13 > 0 THEN round(CAST(n * 7 % 1000 AS Decimal(18, 4)) / 8, 4) END,
  n * 31 % 97, CAST(n % 50 AS Double) / 4, n % 3 = 0, TIMESTAMP '2026-01-01' + n * INTERVAL '37 minutes', DATE '2026-01-01' + n % 90,
  CASE WHEN n % 2 = 0 THEN 'alice' ELSE 'admin' END`
/** `t` is the table. The second and the third have so many groups that the executor merges them. */
const STATEMENTS = [
  'SELECT k, count(*) AS n, sum(p) AS s, avg(x) AS a, min(ts) AS f, max(dt) AS l, bool_or(ok) AS b FROM t GROUP BY k',
  'SELECT id, k, count(*) AS n, sum(p) AS s, avg(q) AS a, first(p, ts) AS f, last(k, ts) AS l, max(x) AS m, bool_and(ok) AS b FROM t GROUP BY id, k',
  'SELECT ts, dt, count(p) AS n, min(k) AS k, avg(p) AS a FROM t GROUP BY ts, dt ORDER BY dt DESC, ts',
  'SELECT ok, median(p) AS m, percentile_disc(0.3, x) AS d, count(DISTINCT q) AS c FROM t GROUP BY ok',
  'SELECT a.k, count(*) AS n, sum(a.p - b.p) AS s FROM t AS a ASOF JOIN t AS b ON a.k = b.k AND a.ts > b.ts GROUP BY a.k',
  "SELECT count(*) AS n, sum(q) AS s FROM t WHERE ts > TIMESTAMP '2026-02-01' AND k LIKE 'k%' AND p > 20.5",
] as const
const FORMATS = [
  'application/json',
  'text/csv',
  'application/x-ndjson',
  'application/vnd.apache.arrow.stream',
  'application/vnd.apache.parquet',
]

onSqlite('columns beside', (place) => {
  let server: TestServer
  let admin = ''
  let alice = ''
  before(async () => {
    server = await startTestServer(place(), {
      flags: { '--demo': 'true', '--wire-port': '0', '--wire-writes': 'true' },
    })
    admin = (await signIn(server, ADMIN)).access_token
    alice = (await signIn(server)).access_token
    for (const [name, options] of [
      ['segmented', ' WITH (columns = on)'],
      ['plain', ''],
    ] as const) {
      await must(
        `CREATE TABLE ${name} (${DEFINITION}) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'${options}`,
      )
      await must(`INSERT INTO ${name} SELECT ${VALUES} FROM generate_series(1, ${ROWS}) AS n`)
    }
    write()
  })
  after(() => server.stop())

  const write = (): number => writeSegments(place().dataFolder, SEGMENT_ROWS, 'segmented')
  const ask = (statement: string, token = admin, accept = 'application/json') =>
    fetch(`http://127.0.0.1:${server.port}/query?rows=arrays`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, accept, 'content-type': 'text/plain' },
      body: statement,
    })
  const must = async (statement: string, token = admin): Promise<unknown[][]> => {
    const reply = await ask(statement, token)
    const text = await reply.text()
    assert.equal(reply.status, 200, `${statement}: ${text}`)
    return JSON.parse(text).Rows
  }
  const over = (table: string, statement: string) =>
    statement.replaceAll(/\bt\b/g, table).replaceAll('t_by_', `${table}_by_`)
  const compare = async (about: string, token = admin): Promise<void> => {
    for (const statement of STATEMENTS)
      assert.deepEqual(
        await must(over('segmented', statement), token),
        await must(over('plain', statement), token),
        `${about}: ${statement}`,
      )
  }
  const onBoth = async (statement: string): Promise<void> => {
    for (const table of ['segmented', 'plain']) await must(over(table, statement))
  }
  /** How many segments the first statement reads. */
  const readSegments = async (): Promise<number> => {
    const lines = (await must(`EXPLAIN ${over('segmented', STATEMENTS[0])}`)).flat().join('\n')
    return Number(/columns: (\d+) segments?/.exec(lines)?.[1] ?? Number.NaN)
  }

  test('every format: the same bytes', async () => {
    assert.equal(await readSegments(), 5)
    for (const statement of [STATEMENTS[1], STATEMENTS[3]])
      for (const format of FORMATS) {
        const [one, other] = await Promise.all(
          ['segmented', 'plain'].map(async (table) => {
            const reply = await ask(over(table, statement), admin, format)
            assert.equal(reply.status, 200, format)
            return Buffer.from(await reply.arrayBuffer())
          }),
        )
        assert.ok(one !== undefined && other !== undefined && one.length > 0)
        if (format.endsWith('json')) {
          const read = ({ Rows }: { Rows: unknown }) => Rows
          if (format === 'application/json')
            assert.deepEqual(read(JSON.parse(String(one))), read(JSON.parse(String(other))), statement)
          else assert.equal(String(one), String(other), statement)
        } else assert.ok(one.equals(other), `${format}: ${statement}`)
      }
  })

  test('PostgreSQL’s protocol: texts, binary values, portals and COPY', async () => {
    const session = await WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
    try {
      for (const statement of [STATEMENTS[0], STATEMENTS[2], STATEMENTS[4]])
        for (const read of [
          (text: string) => session.query(text),
          (text: string) => session.run(text, [], { result: 1 }),
          (text: string) => session.run(text, [], { result: 0, maxRows: 7 }),
          (text: string) => session.query(`COPY (${text}) TO STDOUT (FORMAT binary)`),
        ]) {
          const [one, other] = [await read(over('segmented', statement)), await read(over('plain', statement))]
          assert.deepEqual([one.errors, one.rows.length > 0 || one.copied.length > 0], [[], true], statement)
          assert.deepEqual([one.rows, one.tags, one.copied], [other.rows, other.tags, other.copied], statement)
        }
    } finally {
      session.close()
    }
  })

  test('a transaction: its own changes are seen by nobody before its commit, and rolled back with their marks', async () => {
    const session = await WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
    try {
      for (const table of ['segmented', 'plain'])
        for (const statement of [
          'BEGIN',
          `INSERT INTO ${table} (id, k, q, ts, owner) VALUES (-7, 'k1', 96, '2026-01-01', 'x')`,
          'ROLLBACK',
        ])
          assert.deepEqual((await session.query(statement)).errors, [], statement)
      assert.equal(await readSegments(), 5)
      await compare('after ROLLBACK')
      for (const table of ['segmented', 'plain']) {
        const { errors } = await session.query(
          `BEGIN; INSERT INTO ${table} (id, k, q, ts, owner) VALUES (-7, 'k1', 96, '2026-01-01', 'x'); COMMIT`,
        )
        assert.deepEqual(errors, [])
      }
      assert.equal(await readSegments(), 4)
      await compare('after COMMIT')
    } finally {
      session.close()
      write()
    }
  })

  test('a live query over a table with columns follows changes of old rows', async () => {
    const statement = over('segmented', STATEMENTS[0])
    const events = await openEvents(`http://127.0.0.1:${server.port}/query?rows=arrays`, {
      token: admin,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ Statement: statement }),
    })
    try {
      const groups = new Map<string, unknown>()
      const take = async (): Promise<void> => {
        const { data } = await events.next()
        const { Put = [], Delete = [] } = data as { Put?: { Key: unknown; Row: unknown[] }[]; Delete?: unknown[] }
        for (const { Key, Row } of Put) groups.set(JSON.stringify(Key), Row)
        for (const Key of Delete) groups.delete(JSON.stringify(Key))
      }
      await take()
      await onBoth("UPDATE t SET p = 1.25, k = 'k1' WHERE id BETWEEN 100 AND 110")
      await onBoth(
        "INSERT INTO t SELECT -n, 'late', 1, 2, 3e0, true, TIMESTAMP '2026-01-01', NULL, 'x' FROM generate_series(1, 5) AS n",
      )
      const sort = (rows: Iterable<unknown>) => [...rows].map((row) => JSON.stringify(row)).sort()
      const expected = sort(await must(over('plain', STATEMENTS[0])))
      while (JSON.stringify(sort(groups.values())) !== JSON.stringify(expected)) await take()
    } finally {
      events.close()
    }
    await compare('late rows')
    write()
  })

  test('a row filter: everybody sees their own rows, also in results that are kept', async () => {
    await onBoth('ALTER TABLE t SET ROW FILTER (owner = :username)')
    try {
      for (let round = 0; round < 2; round++) for (const token of [admin, alice]) await compare(`round ${round}`, token)
      const counts = await Promise.all(
        [admin, alice].map(async (token) => (await must('SELECT count(*) AS n FROM segmented', token))[0]?.[0]),
      )
      assert.deepEqual(counts, [ROWS / 2, ROWS / 2])
      const [of, explained] = [
        'SELECT count(*) AS n FROM segmented WHERE id > 2300',
        (await must(`EXPLAIN SELECT count(*) AS n FROM segmented WHERE q > 1000`, alice)).flat().join('\n'),
      ]
      assert.equal((await must(of, alice))[0]?.[0], 50)
      // Which segments have no such row would tell about rows of others.
      assert.match(explained, /columns: \d+ segments, \d+ from rows$/m)
    } finally {
      await onBoth('ALTER TABLE t SET ROW FILTER NULL')
    }
    await compare('without the filter')
  })

  test('columns that are added, renamed and dropped, and indexes', async () => {
    for (const change of [
      'ALTER TABLE t ADD COLUMN z Integer DEFAULT 7',
      'ALTER TABLE t RENAME COLUMN z TO y',
      'CREATE INDEX t_by_k ON t (k)',
      'DROP INDEX t_by_k',
      'ALTER TABLE t DROP COLUMN y',
    ]) {
      await onBoth(change)
      await compare(change)
      const column = /COLUMN z |TO y$|INDEX/.test(change) ? (change.includes('COLUMN z Integer') ? 'z' : 'y') : 'q'
      await onBoth(`UPDATE t SET ${column} = 8 WHERE id % 100 = 1`)
      const sums = `SELECT sum(${column}) AS s, count(*) AS n FROM t`
      assert.deepEqual(await must(over('segmented', sums)), await must(over('plain', sums)), change)
      assert.ok(write() > 0)
      assert.deepEqual(await must(over('segmented', sums)), await must(over('plain', sums)), change)
    }
    assert.ok((await readSegments()) >= 4)
  })

  test('a materialized view of a table with columns follows its rows', async () => {
    await must('CREATE INDEX by_owner ON segmented (owner)')
    await must(
      'CREATE MATERIALIZED VIEW sums AS SELECT owner, count(*) AS n, sum(q) AS s FROM segmented GROUP BY owner',
    )
    await must('REFRESH MATERIALIZED VIEW sums')
    const read = async () =>
      (await must('SELECT owner, n, s FROM sums ORDER BY owner')).map((row) => JSON.stringify(row))
    const expected = async () =>
      (await must('SELECT owner, count(*) AS n, sum(q) AS s FROM plain GROUP BY owner ORDER BY owner')).map((row) =>
        JSON.stringify(row),
      )
    await until('the view is filled', 60_000, async () => (await read()).join() === (await expected()).join())
    await onBoth('UPDATE t SET q = q + 1 WHERE id BETWEEN 1100 AND 1300')
    await until('the view follows', 60_000, async () => (await read()).join() === (await expected()).join())
    await must('DROP MATERIALIZED VIEW sums')
    await must('DROP INDEX by_owner')
  })

  test('retention deletes rows of segments', async () => {
    // The first rows are older than the others by years.
    await onBoth("UPDATE t SET ts = TIMESTAMP '2001-01-01' + id * INTERVAL '1 minute' WHERE id <= 1000")
    write()
    await onBoth('CREATE INDEX t_by_ts ON t (ts)')
    await onBoth("ALTER TABLE t SET WITH (retention = '7300 days' ON ts)")
    const run = async (table: string) => {
      const reply = await fetch(`http://127.0.0.1:${server.port}/admin/retention/${table}/run`, {
        method: 'POST',
        headers: { authorization: `Bearer ${admin}` },
      })
      assert.ok(reply.ok, `${reply.status} ${await reply.text()}`)
    }
    await run('segmented')
    await run('plain')
    await until('the old rows are gone', 60_000, async () => {
      const counts = await Promise.all(
        ['segmented', 'plain'].map(
          async (name) => (await must(`SELECT count(*) AS n FROM ${name} WHERE ts < TIMESTAMP '2002-01-01'`))[0]?.[0],
        ),
      )
      return counts.every((count) => count === 0)
    })
    await compare('after retention')
    write()
    await compare('with segments of what is left')
  })

  test('a place for files that cannot be written: rows are read', async () => {
    const folder = join(place().dataFolder, 'columns')
    rmSync(folder, { recursive: true })
    writeFileSync(folder, 'not a folder')
    try {
      await compare('no file can be opened')
      await onBoth('DELETE FROM t WHERE id % 50 = 3')
      await compare('after a change')
    } finally {
      rmSync(folder)
    }
    assert.ok(write() > 0)
    await compare('files can be written again')
    assert.ok((await readSegments()) >= 2)
  })

  test('columns are switched off and on while statements run', async () => {
    let isDone = false
    const reading = (async () => {
      while (!isDone) await compare('amid')
    })()
    for (let round = 0; round < 5; round++) {
      await must('ALTER TABLE segmented SET WITH (columns = off)')
      await must('ALTER TABLE segmented SET WITH (columns = on)')
      write()
    }
    isDone = true
    await reading
  })
})
