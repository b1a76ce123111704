/** Bulk inserts that are refused or stopped: too many at once, others who wait, a sign-in that is too old, bodies of other forms. Nothing stays behind. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { COMPRESSED_ARROW } from '../support/compressed-arrow.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { until } from '../support/until.ts'
import { count, csv, filesIn, post } from './bulk-requests.ts'
import { CALLERS, type QueryServer, startQueryServer } from './query-server.ts'

let server: QueryServer
let place: TestPlace
let leave: () => Promise<void>

before(async () => {
  ;({ place, leave } = await openPlace('sqlite'))
  server = await startQueryServer(place, {
    limits: { concurrency: 1000, writeWaitMs: 50 },
    authenticate: async (token) =>
      token === 'fresh' && CALLERS.admin !== undefined
        ? { ...CALLERS.admin, authTime: Math.floor(Date.now() / 1000) }
        : CALLERS[token],
  })
  for (const statement of [
    'CREATE TABLE t (id Integer PRIMARY KEY, a Text, b Text)',
    "CREATE TABLE mine (id Integer PRIMARY KEY) WRITE SCOPE 'Platform/Market'",
    'CREATE TABLE guarded (id Integer PRIMARY KEY) WRITE REQUIRE (age = 60)',
  ])
    assert.equal((await server.query(statement)).status, 200, statement)
})
after(async () => {
  await server.stop()
  await leave()
})

test('a bulk insert for which a write of another user has waited query_write_wait is stopped, and leaves no row and no file', async () => {
  const bulk = post(server.url, '/query/t/insert', 'text/csv', csv(200_000, 8))
  let isOver = false
  void bulk.then(() => {
    isOver = true
  })
  for (let id = 0; !isOver; id++) {
    const short = await post(server.url, '/query/mine/insert', 'application/json', JSON.stringify({ id }), 'market')
    assert.equal(short.status, 200)
  }
  const { status, json } = await bulk
  assert.deepEqual([status, json.Code], [408, 'Limit.WriteTime'], JSON.stringify(json))
  assert.match(json.detail ?? '', /query_write_wait.*Nothing was written: split it into smaller writes/)
  assert.deepEqual([await filesIn(place), await count(server.url)], [0, 0])
})

test('a user can have eight bulk inserts at a time: the ninth is refused until one of them has ended', async () => {
  const head = `POST /query/t/insert HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer admin\r\nContent-Type: text/csv\r\n`
  const senders = Array.from({ length: 8 }, () => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(`${head}Content-Length: 1000\r\n\r\nid,a,b\n`)
    return socket
  })
  try {
    await until('eight spool files are open', 3000, async () => (await filesIn(place)) === 8)
    const ninth = await post(server.url, '/query/t/insert', 'text/csv', csv(1, 8))
    assert.deepEqual([ninth.status, ninth.json.Code], [429, 'Limit.Concurrency'], JSON.stringify(ninth.json))
    assert.match(ninth.json.detail ?? '', /8 bulk inserts running/)
    const other = await post(server.url, '/query/mine/insert', 'text/csv', 'id\n-1\n', 'market')
    assert.equal(other.status, 200, 'another user')
    senders[0]?.destroy()
    await until('its file is removed', 3000, async () => (await filesIn(place)) === 7)
    assert.equal((await post(server.url, '/query/t/insert', 'text/csv', csv(1, 8))).status, 200)
  } finally {
    for (const socket of senders) socket.destroy()
  }
  await until('no file is left', 3000, async () => (await filesIn(place)) === 0)
})

test('a table that demands a recent sign-in of writers gets no rows from an older one, in any format', async () => {
  for (const [type, body] of [
    ['text/csv', 'id\n1\n'],
    ['application/x-ndjson', '{"id":1}\n'],
  ] as const) {
    const { status, json } = await post(server.url, '/query/guarded/insert', type, body)
    assert.deepEqual([status, json.Code, json.MaxAge], [401, 'Auth.StepUp', 60], JSON.stringify(json))
  }
  assert.deepEqual([await filesIn(place), await count(server.url, 'guarded')], [0, 0])
  const fresh = await post(server.url, '/query/guarded/insert', 'text/csv', 'id\n1\n', 'fresh')
  assert.deepEqual([fresh.status, fresh.json.RowsAffected], [200, 1], JSON.stringify(fresh.json))
})

test('an Arrow stream with compressed record batches is refused, and told how to write it', async () => {
  const { status, json } = await post(
    server.url,
    '/query/t/insert',
    'application/vnd.apache.arrow.stream',
    COMPRESSED_ARROW,
  )
  assert.deepEqual([status, json.Code], [400, 'Request.BadBody'])
  assert.equal(
    json.detail,
    'The record batches are compressed: write them without compression (in pyarrow and Polars that is the default, but for write_feather of pyarrow, which needs compression="uncompressed")',
  )
})

test('a type that is not accepted gets the list of those that are; another delimiter of CSV is recognised', async () => {
  const xml = await post(server.url, '/query/t/insert', 'application/xml', '<row/>')
  assert.equal(xml.status, 415)
  assert.deepEqual(xml.json.Expected, [
    'text/plain; charset=utf-8',
    'application/json',
    'text/csv',
    'application/x-ndjson',
    'application/ndjson',
    'application/vnd.apache.arrow.stream',
    'application/vnd.apache.arrow.file',
    'application/vnd.apache.parquet',
  ])
  const untyped = await post(server.url, '/query/t/insert', 'application/octet-stream', COMPRESSED_ARROW)
  assert.deepEqual([untyped.status, untyped.json.Expected], [415, xml.json.Expected], 'a file under another type')
  const select = await post(server.url, '/query/t/select', 'text/csv', 'id')
  assert.deepEqual(select.json.Expected, ['text/plain; charset=utf-8', 'application/json'])
  const semicolons = await post(server.url, '/query/t/insert', 'text/csv', 'id;a;b\n7;x;y\n')
  assert.deepEqual([semicolons.status, semicolons.json.Code], [400, 'Request.BadBody'])
  assert.equal(semicolons.json.Hint, 'add delimiter=semicolon to the query of the URL')
  const unnamed = await post(server.url, '/query/t/insert?columns=id,a,b', 'text/csv; header=absent', '7|x|y\n')
  assert.match(unnamed.json.detail ?? '', /^Line 1: The row has 1 field, not 3; if its delimiter is bar, say so$/)
  const named = await post(server.url, '/query/t/insert?delimiter=semicolon', 'text/csv', 'id;a;b\n7;x;y\n')
  assert.deepEqual([named.status, named.json.RowsAffected], [200, 1], JSON.stringify(named.json))
})
