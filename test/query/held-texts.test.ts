/** What a statement makes the database hold at once: bounded before it runs, or refused on the first row that is too long for it. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const MIB = 1024 * 1024
const LONG = 'x'.repeat(60_000)
const many = (count: number, make: (index: number) => string, between: string) =>
  Array.from({ length: count }, (_, index) => make(index)).join(between)
const chain = (operand: string) => many(250, () => operand, ' || ')
/** WITH queries of which each uses the text of the one before it twice. */
const doubling = (levels: number, first: string, next: string) =>
  `WITH w0 AS (SELECT ${first} AS t FROM generate_series(1, 3) AS v), ${many(
    levels,
    (level) => `w${level + 1} AS (SELECT ${next} AS t FROM w${level})`,
    ', ',
  )} SELECT max(length(t)) AS n FROM w${levels}`
const rows = (bytes: number) =>
  `SELECT repeat(CAST(v AS Text), 2000) AS t FROM generate_series(1, ${Math.round(bytes / 10_000)}) AS v`

interface Case {
  readonly what: string
  readonly statement: string
  readonly parameters?: Readonly<Record<string, string>>
  /** Absent where the limit is one of PostgreSQL. */
  readonly sqlite?: string | number
  readonly postgres: string | number
}

/** Of the table `many`. */
const COLUMNS = Array.from({ length: 600 }, (_, index) => `c${index}`)

const CASES: readonly Case[] = [
  ...[
    ['a result', `SELECT ${many(1600, (index) => `CAST(:p AS Text) AS c${index}`, ', ')}`],
    ['a row that is inserted', `INSERT INTO many (${COLUMNS.join()}) VALUES (${COLUMNS.map(() => ':p').join()})`],
    ['rows that are updated', `UPDATE many SET ${COLUMNS.map((name) => `${name} = :p`).join()} ALL`],
  ].map(([where, statement = '']) => ({
    what: `one parameter in all columns of ${where}`,
    statement,
    parameters: { p: LONG.repeat(2) },
    sqlite: 'Limit.Value',
    postgres: 'Limit.Value',
  })),
  {
    what: 'texts that are joined one after the other',
    statement: `SELECT id FROM long WHERE id = 9 ORDER BY ${chain(':p')} || t`,
    parameters: { p: LONG },
    sqlite: 200,
    postgres: 200,
  },
  {
    what: 'texts of columns that are joined',
    statement: `SELECT length(${chain('t')}) AS n FROM long WHERE id = 2`,
    sqlite: 200,
    postgres: 200,
  },
  {
    what: 'keys of groups that are joined',
    statement: `SELECT count(*) AS n FROM long WHERE id = 9 GROUP BY ${chain(':p')} || t`,
    parameters: { p: LONG },
    sqlite: 200,
    postgres: 200,
  },
  {
    what: 'a text that doubles in each query in FROM',
    statement: doubling(7, "repeat('x', 100000)", 't || t'),
    sqlite: 'Limit.Value',
    postgres: 'Limit.Value',
  },
  {
    what: 'a text that doubles and is cut again',
    statement: doubling(6, "rpad('x', 200000)", 'left(t || t, 200000)'),
    sqlite: 'Limit.Value',
    postgres: 'Limit.Value',
  },
  {
    what: 'a short text that doubles',
    statement: doubling(6, "'x' || CAST(v AS Text)", 't || t'),
    sqlite: 200,
    postgres: 200,
  },
  {
    what: 'a column of a query in FROM that is many outputs',
    statement: `SELECT ${many(200, (index) => `length(t) AS c${index}, upper(t) AS d${index}`, ', ')} FROM (SELECT rpad('x', 2000000) AS t) AS q`,
    sqlite: 'Limit.Value',
    postgres: 'Limit.Value',
  },
  {
    what: 'copies of a long parameter',
    statement: doubling(8, 'CAST(:p AS Text)', "CASE WHEN reverse(t) > 'a' THEN reverse(t) ELSE lower(t) END"),
    parameters: { p: LONG },
    sqlite: 'Limit.Value',
    postgres: 'Limit.Value',
  },
  {
    what: 'functions around a long column',
    statement: `SELECT length(${'upper('.repeat(60)}t${')'.repeat(60)}) AS n FROM long WHERE id = 1`,
    postgres: 'Limit.Value',
  },
  {
    what: 'a long column in many conditions',
    statement: `SELECT count(*) AS n FROM long WHERE ${many(400, (index) => `t LIKE '%a${index}'`, ' OR ')}`,
    postgres: 'Limit.Value',
  },
  {
    what: 'a long column in many conditions of a join',
    statement: `SELECT count(b.id) AS n FROM long AS a LEFT JOIN long AS b ON a.id = b.id AND (${many(400, (index) => `b.t LIKE '%a${index}'`, ' OR ')})`,
    postgres: 'Limit.Value',
  },
  {
    what: 'a long column in many conditions of an update',
    statement: `UPDATE long SET t = 'y' WHERE ${many(400, (index) => `t LIKE '%a${index}'`, ' OR ')}`,
    postgres: 'Limit.Value',
  },
  {
    what: 'a column of an index in many conditions',
    statement: `SELECT count(*) AS n FROM short WHERE ${many(400, (index) => `t LIKE '%a${index}'`, ' OR ')}`,
    sqlite: 200,
    postgres: 200,
  },
  {
    what: 'the longest texts of many groups',
    statement: `SELECT max(length(m)) AS n FROM (SELECT max(CASE WHEN v <= 2000 THEN 'a' ELSE rpad('x', 400000) END) AS m FROM generate_series(1, 4000) AS v GROUP BY v % 2000) AS q`,
    postgres: 'Limit.Value',
  },
  {
    what: 'rows in the order of one long text',
    statement: `SELECT max(r) AS n FROM (SELECT row_number() OVER (ORDER BY t) AS r FROM (SELECT rpad(CAST(v AS Text), 100000) AS t FROM generate_series(1, 8000) AS v) AS q) AS w`,
    sqlite: 'Limit.Disk',
    postgres: 'Limit.Disk',
  },
  {
    what: 'NOT IN',
    statement: `SELECT count(*) AS n FROM long WHERE t NOT IN (${rows(400 * MIB)})`,
    sqlite: 'Limit.Disk',
    postgres: 'Limit.Memory',
  },
  {
    what: 'EXCEPT',
    statement: `SELECT count(*) AS n FROM (${rows(400 * MIB)} EXCEPT SELECT 'x' AS t) AS q`,
    sqlite: 'Limit.Disk',
    postgres: 'Limit.Disk',
  },
]

