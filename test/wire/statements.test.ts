/** Statements over PostgreSQL's protocol: the simple and the extended protocol, errors, limits, cancel. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { ADMIN, ALICE } from '../support/demo-user.ts'
import { useServer } from '../support/server.ts'
import { message } from '../support/wire-client.ts'
import { bind, describe, execute, parse, SYNC, texts, WireSession } from '../support/wire-session.ts'

const server = useServer(
  { flags: { '--demo': 'true', '--wire-port': '0', '--wire-writes': 'true', '--query-result-bytes': '1000000' } },
  async () => {
    session = await open()
  },
)
let session: WireSession
const close = (of: 'S' | 'P', name: string) => message('C', `${of}${name}\0`)
const open = (user = ADMIN) => WireSession.open(server.wirePort ?? 0, user.username, user.password)

after(() => session.close())

test('a Query returns its rows, a tag, and the state', async () => {
  const answer = await session.query('SELECT id, symbol FROM trades WHERE id = 1')
  assert.equal(answer.letters, 'TDCZ')
  assert.deepEqual(answer.columns, [
    { name: 'id', type: 20, modifier: -1 },
    { name: 'symbol', type: 25, modifier: -1 },
  ])
  assert.deepEqual([answer.tags, answer.status], [['SELECT 1'], 'I'])
})

test("PostgreSQL's rule for LIKE holds in statements, with literals and parameters, and IQL's in views and over HTTP", async () => {
  const rows = ["('1', '100%')", "('2', '1000')", String.raw`('3', 'a\b')`]
  await session.query('CREATE TABLE patterns (id Text PRIMARY KEY, v Text)')
  await session.query(`INSERT INTO patterns (id, v) VALUES ${rows.join()}`)
  const ids = async (where: string, values: readonly string[] = []) =>
    texts(await session.run(`SELECT id FROM patterns WHERE ${where} ORDER BY id`, values)).join()
  const [escaped, doubled] = [String.raw`%100\%%`, String.raw`a\\b`]
  assert.equal(await ids(`v LIKE '${escaped}'`), '1')
  assert.equal(await ids('v LIKE $1', [escaped]), '1')
  assert.equal(await ids('v ILIKE $1 AND id = $2', [escaped, '1']), '1')
  assert.equal(await ids('v NOT LIKE $1', [escaped]), '2,3')
  assert.equal(await ids('v LIKE $1', [doubled]), '3')
  assert.equal(await ids('v LIKE $1 AND id = ANY($2)', [escaped, '{1,2}']), '1')
  assert.equal(await ids("v LIKE $1 ESCAPE '!'", [String.raw`a\b`]), '3')
  assert.equal(await ids("v LIKE '100%'"), '1,2')
  const copied = await session.query(`COPY (SELECT id FROM patterns WHERE v LIKE '${escaped}') TO STDOUT`)
  assert.equal(copied.copied.toString(), '1\n')
  assert.equal((await session.query(`SELECT id FROM patterns WHERE v LIKE '%\\'`)).errors[0]?.C, '22P02')
  const overHttp = async (statement: string) => {
    const reply = await fetch(`http://127.0.0.1:${server.port}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${await adminToken()}` },
      body: JSON.stringify({ Statement: statement }),
    })
    return JSON.stringify(await reply.json())
  }
  // A view that was defined over HTTP is IQL, also for readers over the wire. One that is defined here has its ESCAPE written out.
  const created = await overHttp(`CREATE VIEW by_iql AS SELECT id FROM patterns WHERE v LIKE '${escaped}'`)
  assert.doesNotMatch(created, /Code/)
  assert.deepEqual((await session.query('SELECT id FROM by_iql')).rows, [])
  assert.deepEqual((await session.query(`SELECT id FROM by_iql WHERE id LIKE '\\1'`)).rows, [])
  await session.query(`CREATE VIEW by_wire AS SELECT id FROM patterns WHERE v LIKE '${escaped}'`)
  assert.deepEqual(texts(await session.query('SELECT id FROM by_wire')), [['1']])
  assert.match(await overHttp('SELECT id FROM by_wire'), /"1"/)
  for (const statement of ['DROP VIEW by_iql', 'DROP VIEW by_wire', 'DROP TABLE patterns'])
    await session.query(statement)
})

async function adminToken(): Promise<string> {
  const fields = { grant_type: 'password', client_id: 'demo-cli', ...ADMIN }
  const reply = await fetch(`http://127.0.0.1:${server.port}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams(fields),
  })
  return ((await reply.json()) as { access_token: string }).access_token
}

test('RowDescription names the table and the column that a column comes from, and none for expressions and views', async () => {
  const client = new pg.Client({
    ...{ host: '127.0.0.1', port: server.wirePort, database: 'gatehouse' },
    ...{ user: ADMIN.username, password: ADMIN.password },
  })
  await client.connect()
  try {
    const { rows } = await client.query(
      `SELECT c.relname || '.' || a.attname AS name, a.attrelid, a.attnum
       FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relname IN ('trades', 'instruments')`,
    )
    const known = new Map(rows.map(({ name, attrelid, attnum }) => [name, [attrelid, attnum]]))
    const [symbol, price, sector] = ['trades.symbol', 'trades.price', 'instruments.sector'].map((n) => known.get(n))
    assert.ok(symbol !== undefined && price !== undefined && sector !== undefined)
    const origins = async (text: string) =>
      (await client.query(text)).fields.map(({ tableID, columnID }) => [tableID, columnID])
    assert.deepEqual(await origins('SELECT price, t.symbol AS s, price + 1 AS x FROM trades t WHERE id = 1'), [
      ...[price, symbol, [0, 0]],
    ])
    assert.deepEqual(
      await origins('SELECT i.sector, t.price FROM trades t LEFT JOIN instruments i ON i.symbol = t.symbol LIMIT 1'),
      [sector, price],
    )
    assert.deepEqual(await origins('SELECT symbol, count(*) AS n FROM trades GROUP BY symbol'), [symbol, [0, 0]])
    assert.deepEqual(
      await origins(
        'WITH a AS (SELECT price, symbol FROM trades LIMIT 3) SELECT q.symbol FROM (SELECT symbol FROM a LIMIT 2) q',
      ),
      [symbol],
    )
    assert.deepEqual(await origins('SELECT symbol FROM trades UNION SELECT symbol FROM instruments'), [[0, 0]])
    await client.query('CREATE VIEW some_prices AS SELECT price FROM trades')
    assert.deepEqual(await origins('SELECT price FROM some_prices LIMIT 1'), [[0, 0]])
  } finally {
    await client.query('DROP VIEW IF EXISTS some_prices')
    await client.end()
  }
})

test('a Query of comments alone is empty', async () => {
  assert.equal((await session.query(' -- nothing\n /* at /* all */ */ ;; ')).letters, 'IZ')
  assert.equal((await session.query('')).letters, 'IZ')
})

