/** Column segments are written, kept exact, and written again. */
import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { onSqlite, type TestPlace } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { queryProcesses } from '../query-processes.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'

/** Segments are written with the lowest priority: other tests come first. */
const BUILT_MS = 20_000
const TIMING = { tickMs: 50, sweepMs: 50, rebuildSeconds: 0, orphanMs: 500, segmentRows: 500, smallRows: 500 }

onSqlite('compaction', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place(), { columnTiming: TIMING })
    await must(
      'CREATE TABLE trades (id Integer PRIMARY KEY, symbol Text, price Decimal(18,4), note Text) WITH (columns = on)',
    )
    await must(
      "INSERT INTO trades SELECT n, 'S' || CAST(n % 7 AS Text), CAST(n AS Decimal(18,4)), NULL FROM generate_series(1, 3000) AS n",
    )
  })
  after(() => server.stop())

  const must = async (statement: string) => {
    const reply = await server.query(statement)
    assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    return reply.json
  }
  const files = () => readdirSync(join(place().dataFolder, 'columns')).filter((name) => name.endsWith('.seg'))
  const status = async () => (await server.service.columns?.status())?.find(({ table }) => table === 'trades')
  const ready = (count: number) =>
    until(`${count} segments are ready`, BUILT_MS, async () => {
      const now = await status()
      return now?.ready === count && now.marked + now.missing === 0
    })
  const verified = async () => {
    const { equal, different } = (await server.service.columns?.verify('trades', new AbortController().signal)) ?? {}
    assert.equal(different, 0)
    return equal
  }

  test('history is in segments; the last rows are not', async () => {
    await ready(5)
    assert.equal(files().length, 5)
    assert.deepEqual(await status(), {
      table: 'trades',
      ready: 5,
      marked: 0,
      missing: 0,
      rows: 2500,
      bytes: bytesOf(place()),
    })
    assert.equal(await verified(), 5)
  })

  test('EXPLAIN says how many segments are read, or why none is', async () => {
    const last = async (statement: string) => {
      const { Rows } = await must(`EXPLAIN ${statement}`)
      return Object.values(Rows.at(-1) ?? {})[0]
    }
    assert.equal(
      await last('SELECT symbol, sum(price) AS s FROM trades GROUP BY symbol'),
      'columns: 5 segments, 0 from rows, 0 skipped',
    )
    assert.match(String(await last('SELECT id FROM trades')), /^columns: not read \(only a grouping of one table/)
    assert.match(
      String(await last('SELECT count(*) AS n FROM trades WHERE id % 2 = 1')),
      /^columns: not read \(a condition neither compares a column/,
    )
    for (const [statement, reason] of [
      ['SELECT id % 7 AS k, count(*) AS n FROM trades GROUP BY id % 7', /key 1 of GROUP BY/],
      ["SELECT string_agg(symbol, ',') AS t FROM trades", /string_agg can only be computed from rows/],
      ['SELECT count(*) AS n FROM trades WHERE id IN (SELECT 5)', /it has a sub-query/],
      ['SELECT count(*) AS n FROM trades WHERE id = 5', /an index leaves few rows/],
    ] as const)
      assert.match(String(await last(statement)), reason, statement)
    // Headers say that no row of a segment fits.
    assert.equal(
      await last('SELECT count(*) AS n FROM trades WHERE price > 2000'),
      'columns: 1 segment, 0 from rows, 4 skipped',
    )
    const Statement = 'EXPLAIN SELECT count(*) AS n FROM trades WHERE price > :least'
    const { text } = await server.call('/query', JSON.stringify({ Statement, Parameters: { least: 1000 } }))
    assert.match(text, /columns: 3 segments, 0 from rows, 2 skipped/)
    await must('CREATE TABLE plain (id Integer)')
    assert.doesNotMatch(String(await last('SELECT count(*) AS n FROM plain')), /columns/)
    assert.match(server.metrics.render(), /gatehouse_query_column_segments\{state="ready"\} 5/)
  })

  test('a changed segment is written again, and its former file is removed', async () => {
    const before = new Set(files())
    await must("UPDATE trades SET symbol = 'X' WHERE id = 700")
    await must('DELETE FROM trades WHERE id = 10')
    await until('two other files', BUILT_MS, () => files().filter((name) => !before.has(name)).length === 2)
    await ready(5)
    assert.equal(await verified(), 5)
    await until('the former files are gone', BUILT_MS, () => files().length === 5)
  })

  test('a file that was deleted or cut is written again', async () => {
    const [one = '', other = ''] = files()
    const folder = join(place().dataFolder, 'columns')
    unlinkSync(join(folder, one))
    truncateSync(join(folder, other), 100)
    await until('others are there', BUILT_MS, () => files().length >= 5 && !files().includes(one))
    await ready(5)
    assert.equal(await verified(), 5)
  })

  test('a segment that has grown to more than twice its rows is split', async () => {
    await must('CREATE TABLE sparse (id Integer PRIMARY KEY) WITH (columns = on)')
    await must('INSERT INTO sparse SELECT n * 10 FROM generate_series(1, 1200) AS n')
    const segments = async () => (await server.service.columns?.status())?.find(({ table }) => table === 'sparse')
    await until('one segment', BUILT_MS, async () => (await segments())?.ready === 1)
    await must('INSERT INTO sparse SELECT n * 10 + 1 + k FROM generate_series(1, 400) AS n, generate_series(0, 3) AS k')
    await until('it is split', BUILT_MS, async () => {
      const now = await segments()
      return now !== undefined && now.ready >= 3 && now.marked + now.missing === 0
    })
    const checked = await server.service.columns?.verify('sparse', new AbortController().signal)
    assert.equal(checked?.different, 0)
    await must('DROP TABLE sparse')
  })

  test('rows that are deleted leave no trace in files', async () => {
    const person = 'a person who asks to be forgotten'
    await must('CREATE TABLE people (id Integer PRIMARY KEY, name Text) WITH (columns = on)')
    await must(`INSERT INTO people SELECT n, CASE WHEN n < 9 THEN '${person}' ELSE 'somebody' END
      FROM generate_series(1, 1200) AS n`)
    const segments = async () => (await server.service.columns?.status())?.find(({ table }) => table === 'people')
    await until('there is a segment', BUILT_MS, async () => (await segments())?.ready === 1)
    const { Rows } = await must('SELECT name, count(*) AS n FROM people GROUP BY name')
    assert.equal(Rows[0]?.n, 8)
    const folder = join(place().dataFolder, 'columns')
    const traces = () =>
      readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => {
        if (!file.isFile()) return false
        const path = join(file.parentPath, file.name)
        return existsSync(path) && readFileSync(path).includes(person)
      })
    // Of the segment, and of what the statement computed from it.
    assert.equal(traces().length, 2)
    await must(`DELETE FROM people WHERE name = '${person}'`)
    await until('no file has a trace', BUILT_MS, () => traces().length === 0)
    await must('DROP TABLE people')
  })

  test('small segments follow, and become one with others', async () => {
    await server.stop()
    server = await startQueryServer(place(), { columnTiming: { ...TIMING, smallRows: 62 } })
    await ready(12)
    // Of 2999 rows; 66 have no segment.
    assert.equal((await status())?.rows, 2499 + 7 * 62)
    await must('INSERT INTO trades SELECT n, NULL, NULL, NULL FROM generate_series(3001, 3062) AS n')
    await ready(6)
    assert.equal((await status())?.rows, 2499 + 8 * 62)
    assert.equal(await verified(), 6)
    await until('only their file is left', BUILT_MS, () => files().length === 6)
    await must('DELETE FROM trades WHERE id > 3000')
    await server.stop()
    server = await startQueryServer(place(), { columnTiming: TIMING })
    assert.equal(await server.service.columns?.rebuild('trades'), true)
    await ready(4)
  })

  test('ALTER TABLE of columns begins anew; columns = off removes all files', async () => {
    await must('ALTER TABLE trades DROP COLUMN note')
    // There is one row less than at the beginning.
    await ready(4)
    assert.equal(await verified(), 4)
    await must('ALTER TABLE trades SET WITH (columns = off)')
    await until('no file is left', BUILT_MS, () => files().length === 0)
    assert.equal(await status(), undefined)
  })
})

