/** What metrics say of statements over PostgreSQL's protocol: each one is counted once, with how it ended. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN, bearer, signIn } from '../support/demo-user.ts'
import { onSqlite } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { message } from '../support/wire-client.ts'
import { bind, execute, parse, SYNC, WireSession } from '../support/wire-session.ts'

/** More than the sockets take. */
const MANY = 'SELECT a.id, b.id AS other FROM trades a, trades b'

onSqlite('the outcomes of statements', (place) => {
  let server: TestServer
  before(async () => {
    const flags = {
      ...{ '--demo': 'true', '--wire-port': '0', '--wire-writes': 'true', '--metrics-port': '0' },
      // One user keeps at most as much.
      '--max-arriving-bytes': '2097152',
    }
    server = await startTestServer(place(), { flags })
    const session = await open()
    await session.query('CREATE TABLE rows (id Integer PRIMARY KEY, v Text)')
    await session.query('CREATE TABLE loose (v Text)')
    session.close()
  })
  after(() => server.stop())
  const open = () => WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)

  async function outcomes(): Promise<ReadonlyMap<string, number>> {
    const text = await (await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`)).text()
    const found = text.matchAll(/^gatehouse_queries_total\{outcome="([^"]*)"\} (\d+)$/gm)
    return new Map(Array.from(found, ([, outcome = '', count]) => [outcome, Number(count)]))
  }

  /** The outcomes that were counted meanwhile. */
  async function counted(act: () => Promise<unknown>): Promise<Readonly<Record<string, number>>> {
    const before = await outcomes()
    await act()
    const after = await outcomes()
    const more = Array.from(after, ([outcome, count]) => [outcome, count - (before.get(outcome) ?? 0)] as const)
    return Object.fromEntries(more.filter(([, count]) => count > 0))
  }

  async function stopAll(statement: string): Promise<void> {
    const { access_token: token } = await signIn(server, ADMIN)
    const queries = `http://127.0.0.1:${server.port}/admin/queries`
    const { items } = (await (await fetch(queries, bearer(token))).json()) as {
      readonly items: readonly { readonly id: string; readonly statement: string }[]
    }
    const found = items.filter((item) => item.statement === statement)
    assert.equal(found.length, 1)
    for (const { id } of found) await fetch(`${queries}/${id}`, { method: 'DELETE', ...bearer(token) })
  }

  test('errors of the protocol itself are the fault of the client', async () => {
    const session = await open()
    const catalogue = await counted(() => session.query('SELECT nope FROM pg_class'))
    assert.deepEqual(catalogue, { 'wire.42703': 1 })
    const typed = parse('', 'SELECT relname FROM pg_class WHERE relpages = $1', [23])
    const parameter = await counted(async () => {
      const answer = await session.send(typed, bind('', '', [Buffer.alloc(3)]), execute(''), SYNC)
      assert.equal(answer.errors[0]?.C, '22P03')
    })
    assert.equal(parameter['wire.22P03'], 1)
    const memory = await counted(async () => {
      const large = parse('', "SELECT repeat('x', 1000) AS x FROM pg_class a, pg_class b, pg_class c LIMIT 3000")
      const answer = await session.send(large, bind('', '', []), execute('', 1), SYNC)
      assert.equal(answer.errors[0]?.C, '53000')
    })
    assert.deepEqual(memory, { 'wire.53000': 1 })
    assert.equal((await outcomes()).get('server.fault') ?? 0, 0)
    session.close()
  })

  test('a suspended portal that an operator ends did not succeed, whether its client comes back or not', async () => {
    for (const end of [execute('p', 1), parse('', 'SELECT 1 AS x')]) {
      const session = await open()
      await session.query('BEGIN')
      const ended = await counted(async () => {
        await session.send(parse('s', MANY), bind('p', 's', []), execute('p', 1), SYNC)
        await stopAll(MANY)
        await session.send(end, SYNC)
        await session.query('ROLLBACK')
      })
      assert.deepEqual(ended, { 'Limit.Cancelled': 1 })
      session.close()
    }
  })

  test('a statement whose client leaves amid its rows did not succeed, in both protocols', async () => {
    for (const messages of [
      [parse('', MANY), bind('', '', []), execute(''), SYNC],
      [parse('s', MANY), bind('p', 's', []), execute('p'), SYNC],
    ]) {
      const session = await open()
      const ended = await counted(async () => {
        const { socket } = session.client
        socket.removeAllListeners('data')
        socket.pause()
        session.client.send(...messages)
        await until('it runs', 5_000, async () => {
          const text = await (await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`)).text()
          return /^gatehouse_queries_running 1$/m.test(text)
        })
        const before = await outcomes()
        socket.destroy()
        await until('its end', 5_000, async () => {
          const now = await outcomes()
          return [...now.values()].reduce((a, b) => a + b, 0) > [...before.values()].reduce((a, b) => a + b, 0)
        })
      })
      assert.deepEqual(ended, { 'Limit.Cancelled': 1 })
    }
  })

  test('a COPY in a block is counted once: when it is written, or when it fails', async () => {
    const session = await open()
    const copy = (rows: string) =>
      session.send(message('Q', 'COPY loose FROM STDIN\0'), message('d', rows), message('c'))
    for (const statements of [[], ["INSERT INTO loose (v) VALUES ('b')"]]) {
      const written = await counted(async () => {
        await session.query('BEGIN')
        await copy('a\n')
        for (const statement of statements) await session.query(statement)
        await session.query('COMMIT')
      })
      assert.deepEqual(written, { ok: 1 })
    }
    const failed = await counted(async () => {
      await session.query('BEGIN')
      await copy('a\tb\n')
      await session.query('ROLLBACK')
    })
    assert.deepEqual(Object.values(failed), [1])
    assert.equal(failed.ok, undefined)
    session.close()
  })

  test('rows of an INSERT that there is no memory for are not counted any more once it is refused', async () => {
    const session = await open()
    const insert = (rows: number) => [
      parse('', `INSERT INTO loose (v) VALUES (null)${',(null)'.repeat(rows - 1)}`),
      ...[bind('', '', []), execute(''), parse('', 'an error'), SYNC],
    ]
    const refusals = async (rows: number) => {
      const { letters, errors } = await session.send(...insert(rows))
      return [letters, errors[0]?.C]
    }
    assert.deepEqual(await refusals(6_400), ['12CEZ', '42601'])
    assert.deepEqual(await refusals(7_500), ['12EZ', '53000'])
    assert.deepEqual(await refusals(6_400), ['12CEZ', '42601'])
    session.close()
  })
})