test('the statements of a Query run up to the first error', async () => {
  const answer = await session.query('SELECT \'a;b\' AS x; SELECT 1 AS ";"; SELECT nope FROM trades; SELECT 2 AS y')
  assert.equal(answer.letters, 'TDCTDCEZ')
  assert.equal(answer.errors[0]?.C, '42703')
  assert.equal(answer.errors[0]?.P, '44')
  assert.match(answer.errors[0]?.D ?? '', /^IQL\.UnknownColumn, Request-Id /)
  const many = await session.query('SELECT 1 AS x;'.repeat(101))
  assert.deepEqual([many.letters, many.errors[0]?.C], ['EZ', '54000'])
})

test('positions count characters, not code units', async () => {
  const { errors } = await session.query("SELECT '𝄞𝄞' AS x, nope FROM trades")
  assert.equal(errors[0]?.P, '19')
})

test('two columns may have one name, and a parameter without a context is text', async () => {
  const answer = await session.run('SELECT id, id, $1 AS p FROM trades WHERE id = 1', ['x'])
  assert.deepEqual(
    answer.columns.map(({ name, type }) => [name, type]),
    [
      ['id', 20],
      ['id', 20],
      ['p', 25],
    ],
  )
  assert.deepEqual(texts(answer), [['1', '1', 'x']])
})

test('Describe tells the types of parameters as IQL infers them', async () => {
  const answer = await session.send(
    parse('', 'SELECT symbol FROM trades WHERE id = $2 AND executed_at > $1 AND price < $3 LIMIT $4'),
    describe('S', ''),
    SYNC,
  )
  assert.equal(answer.letters, '1tTZ')
  assert.deepEqual(answer.parameters, [1184, 20, 1700, 20])
})

test('after an error, messages are skipped up to Sync', async () => {
  const answer = await session.send(parse('', 'SELECT nope'), bind('', '', []), execute(''), SYNC, SYNC)
  assert.equal(answer.letters, 'EZ')
  assert.equal((await session.send(SYNC)).letters, 'Z')
  await session.client.reply()
  const fine = await session.run('SELECT 1 AS x')
  assert.equal(fine.letters, '12TDCZ')
})

