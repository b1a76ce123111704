/** Hostile values of parameters: never a 500, and the same status and code on both engines. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { IN_LONG_RUNS, openPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const STATEMENTS = [
  'SELECT id FROM h ORDER BY id LIMIT :p',
  'SELECT id FROM h ORDER BY id OFFSET :p',
  'SELECT id FROM h ORDER BY id LIMIT 2 OFFSET :p',
  'SELECT id FROM (SELECT id FROM h ORDER BY id LIMIT :p) AS x',
  'SELECT id FROM h WHERE t LIKE :p ORDER BY id',
  'SELECT id FROM h WHERE t NOT ILIKE :p ORDER BY id',
  "SELECT id FROM h WHERE t LIKE 'a%' ESCAPE :p ORDER BY id",
  'SELECT id FROM h WHERE id = :p',
  'SELECT id FROM h WHERE t = :p',
  'SELECT id FROM h WHERE d = :p',
  'SELECT id FROM h WHERE at < :p',
  'SELECT id FROM h WHERE n IN (:p, :p) ORDER BY id',
  'SELECT :p || t AS x FROM h ORDER BY id',
  'SELECT length(upper(:p)) AS x',
  "SELECT length(repeat('ab', :p)) AS x",
  "SELECT length(lpad('ab', :p, 'é')) AS x",
  "SELECT substr('abc', :p) AS x, left('abc', :p) AS y, right('abc', :p) AS z",
  "SELECT split_part('a,b', ',', :p) AS x",
  "SELECT replace(:p, 'a', 'bb') = '' AS x",
  "SELECT json_get(JSON '[1, 2]', :p) AS x",
  'SELECT n + :p AS x FROM h ORDER BY id',
  'SELECT CAST(CAST(:p AS Text) AS Integer) AS x',
  'SELECT lag(id, :p) OVER (ORDER BY id) AS x FROM h ORDER BY id',
  'SELECT lead(id, :p, 7) OVER (ORDER BY id) AS x FROM h ORDER BY id',
  'SELECT lag(n, 2, :p) OVER (ORDER BY id) AS x FROM h ORDER BY id',
  'SELECT nth_value(id, :p) OVER (ORDER BY id) AS x FROM h ORDER BY id',
  'SELECT percentile_cont(:p, n) AS x, percentile_disc(:p, d) AS y FROM h',
  'SELECT count(*) AS x FROM generate_series(1, :p) AS n',
  'SELECT count(*) AS x FROM generate_series(:p, 3) AS n',
  'SELECT count(*) AS x FROM generate_series(1, 3, :p) AS n',
  "SELECT count(*) AS x FROM generate_series('2026-01-30T10:00:00Z', :p, '1 day') AS n",
  "SELECT count(*) AS x FROM generate_series('2026-01-30T10:00:00Z', '2026-01-30T11:00:00Z', :p) AS n",
  'SELECT id FROM h WHERE n < :p LATEST ON at PARTITION BY t ORDER BY id',
  'SELECT ntile(:p) OVER (ORDER BY id) AS x FROM h ORDER BY id',
]

const VALUES: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['zero', 0],
  ['a negative number', -1],
  ['the greatest Integer', '9223372036854775807'],
  ['the least Integer', '-9223372036854775808'],
  ['a number past an Integer', '99999999999999999999'],
  ['a fraction', 1.5],
  ['NaN', 'NaN'],
  ['infinity', '-Infinity'],
  ['a number past a Double', '1e999'],
  ['an empty text', ''],
  ['a wildcard', '%'],
  ['a long text', 'a'.repeat(100_000)],
  ['a long pattern', '%a_'.repeat(30_000)],
  ['a long pattern without wildcards', `${'('.repeat(60_000)}[`],
  ['a backslash', '\\'],
  ['U+0000', 'a\u0000b'],
  ['a lone surrogate', '\ud800'],
  ['characters outside the basic plane', '𝒳'.repeat(100)],
  ['an object', { a: 1 }],
  ['an array', [1, 2]],
  ['true', true],
]

const places: Awaited<ReturnType<typeof openPlace>>[] = []
const servers: QueryServer[] = []
before(async () => {
  for (const engine of ['sqlite', 'postgres'] as const) {
    const opened = await openPlace(engine)
    places.push(opened)
    const server = await startQueryServer(opened.place)
    servers.push(server)
    const sql = 'CREATE TABLE h (id Integer PRIMARY KEY, t Text, d Double, n Decimal(10, 2), at Timestamp)'
    assert.equal((await server.query(sql)).status, 200)
    const rows = ['abc', 'a%c', null, 'ABC', ''].map((t, id) => ({ id, t, d: id, n: id, at: `2026-01-0${id + 1}` }))
    assert.equal((await server.call('/query/h/insert', rows)).status, 200)
  }
})
after(async () => {
  for (const server of servers) await server.stop()
  for (const { leave } of places) await leave()
  await stopOwnPostgres()
})

for (const [index, [what, value]] of VALUES.entries()) {
  test(`a parameter that is ${what}`, index % 3 === 0 ? {} : IN_LONG_RUNS, async () => {
    for (const Statement of STATEMENTS) {
      const body = JSON.stringify({ Statement, Parameters: { p: value } })
      const [sqlite, postgres] = await Promise.all(
        servers.map(async (server) => {
          const { status, json } = await server.call('/query', body)
          assert.ok(status < 500, `${Statement}: ${status} ${JSON.stringify(json).slice(0, 200)}`)
          return { status, code: json.Code, rows: json.Rows }
        }),
      )
      assert.deepEqual(sqlite, postgres, Statement)
    }
  })
}

/** In each statement the first use of the parameter gives it a type. */
const TWO_USES: readonly (readonly [string, string, string])[] = [
  ["n + :p AS x, left('abc', :p) AS y", '2', 'IQL.BadArguments'],
  ["d + :p AS x, left('abc', :p) AS y", '2', 'IQL.BadArguments'],
  ['id + :p AS x, length(:p) AS y', '2', 'IQL.BadArguments'],
  ["CAST(:p AS Decimal(20, 0)) AS x, substr('abc', :p) AS y", '9223372036854775808', 'IQL.BadArguments'],
  ["t = :p AS x, json_get(:p, 'a') AS y", '{}', 'IQL.BadArguments'],
  ["at > :p AS x, json_get(JSON '[1]', :p) AS y", '2026-01-01', 'IQL.BadArguments'],
  ['at - :p AS x, time_bucket(:p, at) AS y', '1 day', 'IQL.BadArguments'],
  ["lpad('a', :p, :p) AS y", '2', 'IQL.BadArguments'],
  ['lpad(:p, :p) AS y', '2', 'IQL.BadArguments'],
  ["id + :p AS x, json_get(JSON '[7, 8]', :p) AS y", '1', '8'],
  ["left('abc', :p) AS x, power(:p, 2) AS y", '3', '9'],
  ['n + :p AS x, power(:p, 2) AS y', '3', '9'],
  ["CAST(at AS Date) = :p AS x, date_part('month', :p) AS y", '2026-02-03', '2'],
]

