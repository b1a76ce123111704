/** Live queries of the client library against the real server: exact at every step, over lost connections too. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import {
  type Auth,
  AuthError,
  Gatehouse,
  GatehouseError,
  type Live,
  password,
  QueryError,
  type StateChange,
} from '../../packages/client/src/index.ts'
import { ADMIN, ALICE, post } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const LATE_MS = 30_000
const LARGE = 9_007_199_254_740_993n

interface Fill {
  readonly id: number | bigint
  readonly symbol: string
  readonly quantity: number
}

onEveryEngineInLongRuns('the client: live queries', (place) => {
  let server: TestServer
  let admin: Gatehouse
  const clients: Gatehouse[] = []
  const open = (auth: Auth = password({ clientId: 'demo-cli', ...ALICE }), url = server.issuer, more: object = {}) => {
    const gate = new Gatehouse(url, { issuer: server.issuer, auth, ...more })
    const states: StateChange[] = []
    gate.on('state', (change) => states.push(change))
    clients.push(gate)
    return { gate, states }
  }
  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true', '--stream-drain-time': '0' } })
    admin = new Gatehouse(server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
    await admin.query`create table fills (id Integer primary key, symbol Text not null, quantity Integer not null)
      read scope 'Platform/Market'`
    await admin.query`insert into fills values (${LARGE}, 'BHP', 5), (2, 'RIO', 7), (3, 'BHP', 1)`
  })
  afterEach(() => {
    for (const client of clients.splice(0)) client.close()
  })
  after(async () => {
    admin.close()
    await server.stop()
  })

  const shows = (live: Live<Fill>, rows: readonly object[]): Promise<void> =>
    until(`the rows are ${JSON.stringify(rows, bigText)}`, LATE_MS, () => same(live.rows, rows))

  test('the result, then its changes; rows of a change are those that were shown', async () => {
    const { gate } = open()
    const live = gate.live<Fill>`select id, quantity from fills where symbol = ${'BHP'}`
    assert.equal(await live.ready(), live)
    assert.deepEqual(
      new Set(live.rows),
      new Set([
        { id: LARGE, quantity: 5 },
        { id: 3, quantity: 1 },
      ]),
    )
    assert.equal(live.rows, live.rows)
    assert.deepEqual(
      live.columns.map(({ type }) => type),
      ['Integer', 'Integer'],
    )
    let told = 0
    live.subscribe(() => told++)
    const changes = live[Symbol.asyncIterator]()
    const first = (await changes.next()).value
    assert.ok(first)
    assert.deepEqual([first.snapshot, first.put.length, first.remove], [true, 2, []])
    assert.equal(live.method, 'keys')
    assert.deepEqual(new Set(live.rows.map((row) => live.keyOf(row))), new Set([`["${LARGE}n"]`, '[3]']))
    const gone = live.rows.find(({ id }) => id === 3)
    await admin.query`delete from fills where id = 3`
    const second = (await changes.next()).value
    assert.ok(second)
    assert.deepEqual([second.snapshot, second.put], [false, []])
    assert.equal(second.remove[0], gone)
    await admin.query`insert into fills values (3, 'BHP', 1)`
    await admin.query`update fills set quantity = 6 where id = 3`
    await shows(live, [
      { id: LARGE, quantity: 5 },
      { id: 3, quantity: 6 },
    ])
    // Both changes were merged while nothing was read: the row is new to the reader.
    await admin.query`update fills set quantity = 1 where id = 3`
    await until('the change is here', LATE_MS, () => live.rows.some(({ id, quantity }) => id === 3 && quantity === 1))
    const third = (await changes.next()).value
    assert.deepEqual(third?.put, [{ id: 3, quantity: 1 }])
    assert.deepEqual(third?.remove, [])
    // A row that was added and removed while nothing was read is not mentioned.
    await admin.query`insert into fills values (50, 'BHP', 1)`
    await until('the row came', LATE_MS, () => live.rows.some(({ id }) => id === 50))
    await admin.query`delete from fills where id = 50`
    await admin.query`insert into fills values (51, 'BHP', 2)`
    await until(
      'another came',
      LATE_MS,
      () => live.rows.some(({ id }) => id === 51) && live.rows.every(({ id }) => id !== 50),
    )
    const fourth = (await changes.next()).value
    assert.deepEqual([fourth?.put, fourth?.remove], [[{ id: 51, quantity: 2 }], []])
    assert.ok(told >= 3)
    live.close()
    assert.equal((await changes.next()).done, true)
    // Not before: a change that has arrived is still read after the close.
    await admin.query`delete from fills where id = 51`
  })

  test('a change has the rows that it replaces, and says why the whole result was sent again', async () => {
    await admin.query`create table marks (id Integer primary key, price Integer not null) read scope 'Platform/Market'`
    await admin.query`insert into marks values (1, 10), (2, 20)`
    const { gate } = open()
    const live = gate.live<{ id: number; price: number }>`select * from marks order by id`
    assert.deepEqual(await Promise.all([live.ready(), live.ready()]), [live, live])
    const changes = live[Symbol.asyncIterator]()
    assert.equal((await changes.next()).value?.before.size, 0)
    const [first] = live.rows
    await admin.query`update marks set price = 11 where id = 1`
    const second = (await changes.next()).value
    assert.deepEqual(second?.put, [{ id: 1, price: 11 }])
    assert.equal(second?.before.get(second.put[0] as never), first)
    assert.equal(second?.reason, undefined)
    await admin.query`alter table marks add column note Text`
    const third = (await changes.next()).value
    assert.deepEqual([third?.snapshot, third?.reason, third?.before.size], [true, 'Definition', 2])
    live.close()
  })

  test('ORDER BY: rows move to their places, whatever happens', async () => {
    const { gate } = open()
    await admin.query`create table book (id Integer primary key, price Integer not null) read scope 'Platform/Market'`
    const live = gate.live({ maxRate: 50 })<{ id: number }>`select id, price from book order by price, id`
    await live.ready()
    let next = 0
    for (let round = 0; round < 10; round++) {
      const ids = [next++, next++, next++]
      await admin.table('book').insert(ids.map((id) => ({ id, price: (id * 7919) % 23 })))
      await admin.query`update book set price = price + ${(round % 5) - 2} where id % 4 = ${round % 4}`
      await admin.query`delete from book where id % 9 = ${round % 9} and id < ${next - 3}`
      if (round % 3 !== 0) continue
      const expected = await gate.query`select id, price from book order by price, id`
      await until('the order is that of the query', LATE_MS, () => same(live.rows, expected))
    }
  })

  test('after a lost connection nothing is missed, and the change says so', async () => {
    const proxy = await startTcpProxy('127.0.0.1', server.port)
    try {
      const { gate, states } = open(undefined, `http://127.0.0.1:${proxy.port}`)
      const live = gate.live<Fill>`select id, quantity from fills where symbol = 'RIO'`
      await live.ready()
      const kept = live.rows[0]
      const recovered: (boolean | undefined)[] = []
      const reading = (async () => {
        for await (const change of live) recovered.push(change.recovered)
      })()
      proxy.cut()
      await until('the loss is noticed', LATE_MS, () => states.some(({ state }) => state === 'offline'))
      await admin.query`insert into fills values (40, 'RIO', 9)`
      proxy.mend()
      await shows(live, [
        { id: 2, quantity: 7 },
        { id: 40, quantity: 9 },
      ])
      assert.ok(recovered.includes(true))
      assert.ok(!recovered.includes(false))
      assert.equal(live.rows[0], kept, 'what did not change was not sent again')
      live.close()
      await reading
      await admin.query`delete from fills where id = 40`
    } finally {
      await proxy.close()
    }
  })

  test('a refused statement shows where it is wrong; a dropped table ends it; a right that is gone ends it', async () => {
    const { gate } = open()
    const wrong = gate.live`select pric from trades`
    const error: unknown = await wrong.ready().catch((error) => error)
    assert.ok(error instanceof QueryError)
    assert.equal(error.caret, '1 | select pric from trades\n           ^')
    assert.equal(wrong.error, error)
    await assert.rejects(async () => {
      for await (const _ of wrong) assert.fail()
    }, QueryError)
    await admin.query`create table brief (id Integer primary key) read scope 'Platform/Market'`
    const brief = gate.live`select id from brief`
    await brief.ready()
    await admin.query`drop table brief`
    await assert.rejects(async () => {
      for await (const _ of brief);
    }, QueryError)
    const live = gate.live`select id from fills`
    await live.ready()
    await admin.admin.users.update('alice', { roles: [] })
    await assert.rejects(async () => {
      for await (const _ of live);
    }, AuthError)
    await admin.admin.users.update('alice', { roles: ['trader'] })
  })

  test('a revoked token is replaced, and the live query continues without a new snapshot', async () => {
    const { gate, states } = open()
    const live = gate.live<Fill>`select id, quantity from fills where symbol = 'RIO'`
    await live.ready()
    const kept = live.rows[0]
    await post(server, '/connect/revocation', { token: await gate.auth.token(), client_id: 'demo-cli' })
    await until(
      'it is online again',
      LATE_MS,
      () => states.some(({ state }) => state === 'lapsed') && gate.stream.state === 'online',
    )
    await admin.query`insert into fills values (41, 'RIO', 1)`
    await shows(live, [
      { id: 2, quantity: 7 },
      { id: 41, quantity: 1 },
    ])
    assert.equal(live.rows[0], kept)
    await admin.query`delete from fills where id = 41`
  })

  test('many live queries on one connection, an abort, and values in their types', async () => {
    const { gate } = open(undefined, undefined, { values: { integer: 'bigint' } })
    const all = Array.from({ length: 20 }, (_, index) => gate.live<Fill>`select id from fills where id <= ${index}`)
    await Promise.all(all.map((live) => live.ready()))
    assert.deepEqual(all[3]?.rows, [{ id: 2n }, { id: 3n }])
    const abort = new AbortController()
    const reason = new Error('enough')
    const live = gate.live({ signal: abort.signal })`select id from fills`
    await assert.rejects(async () => {
      for await (const _ of live) abort.abort(reason)
    }, reason)
    gate.close()
    const ended = all[0]?.error
    assert.ok(ended instanceof GatehouseError && ended.code === 'client.closed')
  })
})

const bigText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a, bigText) === JSON.stringify(b, bigText)
}
