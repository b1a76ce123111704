/** Short statements of many requests share connections and commits of PostgreSQL, and must not affect one another. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { type QueryServer, type Reply, startQueryServer } from './query-server.ts'

let place: TestPlace
let server: QueryServer
let admin: pg.Client
let leave: () => Promise<void>
before(async () => {
  ;({ place, leave } = await openPlace('postgres'))
  server = await startQueryServer(place, { limits: { milliseconds: 6000, perUser: 1000 } })
  admin = new pg.Client({ connectionString: place.databaseUrl })
  await admin.connect()
  await server.query('CREATE TABLE notes (id Integer PRIMARY KEY, n Integer, t Text NOT NULL)')
  await server.query('CREATE INDEX notes_n ON notes (n)')
  await server.query('CREATE TABLE others (id Integer PRIMARY KEY, t Text)')
})
after(async () => {
  await admin.end()
  await server.stop()
  await leave()
  await stopOwnPostgres()
})

const insert = (id: number, t: string | null = 'x', n = 0) => server.call('/query/notes/insert', { id, n, t })
const byKey = (id: number) => server.query(`SELECT t FROM notes WHERE id = ${id}`)
const readCount = async (condition: string) =>
  Number((await admin.query(`SELECT count(*) FROM gatehouse_data.notes WHERE ${condition}`)).rows[0]?.count)
const statuses = (replies: readonly Reply[]) => replies.map(({ status }) => status)
const times = <T>(count: number, make: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))

/** Sends requests in one piece, so that they arrive together however busy the machine is. */
function pipelined(path: string, bodies: readonly string[]): Promise<string> {
  const requests = bodies.map((body, index) => {
    const connection = index === bodies.length - 1 ? 'close' : 'keep-alive'
    return `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nConnection: ${connection}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  })
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.write(requests.join(''))
  return text(socket)
}

test('concurrent inserts share commits, and each writes its row', async () => {
  const bodies = Array.from({ length: 200 }, (_, index) => JSON.stringify({ id: 100 + index, n: 0, t: 'x' }))
  const parts = await times(8, (part) => pipelined('/query/notes/insert', bodies.slice(25 * part, 25 * (part + 1))))
  assert.equal(parts.join('').split('HTTP/1.1 200 ').length - 1, 200)
  assert.equal(await readCount('id BETWEEN 100 AND 299'), 200)
  // xmin is the transaction that wrote the row.
  const { rows } = await admin.query(
    'SELECT count(DISTINCT xmin::text)::int AS n FROM gatehouse_data.notes WHERE id BETWEEN 100 AND 299',
  )
  assert.ok(rows[0]?.n < 100, `${rows[0]?.n} commits for 200 rows`)
})

test('a write that fails in a group fails alone: the others are written once', async () => {
  const replies = await times(60, (index) => {
    if (index % 20 === 7) return insert(100)
    if (index === 30) return insert(1030, null)
    return insert(1000 + index)
  })
  const taken = replies.flatMap(({ status }, index) => (status === 200 ? [index] : []))
  const codes = replies.flatMap(({ status, json }) => (status === 200 ? [] : [`${status} ${json.Code}`]))
  assert.equal(taken.length, 56)
  assert.deepEqual(codes.sort(), [...Array(3).fill('409 Data.UniqueViolation'), '400 IQL.NotNull'].sort())
  assert.equal(await readCount('id BETWEEN 1000 AND 1059'), 56)
})

test('of several inserts of one key one succeeds', async () => {
  const replies = await times(40, () => insert(2000))
  assert.deepEqual(statuses(replies).sort(), [200, ...Array(39).fill(409)])
})

test('a write that waits for a lock leaves its group, and is written when the lock is released', async () => {
  await admin.query('BEGIN')
  await admin.query(`INSERT INTO gatehouse_data.notes (id, n, t) VALUES (3000, 0, 'held')`)
  let isAnswered = false
  const stuck = insert(3000).finally(() => {
    isAnswered = true
  })
  const began = performance.now()
  const replies = await times(30, (index) => server.call('/query/others/insert', { id: 3000 + index }))
  const took = performance.now() - began
  assert.deepEqual(new Set(statuses(replies)), new Set([200]))
  assert.ok(took < 2000, `${took} ms beside a lock`)
  assert.equal(isAnswered, false)
  await admin.query('ROLLBACK')
  assert.equal((await stuck).status, 200)
})

test('a lookup that waits for a lock leaves its group, and can be cancelled', async () => {
  await admin.query('BEGIN')
  await admin.query('LOCK TABLE gatehouse_data.notes IN ACCESS EXCLUSIVE MODE')
  const headers = { 'request-id': 'waiting-lookup' }
  const stuck = server.query('SELECT t FROM notes WHERE id = 100', { headers })
  const began = performance.now()
  const replies = await times(30, (index) => server.query(`SELECT id FROM others WHERE id = ${3000 + index}`))
  const took = performance.now() - began
  assert.deepEqual(new Set(statuses(replies)), new Set([200]))
  assert.ok(took < 2000, `${took} ms beside a lock`)
  assert.equal((await server.call('/query/waiting-lookup', undefined, { method: 'DELETE' })).status, 204)
  assert.equal((await stuck).json.Code, 'Limit.Cancelled')
  await admin.query('ROLLBACK')
})

test('a lookup that fails does not fail the others', async () => {
  const replies = await times(60, (index) =>
    index % 6 === 0 ? server.query(`SELECT 1 / (id - 100) AS x FROM notes WHERE id = 100`) : byKey(100 + index),
  )
  replies.forEach(({ status, json }, index) => {
    if (index % 6 === 0) assert.deepEqual([status, json.Code], [400, 'IQL.DivisionByZero'])
    else assert.deepEqual([status, json.Rows], [200, [{ t: 'x' }]])
  })
})

test('rows under one value of an index are complete, be they few, many or long', async () => {
  const rows = (count: number, n: number, t: string) =>
    Array.from({ length: count }, (_, index) => ({ id: n * 10_000 + index, n, t }))
  for (const body of [rows(100, 1, 'a'), rows(200, 2, 'b'), rows(201, 3, 'c'), rows(1500, 4, 'd')])
    assert.equal((await server.call('/query/notes/insert', body)).status, 200)
  assert.equal((await server.call('/query/notes/insert', rows(3, 5, 'é'.repeat(700_000)))).status, 200)
  for (const again of [false, true]) {
    for (const [n, count] of [
      [1, 100],
      [2, 200],
      [3, 201],
      [4, 1500],
      [5, 3],
      [6, 0],
    ] as const) {
      const { status, json } = await server.query(`SELECT id, t FROM notes WHERE n = ${n}`)
      assert.deepEqual([status, json.RowCount, json.Rows.length], [200, count, count], `${n} ${again}`)
      assert.equal(new Set(json.Rows.map(({ id }) => id)).size, count)
    }
  }
  const cut = await server.call('/query/notes/select?limit=7', [{ ColumnName: 'n', Operator: '=', Value: 4 }])
  assert.deepEqual([cut.json.RowCount, cut.json.Truncated], [7, undefined])
  assert.equal(typeof cut.json.NextCursor, 'string')
})

test('connections that the server terminates fail the statements in progress and none after them', async () => {
  const busy = times(50, (index) => (index % 2 === 0 ? insert(5000 + index) : byKey(100)))
  await admin.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gatehouse query' AND datname = current_database()`,
  )
  const replies = await busy
  // Acknowledged rows are there; others may be.
  for (const [index, { status }] of replies.entries()) {
    assert.ok(status === 200 || status === 503, String(status))
    if (index % 2 === 0 && status === 200) assert.equal(await readCount(`id = ${5000 + index}`), 1)
  }
  await until('the service goes on', 5000, async () => (await insert(5999)).status === 200)
  assert.equal((await byKey(5999)).status, 200)
})

