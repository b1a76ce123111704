/** Tables that products cover: nobody reads them without a licence, by no way, whole or by the values of a column. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ALICE, signIn } from '../../support/demo-user.ts'
import { onEveryEngine } from '../../support/engines.ts'
import { bind, execute, parse, SYNC, texts } from '../../support/wire-session.ts'
import { startLicenceServer } from '../licence-server.ts'
import { fill, insert, keys, PRODUCTS, type TablePlace, tablePlace } from './table-licences.ts'

onEveryEngine('covered tables', (at) => {
  let place: TablePlace
  before(async () => {
    place = tablePlace(
      await startLicenceServer(at(), PRODUCTS, { flags: { '--wire-port': '0', '--wire-writes': 'true' } }),
    )
    await fill(place)
  })
  after(() => place.server.stop())

  test('a statement has the rows that are licensed, however it reads them', async () => {
    for (const [statement, expected] of [
      ['SELECT id FROM ticks ORDER BY id', [[1], [2]]],
      ['SELECT count(*) AS n, max(price) AS top FROM ticks', [[2, 2]]],
      ['SELECT id FROM TICKS WHERE id = 3', []],
      ['SELECT f.id FROM free f JOIN ticks t ON t.id = f.id + 2', []],
      ['SELECT f.id, t.id AS t FROM free f LEFT JOIN ticks t ON t.id = 3', [[1, null]]],
      ['SELECT (SELECT max(price) FROM ticks) AS top FROM free', [[2]]],
      ['SELECT id FROM free WHERE EXISTS (SELECT 1 FROM ticks WHERE price = 3)', []],
      ['WITH t AS (SELECT * FROM ticks) SELECT max(price) AS top FROM t', [[2]]],
      ['SELECT id FROM all_ticks ORDER BY price DESC', [[2], [1]]],
      [
        'SELECT venue, count(*) AS n FROM ticks GROUP BY venue ORDER BY venue',
        [
          ['ARCX', 1],
          ['XNYS', 1],
        ],
      ],
      ['SELECT venue FROM ticks LATEST ON price PARTITION BY venue ORDER BY venue', [['ARCX'], ['XNYS']]],
      ['SELECT id FROM free UNION ALL SELECT id FROM ticks ORDER BY id', [[1], [1], [2]]],
      // Nothing is evaluated on a row that is not there.
      ['SELECT id FROM ticks WHERE 1 / (price - 3) <= 1 ORDER BY id', [[1], [2]]],
    ] as const)
      assert.deepEqual(await place.rows(statement), expected, statement)
    const select = await place.server.send('POST', '/Query/ticks/Select?rows=arrays', { body: [] })
    assert.deepEqual(
      select.body.Rows.map(([id]: [number]) => id),
      [1, 2],
    )
    const csv = await place.query('SELECT id FROM ticks ORDER BY id', undefined, { accept: 'text/csv' })
    assert.equal(csv.body, 'id\r\n1\r\n2\r\n')
  })

  test('a materialized view shows what is licensed of its table, by the group that says which product covers it', async () => {
    const { server } = place
    const define = async (statement: string) => {
      const { status, body } = await place.query(statement, server.admin)
      assert.equal(status, 200, `${statement}: ${JSON.stringify(body)}`)
    }
    // Who defines needs no licence, and sees no row either.
    await define('CREATE MATERIALIZED VIEW venues AS SELECT venue AS v, max(price) AS total FROM ticks GROUP BY v')
    await define('CREATE MATERIALIZED VIEW venues_again AS SELECT v AS w, max(total) AS total FROM venues GROUP BY w')
    await define('CREATE MATERIALIZED VIEW prices AS SELECT id, max(price) AS top FROM ticks GROUP BY id')
    await define('CREATE MATERIALIZED VIEW guarded AS SELECT id, max(price) AS top FROM secrets GROUP BY id')
    for (const view of ['venues_again', 'prices', 'guarded']) await define(`REFRESH MATERIALIZED VIEW ${view}`)
    for (const [statement, expected] of [
      [
        'SELECT v, total FROM venues ORDER BY v',
        [
          ['ARCX', 2],
          ['XNYS', 1],
        ],
      ],
      ['SELECT w FROM venues_again ORDER BY w', [['ARCX'], ['XNYS']]],
      ['SELECT id FROM prices', []],
    ] as const)
      assert.deepEqual(await place.rows(statement), expected, statement)
    for (const view of ['venues', 'venues_again', 'prices']) {
      assert.deepEqual(
        (await place.refusal(`SELECT 1 AS one FROM ${view}`, server.robot)).slice(0, 2),
        [403, 'Licence.Needed'],
        view,
      )
      assert.deepEqual(
        (await place.refusal(`INSERT INTO free (id, venue, price) SELECT 7, 'X', 1 FROM ${view}`))[1],
        'Licence.Target',
        view,
      )
    }
    assert.deepEqual(await place.refusal('SELECT 1 AS one FROM guarded'), [403, 'Licence.Needed', ['WHOLE'], 'none'])
    const events = await place.live('SELECT * FROM guarded')
    assert.equal(events.status, 403)
    events.close()
    for (const view of ['venues_again', 'venues', 'prices', 'guarded']) await define(`DROP MATERIALIZED VIEW ${view}`)
  })

  test('without any licence it is refused, not empty; its definition stays visible', async () => {
    const { server } = place
    assert.deepEqual(await place.refusal('SELECT 1 AS one FROM ticks', server.robot), [
      ...[403, 'Licence.Needed', ['LSE', 'NYSE'], 'none'],
    ])
    for (const statement of [
      'SELECT count(*) AS n FROM secrets',
      'SELECT id FROM free WHERE id IN (SELECT price FROM secrets)',
      'SELECT f.id FROM free f LEFT JOIN secrets s ON s.id = f.id',
      'WITH s AS (SELECT * FROM secrets) SELECT 1 AS one FROM free',
      'EXPLAIN ANALYZE SELECT * FROM secrets',
      "INSERT INTO secrets (id, venue, price) VALUES (9, 'X', 1)",
      "INSERT INTO secrets (id, venue, price) VALUES (1, 'X', 1)",
      "INSERT INTO secrets (id, venue, price) VALUES (1, 'X', 1) ON CONFLICT DO NOTHING",
      "INSERT INTO secrets (id, venue, price) VALUES (9, 'X', 1) RETURNING *",
      'UPDATE secrets SET price = 1 WHERE price > 40',
      'DELETE FROM secrets WHERE id = 1',
      'INSERT INTO free SELECT * FROM secrets',
      'UPDATE free SET price = (SELECT max(price) FROM secrets) WHERE id = 1',
      'DELETE FROM free WHERE id IN (SELECT price FROM secrets)',
    ]) {
      assert.deepEqual(await place.refusal(statement), [403, 'Licence.Needed', ['WHOLE'], 'none'], statement)
      const session = await place.wire()
      assert.equal((await session.query(statement)).errors[0]?.C, '42501', statement)
      session.close()
    }
    for (const statement of [
      "CREATE TABLE copied READ SCOPE 'Platform/Market' AS SELECT * FROM secrets",
      'CREATE UNIQUE INDEX guess ON secrets (price)',
      'ALTER TABLE secrets ADD CONSTRAINT guess CHECK (price < 40)',
      'ALTER TABLE secrets ADD CONSTRAINT guess CHECK (price < 50)',
      'SELECT * FROM secrets',
    ])
      assert.deepEqual((await place.refusal(statement, server.admin)).slice(0, 2), [403, 'Licence.Needed'], statement)
    const session = await place.wire()
    assert.equal((await session.query('COPY secrets TO STDOUT')).errors[0]?.C, '42501')
    assert.equal((await session.query('COPY (SELECT * FROM secrets) TO STDOUT')).errors[0]?.C, '42501')
    session.close()
    const ofTable = await server.send('POST', '/Query/secrets/Select', { body: [] })
    assert.deepEqual([ofTable.status, ofTable.body.Code], [403, 'Licence.Needed'])
    const bulk = await server.send('POST', '/Query/secrets/Insert', {
      body: 'id,venue,price\n1,X,1\n',
      headers: { 'content-type': 'text/csv' },
    })
    assert.deepEqual([bulk.status, bulk.body.Code], [403, 'Licence.Needed'])
    const events = await place.live('SELECT * FROM secrets')
    assert.equal(events.status, 403)
    events.close()
    assert.equal((await place.rows('DESCRIBE secrets')).length, 4)
    assert.ok((await place.rows('SHOW TABLES')).some(([name]) => name === 'secrets'))
    assert.ok((await place.rows('EXPLAIN SELECT * FROM secrets')).length > 0)
  })

  test('writing needs real-time access to what it touches, and rows do not leave their products', async () => {
    const { server } = place
    const write = (venue: string, id: number) =>
      place.query(`INSERT INTO ticks (id, venue, price) VALUES (${id}, '${venue}', 1)`)
    // Of a row that is nobody's any product of the table is enough.
    assert.equal((await write('FREE', 51)).status, 200)
    assert.equal((await write('XNYS', 52)).status, 200)
    assert.deepEqual((await place.query('UPDATE ticks SET price = 9 WHERE id = 3')).body.RowsAffected, 0)
    assert.deepEqual((await place.query('DELETE FROM ticks WHERE id IN (3, 51)')).body.RowsAffected, 0)
    assert.deepEqual((await place.query('DELETE FROM ticks WHERE id = 52')).body.RowsAffected, 1)
    assert.deepEqual(await place.refusal("UPDATE ticks SET venue = 'FREE' WHERE id = 1"), [409, 'Licence.Column'])
    assert.deepEqual(
      await place.refusal(
        "INSERT INTO ticks (id, venue, price) VALUES (1, 'XNYS', 1) ON CONFLICT (id) DO UPDATE SET venue = 'FREE'",
      ),
      [409, 'Licence.Column'],
    )
    assert.deepEqual(await place.refusal('INSERT INTO free SELECT * FROM ticks'), [403, 'Licence.Target', ['NYSE']])
    assert.deepEqual(await place.refusal('UPDATE free SET price = (SELECT max(price) FROM ticks) WHERE id = 1'), [
      ...[403, 'Licence.Target', ['NYSE']],
    ])
    assert.equal((await place.query("INSERT INTO Copies SELECT * FROM ticks WHERE venue = 'XNYS'")).status, 200)
    assert.deepEqual(await place.refusal('INSERT INTO Copies SELECT * FROM ticks', server.handler), [
      ...[403, 'Licence.Target', ['LSE']],
    ])
    assert.deepEqual((await place.refusal('ALTER TABLE Copies DROP COLUMN venue', server.admin)).slice(0, 2), [
      ...[409, 'Data.InUse'],
    ])
    assert.deepEqual(
      (await place.refusal('ALTER TABLE ticks RENAME COLUMN venue TO market', server.admin))[1],
      'Data.InUse',
    )
    // A row that another product covers is not replaced.
    const replaced = await server.send('POST', '/Query/ticks/Insert?duplicates=replace', {
      token: server.handler,
      body: 'id,venue,price\n1,XNYS,1\n3,XNYS,7\n',
      headers: { 'content-type': 'text/csv' },
    })
    assert.deepEqual([replaced.status, replaced.body.Code], [409, 'Data.UniqueViolation'])
    assert.deepEqual(
      await place.rows('SELECT venue, price FROM ticks WHERE id IN (1, 3) ORDER BY id', server.handler),
      [
        ...[
          ['XNYS', 1],
          ['XLON', 3],
        ],
      ],
    )
    await place.query('DELETE FROM Copies WHERE id = 1', server.handler)
  })

  test('an inserted row that is not licensed is refused with its product and what is missing, by every way', async () => {
    const { server } = place
    const statement = "INSERT INTO ticks (id, venue, price) VALUES (60, 'XNYS', 1), (61, 'XLON', 1)"
    const needed = (reason: string) => [403, 'Licence.Needed', ['LSE'], reason]
    assert.deepEqual(await place.refusal(statement), needed('none'))
    const ended = { product: 'LSE', user: 'alice', access: 'realtime', from: '2020-01-01', until: '2021-01-01' }
    const { status, body } = await place.admin('POST', '/entitlements', ended)
    assert.equal(status, 201, JSON.stringify(body))
    assert.deepEqual(await place.refusal(statement), needed('expired'))
    for (const [type, rows] of [
      ['text/csv', 'id,venue,price\n60,XNYS,1\n61,XLON,1\n'],
      ['application/json', [{ id: 61, venue: 'XLON', price: 1 }]],
    ] as const) {
      const reply = await server.send('POST', '/Query/ticks/Insert', { body: rows, headers: { 'content-type': type } })
      assert.deepEqual([reply.status, reply.body.Code, reply.body.Products], [403, 'Licence.Needed', ['LSE']], type)
    }
    const session = await place.wire()
    const [error] = (await session.query(statement)).errors
    assert.equal(error?.C, '42501')
    assert.match(error?.M ?? '', /LSE is needed to insert this row: expired/)
    session.close()
    assert.deepEqual(await place.rows('SELECT id FROM ticks WHERE id >= 60', server.handler), [])
    // The row filter of the table itself is another reason.
    const filter = 'ALTER TABLE ticks SET ROW FILTER (price < 100)'
    assert.equal((await place.query(filter, server.admin)).status, 200)
    assert.equal(
      (await place.refusal("INSERT INTO ticks (id, venue, price) VALUES (62, 'XNYS', 100)"))[1],
      'IQL.RowFilter',
    )
    assert.equal((await place.query('ALTER TABLE ticks SET ROW FILTER NULL', server.admin)).status, 200)
    const id = encodeURIComponent('LSE:user:alice:2020-01-01')
    assert.equal((await place.admin('DELETE', `/entitlements/${id}`)).status, 204)
  })

  test('a change holds for the next statement, and live queries and open portals follow within a second', async () => {
    const live = await place.live('SELECT id FROM ticks ORDER BY id')
    assert.deepEqual(keys(await live.next()), [[1], [2]])
    const session = await place.wire()
    await session.query('BEGIN')
    const open = [parse('', 'SELECT id FROM ticks ORDER BY id'), bind('', '', []), execute('', 1), SYNC]
    assert.deepEqual(texts(await session.send(...open)), [['1']])
    await session.send(parse('mine', 'SELECT count(*) AS n FROM ticks'), SYNC)
    await session.send(parse('all', 'SELECT id FROM ticks ORDER BY id'), bind('p', 'all', []), execute('p', 1), SYNC)

    const given = await place.admin('POST', '/entitlements', {
      ...{ product: 'LSE', user: 'alice', access: 'realtime', from: '2020-01-01' },
    })
    assert.equal(given.status, 201, JSON.stringify(given.body))
    assert.deepEqual(await place.rows('SELECT count(*) AS n FROM ticks'), [[3]])
    assert.deepEqual((await live.next()).data, { Kind: 'Reset', Reason: 'Rights' })
    assert.deepEqual(keys(await live.next()), [[1], [2], [3]])

    await place.patch('/products/NYSE', { enabled: false })
    assert.deepEqual(await place.rows('SELECT count(*) AS n FROM ticks'), [[1]])
    assert.deepEqual(texts(await session.send(bind('', 'mine', []), execute(''), SYNC)), [['1']])
    assert.deepEqual((await live.next()).data, { Kind: 'Reset', Reason: 'Rights' })
    assert.deepEqual(keys(await live.next()), [[3]])

    await place.patch('/products/LSE', { enabled: false })
    assert.deepEqual(await place.refusal('SELECT count(*) AS n FROM ticks'), [
      ...[403, 'Licence.Needed', ['LSE', 'NYSE'], 'disabled'],
    ])
    const ends = await live.next()
    assert.deepEqual([ends.event, ends.data.Code], ['end', 'Licence.Needed'])
    const continued = await session.send(execute('p', 10), SYNC)
    assert.equal(continued.errors[0]?.C, '42501')
    assert.equal(continued.rows.length, 0)
    session.close()
    for (const product of ['NYSE', 'LSE']) await place.patch(`/products/${product}`, { enabled: true })
    assert.deepEqual(await place.rows('SELECT count(*) AS n FROM ticks'), [[3]])
    const taken = await place.admin('DELETE', `/entitlements/${encodeURIComponent(given.body.id)}`)
    assert.equal(taken.status, 204, JSON.stringify(taken.body))
    assert.deepEqual(await place.rows('SELECT count(*) AS n FROM ticks'), [[2]])
  })

  test('an export that is under way is broken off, never as if whole', async () => {
    const values = Array.from({ length: 20_000 }, (_, index) => `${index + 1000},XNYS,${index},${'x'.repeat(200)}`)
    const filled = await place.server.send('POST', '/Query/ticks/Insert', {
      token: place.server.handler,
      body: `id,venue,price,note\n${values.join('\n')}\n`,
      headers: { 'content-type': 'text/csv' },
    })
    assert.equal(filled.status, 200, JSON.stringify(filled.body))
    const reply = await fetch(`${place.server.url}/query?rows=arrays`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${place.server.alice}`,
        accept: 'application/x-ndjson',
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        Statement: 'SELECT t.id, t.note, u.note AS other FROM ticks t JOIN ticks u ON u.id > t.id',
      }),
    })
    const reader = reply.body?.getReader()
    assert.ok(reader)
    await reader.read()
    await place.patch('/products/NYSE', { enabled: false })
    let text = ''
    const decoder = new TextDecoder()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      text = (text + decoder.decode(value)).slice(-10_000)
    }
    const last = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '')
    assert.equal(last.Error?.Code ?? last.Code, 'Licence.Needed', JSON.stringify(last).slice(0, 500))
    await place.patch('/products/NYSE', { enabled: true })
    await place.query('DELETE FROM ticks WHERE id >= 1000', place.server.handler)
  })

  test('what a product covers from now on is closed at once, and what is running ends', async () => {
    await insert(place, 'free', 2, 'X', 2)
    const live = await place.live('SELECT id FROM free ORDER BY id')
    assert.deepEqual(keys(await live.next()), [[1], [2]])
    const created = await place.admin('POST', '/products', { name: 'LATE', covers: [{ table: 'FREE' }] })
    assert.equal(created.status, 201, JSON.stringify(created.body))
    assert.deepEqual(await place.refusal('SELECT id FROM free'), [403, 'Licence.Needed', ['LATE'], 'none'])
    const ends = await live.next()
    assert.deepEqual([ends.event, ends.data.Code], ['end', 'Licence.Needed'])
    const other = await place.admin('POST', '/products', {
      ...{ name: 'OTHER', covers: [{ table: 'ticks', column: 'note', values: ['n'] }] },
    })
    assert.equal(other.status, 422)
    assert.equal((await place.admin('DELETE', '/products/LATE?free=true')).status, 204)
    assert.deepEqual(await place.rows('SELECT id FROM free ORDER BY id'), [[1], [2]])
  })

  test('what cannot be covered is refused with its path', async () => {
    const define = async (statement: string) => {
      const { status, body } = await place.query(statement, place.server.admin)
      assert.equal(status, 200, JSON.stringify(body))
    }
    const scope = "READ SCOPE 'Platform/Market'"
    await define(`CREATE TABLE keyless (id Integer, venue Text) ${scope}`)
    await define(`CREATE TABLE unlogged (id Integer PRIMARY KEY) ${scope} WITH (live = off)`)
    await define('CREATE VIEW seen AS SELECT id FROM free')
    for (const [delay, coverage, path] of [
      ['1 minute', { table: 'KEYLESS' }, 'covers[0].table'],
      ['1 minute', { table: 'unlogged' }, 'covers[0].table'],
      [undefined, { table: 'Seen' }, 'covers[0].table'],
      [undefined, { table: 'keyless', column: 'venue', values: ['A'] }, 'covers[0].column'],
      [undefined, { table: 'ticks', column: 'market', values: ['A'] }, 'covers[0].column'],
      ['1 minute', { table: 'ticks', column: 'note', values: ['A'] }, 'covers[0].column'],
    ] as const) {
      const body = { name: 'BAD', covers: [coverage], ...(delay === undefined ? {} : { delay }) }
      const reply = await place.admin('POST', '/products', body)
      assert.equal(reply.status, 422, JSON.stringify(reply.body))
      assert.equal(reply.body.Faults?.[0]?.Path ?? reply.body.Faults?.[0]?.path, path, JSON.stringify(reply.body))
    }
    for (const minutes of [1, 2, 3, 4]) {
      const body = { name: `D${minutes}`, delay: `${minutes} minutes`, covers: [{ table: 'later' }] }
      assert.equal((await place.admin('POST', '/products', body)).status, minutes < 4 ? 201 : 422)
    }
    for (const minutes of [1, 2, 3]) await place.admin('DELETE', `/products/D${minutes}?free=true`)
  })

  test('a column that is not there yet, or is of another table then, opens nothing', async () => {
    const body = { name: 'EARLY', default: 'realtime', covers: [{ table: 'early', column: 'venue', values: ['A'] }] }
    assert.equal((await place.admin('POST', '/products', body)).status, 201)
    for (const column of ['venue Text', 'market Text NOT NULL', 'venue Double NOT NULL']) {
      const made = `CREATE TABLE early (id Integer PRIMARY KEY, ${column}) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'`
      assert.equal((await place.query(made, place.server.admin)).status, 200)
      assert.deepEqual(await place.rows('SELECT id FROM early'), [])
      assert.equal((await place.query('DROP TABLE early', place.server.admin)).status, 200)
    }
    assert.equal((await place.admin('DELETE', '/products/EARLY?free=true')).status, 204)
  })

  test('a statement uses the products whose rows it can show, and no others', async () => {
    const { robot } = place.server
    for (const product of ['NYSE', 'LSE']) {
      const body = { product, client: 'robot', access: 'realtime', from: '2020-01-01' }
      assert.equal((await place.admin('POST', '/entitlements', body)).status, 201)
    }
    const used = async () => {
      const { body } = await place.admin('GET', '/audit?event=licence.opened&actor=robot&limit=100')
      return body.items.map(({ target }: { target: string }) => target).sort()
    }
    // Where one of its tables is refused, nothing of the others is shown.
    const joined = 'SELECT t.id FROM ticks t JOIN secrets s ON s.id = t.id'
    assert.equal((await place.refusal(joined, robot))[1], 'Licence.Needed')
    const refused = await place.live(joined, robot)
    assert.equal(refused.status, 403)
    refused.close()
    assert.deepEqual(await used(), [])
    for (const statement of [
      "SELECT id FROM ticks WHERE venue = 'XNYS'",
      "SELECT id FROM ticks WHERE venue = 'ARCX'",
      "SELECT id FROM ticks WHERE 'XNYS' = venue AND price > 0",
      "SELECT count(*) AS n FROM ticks WHERE venue IN ('XNYS', 'ARCX')",
      "SELECT f.id FROM free f JOIN ticks t ON t.id = f.id WHERE t.venue = 'XNYS'",
      "SELECT id FROM free WHERE id IN (SELECT id FROM ticks WHERE venue = 'XNYS')",
      "SELECT id FROM ticks WHERE venue = 'NONE'",
    ])
      await place.rows(statement, robot)
    const live = await place.live("SELECT id FROM ticks WHERE venue = 'XNYS'", robot)
    await live.next()
    live.close()
    assert.deepEqual([...new Set(await used())], ['NYSE'])
    for (const statement of [
      "SELECT id FROM ticks WHERE venue = 'XNYS' OR price = 3",
      "SELECT f.id FROM free f LEFT JOIN ticks t ON t.venue = 'XNYS'",
    ]) {
      await place.rows(statement, robot)
    }
    assert.deepEqual([...new Set(await used())], ['LSE', 'NYSE'])
    for (const product of ['NYSE', 'LSE']) {
      const id = encodeURIComponent(`${product}:client:robot:2020-01-01`)
      assert.equal((await place.admin('DELETE', `/entitlements/${id}`)).status, 204)
    }
  })

  test('a use is in the audit log before its first row, and places are counted', async () => {
    const opened = async () => {
      const { body } = await place.admin('GET', '/audit?event=licence.opened&limit=100')
      return body.items.map(({ target, details }: { target: string; details: { way: string; access: string } }) => [
        ...[target, details.way, details.access],
      ])
    }
    const tool = await place.wire(ALICE.password)
    assert.deepEqual(texts(await tool.query('SELECT id FROM ticks ORDER BY id')), [['1'], ['2']])
    tool.close()
    const found = await opened()
    assert.ok(found.some(([target, way]: string[]) => target === 'NYSE' && way === 'query'))
    assert.ok(found.some(([target, way]: string[]) => target === 'NYSE' && way === 'wire'))
    await place.patch('/products/WHOLE', { simultaneous: 1 })
    const made = await place.admin('POST', '/entitlements', {
      ...{ product: 'WHOLE', user: 'alice', access: 'realtime', from: '2020-01-01' },
    })
    assert.equal(made.status, 201)
    assert.deepEqual(await place.rows('SELECT price FROM secrets'), [[41]])
    assert.ok((await opened()).some(([target]: string[]) => target === 'WHOLE'))
    const elsewhere = await signIn(place.server)
    assert.deepEqual(await place.refusal('SELECT price FROM secrets', elsewhere.access_token), [
      ...[403, 'Licence.Places', ['WHOLE']],
    ])
    assert.deepEqual(await place.rows('SELECT price FROM secrets'), [[41]])
    await place.patch('/products/WHOLE', { simultaneous: null })
    assert.deepEqual(await place.rows('SELECT price FROM secrets', elsewhere.access_token), [[41]])
  })
})
