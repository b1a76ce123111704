/** Materialized views over PostgreSQL's protocol beside HTTP: what defines and reads them, what is refused, and what readers get during a build. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN, ALICE, signIn } from '../../support/demo-user.ts'
import { onEveryEngine } from '../../support/engines.ts'
import { openEvents } from '../../support/event-client.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'
import { texts, WireSession } from '../../support/wire-session.ts'

/** Each is a group: their build takes long enough to be seen. */
const TICKS = 30_000

onEveryEngine('ways to materialized views', (place) => {
  let server: TestServer
  let token: string
  let session: WireSession
  before(async () => {
    server = await startTestServer(place(), {
      flags: { '--demo': 'true', '--wire-port': '0', '--wire-writes': 'true' },
    })
    token = (await signIn(server, ADMIN)).access_token
    session = await WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
  })
  after(async () => {
    session.close()
    await server.stop()
  })

  const send = async (statement: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain; charset=utf-8' }
    const reply = await fetch(`${server.issuer}/query`, { method: 'POST', headers, body: statement })
    return { status: reply.status, retryAfter: reply.headers.get('retry-after'), body: JSON.parse(await reply.text()) }
  }
  const must = async (...statements: readonly string[]) => {
    for (const statement of statements) {
      const { status, body } = await send(statement)
      assert.equal(status, 200, `${statement}: ${JSON.stringify(body)}`)
    }
  }

  test('a tool makes, refreshes, alters, reads and drops a view', async () => {
    await must(
      'CREATE TABLE deals (symbol Text NOT NULL, id Integer, qty Integer NOT NULL, PRIMARY KEY (symbol, id))',
      `INSERT INTO deals VALUES ('A', 1, 10), ('A', 2, 20), ('B', 3, 30)`,
    )
    for (const [statement, tag] of [
      [
        'CREATE MATERIALIZED VIEW totals AS SELECT symbol, sum(qty) AS total FROM deals GROUP BY symbol WITH DATA',
        'CREATE MATERIALIZED VIEW',
      ],
      ['REFRESH MATERIALIZED VIEW CONCURRENTLY totals', 'REFRESH MATERIALIZED VIEW'],
      [`ALTER MATERIALIZED VIEW totals SET COMMENT 'By symbol'`, 'ALTER MATERIALIZED VIEW'],
    ] as const) {
      const { tags, errors } = await session.query(statement)
      assert.deepEqual([tags, errors], [[tag], []], statement)
    }
    assert.deepEqual(texts(await session.query('SELECT symbol, total FROM totals ORDER BY symbol')), [
      ['A', '30'],
      ['B', '30'],
    ])
    assert.equal(
      (await session.query('COPY (SELECT * FROM totals ORDER BY symbol) TO STDOUT')).copied.toString(),
      'A\t30\nB\t30\n',
    )
    assert.deepEqual(
      texts(await session.query(`SELECT matviewname, ispopulated FROM pg_matviews WHERE matviewname = 'totals'`)),
      [['totals', 't']],
    )
  })

  test('nothing is written to it, by no statement of a tool', async () => {
    for (const statement of [
      `INSERT INTO totals VALUES ('C', 1)`,
      `UPDATE totals SET total = 1 WHERE symbol = 'A'`,
      `DELETE FROM totals WHERE symbol = 'A'`,
      'COPY totals FROM STDIN',
    ]) {
      const { errors } = await session.query(statement)
      assert.deepEqual(
        errors.map(({ C }) => C),
        ['42809'],
        statement,
      )
    }
    assert.deepEqual(texts(await session.query('SELECT count(*) FROM totals')), [['2']])
    await must('DROP MATERIALIZED VIEW totals')
  })

  test('what its readers may see is what its base lets them see, by each protocol', async () => {
    await must(
      `CREATE TABLE books (desk Text NOT NULL, id Integer, qty Integer NOT NULL, PRIMARY KEY (desk, id)) READ SCOPE 'Platform/Trading' WRITE SCOPE 'Platform/Trading'
        ROW FILTER (desk = :username)`,
      `INSERT INTO books VALUES ('admin', 1, 1)`,
      'CREATE MATERIALIZED VIEW by_desk AS SELECT desk, sum(qty) AS total FROM books GROUP BY desk',
      'ALTER TABLE books SET ROW FILTER NULL',
      `INSERT INTO books VALUES ('alice', 2, 2), ('bob', 3, 3)`,
      'ALTER TABLE books SET ROW FILTER (desk = :username)',
      'REFRESH MATERIALIZED VIEW by_desk',
    )
    const alice = await WireSession.open(server.wirePort ?? 0, ALICE.username, ALICE.password)
    assert.deepEqual(texts(await alice.query('SELECT desk, total FROM by_desk')), [['alice', '2']])
    assert.equal((await alice.query('COPY by_desk TO STDOUT')).copied.toString(), 'alice\t2\n')
    const live = await openEvents(`${server.issuer}/query`, {
      token: (await signIn(server, ALICE)).access_token,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: 'SELECT desk, total FROM by_desk',
    })
    assert.match(JSON.stringify((await live.next()).data), /"alice"/)
    await must('UPDATE books SET qty = 99 WHERE id = 1')
    assert.deepEqual((await alice.query('UPDATE books SET qty = 12 WHERE id = 2')).tags, ['UPDATE 1'])
    for (;;) {
      const change = JSON.stringify((await live.next()).data)
      assert.doesNotMatch(change, /"bob"|"admin"/)
      if (change.includes('"12"')) break
    }
    live.close()
    alice.close()
    await must('DROP MATERIALIZED VIEW by_desk', 'DROP TABLE books')
  })

  test('while it is built, reading it is Data.Building, never a part: 409, and SQLSTATE 55000', async () => {
    await must(
      'CREATE TABLE ticks (id Integer PRIMARY KEY, qty Integer NOT NULL)',
      `INSERT INTO ticks SELECT i, i % 7 FROM generate_series(1, ${TICKS}) AS g (i)`,
    )
    const created = send(
      'CREATE MATERIALIZED VIEW built AS SELECT id, sum(qty) AS q, count(*) AS n FROM ticks GROUP BY id',
    )
    const refusals: Awaited<ReturnType<typeof send>>[] = []
    const states: string[] = []
    for (;;) {
      const [read, tool] = await Promise.all([
        send('SELECT count(*) AS n FROM built'),
        session.query('SELECT count(*) FROM built'),
      ])
      if (tool.errors[0] === undefined) assert.deepEqual(texts(tool), [[String(TICKS)]])
      else states.push(tool.errors[0].C ?? '')
      if (read.status === 200) {
        assert.deepEqual(read.body.Rows, [{ n: TICKS }])
        break
      }
      refusals.push(read)
      await sleep(5)
    }
    assert.equal((await created).status, 200)
    const building = refusals.filter(({ body }) => body.Code !== 'IQL.UnknownTable')
    assert.ok(building.length > 0)
    for (const { status, retryAfter, body } of building) {
      assert.deepEqual([status, retryAfter, body.Code], [409, '1', 'Data.Building'])
      assert.ok(body.Progress >= 0 && body.Progress <= 1, String(body.Progress))
    }
    assert.deepEqual(
      [...new Set(states)].filter((state) => state !== '42P01'),
      ['55000'],
    )
    await must('DROP MATERIALIZED VIEW built', 'DROP TABLE ticks')
  })
})
