/** Rows beside a row filter are found by keys and indexes, and no condition that could fail is evaluated on a hidden row. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const ROWS = 100_000

onEveryEngine('tables with a row filter', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    const setUp = [
      "CREATE TABLE owned (id Integer PRIMARY KEY, n Integer NOT NULL, owner Text NOT NULL) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'",
      'CREATE INDEX owned_n ON owned (n)',
      `INSERT INTO owned SELECT i, i * 2, CASE WHEN i % 2 = 0 THEN 'market' ELSE 'other' END FROM generate_series(1, ${ROWS}) AS i`,
      'ALTER TABLE owned SET ROW FILTER (owner = :sub)',
    ]
    for (const statement of setUp) assert.equal((await server.query(statement)).status, 200, statement)
  })
  after(() => server.stop())

  const rows = async (statement: string) => {
    const { status, text } = await server.query(statement, { as: 'market' })
    assert.equal(status, 200, text)
    return JSON.parse(text).Rows
  }

  /** The time of the fastest of several, in milliseconds. */
  async function fastest(statement: string): Promise<number> {
    const times: number[] = []
    for (let tries = 0; tries < 5; tries++) {
      const begun = performance.now()
      await rows(statement)
      times.push(performance.now() - begun)
    }
    return Math.min(...times)
  }

  for (const statement of [
    'SELECT id FROM owned WHERE id = 8',
    'SELECT id FROM owned WHERE id IN (8, 10)',
    'SELECT id FROM owned WHERE id BETWEEN 8 AND 9',
    'SELECT id FROM owned WHERE n = 16 AND n / id = 2',
    'SELECT a.id FROM owned a JOIN owned b ON a.id = b.id WHERE a.id = 8 AND b.id = 8',
    'UPDATE owned SET n = n WHERE id = 8',
    'DELETE FROM owned WHERE id = 9',
  ])
    test(`${statement}: rows are found by a key or an index`, async () => {
      const all = await fastest('SELECT count(*) AS n FROM owned WHERE upper(owner) <> owner')
      const found = await fastest(statement)
      assert.ok(found < all / 6, `${found} ms, and ${all} ms for all rows`)
    })

  test('a condition that fails on a hidden row does not fail', async () => {
    // Row 9 is hidden.
    const condition = '100 / (id - 9) > 50 AND id BETWEEN 8 AND 10'
    assert.deepEqual(await rows(`SELECT id FROM owned WHERE ${condition}`), [{ id: 10 }])
    for (const write of [`UPDATE owned SET n = 20 WHERE ${condition}`, `DELETE FROM owned WHERE ${condition}`]) {
      const { status, text } = await server.query(write, { as: 'market' })
      assert.deepEqual([status, JSON.parse(text).RowsAffected], [200, 1], text)
    }
  })

  test('what is compared of hidden rows shows nothing of them', async () => {
    assert.deepEqual(await rows("SELECT id FROM owned WHERE owner = 'other' OR id = 9 OR n IS NULL"), [])
    assert.deepEqual(await rows("SELECT id FROM owned WHERE NOT (owner = 'market') AND id < 20"), [])
    assert.deepEqual(
      await rows('SELECT l.id, r.id AS other FROM owned l LEFT JOIN owned r ON r.id = l.id - 1 WHERE l.id = 6'),
      [{ id: 6, other: null }],
    )
  })
})