onEveryEngineInLongRuns('texts that a statement holds', (place, engine) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place(), { limits: { tempBytes: 100 * MIB } })
    assert.equal((await server.query('CREATE TABLE short (id Integer PRIMARY KEY, t Text UNIQUE)')).status, 200)
    assert.equal((await server.query('CREATE TABLE long (id Integer PRIMARY KEY, t Text)')).status, 200)
    assert.equal(
      (await server.query(`CREATE TABLE many (${COLUMNS.map((name) => `${name} Text`).join()})`)).status,
      200,
    )
    const stored = [
      { id: 1, t: 'x'.repeat(5_000_000) },
      { id: 2, t: LONG },
      { id: 3, t: 'short' },
    ]
    assert.equal((await server.call('/query/long/insert', stored)).status, 200)
  })
  after(() => server.stop())

  for (const { what, statement: Statement, parameters: Parameters = {}, [engine]: expected } of CASES) {
    if (expected === undefined) continue
    test(`${what}: ${expected}`, async () => {
      const most = engine === 'postgres' ? mostMemory(new URL(place().databaseUrl).pathname.slice(1)) : async () => 0
      const reply = await server.call('/query', JSON.stringify({ Statement, Parameters }))
      const memory = await most()
      assert.equal(reply.status === 200 ? 200 : reply.json.Code, expected, reply.text.slice(0, 300))
      assert.ok(memory < 420 * MIB, `${Math.round(memory / MIB)} MiB`)
    })
  }

  test('INTERSECT and EXCEPT count rows, and take NULLs for equal', async () => {
    const side = (values: string) => `(SELECT CAST(a AS Text) AS a FROM (${values}) AS v)`
    const values = (items: readonly string[]) => items.map((item) => `SELECT ${item} AS a`).join(' UNION ALL ')
    const left = side(values(['1', '1', '1', '2', 'CAST(NULL AS Integer)', 'CAST(NULL AS Integer)', '4']))
    const right = side(values(['1', '2', '2', 'CAST(NULL AS Integer)', '3']))
    const found = async (operator: string) => {
      const { json } = await server.query(`SELECT a FROM (${left} ${operator} ${right}) AS q ORDER BY a NULLS FIRST`)
      return json.Rows.map(({ a }) => a)
    }
    assert.deepEqual(await found('INTERSECT'), [null, '1', '2'])
    assert.deepEqual(await found('INTERSECT ALL'), [null, '1', '2'])
    assert.deepEqual(await found('EXCEPT'), ['4'])
    assert.deepEqual(await found('EXCEPT ALL'), [null, '1', '1', '4'])
  })
})

/** Watches the connections to a database. The result is the most memory that they had together, in bytes; 0 if it is unknown. */
function mostMemory(database: string): () => Promise<number> {
  let most = 0
  const look = async (): Promise<void> => {
    let bytes = 0
    for (const entry of await readdir('/proc').catch(() => [])) {
      const command = /^\d+$/.test(entry) ? await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '') : ''
      if (!command.startsWith('postgres:') || !command.includes(` ${database} `)) continue
      const status = await readFile(`/proc/${entry}/status`, 'latin1').catch(() => '')
      bytes += 1024 * Number(/^RssAnon:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0)
    }
    most = Math.max(most, bytes)
  }
  let isWatching = true
  const watching = (async () => {
    while (isWatching) await look()
  })()
  return async () => {
    isWatching = false
    await watching
    return most
  }
}
