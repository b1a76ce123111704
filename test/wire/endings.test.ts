/** Whatever a connection is doing: its expired or revoked sign-in, or an operator, ends it with 57P01 within a second. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN, bearer, post, signIn } from '../support/demo-user.ts'
import { IN_LONG_RUNS, onSqlite } from '../support/engines.ts'
import { createTestClock, startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { message } from '../support/wire-client.ts'
import { bind, execute, parse, SYNC, WireSession } from '../support/wire-session.ts'

const HOUR_MS = 3_600_000
/** Takes longer than any test. */
const LONG_CATALOGUE = "SELECT relname FROM pg_class WHERE repeat('a', 40) ~ '(a+)+b'"
/** More rows than the buffers between the programs hold. */
const WIDE = "SELECT repeat('x', 100000) AS a FROM trades"
const MANY = 'SELECT a.id FROM trades AS a JOIN trades AS b ON a.id <> b.id'
const query = (text: string) => message('Q', `${text}\0`)

interface State {
  /** Brings a new connection into the state. */
  readonly enter: (session: WireSession) => unknown
  /** A client that reads nothing gets no last message. */
  readonly readsNothing?: boolean
}

/** In this order: the statement that waits for a slot needs the slots of earlier ones to be taken. */
const STATES: Readonly<Record<string, State>> = {
  idle: { enter: () => {} },
  'in a block': { enter: (session) => session.query('BEGIN; INSERT INTO written (id) VALUES (1)') },
  'in a failed block': { enter: (session) => session.query('BEGIN; SELECT nothing FROM nowhere') },
  'amid a message': { enter: ({ client }) => client.send(query('SELECT 1').subarray(0, 7)) },
  'with an INSERT before Sync': {
    enter: ({ client }) => client.send(parse('', 'INSERT INTO written (id) VALUES (2)'), bind('', '', []), execute('')),
  },
  'in COPY FROM': {
    enter: async ({ client }) => {
      client.send(query('COPY written (id) FROM STDIN'))
      assert.equal((await client.repliesTo('G')).at(-1)?.type, 'G')
      client.send(message('d', '3\n'))
    },
  },
  'on a catalogue statement': { enter: ({ client }) => client.send(query(LONG_CATALOGUE)) },
  'with a suspended portal': {
    enter: async (session) => {
      await session.query('BEGIN')
      await session.send(parse('', MANY), bind('p', '', []), execute('p', 2), SYNC)
    },
  },
  'amid rows': {
    enter: ({ client }) => {
      client.socket.pause()
      client.send(query(WIDE))
    },
  },
  'in COPY TO': {
    enter: ({ client }) => {
      client.socket.pause()
      client.send(query(`COPY (${WIDE}) TO STDOUT`))
    },
  },
  'that reads nothing': {
    readsNothing: true,
    enter: ({ client }) => {
      client.socket.pause()
      client.send(query(WIDE))
    },
  },
  'that reads none of its small results': {
    readsNothing: true,
    enter: ({ client }) => {
      client.socket.pause()
      client.send(...Array.from({ length: 500 }, () => query('SELECT t FROM texts WHERE id = 1')))
    },
  },
  'waiting for a slot': {
    enter: ({ client }) => client.send(query(`SELECT count(*) AS n FROM (${MANY}) AS c, trades AS d`)),
  },
}

onSqlite('endings', (place) => {
  const clock = createTestClock()
  let server: TestServer
  before(async () => {
    server = await startTestServer(place(), {
      clock,
      flags: {
        ...{ '--demo': 'true', '--wire-port': '0', '--wire-writes': 'true', '--wire-session': '18000' },
        ...{ '--query-concurrency': '4', '--query-stall': '3600' },
      },
    })
    const session = await WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
    await session.query('CREATE TABLE written (id Integer PRIMARY KEY)')
    await session.query('CREATE TABLE texts (id Integer PRIMARY KEY, t Text)')
    await session.query(`INSERT INTO texts VALUES (1, '${'x'.repeat(50_000)}')`)
    session.close()
  })
  after(() => server.stop())

  async function admin(method: string, path: string): Promise<string> {
    const { access_token: token } = await signIn(server, ADMIN)
    const reply = await fetch(`http://127.0.0.1:${server.port}${path}`, { method, ...bearer(token) })
    assert.equal(reply.status, 200)
    return reply.text()
  }

  /** Opens a connection in every state, ends them all, and says how each of them ended. */
  async function endAll(user: string, secret: string, end: () => unknown): Promise<ReadonlyMap<string, string>> {
    const sessions = new Map<string, WireSession>()
    for (const [name, { enter }] of Object.entries(STATES)) {
      const session = await WireSession.open(server.wirePort ?? 0, user, secret)
      sessions.set(name, session)
      await enter(session)
    }
    await until('a statement waits for a slot', 5_000, async () =>
      /^gatehouse_queries_waiting(?:\{[^}]*\})? [1-9]/m.test(await admin('GET', '/metrics')),
    )
    await end()
    const ended = new Map<string, string>()
    const readers = [...sessions].filter(([name]) => !STATES[name]?.readsNothing)
    const noted = readers.map(async ([name, { client }]) => {
      client.socket.resume()
      const { S, C, M } = await lastError(client)
      ended.set(name, `${S} ${C} ${M}`)
    })
    const count = async (path: string): Promise<number> => JSON.parse(await admin('GET', path)).items.length
    try {
      await until('every client has the reason', 1_000, () => ended.size === readers.length)
      await until('none is open', 1_000, async () => (await count('/admin/wire')) === 0)
      await until('nothing runs', 1_000, async () => (await count('/admin/queries')) === 0)
    } finally {
      for (const session of sessions.values()) session.close()
      await Promise.all(noted)
    }
    return ended
  }

  /** The last error before the end: statements may have failed before. */
  async function lastError(client: WireSession['client']): Promise<Record<string, string>> {
    for (let last = {}; ; ) {
      const error = await client.error()
      if (error.S === undefined) return last
      last = error
    }
  }

  function requireEndings(ended: ReadonlyMap<string, string>, text: RegExp): void {
    for (const [name, seen] of ended) {
      assert.match(seen, /^FATAL 57P01 /, name)
      assert.match(seen, text, name)
    }
  }

  test('an access token that expires', async () => {
    const { access_token: token } = await signIn(server, ADMIN)
    requireEndings(await endAll('token', token, () => clock.advance(HOUR_MS + 1_000)), /token has expired/)
  })

  test('the time of wire_session', async () => {
    const { username, password } = ADMIN
    requireEndings(await endAll(username, password, () => clock.advance(5 * HOUR_MS + 1_000)), /token has expired/)
  })

  test('an access token that is revoked', IN_LONG_RUNS, async () => {
    const { access_token: token } = await signIn(server, ADMIN)
    const revoke = () => post(server, '/connect/revocation', { client_id: 'demo-cli', token })
    requireEndings(await endAll('token', token, revoke), /revoked/)
  })

  test('an operator', IN_LONG_RUNS, async () => {
    const { access_token: token } = await signIn(server, ADMIN)
    requireEndings(await endAll('token', token, () => admin('DELETE', '/admin/wire?user=admin')), /operator/)
  })

  test('nothing was written, and statements run again', async () => {
    const session = await WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
    const { rows, errors } = await session.query('SELECT id FROM written')
    assert.deepEqual([rows, errors], [[], []])
    assert.equal((await session.query('SELECT count(*) AS n FROM trades a, instruments b')).rows.length, 1)
    session.close()
  })
})
