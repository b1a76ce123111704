/** Portals over PostgreSQL's protocol: rows in parts, and when a suspended portal ends. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN, ALICE, bearer, signIn } from '../support/demo-user.ts'
import { onEveryEngine } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { bind, execute, parse, SYNC, texts, WireSession } from '../support/wire-session.ts'

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
    own.close()
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
})
