/** Delayed tables: callers see rows as they were, by every way, and nothing that is younger. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onEveryEngine } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { texts } from '../../support/wire-session.ts'
import { startLicenceServer } from '../licence-server.ts'
import { keys, type TablePlace, tablePlace } from './table-licences.ts'

const SECONDS = 2
const DECLARED = `
products:
  - { name: NYSE, delay: ${SECONDS} seconds, covers: [{ table: ticks, column: venue, values: [XNYS] }, { table: depth }] }
  - { name: LSE, delay: ${SECONDS} seconds, covers: [{ table: ticks, column: venue, values: [XLON] }] }
entitlements:
  - { product: NYSE, user: alice, access: delayed }
  - { product: LSE, user: alice, access: delayed }
  - { product: NYSE, user: admin, access: delayed }
  - { product: LSE, user: admin, access: realtime }
  - { product: NYSE, client: handler, access: realtime, kind: exempt }
  - { product: LSE, client: handler, access: realtime, kind: exempt }
`

onEveryEngine('delayed tables', (at) => {
  let place: TablePlace
  before(async () => {
    place = tablePlace(await startLicenceServer(at(), DECLARED, { flags: { '--wire-port': '0' } }))
    const scopes = "READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'"
    for (const name of ['ticks', 'depth'])
      await write(
        `CREATE TABLE ${name} (id Integer PRIMARY KEY, venue Text NOT NULL, price Integer NOT NULL) ${scopes}`,
        place.server.admin,
      )
    await write('CREATE INDEX ticks_price ON ticks (price)', place.server.admin)
    await until(
      'the copies of new tables are there',
      2_000,
      async () => (await place.query('SELECT id FROM ticks')).status === 200,
    )
  })
  after(() => place.server.stop())

  async function write(statement: string, token = place.server.handler): Promise<number> {
    const { status, body } = await place.query(statement, token)
    assert.equal(status, 200, `${statement}: ${JSON.stringify(body)}`)
    return Date.now()
  }

  /** When the statement has these rows, which no caller had before that time. */
  async function seenAt(statement: string, expected: unknown, earliest: number, token?: string): Promise<void> {
    await until(`${statement} has ${JSON.stringify(expected)}`, SECONDS * 1_000 + 2_000, async () => {
      const rows = await place.rows(statement, token)
      const isSeen = JSON.stringify(rows) === JSON.stringify(expected)
      // What was read was there before the reply.
      if (isSeen) assert.ok(Date.now() >= earliest, `${earliest - Date.now()} ms too early`)
      return isSeen
    })
  }

  /** On a slow machine the time may be over already. */
  async function unseen(statement: string, expected: unknown, since: number, token?: string): Promise<void> {
    const rows = await place.rows(statement, token)
    if (Date.now() < since + SECONDS * 1_000) assert.deepEqual(rows, expected, statement)
  }

  test('rows, updates and deletions come when they are as old as the delay, all of a commit together', async () => {
    const inserted = Date.now()
    await write("INSERT INTO ticks (id, venue, price) VALUES (1, 'XNYS', 1), (2, 'XLON', 2), (3, 'NONE', 3)")
    assert.deepEqual(await place.rows('SELECT id FROM ticks', place.server.handler), [[1], [2]])
    await unseen('SELECT id FROM ticks', [], inserted)
    await unseen('SELECT count(*) AS n, max(price) AS top FROM ticks', [[0, null]], inserted)
    await unseen('SELECT id FROM ticks', [[2]], inserted, place.server.admin)
    await seenAt('SELECT id FROM ticks ORDER BY id', [[1], [2]], inserted + SECONDS * 1_000)
    const updated = Date.now()
    await write('UPDATE ticks SET price = price + 10 ALL')
    await write('DELETE FROM ticks WHERE id = 1')
    await unseen('SELECT id, price FROM ticks ORDER BY id', JSON.parse('[[1,1],[2,2]]'), updated)
    await seenAt('SELECT id, price FROM ticks ORDER BY id', [[2, 12]], updated + SECONDS * 1_000)
  })

  test('who has two products has the rows of each as old as it is licensed', async () => {
    const inserted = Date.now()
    await write("INSERT INTO ticks (id, venue, price) VALUES (10, 'XNYS', 5), (11, 'XLON', 6)")
    const { admin } = place.server
    await unseen('SELECT id FROM ticks WHERE id >= 10 ORDER BY id', [[11]], inserted, admin)
    await unseen('SELECT sum(price) AS s FROM ticks WHERE id IN (10, 11)', [['6']], inserted, admin)
    await seenAt('SELECT id FROM ticks WHERE id >= 10 ORDER BY id', [[10], [11]], inserted + SECONDS * 1_000, admin)
    const page = await place.server.send('POST', '/Query/ticks/Select?rows=arrays&limit=1', { token: admin, body: [] })
    assert.equal(page.body.Rows.length, 1)
    const after = `/Query/ticks/Select?rows=arrays&limit=10&after=${encodeURIComponent(page.body.NextCursor)}`
    const rest = await place.server.send('POST', after, { token: admin, body: [] })
    assert.equal(rest.status, 200, JSON.stringify(rest.body))
    assert.deepEqual(
      [...page.body.Rows, ...rest.body.Rows].map(([id]: [number]) => id).filter((id) => id >= 10),
      [10, 11],
    )
  })

  test('labels: what is delayed or left out is said by every way', async () => {
    const label = { Table: 'ticks', Delay: SECONDS, Access: 'delayed', Column: 'venue' }
    const { body, headers } = await place.query('SELECT count(*) AS n FROM ticks')
    const licence = body.Licence.map(({ AsOf, ...rest }: { AsOf: string }) => {
      assert.ok(Date.parse(AsOf) <= Date.now() - SECONDS * 1_000, AsOf)
      return rest
    })
    assert.deepEqual(licence, [
      { ...label, Product: 'LSE', Values: ['XLON'] },
      { ...label, Product: 'NYSE', Values: ['XNYS'] },
    ])
    const header = headers.get('licence') ?? ''
    assert.match(header, /^"LSE";table="ticks";delay=2;as-of=@\d+, "NYSE";table="ticks";delay=2;as-of=@\d+$/)
    const admin = await place.query('SELECT count(*) AS n FROM ticks', place.server.admin, { accept: 'text/csv' })
    assert.match(admin.headers.get('licence') ?? '', /^"NYSE";[^,]*$/)
    assert.equal((await place.query('SELECT id FROM ticks', place.server.handler)).headers.get('licence'), null)
    await place.patch('/products/LSE', { enabled: false })
    const left = await place.query('SELECT count(*) AS n FROM ticks', place.server.admin)
    assert.deepEqual(left.body.Licence[0], {
      ...{ Product: 'LSE', Table: 'ticks', Access: 'none', Column: 'venue', Values: ['XLON'] },
    })
    assert.match(left.headers.get('licence') ?? '', /^"LSE";table="ticks";access=none, /)
    await place.patch('/products/LSE', { enabled: true })
    for (const accept of ['application/vnd.apache.arrow.stream', 'application/vnd.apache.parquet']) {
      const reply = await fetch(`${place.server.url}/query`, {
        method: 'POST',
        headers: { authorization: `Bearer ${place.server.alice}`, accept, 'content-type': 'application/json' },
        body: JSON.stringify({ Statement: 'SELECT id FROM ticks' }),
      })
      const text = Buffer.from(await reply.arrayBuffer()).toString('latin1')
      assert.match(text, /licence/)
      assert.match(text, /\[\{"Product":"LSE","Table":"ticks","Access":"delayed","Delay":2,"AsOf":"/)
    }
    const explained = (await place.rows('EXPLAIN SELECT id FROM ticks')).join('\n')
    assert.match(explained, /NYSE is delayed by 2 s, as of .*: ticks where venue is XNYS/)
    const live = await place.live('SELECT id FROM ticks WHERE id = 1')
    const snapshot = (await live.next()).data
    assert.partialDeepStrictEqual(snapshot, { Licence: [{ Product: 'LSE', Access: 'delayed', Delay: SECONDS }, {}] })
    live.close()
    const session = await place.wire()
    const answer = await session.query('SELECT id FROM ticks WHERE id = 0')
    assert.match(answer.letters, /^NNT/)
    const copied = await session.query('COPY ticks TO STDOUT')
    assert.match(copied.letters, /^NNH/, JSON.stringify(copied.errors))
    session.close()
  })

  test('live: rows enter when they are old enough, without another commit', async () => {
    const live = await place.live('SELECT id, price FROM depth')
    assert.deepEqual(keys(await live.next()), [])
    const inserted = Date.now()
    await write("INSERT INTO depth (id, venue, price) VALUES (1, 'A', 7)")
    const change = await live.next()
    assert.ok(Date.now() - inserted >= SECONDS * 1_000)
    assert.deepEqual(keys(change), [[1]])
    // More: a snapshot of now; less: one of then.
    await write("INSERT INTO depth (id, venue, price) VALUES (2, 'A', 8)")
    const given = await place.admin('POST', '/entitlements', {
      ...{ product: 'NYSE', user: 'alice', access: 'realtime', from: '2020-01-01' },
    })
    assert.equal(given.status, 201)
    assert.deepEqual((await live.next()).data, { Kind: 'Reset', Reason: 'Rights' })
    assert.deepEqual(keys(await live.next()), [[1], [2]])
    const taken = await place.admin('DELETE', `/entitlements/${encodeURIComponent(given.body.id)}`)
    assert.equal(taken.status, 204)
    assert.deepEqual((await live.next()).data, { Kind: 'Reset', Reason: 'Rights' })
    assert.deepEqual(keys(await live.next()), [[1]])
    live.close()
  })

  test('a materialized view of a delayed table is as it was', async () => {
    const { admin } = place.server
    await write('CREATE INDEX ticks_venue ON ticks (venue)', admin)
    await write(
      "CREATE MATERIALIZED VIEW counts READ SCOPE 'Platform/Market' AS SELECT venue, count(*) AS n FROM ticks GROUP BY venue",
      admin,
    )
    const statement = "SELECT n FROM counts WHERE venue = 'XNYS'"
    await until('it is open', SECONDS * 1_000 + 5_000, async () => (await place.query(statement)).status === 200)
    const [[before] = []] = await place.rows(statement)
    const inserted = Date.now()
    await write("INSERT INTO ticks (id, venue, price) VALUES (900, 'XNYS', 5), (901, 'XLON', 6)")
    await write('REFRESH MATERIALIZED VIEW counts')
    await unseen(statement, [[before]], inserted)
    await seenAt(statement, [[Number(before) + 1]], inserted + SECONDS * 1_000)
    assert.equal((await place.query(statement)).body.Licence[1].Table, 'counts')
    await write('DROP MATERIALIZED VIEW counts', admin)
  })

  test('rows that a retention deletes leave the copy one delay later', async () => {
    const { admin } = place.server
    const body = { name: 'KEPT', delay: `${SECONDS} seconds`, default: 'delayed', covers: [{ table: 'kept_rows' }] }
    assert.equal((await place.admin('POST', '/products', body)).status, 201)
    const given = { product: 'KEPT', client: 'handler', access: 'realtime', from: '2020-01-01' }
    assert.equal((await place.admin('POST', '/entitlements', given)).status, 201)
    const scopes = "READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'"
    await write(`CREATE TABLE kept_rows (at Timestamp NOT NULL, id Integer, PRIMARY KEY (at, id)) ${scopes}`, admin)
    const statement = 'SELECT id FROM kept_rows ORDER BY id'
    await until('it is open', 5_000, async () => (await place.query(statement)).status === 200)
    const inserted = Date.now()
    await write(`INSERT INTO kept_rows VALUES ('2001-01-01', 1), ('${new Date().toISOString()}', 2)`)
    await seenAt(statement, [[1], [2]], inserted + SECONDS * 1_000)
    const deleted = Date.now()
    await write("ALTER TABLE kept_rows SET WITH (retention = '30 days' ON at)", admin)
    assert.equal((await place.admin('POST', '/retention/kept_rows/run')).status, 200)
    assert.deepEqual(await place.rows(statement, place.server.handler), [[2]])
    await unseen(statement, [[1], [2]], deleted)
    await seenAt(statement, [[2]], deleted + SECONDS * 1_000)
  })

  test('prepared statements and open blocks of a tool move with the time', async () => {
    const session = await place.wire()
    await session.query('PREPARE mine AS SELECT count(*) AS n FROM depth WHERE id > 10')
    await session.query('BEGIN')
    assert.deepEqual(texts(await session.query('EXECUTE mine')), [['0']])
    const inserted = Date.now()
    await write("INSERT INTO depth (id, venue, price) VALUES (11, 'A', 7)")
    for (;;) {
      const [[count] = []] = texts(await session.query('EXECUTE mine'))
      if (count === '1') break
      assert.ok(Date.now() - inserted < 20_000)
      await sleep(50)
    }
    assert.ok(Date.now() - inserted >= SECONDS * 1_000)
    assert.deepEqual(texts(await session.query('SELECT id FROM depth WHERE id > 10')), [['11']])
    session.close()
  })

  test('nobody writes with delayed access, nor reads the copy by its name', async () => {
    for (const statement of [
      "INSERT INTO depth (id, venue, price) VALUES (1, 'A', 7)",
      'UPDATE depth SET price = 1 WHERE price > 6',
      'DELETE FROM depth WHERE id = 11 RETURNING *',
    ])
      assert.deepEqual((await place.refusal(statement)).slice(0, 2), [403, 'Licence.Needed'], statement)
    const explained = (await place.rows('EXPLAIN SELECT id FROM depth')).join('\n')
    assert.doesNotMatch(explained, /_gh_/)
    assert.equal((await place.refusal('SELECT * FROM _gh_delayed_0'))[0], 400)
    const listed = await place.rows('SHOW TABLES', place.server.admin)
    assert.ok(!listed.some(([name]) => String(name).startsWith('_gh_')))
  })

  test('a product over rows that are there opens one delay later', async () => {
    const begun = Date.now()
    await write(
      "CREATE TABLE old (id Integer PRIMARY KEY, price Integer) READ SCOPE 'Platform/Market'",
      place.server.admin,
    )
    await write('INSERT INTO old SELECT id, price FROM depth WHERE id < 0', place.server.admin).catch(() => {})
    const body = { name: 'OLD', delay: `${SECONDS} seconds`, default: 'delayed', covers: [{ table: 'old' }] }
    assert.equal((await place.admin('POST', '/products', body)).status, 201)
    const used = async () => (await place.admin('GET', '/audit?event=licence.opened&target=OLD')).body.items.length
    assert.deepEqual(await place.refusal('SELECT id FROM old'), [503, 'Licence.NotReady', ['OLD']])
    const live = await place.live('SELECT id FROM old')
    assert.equal(live.status, 503)
    live.close()
    // Nothing was shown, so nothing was used.
    assert.equal(await used(), 0)
    await until(
      'it is open',
      SECONDS * 1_000 + 2_000,
      async () => (await place.query('SELECT id FROM old')).status === 200,
    )
    assert.ok(Date.now() - begun >= SECONDS * 1_000)
    assert.equal(await used(), 1)
    await write('ALTER TABLE old ADD COLUMN note Text', place.server.admin)
    const since = Date.now()
    const { status } = await place.query('SELECT id FROM old')
    if (Date.now() < since + SECONDS * 1_000) assert.equal(status, 503)
    assert.equal((await place.admin('DELETE', '/products/OLD?free=true')).status, 204)
    assert.deepEqual(await place.rows('SELECT id FROM old'), [])
  })
})