test('statements and portals have names, and errors of PostgreSQL', async () => {
  const codes = async (...messages: Buffer[]) => (await session.send(...messages, SYNC)).errors[0]?.C
  assert.equal(await codes(parse('s1', 'SELECT 1 AS x')), undefined)
  assert.equal(await codes(parse('s1', 'SELECT 1 AS x')), '42P05')
  assert.equal(await codes(bind('', 'none', [])), '26000')
  assert.equal(await codes(execute('none')), '34000')
  assert.equal(await codes(bind('p', 's1', []), bind('p', 's1', [])), '42P03')
  assert.equal(await codes(bind('', 's1', ['1'])), '08P01')
  assert.equal(await codes(bind('', 's1', [], [0, 0])), '08P01')
  assert.equal(await codes(parse('', 'SELECT 1 AS x; SELECT 2 AS x')), '42601')
  assert.equal(await codes(parse('', 'SELECT :name AS x')), '42601')
  assert.equal(await codes(close('S', 's1'), close('S', 's1')), undefined)
  assert.equal(await codes(bind('', 's1', [])), '26000')
})

test('a prepared statement whose columns changed is refused', async () => {
  await session.query('CREATE TABLE changing (id Integer PRIMARY KEY)')
  await session.send(parse('star', 'SELECT * FROM changing'), SYNC)
  assert.deepEqual((await session.send(bind('', 'star', []), execute(''), SYNC)).tags, ['SELECT 0'])
  await session.query('ALTER TABLE changing ADD COLUMN more Text')
  const { errors } = await session.send(bind('', 'star', []), execute(''), SYNC)
  assert.deepEqual([errors[0]?.C, errors[0]?.M], ['0A000', 'cached plan must not change result type'])
})

test('a result beyond query_result_bytes is an error, not a cut', async () => {
  const { letters, errors } = await session.query(
    'SELECT a.id, b.symbol FROM trades AS a JOIN trades AS b ON a.id < b.id AND b.id < a.id + 40',
  )
  assert.match(letters, /^TD+EZ$/)
  assert.equal(errors[0]?.C, '54000')
})

test('statement_timeout stops a statement, and so does a cancel request', async () => {
  const SLOW = 'SELECT count(*) AS n FROM trades AS a JOIN trades AS b ON a.id <> b.id JOIN trades AS c ON c.id <> b.id'
  const client = new pg.Client({
    host: '127.0.0.1',
    port: server.wirePort,
    user: 'alice',
    password: ALICE.password,
    database: 'gatehouse',
  })
  await client.connect()
  await client.query('SET statement_timeout = 200')
  await assert.rejects(client.query(SLOW), { code: '57014', message: /statement_timeout/ })
  await client.query('RESET statement_timeout')
  const canceller = new pg.Client({ host: '127.0.0.1', port: server.wirePort, user: 'alice', password: ALICE.password })
  const slow = assert.rejects(client.query(SLOW), { code: '57014', message: /cancelled/ })
  await sleep(300)
  const { processID, secretKey } = client as unknown as { processID: number; secretKey: number }
  await canceller.connect()
  const cancelling = (canceller as unknown as { connection: { stream: unknown } }).connection
  assert.ok(cancelling)
  await cancel(server.wirePort ?? 0, processID, secretKey)
  await slow
  assert.deepEqual((await client.query('SELECT 1 AS x')).rows, [{ x: '1' }])
  await Promise.all([client.end(), canceller.end()])
})

test('rights and row limits are those of HTTP', async () => {
  const alice = await open(ALICE)
  const { errors } = await alice.query('DROP TABLE trades')
  assert.equal(errors[0]?.C, '42501')
  alice.close()
})

async function cancel(port: number, processId: number, key: number): Promise<void> {
  const { WireClient, packet } = await import('../support/wire-client.ts')
  const client = await WireClient.open(port)
  const body = Buffer.alloc(8)
  body.writeInt32BE(processId, 0)
  body.writeInt32BE(key, 4)
  client.send(packet(80877102, body))
  await client.closed()
}

test('functions that IQL does not have are refused as over HTTP, also those that the catalogue has', async () => {
  for (const [call, hint] of [
    ['random()', /^IQL has no random numbers/],
    ['clock_timestamp()', /now/],
    ['gen_random_uuid()', /gen_uuid/],
    ['pg_sleep(1)', /^wait in your program/],
  ] as const) {
    const [error] = (await session.query(`SELECT ${call}`)).errors
    assert.deepEqual([call, error?.C], [call, '42883'])
    assert.match(error?.H ?? '', hint)
  }
  const [[a], [b]] = texts(await session.query('SELECT random() FROM pg_namespace LIMIT 2')) as [[string], [string]]
  assert.notEqual(a, b)
  assert.ok(Number(a) >= 0 && Number(a) < 1)
})
