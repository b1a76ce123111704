/** Expressions that a database copies before it runs a statement: nested, some kilobytes of text would take all its memory. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const LEVELS = 31

onEveryEngine('copied operands', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    await answer('CREATE TABLE flags (id Integer PRIMARY KEY, ok Boolean)')
    await answer('INSERT INTO flags VALUES (1, TRUE)')
  })
  after(() => server.stop())

  const answer = async (statement: string): Promise<unknown> => {
    const { status, json } = await server.query(statement)
    return status === 200 ? json.Rows : json.Code
  }
  const nested = (shape: string, levels: number): string =>
    Array.from({ length: levels }).reduce<string>((inner) => shape.replace('$', () => inner), 'ok')

  for (const shape of [
    '($ BETWEEN ok AND ok)',
    '($ NOT BETWEEN ok AND ok)',
    '($ IN (ok, ok))',
    '((SELECT $) BETWEEN ok AND ok)',
    '(CASE WHEN $ THEN 1 ELSE 2 END BETWEEN id AND id)',
  ]) {
    test(`${shape} within itself is refused where it would explode`, async () => {
      const few = await answer(`SELECT ${nested(shape, 3)} AS x FROM flags`)
      assert.ok(Array.isArray(few), String(few))
      for (const statement of [
        `SELECT ${nested(shape, LEVELS)} AS x FROM flags`,
        `SELECT id FROM flags WHERE ${nested(shape, LEVELS)}`,
        `WITH w AS (SELECT id FROM flags ORDER BY ${nested(shape, LEVELS)}) SELECT id FROM w`,
        `CREATE VIEW exploding AS SELECT ${nested(shape, LEVELS)} AS x FROM flags`,
      ])
        assert.equal(await answer(statement), 'IQL.TooComplex', statement)
      for (const statement of [
        `UPDATE flags SET ok = ${nested(shape, LEVELS)} WHERE id = 1`,
        `DELETE FROM flags WHERE ${nested(shape, LEVELS)}`,
        `INSERT INTO flags SELECT 2, ${nested(shape, LEVELS)} FROM flags`,
        `UPDATE flags SET ok = TRUE WHERE id = 1 RETURNING ${nested(shape, LEVELS)} AS x`,
      ])
        assert.equal(await answer(statement), 'IQL.TooComplex', statement)
    })
  }

  test('a long list of columns is refused if what it tests is large, and constants count once', async () => {
    const many = (word: string, count: number): string => Array.from({ length: count }, () => word).join(',')
    const large = `coalesce(${many('id', 90)})`
    assert.equal(await answer(`SELECT id FROM flags WHERE ${large} IN (${many('id', 1500)})`), 'IQL.TooComplex')
    assert.deepEqual(await answer(`SELECT id FROM flags WHERE ${large} IN (${many('1', 1000)})`), [{ id: 1 }])
    assert.deepEqual(await answer(`SELECT id FROM flags WHERE id + 0 IN (${many('id', 1000)})`), [{ id: 1 }])
  })

  test('a chain of queries in FROM that use each column twice is refused where it would explode', async () => {
    const derived = (levels: number): string =>
      Array.from({ length: levels }).reduce<string>(
        (inner, _item, at) => `SELECT x % 7 + x AS x FROM (${inner}) AS q${at}`,
        'SELECT id AS x FROM flags',
      )
    const chained = (levels: number): string => {
      const ctes = Array.from({ length: levels }, (_item, at) => `w${at + 1} AS (SELECT x % 7 + x AS x FROM w${at})`)
      return `WITH w0 AS (SELECT id AS x FROM flags), ${ctes.join(', ')} SELECT x FROM w${levels}`
    }
    for (const query of [derived, chained]) {
      assert.deepEqual(await answer(query(8)), [{ x: 18 }])
      assert.equal(await answer(query(40)), 'IQL.TooComplex')
    }
    // Groups are made before their columns are used.
    const grouped = Array.from({ length: 20 }).reduce<string>(
      (inner, _item, at) => `SELECT max(x) % 7 + min(x) AS x FROM (${inner}) AS q${at}`,
      'SELECT id AS x FROM flags',
    )
    assert.ok(Array.isArray(await answer(grouped)))
    await answer('CREATE VIEW v0 AS SELECT id AS x FROM flags')
    let level = 0
    while (Array.isArray(await answer(`CREATE VIEW v${level + 1} AS SELECT x % 7 + x AS x FROM v${level}`))) level++
    assert.ok(level > 8 && level < 20, String(level))
    assert.equal(await answer(`SELECT x % 7 + x AS x FROM v${level}`), 'IQL.TooComplex')
    assert.ok(Array.isArray(await answer(`SELECT x FROM v${level - 1}`)))
  })
})
