/** Queries in FROM that are merged into the statement: their limits and types stay those of what was written. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

onEveryEngine('merged queries', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    await answer('CREATE TABLE t (id Integer PRIMARY KEY, a Integer NOT NULL, d Decimal(4, 2))')
    await answer('INSERT INTO t VALUES (1, 10, 12.34), (2, 20, 1.5)')
  })
  after(() => server.stop())

  const answer = async (statement: string): Promise<unknown> => {
    const { status, json } = await server.query(statement)
    return status === 200 ? json.Rows : json.Code
  }
  /** `$` is the column of the next level. */
  const nested = (expression: string, levels: number): string => {
    let text = 'SELECT id, a AS x FROM t'
    for (let level = 0; level < levels; level++)
      text = `SELECT id, ${expression.replaceAll('$', 'x')} AS x FROM (${text}) AS l${level}`
    return `${text} ORDER BY id`
  }

  test('a literal that is a column keeps the digits that were written, whichever statement of its shape came first', async () => {
    const withLiteral = (literal: string): string =>
      `SELECT k, id FROM (SELECT ${literal} AS k, id, d FROM t) AS q WHERE d = k`
    assert.deepEqual(await answer(withLiteral('12.34')), [{ k: '12.34', id: 1 }])
    assert.deepEqual(await answer(withLiteral('1.5')), [{ k: '1.5', id: 2 }])
  })

  test('levels that together are deeper than a database allows still run', async () => {
    for (const levels of [2, 5])
      assert.deepEqual(await answer(nested(`$${' + 1'.repeat(250)}`, levels)), [
        { id: 1, x: 10 + 250 * levels },
        { id: 2, x: 20 + 250 * levels },
      ])
  })

  test('NULLIF of two types, which repeats its first argument in the SQL, does not double the SQL at each level', async () => {
    const rows = [
      { id: 1, x: 10 },
      { id: 2, x: 20 },
    ]
    assert.deepEqual(await answer(nested('nullif($, 2.5)', 10)), rows)
    assert.equal(await answer(nested('nullif($, 2.5)', 20)), 'IQL.TooComplex')
  })
})
