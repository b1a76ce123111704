/** Live results hold what a query returns, whatever the values, keys and names are: by each method, in each encoding. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { onEveryEngine } from '../../support/engines.ts'
import { type EventClient, openEvents } from '../../support/event-client.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'
import { LiveClient } from './live-client.ts'

const STATEMENTS = [
  'SELECT * FROM odd',
  'SELECT j, b, d, t FROM odd WHERE id > 0',
  'SELECT d, count(*) AS n FROM odd GROUP BY d',
  'SELECT b, count(*) AS n FROM odd GROUP BY b',
  'SELECT t, sum(n) AS total FROM odd GROUP BY t ORDER BY t',
  'SELECT DISTINCT d, t FROM odd',
  'SELECT e, count(*) AS n FROM odd GROUP BY e',
  'SELECT id, e FROM odd WHERE e > 0 ORDER BY e DESC',
  'SELECT o.j, p.j AS other FROM odd o LEFT JOIN odd p ON p.id = o.id + 1',
  'SELECT max(d) AS d, min(t) AS t FROM odd',
  'SELECT t FROM loose',
  'SELECT t, count(*) AS n FROM loose GROUP BY t',
  'SELECT d, b FROM keyed WHERE at >= :at',
  'SELECT * FROM keyed',
] as const

onEveryEngine('the values of live results', (place) => {
  const events: EventClient[] = []
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    await run(
      'CREATE TABLE odd (id Integer PRIMARY KEY, j Json, b Binary, d Double, t Text, n Decimal(18, 8), e Decimal(38, 18))',
      'CREATE TABLE loose (t Text)',
      'CREATE TABLE keyed (b Binary NOT NULL, d Double NOT NULL, at Timestamp NOT NULL, u Uuid NOT NULL, e Decimal(38, 18) DEFAULT 0 NOT NULL, PRIMARY KEY (b, d, at, u, e))',
    )
  })
  afterEach(() => {
    LiveClient.closeAll()
    for (const client of events.splice(0)) client.close()
  })
  after(() => server.stop())

  const run = async (...statements: readonly string[]): Promise<void> => {
    for (const statement of statements) {
      const reply = await server.query(statement)
      assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    }
  }
  const insert = async (table: string, rows: readonly object[]): Promise<void> => {
    const reply = await server.call(`/query/${table}/insert`, rows)
    assert.equal(reply.status, 200, reply.text)
  }
  const at = '2000-01-01T00:00:00Z'
  const readRows = async (statement: string): Promise<readonly unknown[]> => {
    const reply = await server.query(statement.replace(':at', `'${at}'`))
    assert.equal(reply.status, 200, reply.text)
    return reply.json.Rows
  }

  test('empty tables, and then every kind of value: each statement holds what a query returns', async () => {
    const clients = await Promise.all(
      STATEMENTS.map((statement) =>
        LiveClient.follow(server, statement, statement.includes(':at') ? { parameters: { at } } : {}),
      ),
    )
    const agree = async (): Promise<void> => {
      for (const [index, client] of clients.entries()) await client.holds(await readRows(STATEMENTS[index] ?? ''))
    }
    await agree()
    await insert('odd', [
      {
        id: 1,
        j: { 'a\tb': ['\n', 1, null, { '\u2028': '\u0000'.length }] },
        b: 'AAEC/w==',
        d: 'NaN',
        t: 'tab\tnew\nline "q" \\ \u2028',
      },
      { id: 2, j: 'null', b: '', d: 'Infinity', t: '' },
      { id: 3, j: null, b: null, d: null, t: null, n: '0.00000001', e: '12345678901234567890.123456789012345678' },
      { id: 4, j: [], b: 'AA==', d: '-Infinity', t: '𝄞 é', n: '1234567890.01234567', e: '0.000000000000000001' },
      { id: 5, j: 5, b: 'AAEC/w==', d: 'NaN', t: 'tab\tnew\nline "q" \\ \u2028' },
      { id: -9_007_199_254_740_991, j: true, d: -0.5, t: 'x' },
    ])
    await run(`INSERT INTO loose VALUES ('a'), ('a'), (NULL), (NULL)`)
    await insert('keyed', [
      {
        b: 'AAEC',
        d: 1.5,
        at: '2026-01-01T00:00:00.000001Z',
        u: '00000000-0000-0000-0000-000000000001',
        e: '0.000000000000000001',
      },
      { b: '', d: 'NaN', at: '1999-12-31T23:59:59Z', u: '00000000-0000-0000-0000-000000000002' },
      { b: '', d: 'Infinity', at: '2026-01-01T00:00:00Z', u: '00000000-0000-0000-0000-000000000003' },
    ])
    await agree()
    await run(
      `UPDATE odd SET d = 1.5, t = NULL, e = -7 WHERE id = 1`,
      `DELETE FROM odd WHERE id = 3`,
      `UPDATE loose SET t = 'b' WHERE t IS NULL`,
      `UPDATE keyed SET d = 2.5 WHERE at < '2000-01-01T00:00:00Z'`,
      `DELETE FROM keyed WHERE at = '2026-01-01T00:00:00Z'`,
    )
    await agree()
    await run('DELETE FROM odd ALL', 'DELETE FROM loose ALL', 'DELETE FROM keyed ALL')
    await agree()
    for (const client of clients) assert.deepEqual([client.applier.seen.Reset, client.ended], [0, undefined])
  })

  test('rows=arrays and integers=strings, for keys too, and in changes as in the snapshot', async () => {
    await run('CREATE TABLE big (id Integer PRIMARY KEY, v Integer)', 'INSERT INTO big VALUES (9007199254740993, 5)')
    const open = async (statement: string): Promise<EventClient> => {
      const client = await openEvents(`${server.url}/query?rows=arrays&integers=strings`, {
        token: 'admin',
        headers: { 'content-type': 'text/plain' },
        body: statement,
      })
      events.push(client)
      assert.equal(client.status, 200)
      return client
    }
    for (const [statement, key] of [
      ['SELECT id, v FROM big', ['9007199254740993']],
      ['SELECT id, sum(v) AS v FROM big GROUP BY id', ['9007199254740993']],
    ] as const) {
      const client = await open(statement)
      const { data } = await client.next()
      assert.deepEqual(data.Put, [{ Key: key, Row: ['9007199254740993', '5'] }], statement)
      await run('UPDATE big SET v = 6 ALL')
      assert.deepEqual((await client.next()).data.Put, [{ Key: key, Row: ['9007199254740993', '6'] }])
      await run('DELETE FROM big ALL')
      assert.deepEqual((await client.next()).data.Remove, [key])
      await run('INSERT INTO big VALUES (9007199254740993, 5)')
    }
  })

  test('a row that is larger than a piece goes alone', async () => {
    await run('CREATE TABLE huge (id Integer PRIMARY KEY, t Text)')
    await insert('huge', [
      { id: 1, t: 'a' },
      { id: 2, t: 'b'.repeat(700_000) },
      { id: 3, t: 'c' },
    ])
    const client = await LiveClient.follow(server, 'SELECT id, t FROM huge')
    assert.deepEqual(
      client.texts.map((text) => JSON.parse(text).Put.map(({ Key }: { Key: number[] }) => Key[0])),
      [[1], [2], [3]],
    )
    await run(`UPDATE huge SET t = t || 'x' ALL`)
    await client.until('the change', () => client.applier.seen.Change === 1 && client.applier.isWhole)
    const pieces = client.texts.slice(3).map((text) => JSON.parse(text))
    assert.deepEqual(
      pieces.map(({ More }) => More ?? 'last'),
      [...Array(pieces.length - 1).fill(true), 'last'],
    )
    const large = pieces.find(({ Put }) => Put.some(({ Key }: { Key: number[] }) => Key[0] === 2))
    assert.equal(large?.Put.length, 1)
  })

  test('two columns of one name, and names that JSON or JavaScript treat as special', async () => {
    await run(
      'CREATE TABLE named (id Integer PRIMARY KEY, "__proto__" Text, "a b" Text)',
      `INSERT INTO named VALUES (1, 'x', 'y')`,
    )
    for (const statement of ['SELECT id, id FROM named', 'SELECT "__proto__", "a b", id AS "Key" FROM named']) {
      const reply = await server.query(statement)
      if (reply.status !== 200) {
        await assert.rejects(LiveClient.open(server, statement), { code: reply.json.Code })
        continue
      }
      const client = await LiveClient.follow(server, statement)
      const { Put } = JSON.parse(client.texts[0] ?? '')
      assert.equal(JSON.stringify(Put[0].Row), JSON.stringify(reply.json.Rows[0]))
    }
  })
})
