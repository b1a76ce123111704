/** Transactions over PostgreSQL's protocol: states, savepoints, rows that are kept until COMMIT, and writes of a pipeline. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN } from '../support/demo-user.ts'
import { onEveryEngine } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { message } from '../support/wire-client.ts'
import { bind, execute, parse, SYNC, texts, WireSession } from '../support/wire-session.ts'

onEveryEngine('transactions', (place) => {
  let server: TestServer
  let session: WireSession
  before(async () => {
    server = await startTestServer(place(), {
      flags: {
        ...{ '--demo': 'true', '--wire-port': '0', '--wire-writes': 'true' },
        // Of which all connections keep twice as much at most, and one user half of that.
        '--max-arriving-bytes': '2097152',
      },
    })
    session = await WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
    for (const table of ['kept', 'other'])
      await session.query(`CREATE TABLE ${table} (id Integer PRIMARY KEY, v Text, CHECK (id < 1000))`)
  })
  after(async () => {
    session.close()
    await server.stop()
  })
  const readCode = async (text: string) => (await session.query(text)).errors[0]?.C
  const readIds = async (table = 'kept') =>
    texts(await session.query(`SELECT id FROM ${table} ORDER BY id`))
      .flat()
      .join()
  const clear = () =>
    session.query('DELETE FROM kept WHERE id > 0').then(() => session.query('DELETE FROM other WHERE id > 0'))

  test('COMMIT writes the rows of a block, of all its tables', async () => {
    await session.query('BEGIN')
    const inserted = await session.query("INSERT INTO kept (id, v) VALUES (1, 'a'), (2, 'b')")
    assert.deepEqual([inserted.tags, inserted.status], [['INSERT 0 2'], 'T'])
    await session.run('INSERT INTO kept (id, v) VALUES ($1, $2)', ['3', 'c'])
    await session.query('INSERT INTO other (id) VALUES (7)')
    const other = await WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
    assert.deepEqual(texts(await other.query('SELECT count(*) AS n FROM kept')), [['0']])
    other.close()
    assert.equal((await session.query('COMMIT')).status, 'I')
    assert.deepEqual([await readIds(), await readIds('other')], ['1,2,3', '7'])
    await clear()
  })

  test('a long INSERT of constants writes the same values in a block as outside of it, of every type', async () => {
    const types = `a Boolean, b Integer, c Double, d Decimal(12, 4), e Decimal(38, 10), f Text, g Binary, h Date, i Time, j Timestamp,
      k Uuid, l Json`
    const columns = 'n, a, b, c, d, e, f, g, h, i, j, k, l'
    const values = [
      "true, -9007199254740993, 1.5e300, -12345678.1234, 1234567890123456789012345678.0123456789, 'o''Neill ☃',",
      "X'00ff', DATE '2026-02-28', TIME '23:59:59.999999', TIMESTAMP '2026-11-18 09:30:00.123456Z',",
      `UUID '0f0e0d0c-0b0a-0908-0706-050403020100', JSON '{"a":[1,null]}'`,
    ].join(' ')
    const nothing = Array.from({ length: 12 }, () => 'NULL').join(', ')
    const rows = Array.from({ length: 60 }, (_, n) => `(${n}, ${n % 2 === 0 ? values : nothing})`)
    const text = (table: string) => `INSERT INTO ${table} (${columns}) VALUES ${rows.join(', ')}`
    for (const table of ['inside', 'outside'])
      assert.deepEqual((await session.query(`CREATE TABLE ${table} (n Integer PRIMARY KEY, ${types})`)).errors, [])
    assert.deepEqual((await session.query(text('outside'))).errors, [])
    assert.deepEqual((await session.query('BEGIN')).errors, [])
    assert.deepEqual((await session.query(text('inside'))).tags, ['INSERT 0 60'])
    assert.deepEqual((await session.query('COMMIT')).errors, [])
    const read = async (table: string) => texts(await session.query(`SELECT ${columns} FROM ${table} ORDER BY n`))
    const found = await read('inside')
    assert.equal(found.length, 60)
    assert.deepEqual(found, await read('outside'))
    for (const table of ['inside', 'outside']) await session.query(`DROP TABLE ${table}`)
  })

  test('COMMIT reports a violated key or check, and then nothing is written', async () => {
    for (const [bad, sqlstate] of [
      ['INSERT INTO other (id) VALUES (1)', '23505'],
      ['INSERT INTO other (id) VALUES (1000)', '23514'],
    ] as const) {
      await session.query('INSERT INTO other (id) VALUES (1)')
      await session.query('BEGIN; INSERT INTO kept (id) VALUES (1)')
      await session.query(bad)
      const { errors, status } = await session.query('COMMIT')
      assert.deepEqual([errors[0]?.C, status], [sqlstate, 'I'])
      assert.deepEqual([await readIds(), await readIds('other')], ['', '1'])
      await clear()
    }
  })

  test('an error after a COPY in the same Query ends the Query', async () => {
    const rows = [message('d', '1\ta\n'), message('c')]
    for (const [rest, sqlstate] of [
      ['SELECT nope FROM other', '42703'],
      ['INSERT INTO other (id) VALUES (1000)', '23514'],
    ] as const) {
      const { letters, errors } = await session.send(message('Q', `COPY kept FROM STDIN; ${rest}\0`), ...rows)
      assert.deepEqual([errors.map(({ C }) => C), letters.at(-1)], [[sqlstate], 'Z'])
      assert.deepEqual([await readIds(), await readIds('other')], ['', ''])
    }
  })

  test('an error makes a block fail until its end', async () => {
    await session.query('BEGIN')
    await session.query('INSERT INTO kept (id) VALUES (1)')
    const { errors, status } = await session.query('SELECT nope FROM kept')
    assert.deepEqual([errors[0]?.C, status], ['42703', 'E'])
    assert.equal(await readCode('SELECT 1 AS x'), '25P02')
    assert.deepEqual((await session.query('COMMIT')).tags, ['ROLLBACK'])
    assert.equal(await readIds(), '')
  })

  test('a failed block refuses statements before their tables are looked up, and takes ROLLBACK', async () => {
    await session.query('CREATE TABLE fleeting (id Integer PRIMARY KEY)')
    await session.send(parse('early', 'SELECT id FROM fleeting'), SYNC)
    const block = await session.query('BEGIN; SELECT nope FROM kept; INSERT INTO nosuch (id) VALUES (1)')
    assert.deepEqual([block.errors[0]?.C, block.status], ['42703', 'E'])
    assert.equal(await readCode('INSERT INTO nosuch (id) VALUES (1)'), '25P02')
    const parsed = await session.send(parse('', 'SELECT id FROM nosuch'), SYNC)
    assert.deepEqual([parsed.letters, parsed.errors[0]?.C], ['EZ', '25P02'])
    const bound = await session.send(bind('', 'early', ['one', 'too many']), SYNC)
    assert.deepEqual([bound.letters, bound.errors[0]?.C], ['EZ', '25P02'])
    assert.deepEqual((await session.run('ROLLBACK')).tags, ['ROLLBACK'])
    await session.query('DROP TABLE fleeting')
  })

  test('savepoints keep what was before them', async () => {
    await session.query('BEGIN')
    await session.query('INSERT INTO kept (id) VALUES (1)')
    await session.query('SAVEPOINT a')
    await session.query('INSERT INTO kept (id) VALUES (2)')
    await session.query('nonsense')
    assert.equal((await session.query('ROLLBACK TO SAVEPOINT a')).status, 'T')
    await session.query('INSERT INTO kept (id) VALUES (3)')
    assert.deepEqual((await session.query('RELEASE a')).tags, ['RELEASE'])
    assert.equal(await readCode('ROLLBACK TO a'), '3B001')
    await session.query('ROLLBACK')
    await session.query(
      'BEGIN; INSERT INTO kept (id) VALUES (1); SAVEPOINT b; INSERT INTO kept (id) VALUES (2); ROLLBACK TO b; COMMIT',
    )
    assert.equal(await readIds(), '1')
    assert.equal(await readCode('SAVEPOINT c'), '25P01')
    await clear()
  })

  test('other writes, definitions and reads of kept rows are refused in a block', async () => {
    for (const statement of [
      'UPDATE kept SET id = 2 WHERE id = 1',
      'DELETE FROM kept WHERE id = 1',
      'CREATE TABLE more (id Integer PRIMARY KEY)',
      'INSERT INTO kept (id) VALUES (9) RETURNING id',
      'INSERT INTO kept (id) VALUES (9) ON CONFLICT DO NOTHING',
      'INSERT INTO kept (id) SELECT id FROM other',
      'SELECT count(*) AS n FROM kept',
    ]) {
      await session.query('BEGIN')
      await session.query('INSERT INTO kept (id) VALUES (1)')
      const { errors } = await session.query(statement)
      assert.deepEqual(
        [errors[0]?.C, errors[0]?.H],
        ['0A000', 'Run it outside of a transaction block, with autocommit'],
        statement,
      )
      await session.query('ROLLBACK')
    }
    for (const level of ['REPEATABLE READ', 'SERIALIZABLE'])
      assert.equal(await readCode(`BEGIN ISOLATION LEVEL ${level}`), '0A000')
    assert.equal(await readCode('START TRANSACTION READ ONLY; INSERT INTO kept (id) VALUES (1)'), '25006')
    await session.query('ROLLBACK')
    assert.equal(await readIds(), '')
  })

  test('the statements of a Query are one block', async () => {
    assert.equal(await readCode('INSERT INTO kept (id) VALUES (1); INSERT INTO kept (id) VALUES (1)'), '23505')
    assert.equal(await readIds(), '')
    assert.equal(await readCode('INSERT INTO kept (id) VALUES (1); INSERT INTO kept (id) VALUES (2)'), undefined)
    assert.equal(await readIds(), '1,2')
    await clear()
  })

  test('INSERTs of a pipeline up to Sync are one write', async () => {
    const insert = (id: string) => [bind('', 'i', [id]), execute('')]
    await session.send(parse('i', 'INSERT INTO kept (id) VALUES ($1)'), SYNC)
    const twice = await session.send(...insert('1'), ...insert('2'), ...insert('1'), SYNC)
    assert.deepEqual([twice.letters, twice.errors[0]?.C], ['2EZ', '23505'])
    const broken = await session.send(...insert('1'), ...insert('x'), SYNC)
    assert.deepEqual([broken.letters, broken.errors[0]?.C], ['2CEZ', '22P02'])
    assert.equal(await readIds(), '')
    const fine = await session.send(
      ...insert('1'),
      ...insert('2'),
      parse('', 'SELECT id FROM kept'),
      bind('', '', []),
      execute(''),
      SYNC,
    )
    assert.deepEqual([fine.letters, fine.errors], ['2C2C12DDCZ', []])
    assert.deepEqual(texts(fine), [['1'], ['2']])
    await clear()
  })

  test('a write outside of a block returns its rows', async () => {
    const answer = await session.run('INSERT INTO kept (id, v) VALUES ($1, $2) RETURNING id, v', ['1', 'a'])
    assert.deepEqual([answer.letters, answer.tags, texts(answer)], ['12TDCZ', ['INSERT 0 1'], [['1', 'a']]])
    assert.deepEqual((await session.query("UPDATE kept SET v = 'b' WHERE id = 1")).tags, ['UPDATE 1'])
    assert.deepEqual((await session.query('DELETE FROM kept WHERE id = 1')).tags, ['DELETE 1'])
  })

  test('a write whose returned rows do not fit in the memory of the connection is refused, and nothing is written', async () => {
    const long = 'x'.repeat(40_000)
    const rows = Array.from({ length: 100 }, (_, id) => `(${id + 1}, '')`)
    await session.query(`INSERT INTO kept (id, v) VALUES ${rows.join()}`)
    const big = `UPDATE kept SET v = '${long}' WHERE id > 0 RETURNING id, v`
    const count = "SELECT count(*) AS n FROM kept WHERE v <> ''"
    const simple = await session.query(big)
    assert.deepEqual([simple.errors[0]?.C, simple.rows.length, simple.status], ['54000', 0, 'I'])
    assert.deepEqual(texts(await session.query(count)), [['0']])
    assert.equal((await session.run(big)).errors[0]?.C, '54000')
    assert.deepEqual(texts(await session.query(count)), [['0']])
    const fitting = await session.query(`UPDATE kept SET v = '${long}' WHERE id <= 20 RETURNING id, v`)
    assert.deepEqual([fitting.tags, fitting.rows.length], [['UPDATE 20'], 20])
    await clear()
  })

  test('what a user keeps in memory is bounded: statements, portals, savepoints, rows of blocks and of COPY', async () => {
    const long = 'x'.repeat(50_000)
    const refusedAfter = async (send: (count: number) => Promise<{ errors: readonly Record<string, string>[] }>) => {
      for (let count = 0; count < 1000; count++) {
        const [error] = (await send(count)).errors
        if (error === undefined) continue
        assert.equal(error.C, '53000', error.M)
        return count
      }
      return Number.POSITIVE_INFINITY
    }
    const statements = await refusedAfter((count) => session.send(parse(`s${count}`, `SELECT '${long}' AS x`), SYNC))
    assert.ok(statements > 5 && statements < 15, `${statements} statements`)
    await session.query('DEALLOCATE ALL')
    await session.query('BEGIN')
    const rows = await refusedAfter((count) => session.query(`INSERT INTO kept (id, v) VALUES (${count}, '${long}')`))
    assert.ok(rows > 20 && rows < 60, `${rows} rows`)
    await session.query('ROLLBACK')
    await session.query('BEGIN')
    // COMMIT needs the plan of each, which is many times as long as its text.
    const plans = await refusedAfter((count) =>
      session.query(
        `INSERT INTO kept (id, v) VALUES (${count}, '' ${'|| v'.repeat(count + 1).replaceAll('v', "'v'")})`,
      ),
    )
    assert.ok(plans > 10 && plans < 150, `${plans} plans`)
    await session.query('ROLLBACK')
    await session.query('BEGIN')
    const portals = await refusedAfter((count) =>
      session.send(parse('', 'SELECT $1 AS x'), bind(`p${count}`, '', [long]), SYNC),
    )
    assert.ok(portals > 10 && portals < 60, `${portals} portals`)
    await session.query('ROLLBACK')
    await session.query('BEGIN')
    const savepoints = await refusedAfter(() => session.query(`SAVEPOINT ${long}`))
    assert.ok(savepoints > 10 && savepoints < 60, `${savepoints} savepoints`)
    await session.query('ROLLBACK')
    session.client.send(message('Q', 'BEGIN; COPY kept FROM STDIN\0'))
    const one = message('d', '1')
    const copied = await session.send(Buffer.concat(Array.from({ length: 50_000 }, () => one)))
    assert.deepEqual([copied.errors[0]?.C, copied.status], ['53000', 'E'])
    await session.query('ROLLBACK')
    // All of it was given back.
    await session.query('BEGIN')
    for (let count = 0; count < 10; count++)
      assert.deepEqual((await session.query(`INSERT INTO kept (id, v) VALUES (${count}, '${long}')`)).errors, [])
    assert.deepEqual((await session.query('COMMIT')).errors, [])
    await clear()
  })
})
