/** What readers with delayed or partial access try: stolen positions and cursors, errors that tell values, copies, old plans, own views. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../../support/engines.ts'
import { openEvents } from '../../support/event-client.ts'
import { until } from '../../support/until.ts'
import { bind, execute, parse, SYNC, texts } from '../../support/wire-session.ts'
import { startLicenceServer } from '../licence-server.ts'
import { keys, type TablePlace, tablePlace } from './table-licences.ts'

/** Nothing that is written in these tests is old enough. */
const DECLARED = `
products:
  - { name: NYSE, delay: 1 hour, covers: [{ table: ticks, column: venue, values: [XNYS] }] }
  - { name: LSE, covers: [{ table: ticks, column: venue, values: [XLON] }] }
  - { name: WHOLE, delay: 1 hour, covers: [{ table: depth }] }
entitlements:
  - { product: NYSE, user: alice, access: delayed }
  - { product: WHOLE, user: alice, access: delayed }
  - { product: NYSE, client: handler, access: realtime, kind: exempt }
  - { product: LSE, client: handler, access: realtime, kind: exempt }
  - { product: WHOLE, client: handler, access: realtime, kind: exempt }
`

onEveryEngine('hostile readers of licensed tables', (at) => {
  let place: TablePlace
  before(async () => {
    place = tablePlace(
      await startLicenceServer(at(), DECLARED, { flags: { '--wire-port': '0', '--wire-writes': 'true' } }),
    )
    const scopes = "READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'"
    for (const name of ['ticks', 'depth', 'own'])
      await asAdmin(
        `CREATE TABLE ${name} (id Integer PRIMARY KEY, venue Text NOT NULL, price Integer UNIQUE, note Text) ${scopes}`,
      )
    await until('the copies are there', 2_000, async () => (await place.query('SELECT id FROM depth')).status === 200)
    const rows = "(1, 'XNYS', 11, '1'), (2, 'XLON', 12, '2'), (3, 'NONE', 13, 'x')"
    for (const name of ['ticks', 'depth', 'own'])
      await place.rows(`INSERT INTO ${name} (id, venue, price, note) VALUES ${rows}`, place.server.handler)
  })
  after(() => place.server.stop())

  async function asAdmin(statement: string): Promise<void> {
    const { status, body } = await place.query(statement, place.server.admin)
    assert.equal(status, 200, JSON.stringify(body))
  }

  test('no statement shows, counts or fails on a row that is not there', async () => {
    for (const [statement, expected] of [
      ['SELECT id FROM ticks', []],
      ['SELECT id FROM depth WHERE id = 1', []],
      ['SELECT count(*) AS n, sum(price) AS s, min(note) AS m FROM depth', [[0, null, null]]],
      ['SELECT 1 / (price - 11) AS x FROM depth', []],
      ['SELECT CAST(note AS Integer) AS x FROM depth', []],
      ["SELECT id FROM depth WHERE CAST(note AS Integer) > 0 OR venue = 'XNYS'", []],
      ['SELECT o.id FROM own o WHERE EXISTS (SELECT 1 FROM depth d WHERE d.price = o.price)', []],
      [
        'SELECT o.id, d.id AS d FROM own o LEFT JOIN depth d ON d.id = o.id ORDER BY o.id',
        [
          [1, null],
          [2, null],
          [3, null],
        ],
      ],
      ['SELECT id FROM own WHERE price IN (SELECT price FROM ticks)', []],
      ['SELECT id FROM own WHERE price NOT IN (SELECT price FROM depth) ORDER BY id', [[1], [2], [3]]],
      ['SELECT id FROM own EXCEPT SELECT id FROM depth ORDER BY id', [[1], [2], [3]]],
      ['SELECT o.id FROM own o ASOF JOIN depth d ON o.venue = d.venue AND o.price >= d.price', []],
      ['SELECT rank() OVER (ORDER BY price) AS r FROM depth', []],
      ['WITH RECURSIVE_ AS (SELECT max(price) AS p FROM depth) SELECT p FROM RECURSIVE_', [[null]]],
      ['SELECT CASE WHEN (SELECT count(*) FROM depth) > 0 THEN 1 / 0 ELSE 7 END AS x FROM own WHERE id = 1', [[7]]],
    ] as const)
      assert.deepEqual(await place.rows(statement), expected, statement)
    const analyzed = (await place.rows('EXPLAIN ANALYZE SELECT id FROM depth')).join('\n')
    assert.match(analyzed, /0 rows in/)
    assert.doesNotMatch(analyzed, /_gh_|3 rows/)
  })

  test('of a table with several products, rows without a licence fail nothing and are counted nowhere', async () => {
    const given = await place.admin('POST', '/entitlements', {
      ...{ product: 'LSE', user: 'alice', access: 'realtime', from: '2020-01-01' },
    })
    assert.equal(given.status, 201)
    for (const [statement, expected] of [
      ['SELECT id FROM ticks', [[2]]],
      ['SELECT id FROM ticks WHERE 100 / (price - 11) > 0', [[2]]],
      ['SELECT id FROM ticks WHERE 100 / (price - 13) < 0', [[2]]],
      ['SELECT id FROM ticks WHERE CAST(note AS Integer) > 0', [[2]]],
      ['SELECT id FROM ticks ORDER BY 100 / (price - 13), CAST(note AS Integer)', [[2]]],
      ['SELECT count(*) AS n FROM ticks GROUP BY 100 / (price - 11)', [[1]]],
      ['SELECT sum(CAST(note AS Integer)) AS s FROM ticks', [['2']]],
      ['SELECT min(100 / (price - 13)) OVER () < 0 AS x FROM ticks', [[true]]],
      ['SELECT t.id FROM own o JOIN ticks t ON CAST(t.note AS Integer) = o.id', [[2]]],
      [
        'SELECT o.id FROM own o WHERE EXISTS (SELECT 1 FROM ticks t WHERE 100 / (t.price - 11) > o.id) ORDER BY o.id',
        [[1], [2], [3]],
      ],
      ['SELECT o.id FROM own o LEFT JOIN ticks t ON t.price = o.price WHERE t.id IS NULL ORDER BY o.id', [[1], [3]]],
      ['SELECT o.id FROM own o ASOF JOIN ticks t ON o.price >= t.price AND o.venue = t.venue', [[2]]],
      ['SELECT count(DISTINCT venue) AS n FROM ticks HAVING min(100 / (price - 11)) > 0', [[1]]],
      ['SELECT id FROM ticks LIMIT 10 OFFSET 1', []],
      ["SELECT id FROM ticks WHERE venue = 'XLON' OR 100 / (price - 13) > 0", [[2]]],
      ["SELECT id FROM ticks WHERE venue IN ('XLON', 'NONE')", [[2]]],
    ] as const)
      assert.deepEqual(await place.rows(statement), expected, statement)
    const analyzed = (await place.rows('EXPLAIN ANALYZE SELECT id FROM ticks WHERE price > 0')).join('\n')
    assert.match(analyzed, /1 row in/)
    assert.doesNotMatch(analyzed, /_gh_|3 rows|2 rows|[Rr]emoved/)
    const session = await place.wire()
    const copied = await session.query('COPY (SELECT id, price FROM ticks) TO STDOUT')
    assert.equal(copied.copied.toString(), '2\t12\n')
    for (const statement of [
      "SELECT n_live_tup FROM pg_stat_user_tables WHERE relname = 'ticks'",
      "SELECT relpages FROM pg_class WHERE relname = 'ticks'",
      "SELECT most_common_vals FROM pg_stats WHERE tablename = 'ticks'",
      "SELECT pg_relation_size('ticks')",
      "SELECT pg_total_relation_size('ticks')",
    ]) {
      const answer = await session.query(statement)
      const values = texts(answer)
        .flat()
        .filter((value) => value !== null)
      assert.ok(
        values.every((value) => ['0', '-1'].includes(value)),
        `${statement}: ${values}`,
      )
    }
    session.close()
    assert.equal((await place.admin('DELETE', `/entitlements/${encodeURIComponent(given.body.id)}`)).status, 204)
  })

  test('views of their own have what is theirs', async () => {
    await asAdmin(
      "CREATE VIEW peek READ SCOPE 'Platform/Market' AS SELECT d.id, t.price FROM depth d JOIN ticks t ON t.id = d.id",
    )
    assert.deepEqual(await place.rows('SELECT id FROM peek'), [])
    assert.deepEqual((await place.rows('SELECT count(*) AS n FROM peek', place.server.handler))[0], [2])
    assert.deepEqual((await place.refusal('SELECT id FROM peek', place.server.admin)).slice(0, 2), [
      403,
      'Licence.Needed',
    ])
  })

  test('nothing is written that tells of a row', async () => {
    for (const statement of [
      "INSERT INTO depth (id, venue, price) VALUES (1, 'XNYS', 99)",
      "INSERT INTO depth (id, venue, price) VALUES (99, 'XNYS', 11)",
      "INSERT INTO depth (id, venue, price) VALUES (99, 'XNYS', 11) ON CONFLICT DO NOTHING",
      "INSERT INTO depth (id, venue, price) VALUES (1, 'XNYS', 1) ON CONFLICT (id) DO UPDATE SET price = depth.price + 1 RETURNING *",
      'UPDATE depth SET price = price WHERE price = 11 RETURNING *',
      'DELETE FROM depth WHERE price > 10 RETURNING *',
      "INSERT INTO ticks (id, venue, price) VALUES (2, 'XNYS', 1)",
      'UPDATE own SET price = 1 WHERE id IN (SELECT id FROM depth)',
      'INSERT INTO own SELECT id + 100, venue, price, note FROM depth',
      'DELETE FROM own WHERE price IN (SELECT price FROM ticks)',
    ]) {
      const { status, body } = await place.query(statement)
      assert.equal(status, 403, statement)
      assert.match(body.Code, /^Licence\.(?:Needed|Target)$/, statement)
      assert.doesNotMatch(body.detail, /11|12|13/, statement)
    }
    const session = await place.wire()
    await session.query('BEGIN')
    await session.query("INSERT INTO depth (id, venue, price) VALUES (1, 'XNYS', 11)")
    const committed = await session.query('COMMIT')
    assert.match(committed.errors[0]?.D ?? '', /^Licence\.Needed/)
    session.close()
  })

  test('a position of better times, or of somebody else, shows what its reader has', async () => {
    const statement = 'SELECT id, price FROM depth'
    const { handler, alice, url } = place.server
    const theirs = await place.live(statement, handler)
    const first = await theirs.next()
    assert.deepEqual(keys(first), [[1], [2], [3]])
    theirs.close()
    const headers = { 'content-type': 'application/json', 'last-event-id': first.id ?? '' }
    const body = JSON.stringify({ Statement: statement })
    const live = await openEvents(`${url}/query?rows=arrays`, { token: alice, headers, body })
    const events = [await live.next()]
    if (events[0]?.event === 'reset') events.push(await live.next())
    const snapshot = events.at(-1)
    assert.deepEqual([snapshot?.data.Recovered, snapshot?.data.Put], [false, []])
    live.close()
    const page = await place.server.send('POST', '/Query/depth/Select?rows=arrays&limit=1', {
      token: handler,
      body: [],
    })
    const after = encodeURIComponent(page.body.NextCursor)
    const next = await place.server.send('POST', `/Query/depth/Select?rows=arrays&after=${after}`, { body: [] })
    assert.deepEqual(next.body.Rows, [])
  })

  test('a plan that was made with more shows nothing after a downgrade', async () => {
    const given = await place.admin('POST', '/entitlements', {
      ...{ product: 'LSE', user: 'alice', access: 'realtime', from: '2020-01-01' },
    })
    assert.equal(given.status, 201)
    const session = await place.wire()
    await session.send(parse('mine', 'SELECT price FROM ticks WHERE venue = $1'), SYNC)
    const run = () => session.send(bind('', 'mine', ['XLON']), execute(''), SYNC)
    assert.deepEqual(texts(await run()), [['12']])
    await session.send(parse('', 'SELECT price FROM ticks'), bind('later', '', []), SYNC)
    const taken = await place.admin('DELETE', `/entitlements/${encodeURIComponent(given.body.id)}`)
    assert.equal(taken.status, 204)
    assert.deepEqual(texts(await run()), [])
    assert.deepEqual(texts(await session.query('SELECT price FROM ticks')), [])
    session.close()
  })

  test('agents and lists do not say how many rows there are', async () => {
    const { status, body } = await place.server.send('GET', '/catalogue/tables/depth')
    assert.equal(status, 200)
    assert.doesNotMatch(JSON.stringify(body), /"rows"|_gh_/)
    const session = await place.wire()
    const counted = await session.query("SELECT reltuples FROM pg_class WHERE relname = 'depth'")
    assert.deepEqual(texts(counted), [['-1']])
    const hidden = await session.query("SELECT relname FROM pg_class WHERE relname LIKE '\\_gh%'")
    assert.deepEqual(texts(hidden), [])
    session.close()
  })
})