for (const [columns, p, expected] of TWO_USES) {
  test(`a parameter has one type: ${columns}`, async () => {
    for (const server of servers) {
      const Statement = `SELECT ${columns} FROM h WHERE id = 1`
      const { json, text } = await server.call('/query', JSON.stringify({ Statement, Parameters: { p } }))
      assert.equal(json.Code ?? String(json.Rows[0]?.y), expected, text)
    }
  })
}

test('a claim of a row filter is a Text', async () => {
  for (const server of servers) {
    const { status, json } = await server.query(
      "CREATE TABLE claimed (id Integer PRIMARY KEY, t Text) ROW FILTER (left(t, :sub) = 'x')",
    )
    assert.deepEqual([status, json.Code], [400, 'IQL.BadArguments'])
  }
})

test('LIMIT and OFFSET take no NULL and no negative parameter, and the error says so', async () => {
  for (const server of servers) {
    for (const clause of ['LIMIT', 'OFFSET']) {
      for (const p of [null, -1]) {
        const Statement = `SELECT id FROM h ${clause} :p`
        const { status, json } = await server.call('/query', JSON.stringify({ Statement, Parameters: { p } }))
        assert.deepEqual([status, json.Code], [400, 'IQL.BadLimit'])
        assert.match(json.detail, new RegExp(`0 or greater, not ${p}$`))
      }
    }
  }
})

test('WITH queries that double are refused before they are expanded', async () => {
  const doubling = (count: number) =>
    `WITH q0 AS (SELECT 1 AS x)${Array.from({ length: count }, (_, i) => `, q${i + 1} AS (SELECT x FROM q${i} UNION ALL SELECT x FROM q${i})`).join('')} SELECT count(*) AS n FROM q${count}`
  for (const server of servers) {
    const { status, json } = await server.query(doubling(40))
    assert.deepEqual([status, json.Code], [400, 'IQL.TooComplex'])
    assert.equal((await server.query(doubling(8))).json.Rows[0]?.n, 256)
  }
})

test('two result columns of one name are refused with the advice to alias one', async () => {
  for (const server of servers) {
    const { status, json } = await server.query('SELECT id, id FROM h')
    assert.deepEqual([status, json.Code], [400, 'IQL.DuplicateColumn'])
    assert.match(json.detail, /alias/)
    assert.match(json.Hint, /AS id2/)
  }
})

test('a Delete or Update whose criteria hold an empty list is refused, and takes no row', async () => {
  const some = { ColumnName: 'id', Operator: '=', Value: -1 }
  const empty: readonly (readonly unknown[])[] = [
    [],
    [{ And: [] }],
    [{ Or: [] }],
    [{ Not: { Or: [] } }],
    [{ Not: { And: [] } }],
    [{ And: [{ And: [] }] }],
    [{ Or: [some, { and: [] }] }],
    [some, { And: [] }],
    [{ ColumnName: 'id', Operator: 'not in', Value: [] }],
    [{ Not: { ColumnName: 'id', Operator: 'in', Value: [] } }],
  ]
  for (const server of servers) {
    for (const criteria of empty) {
      const replies = [
        await server.call('/query/h/delete', criteria),
        await server.call('/query/h/delete', { Criteria: criteria }),
        await server.call('/query/h/update', { Criteria: criteria, Assignments: { t: 'lost' } }),
      ]
      for (const { status, json } of replies)
        assert.deepEqual([status, json.Code], [400, 'Request.BadBody'], JSON.stringify(criteria))
    }
    const none = await server.call('/query/h/delete', [{ ColumnName: 'id', Operator: 'in', Value: [] }])
    assert.deepEqual([none.status, none.json.RowsAffected], [200, 0])
    const { json } = await server.query("SELECT count(*) AS n FROM h WHERE t IS DISTINCT FROM 'lost'")
    assert.equal(json.Rows[0]?.n, 5)
    // A Select may hold them: an empty And is true, an empty Or is false.
    assert.equal((await server.call('/query/h/select', [{ And: [] }])).json.RowCount, 5)
  }
})
