/** Searches of one text for another: bounded by the lengths of both, since no database can interrupt one. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

/** 2 MB, and a part of 1 MB that differs from every piece of it in its first character only: hours of work. */
const TEXT = "repeat('a', 2000000)"
const PART = "('b' || repeat('a', 1000000))"
/** A literal and a parameter for which 2 MB are too much. */
const LITERAL = `b${'a'.repeat(600)}`

const TOO_LONG: readonly (readonly [string, string])[] = [
  ['position', `SELECT position(${TEXT}, ${PART}) AS x`],
  ['contains', `SELECT contains(${TEXT}, ${PART}) AS x`],
  ['replace', `SELECT replace(${TEXT}, ${PART}, 'c') AS x`],
  ['a replacement that cannot grow', `SELECT length(replace(t, '${LITERAL}', 'c')) AS x FROM long`],
  ['split_part', `SELECT split_part(${TEXT}, ${PART}, 2) AS x`],
  ['trim', `SELECT length(trim(${TEXT}, repeat('b', 1000000))) AS x`],
  ['ltrim', `SELECT length(ltrim(${TEXT}, repeat('b', 1000000))) AS x`],
  ['rtrim', `SELECT length(rtrim(${TEXT}, repeat('b', 1000000))) AS x`],
  ['LIKE', `SELECT (${TEXT} LIKE '%' || ${PART} || '%') AS x`],
  ['ILIKE', `SELECT (${TEXT} ILIKE '%' || ${PART} || '%') AS x`],
  ['LIKE with an escape', `SELECT (${TEXT} LIKE '%' || ${PART} || '%' ESCAPE '!') AS x`],
  ['position of a literal in a column', `SELECT position(t, '${LITERAL}') AS x FROM long`],
  ['LIKE with a literal', `SELECT id FROM long WHERE t LIKE '%${LITERAL}%'`],
  ['NOT LIKE with a literal', `SELECT id FROM long WHERE t NOT LIKE '%${LITERAL}%'`],
  ['position of a parameter', 'SELECT position(t, :part) AS x FROM long'],
  ['LIKE with a parameter', "SELECT id FROM long WHERE t LIKE '%' || :part"],
  ['LIKE with a parameter alone', 'SELECT id FROM long WHERE t LIKE :part'],
  ['a column in another', 'SELECT a.id FROM long AS a JOIN long AS b ON contains(a.t, b.t)'],
]

onEveryEngineInLongRuns('long searches', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    assert.equal((await server.query('CREATE TABLE long (id Integer PRIMARY KEY, t Text, k Text UNIQUE)')).status, 200)
    const made = await server.query(`INSERT INTO long (id, t, k) VALUES (1, ${TEXT}, '${LITERAL}')`)
    assert.equal(made.status, 200, made.text)
  })
  after(() => server.stop())

  const run = (Statement: string) =>
    server.call('/query', { Statement, ...(/:part/.test(Statement) ? { Parameters: { part: LITERAL } } : {}) })

  for (const [what, statement] of TOO_LONG)
    test(`${what} of too many steps is refused as Limit.Value before it runs`, async () => {
      // Often enough for a plan that does not depend on the values of parameters.
      for (let round = 0; round < (/:part/.test(statement) ? 8 : 1); round++) {
        const { status, json, text } = await run(statement)
        assert.deepEqual([status, json.Code], [422, 'Limit.Value'], text.slice(0, 300))
        assert.match(json.detail, /searched for/)
        assert.match(json.Hint, /shorter/)
      }
    })

  test('a write with a search of too many steps writes nothing', async () => {
    const { status, json } = await run(`UPDATE long SET k = 'x' WHERE position(${TEXT}, ${PART}) = 0`)
    assert.deepEqual([status, json.Code], [422, 'Limit.Value'])
    assert.deepEqual((await run(`SELECT k FROM long`)).json.Rows, [{ k: LITERAL }])
  })

  test('searches have their results with short and with long parts, also past the first plane', async () => {
    const long = `${'é'.repeat(50)}𝄞${'x'.repeat(50)}`
    const texts = `'a𝄞b' || '${long}' || 'c'`
    const { json, text } = await run(
      `SELECT position(${texts}, '${long}') AS p, contains(${texts}, '${long}y') AS c, replace(${texts}, '${long}', '-') AS r,
        split_part(${texts}, '${long}', 2) AS s, trim('xyzx' || left(t, 3), 'xyz${long}') AS m, position(k, left(t, 1000)) AS n,
        '${long}' LIKE 'é%${long.slice(10)}' AS l, '${long}' LIKE '%${long}_%' AS q, k LIKE '${LITERAL.slice(0, 100)}%' AS w,
        k ILIKE '%${LITERAL.toUpperCase()}' AS i, position(NULL, k) IS NULL AS u, t LIKE NULL IS NULL AS v
        FROM long`,
    )
    assert.deepEqual(
      json.Rows,
      [{ p: 4, c: false, r: 'a𝄞b-c', s: 'c', m: 'aaa', n: 0, l: true, q: false, w: true, i: true, u: true, v: true }],
      text.slice(0, 500),
    )
  })
})
