/** COPY over PostgreSQL's protocol. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN, bearer, signIn } from '../support/demo-user.ts'
import { onEveryEngine, shortOnSqlite } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { message, readCancelKey, sendCancel, signInTo } from '../support/wire-client.ts'
import { bind, execute, int16, int32, parse, readAnswer, SYNC, texts, WireSession } from '../support/wire-session.ts'

onEveryEngine('COPY', (place, engine) => {
  let server: TestServer
  let session: WireSession
  before(async () => {
    server = await startTestServer(place(), {
      flags: { '--demo': 'true', '--wire-port': '0', '--wire-writes': 'true' },
    })
    session = await WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
    await session.query('CREATE TABLE copied (id Integer PRIMARY KEY, t Text, b Boolean, x Binary)')
    await session.run('INSERT INTO copied (id, t, b, x) VALUES ($1, $2, $3, $4)', [
      '1',
      'a\tb\\c\n"d", e',
      't',
      '\\x00ff',
    ])
    await session.query("INSERT INTO copied (id, t) VALUES (2, ''), (3, NULL)")
  })
  after(async () => {
    session.close()
    await server.stop()
  })

  test('a table or a query, in text', async () => {
    const answer = await session.query('COPY copied (id, t, b) TO STDOUT')
    assert.equal(answer.letters, 'HdddcCZ')
    assert.deepEqual(answer.tags, ['COPY 3'])
    assert.equal(answer.copied.toString(), '1\ta\\tb\\\\c\\n"d", e\tt\n2\t\t\\N\n3\t\\N\t\\N\n')
    const query = await session.query("copy (SELECT x, id FROM copied WHERE id = 1) to stdout with (delimiter '|')")
    assert.equal(query.copied.toString(), '\\\\x00ff|1\n')
  })

  test('CSV with a header and quotes', async () => {
    const plain = await session.query('COPY (SELECT id, t, b FROM copied ORDER BY id) TO STDOUT WITH CSV HEADER')
    assert.equal(plain.copied.toString(), 'id,t,b\n1,"a\tb\\c\n""d"", e",t\n2,"",\n3,,\n')
    const forced = await session.query(
      "COPY (SELECT id, t FROM copied WHERE id > 1 ORDER BY id) TO STDOUT (FORMAT csv, FORCE_QUOTE (id), NULL 'none', DELIMITER ';')",
    )
    assert.equal(forced.copied.toString(), '"2";\n"3";none\n')
  })

  test('binary', async () => {
    const answer = await session.query(
      'COPY (SELECT id, t FROM copied WHERE id > 1 ORDER BY id) TO STDOUT (FORMAT "binary")',
    )
    const id = (value: number) => Buffer.concat([int32(8), int32(0), int32(value)])
    const expected = [
      Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'),
      ...[int32(0), int32(0), int16(2), id(2), int32(0), int16(2), id(3), int32(-1), int16(-1)],
    ]
    assert.deepEqual(answer.copied.toString('hex'), Buffer.concat(expected).toString('hex'))
  })

  test('errors', async () => {
    const readCode = async (text: string) => (await session.query(text)).errors[0]?.C
    assert.equal(await readCode("COPY copied TO '/tmp/file'"), '0A000')
    assert.equal(await readCode('COPY nope TO STDOUT'), '42P01')
    assert.equal(await readCode('COPY copied TO STDOUT (FORMAT parquet)'), '22023')
    assert.equal(await readCode('COPY (DELETE FROM copied WHERE id = 1) TO STDOUT'), '0A000')
    assert.equal((await session.query('COPY (SELECT nope FROM copied) TO STDOUT')).errors[0]?.P, '14')
    assert.equal((await session.query('SELECT 1 AS x')).letters, 'TDCZ')
  })

  const data = (text: string | Buffer) => message('d', text)
  const DONE = message('c')
  /** Sends COPY FROM and its rows. */
  const copyIn = async (statement: string, ...parts: readonly (string | Buffer)[]) => {
    session.client.send(message('Q', `${statement}\0`))
    const begun = await session.client.reply()
    if (begun?.type !== 'G')
      return readAnswer([...(begun === undefined ? [] : [begun]), ...(await session.client.repliesTo('Z'))])
    return session.send(...parts.map(data), DONE)
  }
  const readRows = async () => texts(await session.query('SELECT id, t FROM target ORDER BY id'))

  test('COPY FROM STDIN in text, CSV and binary', async () => {
    await session.query('CREATE TABLE target (id Integer PRIMARY KEY, t Text)')
    const inText = await copyIn('COPY target FROM STDIN', '1\ta\\tb\n2\t', '\\N\n', '3\t\n')
    assert.deepEqual([inText.letters, inText.tags], ['CZ', ['COPY 3']])
    const inCsv = await copyIn('COPY target (t, id) FROM STDIN WITH (FORMAT csv, HEADER)', 't,id\n"x, y",4\n,5\n')
    assert.deepEqual([inCsv.tags, inCsv.errors], [['COPY 2'], []])
    const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), int32(0), int32(0)])
    const row = Buffer.concat([int16(2), int32(8), int32(0), int32(6), int32(1), Buffer.from('z'), int16(-1)])
    assert.deepEqual((await copyIn('COPY target FROM STDIN BINARY', header, row)).tags, ['COPY 1'])
    assert.deepEqual(await readRows(), [
      ['1', 'a\tb'],
      ['2', null],
      ['3', ''],
      ['4', 'x, y'],
      ['5', null],
      ['6', 'z'],
    ])
    await session.query('DELETE FROM target WHERE id > 0')
  })

  test('a date alone is the midnight of a Timestamp in UTC, in COPY as in a literal, a parameter and bulk inserts', async () => {
    await session.query('CREATE TABLE moments (id Integer PRIMARY KEY, t Timestamp)')
    await session.query("INSERT INTO moments (id, t) VALUES (1, '2026-01-02')")
    await session.run('INSERT INTO moments (id, t) VALUES ($1, $2)', ['2', '2026-01-02'])
    const inText = await copyIn('COPY moments FROM STDIN', '3\t2026-01-02\n4\t2026-01-02 01:00:00+01\n')
    const inCsv = await copyIn(
      'COPY moments FROM STDIN CSV',
      '5,2026-01-02\n6,2026-01-01 23:30-0030\n7,2026-01-02 00:00\n',
    )
    assert.deepEqual([inText.tags, inCsv.tags], [['COPY 2'], ['COPY 3']])
    const fields = { grant_type: 'password', client_id: 'demo-cli', ...ADMIN }
    const granted = await fetch(`http://127.0.0.1:${server.port}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams(fields),
    })
    const { access_token: token } = (await granted.json()) as { access_token: string }
    const bulk = async (type: string, body: string) => {
      const headers = { 'content-type': type, authorization: `Bearer ${token}` }
      const reply = await fetch(`http://127.0.0.1:${server.port}/query/moments/insert`, {
        method: 'POST',
        headers,
        body,
      })
      assert.ok(reply.ok, await reply.text())
    }
    await bulk('text/csv', 'id,t\n8,2026-01-02\n')
    await bulk('application/x-ndjson', '{"id":9,"t":"2026-01-02"}\n')
    await bulk('application/json', '[{"id":10,"t":"2026-01-02"}]')
    const distinct = await session.query('SELECT t, count(*) AS n FROM moments GROUP BY t')
    assert.deepEqual(texts(distinct), [['2026-01-02 00:00:00+00', '10']])
    const wrong = await copyIn('COPY moments FROM STDIN', '11\t2026-01-02Z\n')
    assert.equal(wrong.errors[0]?.C, '22P02')
    await session.query('DROP TABLE moments')
  })

  test('a numeric in binary is read alike from COPY and from Bind: no digits above 9999, none beyond its scale', async () => {
    await session.query('CREATE TABLE numerics (id Integer PRIMARY KEY, d Decimal(20, 4))')
    const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), int32(0), int32(0)])
    const numeric = (groups: readonly number[], { weight = 0, sign = 0, scale = 4 } = {}): Buffer =>
      Buffer.concat([groups.length, weight, sign, scale, ...groups].map(int16))
    const cases: readonly (readonly [bytes: Buffer, value: string, sqlstate?: string])[] = [
      [numeric([12, 3400]), '12.3400'],
      [numeric([12, 3456], { scale: 2 }), '12.3400'],
      [numeric([1, 0, 5], { weight: 1, sign: 0x4000 }), '-10000.0005'],
      [numeric([10_000]), '', '22P03'],
      [numeric([12, 0xffff - 0x10000]), '', '22P03'],
      [numeric([12], { sign: 0x2000 }), '', '22P03'],
      [numeric([12]).subarray(0, -1), '', '22P03'],
      [numeric([], { sign: 0xc000 - 0x10000 }), '', '22P02'],
    ]
    for (const [bytes, value, sqlstate] of cases) {
      const row = Buffer.concat([int16(2), int32(8), int32(0), int32(1), int32(bytes.length), bytes])
      const copied = await copyIn('COPY numerics FROM STDIN BINARY', header, row)
      const bound = await session.run('INSERT INTO numerics (id, d) VALUES (2, $1)', [bytes])
      assert.deepEqual([copied.errors[0]?.C, bound.errors[0]?.C], [sqlstate, sqlstate], bytes.toString('hex'))
      const stored = texts(await session.query('SELECT d FROM numerics ORDER BY id'))
      assert.deepEqual(stored, sqlstate === undefined ? [[value], [value]] : [])
      await session.query('DELETE FROM numerics WHERE id > 0')
    }
  })

  test('the line \\. ends CSV; the end of the message ends binary without a trailer', async () => {
    const marked = await copyIn('COPY target FROM STDIN (FORMAT csv)', '1,a\n2,"\n\\.\n"\n\\', '.\r\nnot, read, "\n')
    assert.deepEqual([marked.tags, marked.errors], [['COPY 2'], []])
    assert.match((await copyIn('COPY target FROM STDIN CSV', '3,c\n\\.x\n')).errors[0]?.M ?? '', /line 2/i)
    const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), int32(0), int32(0)])
    const row = Buffer.concat([int16(2), int32(8), int32(0), int32(4), int32(1), Buffer.from('d')])
    const binary = 'COPY target FROM STDIN BINARY'
    assert.deepEqual((await copyIn(binary, header, row)).tags, ['COPY 1'])
    for (const parts of [[header, row, row.subarray(0, -1)], [header.subarray(0, -1)], []])
      assert.equal((await copyIn(binary, ...parts)).errors.length, 1, `${parts.length} parts`)
    assert.deepEqual(await readRows(), [
      ['1', 'a'],
      ['2', '\n\\.\n'],
      ['4', 'd'],
    ])
    await session.query('DELETE FROM target WHERE id > 0')
    await session.query("INSERT INTO target VALUES (1, '\\.')")
    const written = await session.query('COPY (SELECT t FROM target) TO STDOUT CSV')
    assert.equal(written.copied.toString(), '"\\."\n')
    await session.query('DELETE FROM target WHERE id > 0')
    const named = await session.query(
      `SELECT '"public" . "target"'::regclass::text AS a, ' public . target '::regclass::text AS b`,
    )
    assert.deepEqual(texts(named), [['target', 'target']])
  })

  test('a row that a retention has closed is named by its line, with 23514; in a block COMMIT judges', async () => {
    await session.query('CREATE TABLE kept (at Timestamp NOT NULL, id Integer, PRIMARY KEY (at, id))')
    await session.query("ALTER TABLE kept SET WITH (retention = '30 days' ON at)")
    const rows = `${new Date().toISOString()}\t1\n2001-02-03\t2\n`
    const closed = await copyIn('COPY kept FROM STDIN', rows)
    assert.deepEqual([closed.letters, closed.errors[0]?.C], ['EZ', '23514'])
    assert.match(closed.errors[0]?.M ?? '', /line 2/i)
    await session.query('BEGIN')
    const deferred = await copyIn('COPY kept FROM STDIN', rows)
    const end = await session.query('COMMIT')
    assert.equal((deferred.errors[0] ?? end.errors[0])?.C, '23514')
    await session.query('ROLLBACK')
    assert.deepEqual(texts(await session.query('SELECT id FROM kept')), [])
    const one = await session.run('INSERT INTO kept VALUES ($1, 3)', ['2001-02-03'])
    assert.equal(one.errors[0]?.C, '23514')
    await session.query('ALTER TABLE kept SET WITH (hold = on)')
    assert.equal((await session.query('DROP TABLE kept')).errors[0]?.C, '55000')
    await session.query('ALTER TABLE kept SET WITH (hold = off)')
    await session.query('DROP TABLE kept')
  })

  test('COPY FROM STDIN writes all rows or none, and says which one is wrong', async () => {
    const bad = await copyIn('COPY target FROM STDIN', '1\ta\n', 'x\tb\n')
    assert.match(bad.letters, /^EZ$/)
    assert.match(bad.errors[0]?.M ?? '', /line 2/i)
    assert.equal((await copyIn('COPY target FROM STDIN', '1\ta\n1\tb\n')).errors[0]?.C, '23505')
    session.client.send(message('Q', 'COPY target FROM STDIN; SELECT 1 AS x\0'))
    await session.client.reply()
    const failed = await session.send(data('1\ta\n'), message('f', 'no more\0'))
    assert.deepEqual([failed.letters, failed.errors[0]?.C], ['EZ', '57014'])
    assert.equal((await copyIn('COPY nope FROM STDIN')).errors[0]?.C, '42P01')
    assert.deepEqual(await readRows(), [])
  })

  test('COPY FROM STDIN in the extended protocol, and before other statements of a Query', async () => {
    session.client.send(parse('', 'COPY target FROM STDIN'), bind('', '', []), execute(''), SYNC)
    const answer = await session.send(data('1\ta\n'), DONE, SYNC)
    assert.deepEqual([answer.letters, answer.tags], ['12GCZ', ['COPY 1']])
    session.client.send(message('Q', 'BEGIN; COPY target FROM STDIN; COMMIT; SELECT id FROM target ORDER BY id\0'))
    const second = await session.send(data('2\tb\n'), DONE)
    assert.deepEqual([second.letters, second.tags], ['CGCCTDDCZ', ['BEGIN', 'COPY 1', 'COMMIT', 'SELECT 2']])
    await session.query('DELETE FROM target WHERE id > 0')
  })

  test('a block has INSERTs and COPYs together, and COMMIT writes all of them or none', async () => {
    await session.query('DELETE FROM target WHERE id > 0')
    await session.query("BEGIN; INSERT INTO target VALUES (1, 'a')")
    assert.deepEqual((await copyIn('COPY target FROM STDIN', '2\tb\n3\t\\N\n')).tags, ['COPY 2'])
    assert.deepEqual((await session.query("INSERT INTO target VALUES (4, 'd')")).tags, ['INSERT 0 1'])
    assert.equal((await session.query('COMMIT')).errors.length, 0)
    assert.deepEqual(await readRows(), [
      ['1', 'a'],
      ['2', 'b'],
      ['3', null],
      ['4', 'd'],
    ])
    await session.query('BEGIN')
    await copyIn('COPY target FROM STDIN', '5\te\n')
    await session.query('SAVEPOINT s')
    await session.query("INSERT INTO target VALUES (6, 'f')")
    await copyIn('COPY target (id) FROM STDIN (FORMAT csv)', '7\n')
    await session.query('ROLLBACK TO s')
    await copyIn('COPY target (t, id) FROM STDIN (FORMAT csv)', 'h,8\n')
    await session.query('COMMIT')
    assert.deepEqual((await readRows()).slice(4), [
      ['5', 'e'],
      ['8', 'h'],
    ])
    await session.query('BEGIN')
    await copyIn('COPY target FROM STDIN', '9\ti\n')
    await copyIn('COPY target FROM STDIN', '10\tj\n1\tk\n')
    assert.equal((await session.query('COMMIT')).errors[0]?.C, '23505')
    assert.equal((await readRows()).length, 6)
    await session.query('DELETE FROM target WHERE id > 0')
  })

  test('an INSERT after a long COPY in its block is listed, and can be cancelled', shortOnSqlite(engine), async () => {
    const { client, replies } = await signInTo(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
    const own = new WireSession(client)
    const { access_token: token } = await signIn(server, ADMIN)
    await own.query('BEGIN')
    client.send(message('Q', 'COPY target (id) FROM STDIN\0'))
    const part = (from: number) => data(Array.from({ length: 50_000 }, (_, index) => `${from + index}\n`).join(''))
    const copied = await own.send(...Array.from({ length: 6 }, (_, index) => part(index * 50_000)), DONE)
    assert.deepEqual(copied.tags, ['COPY 300000'])
    const inserted = own.query("INSERT INTO target VALUES (-1, 'after')")
    const listed = await fetch(`http://127.0.0.1:${server.port}/admin/queries`, bearer(token))
    assert.match(await listed.text(), /INSERT INTO target/)
    const { processId, key } = readCancelKey(replies)
    await sendCancel(server.wirePort ?? 0, processId, key)
    const { errors, status } = await inserted
    assert.deepEqual([errors[0]?.C, status], ['57014', 'E'])
    await own.query('ROLLBACK')
    assert.deepEqual(await readRows(), [])
    own.close()
  })

  test('the rows of a COPY in a block are written at COMMIT', async () => {
    await session.query('BEGIN')
    assert.deepEqual((await copyIn('COPY target FROM STDIN', '1\ta\n2\tb\n')).tags, ['COPY 2'])
    assert.equal((await session.query('SELECT id FROM target')).errors[0]?.C, '0A000')
    await session.query('ROLLBACK')
    assert.deepEqual(await readRows(), [])
    await session.query('BEGIN')
    await copyIn('COPY target FROM STDIN', '1\ta\n2\tb\n')
    assert.deepEqual((await session.query('COMMIT')).tags, ['COMMIT'])
    assert.deepEqual(await readRows(), [
      ['1', 'a'],
      ['2', 'b'],
    ])
  })
})
