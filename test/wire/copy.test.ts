/** COPY over PostgreSQL's protocol. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN } from '../support/demo-user.ts'
import { onEveryEngine } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { int16, int32, WireSession } from '../support/wire-session.ts'

onEveryEngine('COPY TO STDOUT', (place) => {
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
    const codeOf = async (text: string) => (await session.query(text)).errors[0]?.C
    assert.equal(await codeOf("COPY copied TO '/tmp/file'"), '0A000')
    assert.equal(await codeOf('COPY nope TO STDOUT'), '42P01')
    assert.equal(await codeOf('COPY copied TO STDOUT (FORMAT parquet)'), '22023')
    assert.equal(await codeOf('COPY (DELETE FROM copied WHERE id = 1) TO STDOUT'), '0A000')
    assert.equal((await session.query('COPY (SELECT nope FROM copied) TO STDOUT')).errors[0]?.P, '14')
    assert.equal((await session.query('SELECT 1 AS x')).letters, 'TDCZ')
  })
})
