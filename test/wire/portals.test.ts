/** Portals, cursors and prepared statements by SQL: rows in parts, and when a suspended portal ends. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN, ALICE, bearer, signIn } from '../support/demo-user.ts'
import { onEveryEngine } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { bind, describe, execute, parse, SYNC, texts, WireSession } from '../support/wire-session.ts'

onEveryEngine('portals', (place) => {
  let server: TestServer
  let session: WireSession
  before(async () => {
    server = await startTestServer(place(), {
      flags: { '--demo': 'true', '--wire-port': '0', '--query-stall': '1', '--query-concurrency': '1' },
    })
    session = await WireSession.open(server.wirePort ?? 0, ALICE.username, ALICE.password)
  })
  after(async () => {
    session.close()
    await server.stop()
  })

  test('an Execute with a number of rows suspends the portal, and the next continues', async () => {
    for (const [statement, total] of [
      ['SELECT id FROM trades WHERE id <= 5 ORDER BY id', 5],
      ['SELECT id FROM trades ORDER BY id LIMIT 3000', 3000],
    ] as const) {
      const part = Math.ceil(total / 2)
      const answer = await session.send(
        parse('', statement),
        bind('', '', []),
        execute('', part),
        execute('', part),
        execute(''),
        SYNC,
      )
      assert.match(answer.letters, /^12D+sD+(?:s|C)CZ$/)
      assert.deepEqual(
        texts(answer).map(([id]) => Number(id)),
        Array.from({ length: total }, (_, index) => index + 1),
      )
      assert.equal(answer.letters.indexOf('s') - 2, part)
    }
  })

  test('a suspended portal ends with Sync, and in a block with the block', async () => {
    const first = await session.send(parse('', 'SELECT id FROM trades'), bind('p', '', []), execute('p', 2), SYNC)
    assert.equal(first.letters, '12DDsZ')
    assert.equal((await session.send(execute('p', 2), SYNC)).errors[0]?.C, '34000')
    await session.query('BEGIN')
    await session.send(parse('', 'SELECT id FROM trades ORDER BY id'), bind('p', '', []), execute('p', 2), SYNC)
    const second = await session.send(execute('p', 2), SYNC)
    assert.deepEqual([second.letters, second.status], ['DDsZ', 'T'])
    await session.query('COMMIT')
    assert.equal((await session.send(execute('p', 2), SYNC)).errors[0]?.C, '34000')
  })

  test('a portal that began with other rights is not continued', async () => {
    const own = await WireSession.open(server.wirePort ?? 0, ALICE.username, ALICE.password)
    await own.query('DECLARE held CURSOR WITH HOLD FOR SELECT id FROM trades LIMIT 20')
    assert.equal((await own.query('FETCH held')).rows.length, 1)
    await own.query('BEGIN')
    const rows = await own.send(parse('', 'SELECT id FROM trades'), bind('p', '', []), execute('p', 2), SYNC)
    assert.equal(rows.letters, '12DDsZ')
    const { access_token: token } = await signIn(server, ADMIN)
    const { status } = await fetch(`http://127.0.0.1:${server.port}/admin/users/alice`, {
      method: 'PATCH',
      headers: { ...bearer(token).headers, 'content-type': 'application/json', 'if-match': '*' },
      body: JSON.stringify({ roles: ['trader', 'admin'] }),
    })
    assert.equal(status, 200)
    await until('the change has arrived', 2_000, async () => {
      const { errors } = await own.send(execute('p', 1), SYNC)
      return errors[0]?.C === '57014'
    })
    await own.query('ROLLBACK')
    assert.equal((await own.query('FETCH held')).errors[0]?.C, '57014')
    // No rows and no error would say that it was at its end.
    assert.equal((await own.query('FETCH held')).errors[0]?.C, '55000')
    own.close()
  })

  test('a suspended portal that an operator cancels is not continued', async () => {
    await session.query('BEGIN')
    const LONG = 'SELECT a.price FROM trades AS a JOIN trades AS b ON a.id <> b.id'
    await session.send(parse('', LONG), bind('p', '', []), execute('p', 2), SYNC)
    const { access_token: token } = await signIn(server, ADMIN)
    const queries = `http://127.0.0.1:${server.port}/admin/queries`
    const { items } = (await (await fetch(queries, bearer(token))).json()) as { items: { id: string }[] }
    assert.equal(items.length, 1)
    await fetch(`${queries}/${items[0]?.id}`, { method: 'DELETE', ...bearer(token) })
    const { errors } = await session.send(execute('p', 2), SYNC)
    assert.deepEqual([errors[0]?.C, errors[0]?.M], ['57014', 'The query was cancelled'])
    await session.query('ROLLBACK')
  })

  test('a portal that is not continued while others wait is ended', async () => {
    const LONG = 'SELECT a.id FROM trades AS a JOIN trades AS b ON a.id <> b.id'
    await session.query('BEGIN')
    await session.send(parse('', LONG), bind('p', '', []), execute('p', 2), SYNC)
    const other = await WireSession.open(server.wirePort ?? 0, ALICE.username, ALICE.password)
    const waited = await other.query(
      'SELECT count(*) AS n, max(a.price) AS m FROM trades AS a JOIN trades AS b ON a.id = b.id + 1',
    )
    assert.deepEqual(waited.errors, [])
    const { errors, status } = await session.send(execute('p', 2), SYNC)
    assert.deepEqual([errors[0]?.C, status], ['57014', 'E'])
    await session.query('ROLLBACK')
    other.close()
  })

  test('DECLARE, FETCH, MOVE and CLOSE read a query in parts, in both protocols', async () => {
    const ids = (answer: Parameters<typeof texts>[0]) => texts(answer).map(([id]) => Number(id))
    await session.query('BEGIN')
    const declared = await session.query(
      'DECLARE c NO SCROLL CURSOR WITHOUT HOLD FOR SELECT id FROM trades ORDER BY id LIMIT 20; FETCH FORWARD 3 FROM c',
    )
    assert.deepEqual([declared.letters, declared.tags], ['CTDDDCZ', ['DECLARE CURSOR', 'FETCH 3']])
    assert.deepEqual(ids(declared), [1, 2, 3])
    assert.deepEqual(ids(await session.query('FETCH c')), [4])
    assert.deepEqual((await session.query('MOVE 5 IN c')).tags, ['MOVE 5'])
    const extended = await session.run('FETCH NEXT FROM c')
    assert.deepEqual([extended.letters, ids(extended)], ['12TDCZ', [10]])
    assert.equal((await session.run('FETCH c', [], { result: 1 })).errors[0]?.C, '0A000')
    await session.query('ROLLBACK')
    await session.query('BEGIN; DECLARE "C" BINARY CURSOR FOR SELECT id FROM trades ORDER BY id LIMIT 4')
    assert.deepEqual((await session.query('FETCH 1 FROM "C"')).rows[0]?.[0]?.readBigInt64BE(), 1n)
    const rest = await session.query('FETCH ALL FROM "C"; FETCH ALL FROM "C"; CLOSE "C"; CLOSE ALL')
    assert.deepEqual(rest.tags, ['FETCH 3', 'FETCH 0', 'CLOSE CURSOR', 'CLOSE CURSOR ALL'])
    assert.equal((await session.query('FETCH 1 FROM "C"')).errors[0]?.C, '34000')
    await session.query('ROLLBACK')
  })

  test('a cursor reads the catalogue, an open portal can be moved, and binary is chosen by the first FETCH', async () => {
    await session.query('BEGIN')
    await session.run(
      "DECLARE d CURSOR FOR SELECT attname FROM pg_attribute WHERE attrelid = 'trades'::regclass AND attnum > 0 ORDER BY attnum",
    )
    assert.equal((await session.send(describe('P', 'd'), SYNC)).columns[0]?.type, 19)
    assert.deepEqual(texts(await session.query('FETCH 2 FROM d')), [['id'], ['symbol']])
    await session.run('DECLARE e CURSOR FOR SELECT id FROM trades ORDER BY id')
    const first = await session.run('FETCH FORWARD 2 FROM e', [], { result: 1 })
    assert.deepEqual(
      first.rows.map(([id]) => id?.readBigInt64BE()),
      [1n, 2n],
    )
    await session.send(parse('', 'SELECT id FROM trades ORDER BY id'), bind('p', '', []), execute('p', 1), SYNC)
    await session.run('DECLARE f CURSOR FOR SELECT id FROM trades WHERE id > $1 ORDER BY id', ['7'])
    assert.deepEqual(texts(await session.query('FETCH f')), [['8']])
    const described = await session.send(
      parse('', 'DECLARE g CURSOR FOR SELECT $1 > 1.5 AS x'),
      describe('S', ''),
      SYNC,
    )
    assert.deepEqual([described.letters, described.parameters], ['1tnZ', [1700]])
    assert.deepEqual((await session.query('MOVE FORWARD 3 FROM p')).tags, ['MOVE 3'])
    assert.deepEqual(texts(await session.send(execute('p', 1), SYNC)), [['5']])
    await session.query('COMMIT')
    assert.equal((await session.query('FETCH 1 FROM e')).errors[0]?.C, '34000')
  })

  test('a cursor ends with the savepoint after which it was declared, an earlier one stays', async () => {
    const DECLARED = 'CURSOR FOR SELECT id FROM trades ORDER BY id'
    await session.query(`BEGIN; DECLARE before ${DECLARED}; SAVEPOINT s; DECLARE later ${DECLARED}; FETCH 1 FROM later`)
    await session.query('ROLLBACK TO s')
    assert.deepEqual(texts(await session.query('FETCH 1 FROM before')), [['1']])
    assert.equal((await session.query(`DECLARE later ${DECLARED}`)).errors.length, 0)
    await session.query('ROLLBACK')
  })

  test('cursors are declared in blocks, end with them, and only move forward', async () => {
    const codes: [string, string][] = [
      ['DECLARE c CURSOR FOR SELECT 1 AS x', '25P01'],
      ['DECLARE c CURSOR WITH HOLD FOR SELECT nope FROM trades', '42703'],
      ['DECLARE c CURSOR WITH HOLD FOR SELECT 1 AS x; FETCH nothing', '34000'],
      ['BEGIN; DECLARE c SCROLL CURSOR FOR SELECT 1 AS x; FETCH PRIOR FROM c', '0A000'],
      ['BEGIN; DECLARE c CURSOR FOR SELECT 1 AS x; FETCH -1 FROM c', '0A000'],
      ['BEGIN; DECLARE c CURSOR FOR SELECT 1 AS x; DECLARE c CURSOR FOR SELECT 1 AS x', '42P03'],
      ['BEGIN; DECLARE c CURSOR FOR SHOW TABLES', '42601'],
      ['BEGIN; DECLARE c CURSOR FOR SELECT nope FROM trades', '42703'],
      ['FETCH 1 FROM nothing', '34000'],
      ['MOVE ALL nothing', '34000'],
      ['CLOSE nothing', '34000'],
      ['FETCH sideways c', '42601'],
    ]
    for (const [text, code] of codes) {
      assert.equal((await session.query(text)).errors[0]?.C, code, text)
      await session.query('ROLLBACK')
    }
  })

  test('a cursor WITH HOLD goes on after COMMIT until it is closed, and ends with a transaction that fails', async () => {
    const HELD = 'CURSOR WITH HOLD FOR SELECT id FROM trades ORDER BY id LIMIT 20'
    const next = async (name: string) => {
      const { errors, rows } = await session.query(`FETCH ${name}`)
      return errors[0]?.C ?? rows[0]?.[0]?.toString()
    }
    await session.query(`DECLARE alone ${HELD}`)
    await session.run(`DECLARE extended ${HELD}`)
    await session.query(`BEGIN; DECLARE held ${HELD}; DECLARE unheld CURSOR FOR SELECT 1 AS x; FETCH 2 FROM held`)
    await session.query('COMMIT')
    for (const name of ['alone', 'extended']) assert.equal(await next(name), '1', name)
    assert.deepEqual([await next('held'), await next('unheld')], ['3', '34000'])
    // Errors and transactions of later statements are not its own.
    await session.query('SELECT nope FROM trades')
    await session.query('BEGIN; SAVEPOINT s; FETCH alone; SELECT nope FROM trades')
    await session.query('ROLLBACK TO s; ROLLBACK')
    assert.deepEqual([await next('held'), await next('alone'), await next('extended')], ['4', '3', '2'])
    for (const lost of [
      [`BEGIN; DECLARE lost ${HELD}`, 'ROLLBACK'],
      [`BEGIN; DECLARE lost ${HELD}; FETCH lost; SELECT nope FROM trades`, 'COMMIT'],
      [`BEGIN; SAVEPOINT s; DECLARE lost ${HELD}`, 'ROLLBACK TO s', 'COMMIT'],
      [`DECLARE lost ${HELD}; SELECT nope FROM trades`],
    ]) {
      for (const text of lost) await session.query(text)
      assert.equal(await next('lost'), '34000', lost[0])
    }
    assert.equal((await session.query(`DECLARE held ${HELD}`)).errors[0]?.C, '42P03')
    assert.equal((await session.query('CLOSE held; DISCARD ALL')).errors[0]?.C, '25001')
    await session.query('DISCARD ALL')
    assert.deepEqual([await next('held'), await next('alone')], ['34000', '34000'])
  })

  test('PREPARE, EXECUTE and DEALLOCATE share the prepared statements of the protocol', async () => {
    const prepared = await session.query(
      "PREPARE by_id (bigint, text) AS SELECT id, $2 AS t FROM trades WHERE id = $1; EXECUTE by_id(1 + 1, E'it\\'s'); EXECUTE by_id(NULL, NULL)",
    )
    assert.deepEqual(prepared.tags, ['PREPARE', 'SELECT 1', 'SELECT 0'])
    assert.deepEqual(texts(prepared), [['2', "it's"]])
    const extended = await session.run("EXECUTE by_id('3', 'x')", [], { result: 1 })
    assert.deepEqual([extended.letters, extended.rows[0]?.[0]?.readBigInt64BE()], ['12TDCZ', 3n])
    assert.deepEqual(texts(await session.send(bind('', 'by_id', ['4', 'y']), execute(''), SYNC)), [['4', 'y']])
    const parts = await session.send(
      ...[parse('', 'PREPARE some AS SELECT id FROM trades ORDER BY id'), bind('', '', []), execute('')],
      ...[parse('', 'EXECUTE some'), bind('', '', []), execute('', 2), execute('', 1), SYNC],
    )
    assert.equal(parts.letters, '12C12DDsDsZ')
    const codes: [string, string][] = [
      ['PREPARE by_id AS SELECT 1 AS x', '42P05'],
      ['PREPARE other (nothing) AS SELECT 1 AS x', '42704'],
      ['PREPARE other AS PREPARE another AS SELECT 1 AS x', '42601'],
      ['EXECUTE by_id(1)', '42601'],
      ["EXECUTE by_id('x', 'y')", '22P02'],
      ["EXECUTE by_id((SELECT max(id) FROM trades), 'y')", '0A000'],
      ['EXECUTE nothing', '26000'],
    ]
    for (const [text, code] of codes) assert.equal((await session.query(text)).errors[0]?.C, code, text)
    const { errors } = await session.query('PREPARE other AS SELECT nope FROM trades')
    assert.deepEqual([errors[0]?.C, errors[0]?.P], ['42703', '25'])
    assert.deepEqual((await session.query('DEALLOCATE by_id; DEALLOCATE PREPARE ALL')).tags, [
      ...['DEALLOCATE', 'DEALLOCATE ALL'],
    ])
    assert.equal((await session.query('EXECUTE by_id(1, 2)')).errors[0]?.C, '26000')
  })
})
