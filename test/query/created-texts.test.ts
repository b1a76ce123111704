/** Texts that a statement creates: bounded for each value and each row, on both engines, and never built on the event loop. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inLongRuns } from '../support/engines.ts'
import { longestTurn } from './event-loop.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const MIB = 1024 * 1024
/** As long as the body of a statement allows. */
const LONG = 'x'.repeat(100_000)
const chain = (operand: string, count: number) => Array.from({ length: count }, () => operand).join(' || ')
const columns = (count: number, expression: string) =>
  Array.from({ length: count }, (_, index) => `${expression} AS c${index}`).join(', ')

/** Each would create a text, or a row, of more than 16 MiB. */
const TOO_LONG: readonly (readonly [string, string])[] = [
  ['a concatenation of parameters', `SELECT ${chain(':p', 250)} AS x`],
  ['a concatenation of columns', `SELECT ${chain('t', 250)} AS x FROM texts WHERE :p <> ''`],
  ['a concatenation of parameters and columns', `SELECT ${chain(':p', 200)} || t || :p AS x FROM texts`],
  ['a concatenation of results of functions', `SELECT ${chain('upper(:p)', 250)} AS x`],
  ['a concatenation in a condition', `SELECT id FROM texts WHERE ${chain('t', 250)} = :p`],
  ['concat', `SELECT concat(${chain(':p', 90)}, ${chain(':p', 90)}) AS x`],
  [
    'concat of results of functions',
    `SELECT concat(${Array.from({ length: 250 }, () => 'lower(:p)').join(', ')}) AS x`,
  ],
  ['repeat', "SELECT repeat('x', 16777217) AS x WHERE :p <> ''"],
  ['repeat of a parameter', 'SELECT repeat(:p, 168) AS x'],
  ['repeat of a repeated text', 'SELECT repeat(repeat(:p, 80), 2) AS x'],
  ['repeat without end', "SELECT repeat('xx', 9223372036854775807) AS x WHERE :p <> ''"],
  ['replace', "SELECT replace(left(:p, 1000), 'x', :p) AS x"],
  ['lpad', "SELECT lpad('x', 16777217) AS x WHERE :p <> ''"],
  ['rpad with characters of several bytes', "SELECT rpad('x', 9000000, 'é') AS x WHERE :p <> ''"],
  ['string_agg', 'SELECT string_agg(:p, a.t) AS x FROM texts a, texts b, texts c'],
  [
    'string_agg of distinct texts',
    "SELECT string_agg(DISTINCT repeat(:p, 20) || CAST(id AS Text), ',') AS x FROM texts",
  ],
  ['a row of many texts', `SELECT ${columns(50, `${chain(':p', 4)}`)}`],
  ['a row of many repeated texts', `SELECT ${columns(20, "repeat('x', 1000000)")} WHERE :p <> ''`],
]