function bytesOf({ dataFolder }: TestPlace): number {
  const folder = join(dataFolder, 'columns')
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}

onSqlite('marks', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place(), {
      columnTiming: { ...TIMING, rebuildSeconds: 1000, segmentRows: 100, smallRows: 100 },
    })
    for (const [table, key] of [
      ['keyed', 'Integer'],
      ['named', 'Text'],
    ]) {
      const columns = `id ${key} PRIMARY KEY, v Integer, u Integer UNIQUE`
      assert.equal((await server.query(`CREATE TABLE ${table} (${columns}) WITH (columns = on)`)).status, 200)
      const insert = `INSERT INTO ${table} SELECT CAST(n AS ${key}), n, n FROM generate_series(1, 800) AS n`
      assert.equal((await server.query(insert)).status, 200)
    }
    await until('all is ready', BUILT_MS, async () => {
      const all = (await server.service.columns?.status()) ?? []
      return all.length === 2 && all.every(({ ready }) => ready === 7)
    })
  })
  after(() => server.stop())

  /** The ranges that a change marks. */
  const marksAfter = async (table: string, change: () => unknown) => {
    const database = new Sqlite(join(place().dataFolder, 'query.db'))
    const marked = () =>
      database
        .prepare(
          'SELECT last FROM _gh_column_segments JOIN _gh_column_marks USING (segment) WHERE name = ? ORDER BY first',
        )
        .pluck()
        .all(table)
    try {
      assert.deepEqual(marked(), [])
      await change()
      return marked()
    } finally {
      // As if they had been written again.
      database.exec('DELETE FROM _gh_column_marks')
      database.close()
    }
  }
  const statement = (text: string) => async () => {
    const reply = await server.query(text)
    assert.equal(reply.status, 200, `${text}: ${reply.text}`)
  }
  const program = (text: string) => () => {
    const database = new Sqlite(join(place().dataFolder, 'query.db'))
    try {
      database.exec(text)
    } finally {
      database.close()
    }
  }
  const ALL = [100, 200, 300, 400, 500, 600, 700]

  for (const [name, table, change, expected] of [
    ['a row at the end', 'keyed', statement('INSERT INTO keyed VALUES (900, 1, 900)'), []],
    ['an update at the end', 'keyed', statement('UPDATE keyed SET v = 2 WHERE id = 900'), []],
    ['an update', 'keyed', statement('UPDATE keyed SET v = 2 WHERE id IN (100, 101)'), [100, 200]],
    ['a deletion', 'keyed', statement('DELETE FROM keyed WHERE id = 650'), [700]],
    ['a row in between', 'keyed', statement('INSERT INTO keyed VALUES (650, 1, 650)'), [700]],
    ['a row before the first', 'keyed', statement('INSERT INTO keyed VALUES (-5, 1, -5)'), [100]],
    ['another key', 'keyed', statement('UPDATE keyed SET id = 1000 WHERE id = 150'), [200]],
    ['another key, back', 'keyed', statement('UPDATE keyed SET id = 150 WHERE id = 1000'), [200]],
    [
      'an upsert',
      'keyed',
      statement('INSERT INTO keyed VALUES (250, 0, 250) ON CONFLICT (id) DO UPDATE SET v = 9'),
      [300],
    ],
    ['REPLACE of another program', 'keyed', program('INSERT OR REPLACE INTO keyed VALUES (350, 5, 350)'), [400]],
    ['REPLACE of another row', 'keyed', program('INSERT OR REPLACE INTO keyed VALUES (2000, 5, 450)'), [500]],
    ['UPDATE OR REPLACE', 'keyed', program('UPDATE OR REPLACE keyed SET u = 550 WHERE id = 900'), [600]],
    ['INSERT OR FAIL', 'keyed', program('INSERT OR FAIL INTO keyed VALUES (-6, 1, -6), (-7, 1, -7)'), [100]],
    ['REPLACE by a text', 'named', program("INSERT OR REPLACE INTO named VALUES ('120', 5, 5000)"), [200]],
    ['another text', 'named', statement("UPDATE named SET id = 'x' WHERE id = '220'"), [300]],
    ['all rows', 'named', statement('DELETE FROM named ALL'), ALL],
  ] as const)
    test(`${name} of ${table}`, async () => assert.deepEqual(await marksAfter(table, change), expected))

  test('a bulk insert that replaces rows', async () => {
    const insert = async () => {
      const headers = { 'content-type': 'text/csv' }
      const reply = await server.call('/query/keyed/insert?duplicates=replace', 'id,v,u\n50,1,50\n5000,1,5000\n', {
        headers,
      })
      assert.equal(reply.status, 200, reply.text)
    }
    assert.deepEqual(await marksAfter('keyed', insert), [100])
  })
})

onSqlite('a table with few rows', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place(), { columnTiming: { tickMs: 20, sweepMs: 0, orphanMs: 0 } })
  })
  after(() => server.stop())

  test('no process looks for segments that it cannot have', async () => {
    const create = 'CREATE TABLE few (id Integer PRIMARY KEY) WITH (columns = on)'
    for (const statement of [create, 'INSERT INTO few (id) VALUES (1), (2), (3)'])
      assert.equal((await server.query(statement)).status, 200, statement)
    const folder = join(place().dataFolder, 'columns')
    mkdirSync(folder, { recursive: true })
    // Each look begins with the files: when it has removed the second one, it has seen the table.
    for (const name of ['one.seg', 'other.seg']) {
      writeFileSync(join(folder, name), '')
      await until('the file is removed', BUILT_MS, () => !existsSync(join(folder, name)))
    }
    assert.deepEqual(await queryProcesses('background-read'), [])
    assert.deepEqual(await queryProcesses('read'), [])
  })
})
