/** A table that products cover, with column segments: nobody has a row from them without a licence, also in results that are kept. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startLicenceServer } from '../../licences/licence-server.ts'
import { fill, PRODUCTS, type TablePlace, tablePlace } from '../../licences/tables/table-licences.ts'
import { onSqlite } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { writeSegments } from './written-segments.ts'

onSqlite('covered tables with columns', (at) => {
  let place: TablePlace
  before(async () => {
    place = tablePlace(await startLicenceServer(at(), PRODUCTS, { flags: { '--wire-port': '0' } }))
    await fill(place)
    // With an index SQLite would find these few rows by it.
    for (const statement of ['DROP INDEX ticks_venue', 'ALTER TABLE ticks SET WITH (columns = on)']) {
      const { status, body } = await place.query(statement, place.server.admin)
      assert.equal(status, 200, JSON.stringify(body))
    }
    // Each row but the last one has a segment of its own.
    assert.equal(writeSegments(at().dataFolder, 1, 'ticks'), 3)
  })
  after(() => place.server.stop())

  const GROUPS = 'SELECT venue, count(*) AS n, min(price) AS s, max(note) AS m FROM ticks GROUP BY venue'
  const OF_ALICE = [
    ['ARCX', 1, 2, 'n'],
    ['XNYS', 1, 1, 'n'],
  ]
  const OF_HANDLER = [...OF_ALICE, ['XLON', 1, 3, 'n']].sort(([one = ''], [other = '']) => (one < other ? -1 : 1))

  test('groups have the rows that are licensed, also after others have asked', async () => {
    for (let round = 0; round < 3; round++) {
      assert.deepEqual(await place.rows(GROUPS), OF_ALICE)
      assert.deepEqual(await place.rows(GROUPS, place.server.handler), OF_HANDLER)
    }
    assert.deepEqual(await place.rows('SELECT count(*) AS n, max(price) AS top FROM ticks'), [[2, 2]])
    assert.deepEqual(await place.rows('SELECT count(DISTINCT price) AS n, median(price) AS m FROM ticks'), [
      [2, '1.5000000000000000'],
    ])
    assert.deepEqual(
      await place.rows(
        'SELECT count(*) AS n, max(b.price) AS top FROM ticks AS a ASOF JOIN ticks AS b ON a.price > b.price',
      ),
      [[1, 1]],
    )
    assert.deepEqual((await place.refusal(GROUPS, place.server.robot)).slice(0, 2), [403, 'Licence.Needed'])
  })

  test('EXPLAIN does not say which segments have no row that fits: that depends on rows without a licence', async () => {
    const lines = (await place.rows('EXPLAIN SELECT count(*) AS n FROM ticks WHERE price > 2')).flat()
    assert.deepEqual(
      lines.filter((line) => String(line).startsWith('columns: ')),
      ['columns: 3 segments, 0 from rows'],
    )
  })

  test('a licence that ends, and one that begins, are seen at once', async () => {
    await place.patch('/products/NYSE', { enabled: false })
    assert.deepEqual((await place.refusal(GROUPS)).slice(0, 2), [403, 'Licence.Needed'])
    assert.deepEqual(await place.rows(GROUPS, place.server.handler), [['XLON', 1, 3, 'n']])
    await place.patch('/products/NYSE', { enabled: true })
    assert.deepEqual(await place.rows(GROUPS), OF_ALICE)
  })
})

const DELAYED = `
products:
  - { name: NYSE, delay: 1 hour, covers: [{ table: ticks, column: venue, values: [XNYS] }] }
  - { name: LSE, delay: 1 hour, covers: [{ table: ticks, column: venue, values: [XLON] }] }
entitlements:
  - { product: NYSE, user: alice, access: delayed }
  - { product: LSE, user: alice, access: delayed }
  - { product: NYSE, user: admin, access: delayed }
  - { product: LSE, user: admin, access: realtime }
  - { product: NYSE, client: handler, access: realtime, kind: exempt }
  - { product: LSE, client: handler, access: realtime, kind: exempt }
`

onSqlite('delayed tables with columns', (at) => {
  let place: TablePlace
  before(async () => {
    place = tablePlace(await startLicenceServer(at(), DELAYED))
    const must = async (statement: string, token: string) => {
      const { status, body } = await place.query(statement, token)
      assert.equal(status, 200, `${statement}: ${JSON.stringify(body)}`)
    }
    const { admin, handler } = place.server
    await must(
      "CREATE TABLE ticks (id Integer PRIMARY KEY, venue Text NOT NULL, price Integer NOT NULL) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market' WITH (columns = on)",
      admin,
    )
    await until('there is a copy', 10_000, async () => (await place.query('SELECT id FROM ticks')).status === 200)
    await must(
      "INSERT INTO ticks (id, venue, price) VALUES (1, 'XNYS', 1), (2, 'XLON', 2), (3, 'XNYS', 3), (4, 'XLON', 4), (5, 'XNYS', 5)",
      handler,
    )
    assert.equal(writeSegments(at().dataFolder, 1, 'ticks'), 4)
  })
  after(() => place.server.stop())

  const GROUPS = 'SELECT venue, count(*) AS n, max(price) AS top FROM ticks GROUP BY venue'
  const ALL = [
    ['XLON', 2, 4],
    ['XNYS', 3, 5],
  ]

  test('who has the rows of an hour ago has none of the segments, also after others have asked', async () => {
    const { admin, handler } = place.server
    for (let round = 0; round < 3; round++) {
      assert.deepEqual(await place.rows(GROUPS, handler), ALL)
      assert.deepEqual(await place.rows(GROUPS), [])
      assert.deepEqual(await place.rows(GROUPS, admin), ALL.slice(0, 1))
    }
    for (const statement of [
      'SELECT count(*) AS n, max(price) AS top FROM ticks',
      'SELECT count(DISTINCT price) AS n, median(price) AS m FROM ticks',
      'SELECT count(*) AS n, max(b.price) AS top FROM ticks AS a ASOF JOIN ticks AS b ON a.price >= b.price',
    ])
      assert.deepEqual(await place.rows(statement), [[0, null]], statement)
    const lines = async (token?: string) =>
      (await place.rows(`EXPLAIN ${GROUPS}`, token)).flat().filter((line) => String(line).startsWith('columns: '))
    assert.deepEqual(await lines(handler), ['columns: 4 segments, 0 from rows'])
    assert.match(String(await lines()), /^columns: not read/)
  })
})
