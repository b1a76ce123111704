/** Rows of long texts, stored or created: neither many of them nor one of many columns fills the memory of the service. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { IS_LONG_RUN, onEveryEngine, shortOnSqlite } from '../support/engines.ts'
import { longestTurn } from './event-loop.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const MIB = 1024 * 1024
const TEXT_BYTES = 4 * MIB
const ROWS = 200
const ROUNDS = IS_LONG_RUN ? 3 : 1

onEveryEngine('long rows', (place, engine) => {
  let server: QueryServer
  const onServer = engine === 'postgres' && 'the database does it'
  before(async () => {
    server = await startQueryServer(place())
    assert.equal((await server.query('CREATE TABLE few (id Integer PRIMARY KEY)')).status, 200)
    const rows = Array.from({ length: ROWS }, (_, id) => ({ id }))
    assert.equal((await server.call('/query/few/insert', rows)).status, 200)
  })
  after(() => server.stop())

  test('stored texts are not compared on the event loop many times, or for many rows', { skip: onServer }, async () => {
    assert.equal((await server.query('CREATE TABLE pairs (id Integer PRIMARY KEY, a Text, b Text)')).status, 200)
    const text = `repeat('x', ${TEXT_BYTES})`
    const stored = await server.query(`INSERT INTO pairs (id, a, b) SELECT id, ${text}, ${text} FROM few WHERE id < 3`)
    assert.equal(stored.json.RowsAffected, 3, stored.text)
    const columns = Array.from({ length: 120 }, (_, index) => `a = b AS c${index}`).join(', ')
    const conditions = Array.from({ length: 100 }, () => 'a BETWEEN b AND b').join(' OR ')
    for (const statement of [
      `SELECT ${columns} FROM pairs WHERE id = 1`,
      `SELECT ${columns} FROM pairs LIMIT 3`,
      `SELECT id FROM pairs WHERE id = 1 AND (${conditions})`,
    ]) {
      const { milliseconds, limit } = await longestTurn(async () => {
        const reply = await server.query(statement)
        assert.equal(reply.status, 200, reply.text.slice(0, 300))
      })
      assert.ok(milliseconds < limit, `${milliseconds} ms: ${statement.slice(0, 60)}`)
    }
  })

  test('long rows are not changed, or returned, on the event loop', { skip: onServer }, async () => {
    const table = 'CREATE TABLE documents (id Integer PRIMARY KEY, a Text, b Text, z Integer)'
    assert.equal((await server.query(table)).status, 200)
    const text = `repeat('x', ${2 * TEXT_BYTES})`
    const stored = await server.query(`INSERT INTO documents SELECT id, ${text}, ${text}, 0 FROM few WHERE id < 8`)
    assert.equal(stored.json.RowsAffected, 8, stored.text)
    const rows = Array.from({ length: 8 }, (_, id) => `(${id}, 1)`).join(', ')
    const copies = Array.from({ length: 80 }, (_, index) => `a AS c${index}`).join(', ')
    for (const [statement, rowsAffected] of [
      [`INSERT INTO documents (id, z) VALUES ${rows} ON CONFLICT (id) DO UPDATE SET z = excluded.z`, 8],
      ['UPDATE documents SET z = z + 1 WHERE id = 3', 1],
      [`UPDATE documents SET a = repeat('x', 300000), b = '' WHERE id = 3`, 1],
      [`UPDATE documents SET z = z + 1 WHERE id = 3 RETURNING ${copies}`, 1],
    ] as const) {
      const { milliseconds, limit } = await longestTurn(async () => {
        const reply = await server.query(statement, { headers: { accept: 'application/x-ndjson' } })
        assert.equal(reply.status, 200, reply.text.slice(0, 300))
      })
      assert.ok(milliseconds < limit, `${milliseconds} ms: ${statement.slice(0, 100)}`)
      assert.ok(rowsAffected > 0)
    }
    const { json } = await server.query('SELECT id, z FROM documents WHERE id IN (2, 3) ORDER BY id')
    assert.equal(json.Rows[0]?.z, 1)
  })

  test('a row of many long texts is 422 Limit.Value, read or returned by a write, which then writes nothing', async () => {
    assert.equal((await server.query('CREATE TABLE one (id Integer PRIMARY KEY, a Text, z Integer)')).status, 200)
    assert.equal((await server.query(`INSERT INTO one VALUES (1, repeat('x', ${TEXT_BYTES}), 0)`)).status, 200)
    const copies = Array.from({ length: 9 }, (_, index) => `a AS c${index}`).join(', ')
    const statements = [
      `UPDATE one SET z = 1 WHERE id = 1 RETURNING ${copies}`,
      `INSERT INTO one (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET z = 1 RETURNING ${copies}`,
      `DELETE FROM one WHERE z = 0 RETURNING ${copies}`,
      ...(engine === 'postgres' ? [`SELECT ${copies} FROM one`, `SELECT ${copies} FROM one WHERE id = 1`] : []),
    ]
    for (const statement of statements) {
      const reply = await server.query(statement)
      assert.deepEqual([reply.status, reply.json.Code], [422, 'Limit.Value'], reply.text.slice(0, 300))
      assert.match(reply.json.detail, /^A row of the result would have more than 33554432 bytes$/)
    }
    const live = { headers: { accept: 'text/event-stream' } }
    // By key and run again. On SQLite a row is in the memory of a reader process, which is bounded.
    for (const order of engine === 'postgres' ? ['', ' ORDER BY id'] : []) {
      const reply = await server.query(`SELECT ${copies} FROM one${order}`, live)
      assert.deepEqual([reply.status, reply.json.Code], [422, 'Limit.Value'], reply.text.slice(0, 300))
    }
    assert.deepEqual((await server.query('SELECT id, z FROM one')).json.Rows, [{ id: 1, z: 0 }])
    const eight = Array.from({ length: 8 }, (_, index) => `a AS c${index}`).join(', ')
    const { json } = await server.query(`UPDATE one SET z = 2 WHERE id = 1 RETURNING z, ${eight}`)
    assert.equal(json.Rows[0]?.z, 2)
    assert.equal(String(json.Rows[0]?.c7).length, TEXT_BYTES)
  })

  test('a key, and an entry of an index, have at most 2,500 bytes on both engines, however a value gets there', async () => {
    await server.query('CREATE TABLE keyed (k Text PRIMARY KEY, a Text, b Text, n Text, UNIQUE (a, b))')
    await server.query('CREATE TABLE source (id Integer PRIMARY KEY, t Text)')
    // Cannot be compressed, as PostgreSQL would, and half of its characters have two bytes.
    const text = (bytes: number): string => randomBytes(bytes).toString('hex').slice(0, bytes)
    const half = 'é'.repeat(625)
    assert.equal((await server.call('/query/source/insert', { id: 1, t: text(2501) })).status, 200)
    const accepted = [
      server.call('/query/keyed/insert', { k: text(2500), a: half, b: text(1250), n: text(9000) }),
      server.query(`INSERT INTO keyed (k, n) VALUES (repeat('x', 2500), repeat('y', 9000))`),
      server.query('UPDATE keyed SET n = (SELECT t FROM source) ALL'),
    ]
    for (const reply of await Promise.all(accepted)) assert.equal(reply.status, 200, reply.text.slice(0, 300))
    const long = `${text(2500)}x`
    const refused = [
      ['k', 2500, server.call('/query/keyed/insert', { k: long })],
      ['k', 2500, server.call('/query/keyed/insert', [{ k: 'short' }, { k: long }])],
      ['k', 2500, server.query(`INSERT INTO keyed (k) VALUES ('${long}')`)],
      ['k', 2500, server.query("INSERT INTO keyed (k) VALUES (repeat('x', 2501))")],
      ['k', 2500, server.query('INSERT INTO keyed (k) SELECT t FROM source')],
      ['k', 2500, server.query("UPDATE keyed SET k = k || 'x' WHERE n IS NOT NULL")],
      ['b', 1250, server.query(`INSERT INTO keyed (k, b) VALUES ('b', '${half}z')`)],
      [
        'a',
        1250,
        server.query(`INSERT INTO keyed (k) VALUES ('${half}') ON CONFLICT (k) DO UPDATE SET a = '${half}z'`),
      ],
      ['t', 2500, server.query('CREATE INDEX by_text ON source (t)')],
    ] as const
    for (const [column, bytes, sent] of refused) {
      const { status, json, text: body } = await sent
      assert.deepEqual([status, json.Code], [422, 'Limit.Value'], `${column}: ${body.slice(0, 300)}`)
      assert.equal(
        json.detail,
        `The value of ${column} is in a key or an index, where it can have at most ${bytes} bytes`,
      )
    }
    assert.equal((await server.query('SELECT count(*) AS n FROM keyed')).json.Rows[0]?.n, 2)
    assert.equal((await server.query("UPDATE source SET t = 'short' WHERE id = 1")).status, 200)
    assert.equal((await server.query('CREATE INDEX by_text ON source (t)')).status, 200)
    assert.equal((await server.query(`UPDATE source SET t = '${long}' WHERE id = 1`)).status, 422, 'from now on')
  })

  test('a result of many long rows is read as fast as its client reads it', shortOnSqlite(engine), async () => {
    const stop = new AbortController()
    const earlier = process.memoryUsage().rss
    const reply = await fetch(`${server.url}/query`, {
      method: 'POST',
      headers: { authorization: 'Bearer market', 'content-type': 'text/plain; charset=utf-8' },
      body: `SELECT repeat('x', ${TEXT_BYTES}) AS t FROM few`,
      signal: stop.signal,
    })
    assert.equal(reply.status, 200)
    await reply.body?.getReader().read()
    const growth = (process.memoryUsage().rss - earlier) / MIB
    stop.abort()
    assert.ok(growth < (ROWS * TEXT_BYTES) / MIB / 4, `${growth} MiB`)
  })

  test('a result that its client no longer wants costs a connection, and is not taken for an outage', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const reply = await server.query(`SELECT length(repeat('x', ${TEXT_BYTES})) AS n FROM few ORDER BY id`)
      assert.equal(reply.json.Rows.length, ROWS)
    }
    assert.deepEqual(
      server.log.filter((line) => /database|failed/.test(line)),
      [],
    )
  })

  test('a long result is whole, and in order', async () => {
    const reply = await server.query(
      `SELECT id, repeat('x', CASE WHEN id % 3 = 0 THEN 1 ELSE 300000 END) AS t FROM few ORDER BY id DESC`,
    )
    assert.deepEqual(
      reply.json.Rows.map(({ id, t }) => [id, String(t).length]),
      Array.from({ length: ROWS }, (_, index) => ROWS - 1 - index).map((id) => [id, id % 3 === 0 ? 1 : 300_000]),
    )
  })

  test(
    'a row of one long text, each character of which is escaped, does not hold the event loop',
    shortOnSqlite(engine),
    async () => {
      const { milliseconds, limit } = await longestTurn(async () => {
        const reply = await fetch(`${server.url}/query`, {
          method: 'POST',
          headers: { authorization: 'Bearer market', 'content-type': 'text/plain; charset=utf-8' },
          body: `SELECT repeat('\u0001', 15000000) AS t FROM few WHERE id < 1`,
        })
        let bytes = 0
        // The reply is not kept: that would take as long as what is measured.
        for await (const chunk of reply.body ?? []) bytes += chunk.byteLength
        assert.ok(bytes > 90_000_000, `${bytes} bytes`)
      })
      assert.ok(milliseconds <= limit, `${milliseconds} ms, the limit is ${limit} ms`)
    },
  )
})
