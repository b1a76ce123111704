/** The database hangs, breaks, is read-only or has no connection left: one answer for callers, two lines in the log. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { onEveryEngine, openPlace, type TestPlace } from '../support/engines.ts'
import { type Answer, addOperator, PASSWORD, startGate, type TestGate } from '../support/identity.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { refusedUpgrade } from '../support/stream-client.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

describe('an outage of PostgreSQL', () => {
  let place: TestPlace
  let leave: () => Promise<void>
  let proxy: TcpProxy
  /** Has a way to the database that does not break. */
  let gate: TestGate
  let server: TestServer
  let operator: string
  /** By which the clock of the server is ahead, in milliseconds. */
  let ahead = 0
  const role = `outage_${process.pid}`
  before(async () => {
    const opened = await openPlace('postgres')
    place = opened.place
    leave = opened.leave
    gate = await startGate(place)
    await addOperator(gate)
    operator = (await gate.signIn({ username: 'olivia', client_id: 'console' })).access_token
    const url = new URL(place.databaseUrl)
    proxy = await startTcpProxy(url.hostname, Number(url.port))
    url.port = String(proxy.port)
    const { db } = gate.database
    await sql`create role ${sql.ref(role)} login password 'outage'`.execute(db)
    // Not a superuser, whose connections are not limited, but with the rights of the owner.
    await sql`grant ${sql.ref(new URL(place.databaseUrl).username)} to ${sql.ref(role)}`.execute(db)
    url.username = role
    url.password = 'outage'
    server = await startTestServer(
      { ...place, databaseUrl: url.href },
      {
        clock: () => Date.now() + ahead,
        flags: { '--issuer': gate.server.issuer, '--services': 'identity,streaming', '--log-level': 'info' },
      },
    )
  })
  after(async () => {
    proxy.mend()
    await server.stop()
    await proxy.close()
    await sql`drop owned by ${sql.ref(role)}`.execute(gate.database.db)
    await sql`drop role ${sql.ref(role)}`.execute(gate.database.db)
    await gate.stop()
    await leave()
    await stopOwnPostgres()
  })

  const ask = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    const response = await fetch(`http://localhost:${server.port}${path}`, init)
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') === true
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} }
  }
  const signIn = () => signInFrom(undefined)
  const signInFrom = (origin: string | undefined) =>
    ask('/connect/token', {
      method: 'POST',
      headers: origin === undefined ? {} : { origin },
      body: new URLSearchParams({ grant_type: 'password', client_id: 'cli', username: 'alice', password: PASSWORD }),
    })
  const ready = async () => (await ask('/readyz')).status === 200
  const disconnect = () =>
    sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role}`.execute(gate.database.db)
  const alter = (setting: string) => sql.raw(`alter role ${role} ${setting}`).execute(gate.database.db)
  const lines = (from: number, message: string) =>
    server.log.slice(from).filter((line) => JSON.parse(line).msg === message)

  const OUTAGES: readonly [name: string, begin: () => Promise<unknown>, end: () => Promise<unknown>, reason: RegExp][] =
    [
      ['hangs', async () => proxy.hold(), async () => proxy.mend(), /does not answer|no answer/],
      ['is gone', async () => proxy.cut(), async () => proxy.mend(), /cannot be reached/],
      [
        'is read-only',
        async () => {
          await alter('set default_transaction_read_only = on')
          await disconnect()
        },
        async () => {
          await alter('reset default_transaction_read_only')
          await disconnect()
        },
        /read-only/,
      ],
      [
        'has no free connections',
        async () => {
          await alter('connection limit 0')
          await disconnect()
        },
        () => alter('connection limit -1'),
        /no free connections/,
      ],
    ]
  for (const [name, begin, end, reason] of OUTAGES) {
    test(`a database that ${name}: /readyz within a second, 503 with Retry-After and the reason, one log line each way`, async () => {
      await until('the server is ready', 5000, ready)
      assert.equal((await signIn()).status, 200)
      // This server has not seen the token, so that it needs the database to accept it.
      const { access_token: unseen } = await gate.signIn({ username: 'boss' })
      const from = server.log.length
      await begin()
      try {
        // The first check may still meet a connection that is just being closed.
        await until('/readyz has the reason', 5000, async () => {
          const began = performance.now()
          const { status, body } = await ask('/readyz')
          assert.ok(performance.now() - began < 1000, `/readyz answered after ${performance.now() - began} ms`)
          const { database } = body.checks as Record<string, string>
          return status === 503 && reason.test(database ?? '')
        })
        // The nodes share the database: no load balancer gains by leaving all of them.
        const alone = await ask('/readyz?exclude=database&exclude=query')
        assert.deepEqual(
          [alone.status, alone.body],
          [200, { status: 'ok', checks: { process: 'ok', database: 'excluded', installation: 'ok' } }],
        )

        const asked = performance.now()
        const [oauth, admin, page, ...more] = await Promise.all([
          signIn(),
          ask('/admin/users/alice', {
            method: 'PATCH',
            headers: {
              authorization: `Bearer ${operator}`,
              'content-type': 'application/json',
              'if-match': '*',
            },
            body: JSON.stringify({ nickname: 'Al' }),
          }),
          ask('/sign-in'),
          ...Array.from({ length: 20 }, signIn),
        ])
        assert.ok(performance.now() - asked < 25_000, `answered after ${performance.now() - asked} ms`)
        for (const answer of [oauth, ...more]) {
          assert.deepEqual([answer.status, answer.body.error], [503, 'temporarily_unavailable'], answer.text)
          assert.match(String(answer.body.error_description), /^The database is not available: /)
        }
        assert.deepEqual([admin.status, admin.body.Code], [503, 'server.unavailable'], admin.text)
        assert.match(String(admin.body.detail), reason)
        assert.equal(page.status, 503, page.text)
        // A stream needs no write.
        if (name !== 'is read-only') {
          const upgrade = await refusedUpgrade(server.port, { headers: { Authorization: `Bearer ${unseen}` } })
          assert.deepEqual([upgrade.status, upgrade.body.Code], [503, 'server.unavailable'])
          assert.equal(upgrade.headers['retry-after'], '5')
        }
        for (const { headers } of [oauth, admin, page, ...more]) assert.equal(headers.get('retry-after'), '5')
      } finally {
        await end()
      }
      await until('the server is ready again', 15_000, ready)
      assert.equal((await signIn()).status, 200)
      await until('the end is logged', 15_000, async () => {
        await ready()
        return lines(from, 'the database is available again').length > 0
      })
      assert.equal(lines(from, 'the database is not available').length, 1)
      assert.equal(lines(from, 'the database is available again').length, 1)
      const stacks = server.log.slice(from).filter((line) => line.includes('"stack"'))
      assert.deepEqual(stacks, [])
    })
  }

  test('pages of registered origins can read that the database is away, however long it is', async () => {
    await until('the server is ready', 5000, ready)
    assert.equal(
      (await signInFrom('https://spa.example')).headers.get('access-control-allow-origin'),
      'https://spa.example',
    )
    proxy.cut()
    // Everything that is cached of clients is read again.
    ahead += 120_000
    const { status, headers } = await signInFrom('https://spa.example')
    assert.deepEqual([status, headers.get('access-control-allow-origin')], [503, 'https://spa.example'])
    assert.equal((await signInFrom('https://evil.example')).headers.get('access-control-allow-origin'), null)
    proxy.mend()
  })
})

onEveryEngine('readiness', (place) => {
  test('the write that /readyz tries leaves no rows', async () => {
    const gate = await startGate(place())
    try {
      const answers = await Promise.all(Array.from({ length: 5 }, () => gate.get('/readyz')))
      assert.deepEqual(
        answers.map(({ status }) => status),
        answers.map(() => 200),
      )
      const rows = await gate.database.db.selectFrom('throttles').select('key').execute()
      assert.deepEqual(rows, [])
    } finally {
      await gate.stop()
    }
  })
})
