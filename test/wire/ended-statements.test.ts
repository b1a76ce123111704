/** Statements that may not go on: rights and sign-ins that have ended, cancels amid COPY and Describe, and what COMMIT still holds. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN, ALICE } from '../support/demo-user.ts'
import { onSqlite } from '../support/engines.ts'
import { createTestClock, startTestServer, type TestServer } from '../support/server.ts'
import { message, readCancelKey, sendCancel, signInTo } from '../support/wire-client.ts'
import { bind, describe, execute, parse, SYNC, texts, WireSession } from '../support/wire-session.ts'

/** Takes longer than any test. */
const LONG = "SELECT relname FROM pg_class WHERE repeat('a', 40) ~ '(a+)+b'"

onSqlite('statements that end', (place) => {
  const clock = createTestClock()
  let server: TestServer
  before(async () => {
    const flags = {
      ...{ '--demo': 'true', '--wire-port': '0', '--wire-writes': 'true' },
      // One user keeps at most as much.
      '--max-arriving-bytes': '2097152',
    }
    server = await startTestServer(place(), { clock, flags })
    const session = await open()
    await session.query('CREATE TABLE rows (id Integer PRIMARY KEY, v Text)')
    await session.query('CREATE TABLE aged (id Integer PRIMARY KEY) REQUIRE (age = 300)')
    await session.query('INSERT INTO aged (id) VALUES (1), (2), (3)')
    session.close()
  })
  after(() => server.stop())
  const open = (user = ADMIN) => WireSession.open(server.wirePort ?? 0, user.username, user.password)

  /** With the request that cancels its statements. */
  async function openWithCancel() {
    const { client, replies } = await signInTo(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
    const { processId, key } = readCancelKey(replies)
    return { session: new WireSession(client), cancel: () => sendCancel(server.wirePort ?? 0, processId, key) }
  }

  test('a portal is not continued once the sign-in is too old for its table', async () => {
    const session = await open()
    const begun = await session.send(
      parse('', 'BEGIN'),
      ...[bind('', '', []), execute(''), parse('s', 'SELECT id FROM aged ORDER BY id'), bind('p', 's', [])],
      ...[execute('p', 1), SYNC],
    )
    assert.deepEqual(texts(begun), [['1']])
    assert.deepEqual(texts(await session.send(execute('p', 1), SYNC)), [['2']])
    clock.advance(301_000)
    const refused = await session.send(execute('p', 1), SYNC)
    assert.deepEqual([refused.rows, refused.errors[0]?.C], [[], '42501'])
    session.close()
  })

  test('a portal is not continued once its table is gone', async () => {
    const [session, other] = [await open(), await open()]
    await other.query('CREATE TABLE passing (id Integer PRIMARY KEY)')
    await other.query('INSERT INTO passing (id) VALUES (1), (2), (3)')
    await session.query('BEGIN')
    await session.send(parse('', 'SELECT id FROM passing'), bind('p', '', []), execute('p', 1), SYNC)
    await other.query('DROP TABLE passing')
    const refused = await session.send(execute('p', 1), SYNC)
    assert.deepEqual([refused.rows, refused.errors[0]?.C], [[], '42P01'])
    for (const each of [session, other]) each.close()
  })

  test('a cancel ends COPY FROM at once, also while the client sends nothing, and the connection goes on', async () => {
    for (const begin of ['SELECT 1', 'BEGIN']) {
      const { session, cancel } = await openWithCancel()
      await session.query(begin)
      session.client.send(message('Q', 'COPY rows (id, v) FROM STDIN\0'))
      assert.equal((await session.client.reply())?.type, 'G')
      session.client.send(message('d', '1\tone\n'))
      await sleep(50)
      await cancel()
      const { errors, status } = await session.send()
      assert.deepEqual([errors[0]?.C, status], ['57014', begin === 'BEGIN' ? 'E' : 'I'])
      // What a client has sent before it knew.
      session.client.send(message('d', '2\ttwo\n'), message('c'))
      await session.query('ROLLBACK')
      assert.deepEqual(texts(await session.query('SELECT count(*) AS n FROM rows')), [['0']])
      session.close()
    }
  })

  test('Describe on the catalogue is a statement that can be listed and cancelled', async () => {
    const [long, waiting] = [await openWithCancel(), await openWithCancel()]
    const first = long.session.query(LONG)
    await sleep(300)
    const text = 'SELECT relname AS described FROM pg_class'
    const described = waiting.session.send(parse('s', text), describe('S', 's'), SYNC)
    await sleep(100)
    const listed = await fetch(`http://127.0.0.1:${server.port}/admin/queries`, {
      headers: { authorization: `Bearer ${await adminToken()}` },
    })
    assert.match(await listed.text(), /described/)
    const began = performance.now()
    await waiting.cancel()
    assert.equal((await described).errors[0]?.C, '57014')
    assert.ok(performance.now() - began < 1_000)
    await long.cancel()
    assert.equal((await first).errors[0]?.C, '57014')
    for (const { session } of [long, waiting]) session.close()
  })

  async function adminToken(): Promise<string> {
    const fields = { grant_type: 'password', client_id: 'demo-cli', ...ADMIN }
    const reply = await fetch(`http://127.0.0.1:${server.port}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams(fields),
    })
    return ((await reply.json()) as { access_token: string }).access_token
  }

  test('the rows of a block are counted until COMMIT has written them, also if the client has left', async () => {
    const other = new DatabaseSync(join(place().dataFolder, 'query.db'))
    const kept = `9\t${'x'.repeat(600_000)}\n`
    const keep = async (session: WireSession, copies: number) => {
      await session.query('BEGIN')
      session.client.send(message('Q', 'COPY rows (id, v) FROM STDIN\0'))
      await session.client.reply()
      const rows = Array.from({ length: copies }, () => message('d', kept))
      return (await session.send(...rows, message('c'))).errors[0]?.C
    }
    const [session, second] = [await open(), await open()]
    other.exec('BEGIN IMMEDIATE')
    try {
      assert.equal(await keep(session, 2), undefined)
      session.client.send(message('Q', 'COMMIT\0'))
      await sleep(200)
      assert.equal(await keep(second, 2), '53000')
      await second.query('ROLLBACK')
      session.close()
    } finally {
      other.exec('ROLLBACK')
      other.close()
    }
    await sleep(500)
    assert.equal(await keep(second, 2), undefined)
    second.close()
  })

  test('a caller who may not write gets that error before any other error of an INSERT', async () => {
    const session = await open()
    await session.query('BEGIN READ ONLY')
    assert.equal((await session.query('INSERT INTO rows (v) VALUES (1)')).errors[0]?.C, '25006')
    await session.query('ROLLBACK')
    assert.notEqual((await session.query('INSERT INTO rows (v) VALUES (1)')).errors[0]?.C, '25006')
    assert.equal((await session.query('INSERT INTO rows (v')).errors[0]?.C, '42601')
    const reader = await open(ALICE)
    assert.notEqual((await reader.query('SELECT nothing FROM rows')).errors[0]?.C, '25006')
    for (const each of [session, reader]) each.close()
  })
})