test('cancelling a query does not cancel the next one on its connection', async () => {
  const endless = 'SELECT count(*) AS n FROM notes a CROSS JOIN notes b CROSS JOIN notes c WHERE a.n + b.n + c.n < 0'
  for (let round = 0; round < 15; round++) {
    const headers = { 'request-id': `stopped-${round}` }
    const stopped = server.query(endless, { headers })
    await until('it runs', 1000, () => server.service.running.size > 0)
    const cancelled = server.call(`/query/stopped-${round}`, undefined, { method: 'DELETE' })
    // They use the same pool, to which the connection is about to return.
    const next = times(8, () => server.query('SELECT count(*) AS n FROM others WHERE id % 2 = 0'))
    assert.equal((await stopped).json.Code, 'Limit.Cancelled')
    assert.equal((await cancelled).status, 204)
    assert.deepEqual(new Set(statuses(await next)), new Set([200]))
  }
})

test('a server that stops answering is given up long before the time limit of a query, and used again when it is back', async (t) => {
  const url = new URL(place.databaseUrl)
  const proxy = await startTcpProxy(url.hostname, Number(url.port))
  url.hostname = '127.0.0.1'
  url.port = String(proxy.port)
  const far = await startQueryServer({ ...place, databaseUrl: url.href }, { limits: { milliseconds: 60_000 } })
  t.after(async () => {
    proxy.mend()
    await far.stop()
    await proxy.close()
  })
  const lookup = () => far.query('SELECT t FROM notes WHERE id = 100')
  const write = (id: number) => far.call('/query/others/insert', { id })
  const long = () => far.query('SELECT count(*) AS n FROM others WHERE id % 2 = 0')
  const define = () => far.query('CREATE INDEX by_id ON others (id)')
  assert.deepEqual(statuses(await Promise.all([lookup(), write(9000), long()])), [200, 200, 200])
  proxy.hold()
  const began = performance.now()
  const replies = await Promise.all([lookup(), write(9001), long(), define()])
  assert.deepEqual(
    replies.map(({ status, json }) => [status, json.Code]),
    replies.map(() => [503, 'Data.Unavailable']),
  )
  assert.ok(performance.now() - began < 25_000)
  proxy.mend()
  await until('it is taken up', 5000, async () => (await lookup()).status === 200)
  assert.deepEqual(statuses(await Promise.all([write(9002), long()])), [200, 200])
  const away = far.log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'the database is not available')
  assert.deepEqual(
    away.map(({ reason }) => reason),
    ['it does not answer'],
  )
})