inLongRuns('created texts', (place, engine) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    assert.equal((await server.query('CREATE TABLE texts (id Integer PRIMARY KEY, t Text)')).status, 200)
    const rows = Array.from({ length: 10 }, (_, id) => ({ id, t: `${id}${LONG}` }))
    assert.equal((await server.call('/query/texts/insert', rows)).status, 200)
  })
  after(() => server.stop())

  const run = (Statement: string, Parameters: unknown = { p: LONG }) =>
    server.call('/query', JSON.stringify({ Statement, Parameters }))

  /** The bytes of a result. */
  const measureLength = async (body: string): Promise<number> => {
    const headers = { authorization: 'Bearer admin', 'content-type': 'text/plain; charset=utf-8' }
    const reply = await fetch(`${server.url}/query`, { method: 'POST', headers, body })
    let length = 0
    for await (const chunk of reply.body ?? []) length += chunk.length
    return length
  }

  for (const [what, statement] of TOO_LONG) {
    test(`${what} past the limit is refused as Limit.Value`, async () => {
      const reply = await run(statement)
      assert.deepEqual([reply.status, reply.json.Code], [422, 'Limit.Value'], reply.text.slice(0, 300))
      assert.match(reply.json.detail, /more than \d+ bytes/)
    })
  }

  test('a write that would create a text past the limit is refused, and writes nothing', async () => {
    const insert = `INSERT INTO texts (id, t) VALUES ${Array.from({ length: 50 }, (_, id) => `(${id + 100}, ${chain(':p', 150)})`).join(', ')}`
    const statements = [
      `INSERT INTO texts (id, t) VALUES (99, ${chain(':p', 250)})`,
      insert.length < 60_000 ? insert : '',
      `UPDATE texts SET t = ${chain('t', 250)} WHERE id = 1 AND :p <> ''`,
    ]
    for (const statement of statements) {
      const reply = await run(statement)
      assert.equal(reply.status, 422, reply.text.slice(0, 300))
      assert.equal(reply.json.Code, 'Limit.Value')
    }
    const { json } = await server.query('SELECT count(*) AS n, max(length(t)) AS longest FROM texts')
    assert.deepEqual(json.Rows, [{ n: 10, longest: 100_001 }])
  })

  test('the limit is in bytes and the same on both engines', async () => {
    const length = async (expression: string) => {
      const reply = await run(`SELECT length(${expression}) AS n`, {})
      return reply.status === 200 ? reply.json.Rows[0]?.n : reply.json.Code
    }
    assert.equal(await length(`repeat('x', ${16 * MIB})`), 16 * MIB)
    assert.equal(await length(`repeat('x', ${16 * MIB + 1})`), 'Limit.Value')
    assert.equal(await length(`repeat('é', ${8 * MIB})`), 8 * MIB)
    assert.equal(await length(`repeat('é', ${8 * MIB + 1})`), 'Limit.Value')
    assert.equal(await length(`rpad('', ${16 * MIB})`), 16 * MIB)
    assert.equal(await length(`rpad('', ${8 * MIB + 1}, 'é')`), 'Limit.Value')
    // Two texts share the limit.
    assert.equal(await length(`replace(repeat('x', ${4 * MIB}), 'x', 'yy')`), 8 * MIB)
    assert.equal(await length(`replace(repeat('x', ${4 * MIB + 1}), 'x', 'yy')`), 'Limit.Value')
    assert.equal(await length(`repeat('x', ${4 * MIB}) || repeat('y', ${4 * MIB + 1})`), 'Limit.Value')
  })

  test('texts within the limit are what they were', async () => {
    const { json } = await run(
      `SELECT :a || '-' || :b AS plain, :a || NULL AS unknown, concat(:a, NULL, :b) AS joined, upper(:a) || lower(:b) AS called,
        ${chain("upper('a')", 150)} AS many, replace(:a, '', 'x') AS unchanged, replace(:a, 'a', :b) AS replaced,
        lpad(:a, 3, 'é') AS padded, rpad(:a, 0) AS cut, repeat(:a, -1) AS none, CAST(1 AS Text) || CAST(TRUE AS Text) AS small`,
      { a: 'a', b: 'B' },
    )
    assert.deepEqual(json.Rows, [
      {
        plain: 'a-B',
        unknown: null,
        joined: 'aB',
        called: 'Ab',
        many: 'A'.repeat(150),
        unchanged: 'a',
        replaced: 'B',
        padded: 'ééa',
        cut: '',
        none: '',
        small: '1true',
      },
    ])
    const joined = await run("SELECT string_agg(left(t, 1), ',' ORDER BY id DESC) AS x FROM texts WHERE id < :n", {
      n: 3,
    })
    assert.deepEqual(joined.json.Rows, [{ x: '2,1,0' }])
    const none = await run("SELECT string_agg(t, ',') AS x FROM texts WHERE id > :n", { n: 1000 })
    assert.deepEqual(none.json.Rows, [{ x: null }])
    const distinct = await run("SELECT string_agg(DISTINCT right(t, 2), ',') AS x FROM texts WHERE id > :n", { n: 0 })
    assert.deepEqual(distinct.json.Rows, [{ x: 'xx' }])
  })

  test('a long parameter that is used often is not copied on the event loop', async () => {
    const hostile = [
      `SELECT ${chain(':p', 100)} AS x`,
      `SELECT ${columns(500, ':p')}`,
      `SELECT 1 AS x WHERE 'x' IN (${Array.from({ length: 5000 }, () => ':p').join(', ')})`,
      `SELECT ${columns(50, chain(':p', 20))}`,
      `INSERT INTO texts (id, t) VALUES ${Array.from({ length: 500 }, (_, id) => `(${id}, :p)`).join(', ')}`,
    ]
    for (const statement of hostile) {
      const body = JSON.stringify({ Statement: statement, Parameters: { p: LONG } })
      const { milliseconds, limit } = await longestTurn(async () => {
        const reply = await server.call('/query', body)
        assert.ok(reply.status < 500, reply.text.slice(0, 300))
      })
      assert.ok(milliseconds < limit, `${milliseconds} ms: ${statement.slice(0, 60)}`)
    }
  })

  test('many long rows are encoded in several turns', async () => {
    assert.equal((await server.query('CREATE TABLE lines (id Integer PRIMARY KEY, t Text)')).status, 200)
    const rows = Array.from({ length: 10 }, (_, id) => ({ id, t: '"\\'.repeat(100_000) }))
    assert.equal((await server.call('/query/lines/insert', rows)).status, 200)
    const { milliseconds, limit } = await longestTurn(async () => {
      const length = await measureLength(
        'SELECT a.id * 100 + b.id AS id, a.t AS t FROM lines AS a CROSS JOIN lines AS b',
      )
      assert.ok(length > 16 * MIB, `${length} bytes`)
    })
    assert.ok(milliseconds < limit, `${milliseconds} ms, the limit is ${limit} ms`)
  })

  test('a row of long stored texts is not read on the event loop', async () => {
    assert.equal((await server.query('CREATE TABLE wide (id Integer PRIMARY KEY, a Text, b Text)')).status, 200)
    const text = 'y'.repeat(3 * MIB)
    assert.equal((await server.call('/query/wide/insert', { id: 1, a: text, b: text })).status, 200)
    for (const path of ['/query/wide/select?limit=5', '/query/wide/select?columns=a,b']) {
      const criteria = [{ ColumnName: 'id', Operator: '=', Value: 1 }]
      const reply = await server.call(path, criteria)
      assert.equal(reply.json.Rows[0]?.a, text)
    }
    const { json } = await server.query('SELECT a, b FROM wide LIMIT 3')
    assert.deepEqual(json.Rows, [{ a: text, b: text }])
    if (engine === 'postgres') return
    for (const statement of [
      `SELECT ${columns(9, 'a')} FROM wide WHERE id = 1`,
      `SELECT ${columns(9, 'a')} FROM wide LIMIT 3`,
    ]) {
      const { milliseconds, limit } = await longestTurn(async () => {
        // The reply is not parsed: that would take as long as what is measured.
        assert.ok((await measureLength(statement)) > 9 * text.length)
      })
      assert.ok(milliseconds < limit / 2, `${milliseconds} ms, the limit is ${limit / 2} ms`)
    }
  })
})
