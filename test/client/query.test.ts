/** Queries, tables, values and the administration of the client library against the real server. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { tableFromIPC } from 'apache-arrow'
import {
  AuthError,
  ConnectionError,
  Gatehouse,
  GatehouseError,
  getToken,
  name,
  password,
  QueryError,
  sql,
  statement,
} from '../../packages/client/src/index.ts'
import { startBreakingProxy } from '../support/breaking-proxy.ts'
import { ADMIN, ALICE } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const LARGE = 9_007_199_254_740_993n

onEveryEngineInLongRuns('the client: queries', (place) => {
  let server: TestServer
  let gate: Gatehouse
  let admin: Gatehouse
  const clients: Gatehouse[] = []
  const open = (user: { username: string; password: string }, more: object = {}, url = server.issuer): Gatehouse => {
    const client = new Gatehouse(url, {
      issuer: server.issuer,
      auth: password({ clientId: 'demo-cli', ...user }),
      ...more,
    })
    clients.push(client)
    return client
  }
  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true', '--query-rows': '1000' } })
    gate = open(ALICE)
    admin = open(ADMIN)
    await admin.query`create table every (id Integer primary key, t Text, d Decimal(18, 4), f Double, s Timestamp, b Binary, j Json)
      read scope 'Platform/Market' write scope 'Platform/Trading'`
  })
  after(async () => {
    for (const client of clients) client.close()
    await server.stop()
  })

  test('a statement by template: values are parameters, lists and fragments compose', async () => {
    const evil = "' or 1 = 1 --"
    assert.deepEqual(await gate.query`select id from trades where symbol = ${evil}`, [])
    const recent = sql`quantity > ${0} and ${sql`id <= ${2}`}`
    const rows = await gate.query<{ id: number; symbol: string }>`
      select id, ${name('symbol')} from trades where id in (${[1, 2, 3]}) and ${recent} order by id desc`
    assert.deepEqual(
      rows.map(({ id }) => id),
      [2, 1],
    )
    assert.equal(typeof rows[0]?.symbol, 'string')
    const written = statement('select id from trades where id = :id', { id: 7 })
    assert.deepEqual(await gate.query(written), [{ id: 7 }])
    assert.deepEqual(await gate.query(statement('select id from trades where id = $1', [8])), [{ id: 8 }])
    assert.throws(() => gate.query`select id from trades where id in (${[]})`, /cannot be empty/)
    // @ts-expect-error a text is not a statement: its values would not be parameters
    assert.throws(() => gate.query(`select ${evil}`), /parameters/)
  })

  test('every value is exact, and in the type that was asked for', async () => {
    const bytes = new Uint8Array([0, 255])
    const when = new Date('2026-01-02T03:04:05.678Z')
    const row = { id: LARGE, t: 'ä"\\', d: '12345678901234.1234', f: Number.NaN, s: when, b: bytes, j: { n: [1] } }
    const { rows, rowsAffected } = await gate.table('every').insert(row)
    const exact = { ...row, s: '2026-01-02T03:04:05.678Z' }
    assert.deepEqual([rows, rowsAffected], [[exact], 1])
    await gate.table('every').insert({ id: 5 })
    assert.deepEqual(await gate.query`select * from every where id = ${LARGE}`, [exact])
    const streamed = await Array.fromAsync(gate.query`select * from every order by id desc`.stream())
    assert.deepEqual(streamed[0], exact)
    assert.deepEqual(streamed[1], { id: 5, t: null, d: null, f: null, s: null, b: null, j: null })
    const typed = open(ALICE, {
      values: { integer: 'bigint', decimal: (text: string) => ({ text }), timestamp: 'date' },
    })
    for (const found of [
      await typed.query`select id, d, s from every order by id`.first(),
      (await Array.fromAsync(typed.query`select id, d, s from every order by id`.stream()))[0],
    ])
      assert.deepEqual(found, { id: 5n, d: null, s: null })
    assert.deepEqual(await typed.query`select id, d, s from every where id > 5`, [
      { id: LARGE, d: { text: row.d }, s: when },
    ])
    assert.deepEqual((await typed.table('every').select({ where: { id: LARGE }, columns: ['id'] })).rows, [
      { id: LARGE },
    ])
    const text = open(ALICE, { values: { integer: 'text' } })
    assert.deepEqual(await text.query`select id from every order by id`, [{ id: '5' }, { id: String(LARGE) }])
  })

  test('Arrow, CSV, the whole result, EXPLAIN', async () => {
    const query = gate.query`select id, symbol from trades where id <= ${3} order by id`
    const progress: number[] = []
    const bytes = await query.arrow({ onProgress: (count) => progress.push(count) })
    assert.equal(tableFromIPC(bytes).numRows, 3)
    assert.equal(progress.at(-1), bytes.length)
    assert.match(await query.csv(), /^id,symbol\r\n1,/)
    const result = await query.result()
    assert.deepEqual(result.columns, [
      { name: 'id', type: 'Integer', nullable: false },
      { name: 'symbol', type: 'Text', nullable: false },
    ])
    assert.ok(result.requestId.length > 10 && result.elapsed >= 0)
    assert.ok((await query.explain()).length > 0)
  })

  test('a query has catch and finally, as a promise has', async () => {
    let ended = 0
    const count = () => {
      ended++
    }
    assert.deepEqual(await gate.query<{ id: number }>`select id from trades where id = 7`.finally(count), [{ id: 7 }])
    assert.deepEqual(await gate.query`select nothing from nowhere`.catch(() => []), [])
    await assert.rejects(gate.query`select nothing from nowhere`.finally(count), QueryError)
    assert.equal(ended, 2)
  })

  test('options of the query string: parameters as text, and rows as arrays', async () => {
    const query = gate.query(statement('select cast(:x as Integer) as x, cast(:doc as Json) as doc'))
    const search = { 'p.x': '7', 'p.doc': '{"a": 1}' }
    assert.deepEqual((await query.result({ search })).rows, [{ x: 7, doc: { a: 1 } }])
    const response = await query.response('application/json', { search: { ...search, rows: 'arrays' } })
    assert.deepEqual(((await response.json()) as { Rows: unknown }).Rows, [[7, { a: 1 }]])
  })

  test('a result that the service truncates is an error, a page, or a stream of all rows', async () => {
    const query = gate.query<{ id: number }>`select id from trades order by id`
    await assert.rejects(query.rows(), { code: 'client.truncated', hint: /stream/ })
    const first = await query.result()
    assert.equal(first.rows.length, 1000)
    const second = await query.result({ after: first.next })
    assert.equal(second.rows[0]?.id, 1001)
    let count = 0
    for await (const { id } of query.stream()) assert.equal(id, ++count)
    assert.equal(count, 4000)
    let paged = 0
    for await (const _ of gate.table('trades').rows({ columns: ['id'] })) paged++
    assert.equal(paged, 4000)
  })

  test('batches: the columns come first, also without rows; values are exact, and an error comes after its rows', async () => {
    const none = await gate.query`select id, price from trades where id < 0`.batches()
    assert.deepEqual(
      none.columns.map(({ name, type }) => [name, type]),
      [
        ['id', 'Integer'],
        ['price', 'Decimal(18, 4)'],
      ],
    )
    assert.notEqual(none.requestId, '')
    assert.deepEqual(await Array.fromAsync(none), [])
    const exact =
      await gate.query`select ${LARGE} + 0 as large, cast(${'x\n,y'} as Text) as t, cast(1 as Double) as f`.batches()
    assert.deepEqual((await Array.fromAsync(exact)).flat(), [[LARGE, 'x\n,y', 1]])
    const all = await gate.query`select a.id from trades a cross join trades b limit 20000`.batches()
    const sizes = (await Array.fromAsync(all)).map((batch) => batch.length)
    assert.equal(
      sizes.reduce((sum, size) => sum + size, 0),
      20_000,
    )
    assert.ok(sizes.length < 2000, 'many rows at a time')
  })

  test('a refused statement shows where it is wrong', async () => {
    const error: unknown = await gate.query`select\n pric from trades`.rows().catch((error) => error)
    assert.ok(error instanceof QueryError)
    assert.equal(error.code, 'IQL.UnknownColumn')
    assert.deepEqual(error.position, { offset: 8, line: 2, column: 2 })
    assert.equal(error.caret, '2 |  pric from trades\n     ^')
    assert.match(error.hint ?? '', /price/)
    assert.ok(error.requestId)
    assert.equal(error.retryable, false)
    await assert.rejects(gate.table('no').select(), {
      code: 'Data.UnknownTable',
      status: 404,
      name: 'QueryError',
      hint: 'The table cataloguetables lists the tables that you may read.',
    })
    await assert.rejects(gate.query`select 1 / (quantity - quantity) as x from trades`.rows(), {
      code: 'IQL.DivisionByZero',
      hint: 'Guard the divisor: a / NULLIF(b, 0).',
    })
    const forbidden = await gate.admin.users.get('alice').catch((error) => error)
    assert.ok(forbidden instanceof AuthError && forbidden.status === 403)
  })

  test('an error after the first rows ends the stream, and so does an abort', async () => {
    const failing = gate.query`select id, 1 / (3000 - id) as r from trades where id <= ${4000}`
    const ids: unknown[] = []
    await assert.rejects(async () => {
      for await (const { id } of failing.stream()) ids.push(id)
    }, GatehouseError)
    const abort = new AbortController()
    const reason = new Error('enough')
    await assert.rejects(async () => {
      for await (const _ of gate.query`select * from trades`.stream({ signal: abort.signal })) abort.abort(reason)
    }, reason)
    await assert.rejects(gate.query({ signal: AbortSignal.abort(reason) })`select 1 from trades`.rows(), reason)
  })

  test('criteria: values, lists, null, operators, and those of the service', async () => {
    const trades = gate.table<{ id: number; venue: string | null; symbol: string }>('trades')
    const { rows } = await trades.select({ where: { id: { '>=': 2, '<': 5 } }, orderBy: '-id', columns: ['id'] })
    assert.deepEqual(rows, [{ id: 4 }, { id: 3 }, { id: 2 }])
    assert.equal((await trades.select({ where: { id: [1, 2], symbol: { '<>': '' } } })).rows.length, 2)
    const none = await trades.select({ where: { venue: null }, limit: 1 })
    assert.equal(none.rows[0]?.venue, null)
    const either = [
      {
        Or: [
          { ColumnName: 'id', Operator: '=', Value: 1 },
          { ColumnName: 'id', Operator: '=', Value: 9 },
        ],
      },
    ]
    assert.equal((await trades.select({ where: either })).rows.length, 2)
  })

  test('a write whose reply is lost is made once', async () => {
    const proxy = await startBreakingProxy(server.port)
    try {
      let lost = 0
      const onRequest = ({ error }: { error: unknown }): void => {
        if (error === undefined) return
        lost++
        proxy.mend()
      }
      const far = open(ALICE, { onRequest }, proxy.url)
      await far.query`select 1 from trades limit 1`
      proxy.loseAnswerAfter(0)
      const { rows } = await far.table('every').insert({ id: 70 })
      assert.deepEqual([rows[0]?.id, lost], [70, 1])
      assert.deepEqual(await gate.query`select count(*) as n from every where id = 70`, [{ n: 1 }])
      await far.table('every').update({ id: 70 }, { t: 'changed' })
      assert.equal((await far.table('every').delete({ id: 70, t: 'changed' })).rowsAffected, 1)
      // A statement too, with a key; without one it is not sent again.
      const options = { idempotencyKey: 'seventy-one' }
      proxy.loseAnswerAfter(0, /^\/query$/)
      const inserted = await far.query(options)`insert into every (id) values (${71}) returning id`
      assert.deepEqual([inserted, lost], [[{ id: 71 }], 2])
      proxy.loseAnswerAfter(0, /^\/query$/)
      await assert.rejects(Promise.resolve(far.query`delete from every where id = 71`), { code: 'client.offline' })
      assert.equal(lost, 3)
    } finally {
      await proxy.stop()
    }
  })

  test('an upload in pieces reports its progress; repeated with its key it changes nothing', async () => {
    function* rows() {
      for (let id = 1000; id < 1250; id++) yield { id, t: 'piece' }
    }
    const progress: number[] = []
    const table = gate.table('every')
    const options = {
      rows: 100,
      idempotencyKey: 'upload-1',
      onProgress: (at: { rows: number }) => progress.push(at.rows),
    }
    assert.deepEqual(await table.upload(rows(), options), { rows: 250, pieces: 3 })
    assert.deepEqual(progress, [100, 200, 250])
    assert.deepEqual(await table.upload(rows(), options), { rows: 250, pieces: 3 })
    assert.deepEqual(await gate.query`select count(*) as n from every where t = 'piece'`, [{ n: 250 }])
  })

  test('the administration: lists over pages, creates, changes, deletes', async () => {
    const bob = await admin.admin.users.create({ username: 'bob', password: 'a-long-enough-password' })
    assert.deepEqual([bob.username, bob.roles, bob.disabled, typeof bob.id], ['bob', [], false, 'string'])
    const role = await admin.admin.roles.get('trader')
    assert.deepEqual([role.scopes.includes('Platform/Market'), role.require_second_factor], [true, false])
    const client = await admin.admin.clients.get('demo-spa')
    assert.deepEqual(
      [client.allowed_origins, client.grant_types.length],
      [['http://localhost:5090', 'http://localhost:5091'], 2],
    )
    const changed = await admin.admin.users.update('bob', { name: 'Bob' })
    assert.equal(changed.name, 'Bob')
    const names: unknown[] = []
    for await (const { username } of admin.admin.users.list({ limit: 1 })) names.push(username)
    assert.deepEqual(names, ['admin', 'alice', 'bob'])
    await admin.admin.setPassword('bob', 'another-long-password')
    assert.deepEqual(await Array.fromAsync(admin.admin.of('bob', 'sessions').list()), [])
    await admin.admin.users.delete('bob')
    await assert.rejects(admin.admin.users.get('bob'), { status: 404 })
    assert.ok((await Array.fromAsync(admin.admin.settings.list())).length > 10)
    assert.ok((await Array.fromAsync(admin.admin.scopes.list())).length > 3)
  })

  test('requests are reported with their trace, and nothing hangs after close', async () => {
    const reports: { status: number | undefined; requestId: string | undefined }[] = []
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const sent: (string | null)[] = []
    const client = open(ALICE, {
      onRequest: (report: { status: number | undefined; requestId: string | undefined }) => reports.push(report),
      trace: () => traceparent,
      fetch: (url: string, init: RequestInit) => {
        sent.push(new Headers(init.headers).get('traceparent'))
        return fetch(url, init)
      },
    })
    await client.query`select 1 from trades limit 1`
    assert.deepEqual([reports.length, reports[0]?.status], [1, 200])
    assert.equal(sent.at(-1), traceparent)
    client.close()
    await assert.rejects(client.query`select 1 from trades limit 1`.rows(), { code: 'client.closed' })
    await assert.rejects(client.stream.connect(), { code: 'client.closed' })
    const away = new Gatehouse('http://127.0.0.1:1', { auth: getToken(() => 'x'), attempts: 2 })
    await assert.rejects(away.query`select 1 from trades`.rows(), (error) => {
      assert.ok(error instanceof ConnectionError && error.retryable)
      return true
    })
  })
})
