/** Queries while PostgreSQL cannot be reached: 503 with Retry-After, and two lines in the log for the whole outage. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

let place: TestPlace
let leave: () => Promise<void>
let proxy: TcpProxy
let server: QueryServer
before(async () => {
  ;({ place, leave } = await openPlace('postgres'))
  const url = new URL(place.databaseUrl)
  proxy = await startTcpProxy(url.hostname, Number(url.port || 5432))
  url.host = `127.0.0.1:${proxy.port}`
  server = await startQueryServer({ ...place, databaseUrl: url.href })
  assert.equal((await server.query('CREATE TABLE notes (id Integer PRIMARY KEY, t Text)')).status, 200)
})
after(async () => {
  await server.stop()
  await proxy.close()
  await leave()
  await stopOwnPostgres()
})

const lookup = () => server.query('SELECT t FROM notes WHERE id = 1')

const define = () => server.query('CREATE INDEX by_text ON notes (t)')

/** One of each way to the database, but that of the catalogue: batched, on its own, long. */
const requests = () => [
  lookup(),
  server.query("INSERT INTO notes VALUES (1, 'x') ON CONFLICT DO NOTHING"),
  server.call('/query/notes/insert', { id: 2 }, { headers: { 'idempotency-key': 'two' } }),
  server.query('SELECT count(*) AS n FROM notes WHERE id % 2 = 0'),
  server.query('UPDATE notes SET t = t ALL'),
]

test('in an outage every query is 503 with Retry-After, and the log has one line when it begins and one when it ends', async () => {
  await Promise.all(requests())
  proxy.cut()
  for (let round = 0; round < 5; round++) {
    const replies = await Promise.all([...requests(), define()])
    assert.deepEqual(
      replies.map(({ status, json, headers }) => [status, json.Code, json.detail, headers.get('retry-after')]),
      replies.map(() => [503, 'Data.Unavailable', 'The database is not available: it cannot be reached', '5']),
    )
  }
  await assert.rejects(server.service.check())
  proxy.mend()
  await until('queries are answered again', 10_000, async () => (await lookup()).status === 200)
  assert.deepEqual(
    (await Promise.all([...requests(), define()])).map(({ status }) => status),
    Array(6).fill(200),
  )
  const read = () => server.log.map((line) => JSON.parse(line))
  await until('the end is logged', 10_000, async () => {
    await lookup()
    return read().some(({ msg }) => msg === 'the database is available again')
  })
  const messages = read()
  assert.deepEqual(
    messages.filter(({ database }) => database === 'query').map(({ msg, reason }) => [msg, reason]),
    [
      ['the database is not available', 'it cannot be reached'],
      ['the database is available again', undefined],
    ],
  )
  assert.deepEqual(
    messages.filter(({ err }) => err !== undefined),
    [],
    'no stacks',
  )
})

test('with no connection left, every query is 503 with the same answer, and no request is logged with a stack', async () => {
  const role = `queries_${process.pid}`
  const owner = new pg.Client({ connectionString: place.databaseUrl })
  await owner.connect()
  // Not a superuser, whose connections are not limited.
  await owner.query(`create role ${role} login password 'outage' in role ${new URL(place.databaseUrl).username}`)
  const url = new URL(place.databaseUrl)
  url.username = role
  url.password = 'outage'
  const limited = await startQueryServer({ ...place, databaseUrl: url.href })
  try {
    await owner.query(`alter role ${role} connection limit 0`)
    await owner.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role])
    const ask = () => [
      limited.query('SELECT t FROM notes WHERE id = 1'),
      limited.query("INSERT INTO notes VALUES (3, 'x') ON CONFLICT DO NOTHING"),
      limited.query('SELECT count(*) AS n FROM notes WHERE id % 2 = 0'),
      limited.query('UPDATE notes SET t = t ALL'),
    ]
    await until('the connections are gone', 10_000, async () =>
      (await Promise.all(ask())).every((r) => r.status === 503),
    )
    const replies = await Promise.all(ask())
    assert.deepEqual(
      replies.map(({ json, headers }) => [json.Code, json.detail, headers.get('retry-after')]),
      replies.map(() => ['Data.Unavailable', 'The database is not available: it has no free connections', '5']),
    )
    assert.deepEqual(
      limited.log.filter((line) => line.includes('"stack"')),
      [],
    )
  } finally {
    await limited.stop()
    await owner.query(`drop owned by ${role}; drop role ${role}`)
    await owner.end()
  }
})
