/** Live queries of the client library by server-sent events, against the real server: where no WebSocket can be opened. */
import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, type TestContext, test } from 'node:test'
import {
  AuthError,
  createLive,
  Gatehouse,
  getToken,
  LiveEvents,
  liveMessages,
  password,
  QueryError,
  type StateChange,
} from '../../packages/client/src/index.ts'
import { ADMIN, ALICE, post } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { startHttpProxy } from '../support/http-proxy.ts'
import { createTestClock, startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const LATE_MS = 30_000
const clock = createTestClock()
let server: TestServer
let leave: () => Promise<void>
let admin: Gatehouse
const clients: Gatehouse[] = []

interface Fill {
  readonly id: number
  readonly quantity: number
}

function open(url = server.issuer) {
  const auth = password({ clientId: 'demo-cli', ...ALICE })
  const gate = new Gatehouse(url, { issuer: server.issuer, auth })
  const states: StateChange[] = []
  gate.on('state', (change) => states.push(change))
  clients.push(gate)
  return { gate, states }
}

before(async () => {
  const opened = await openPlace('sqlite')
  leave = opened.leave
  server = await startTestServer(opened.place, { clock, flags: { '--demo': 'true', '--stream-drain-time': '0' } })
  admin = new Gatehouse(server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  await admin.query`create table fills (id Integer primary key, quantity Integer not null) read scope 'Platform/Market'`
  await admin.query`insert into fills values (1, 5), (2, 7)`
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await admin.query`delete from fills where id > 2`
})
after(async () => {
  admin.close()
  await server.stop()
  await leave()
})

test('behind a proxy that lets no WebSocket through, live queries go by server-sent events and resume', async () => {
  const proxy = await startHttpProxy(server.port)
  try {
    const { gate, states } = open(proxy.url)
    const live = gate.live<Fill>`select id, quantity from fills where id < ${100} order by id`
    await live.ready()
    assert.deepEqual(live.rows, [
      { id: 1, quantity: 5 },
      { id: 2, quantity: 7 },
    ])
    assert.ok(proxy.refused() >= 2, 'a single failure may have another reason')
    const blocked = states.find(({ code }) => code === 'client.no_websocket')
    assert.equal(blocked?.state, 'offline')
    const recovered: (boolean | undefined)[] = []
    const reading = (async () => {
      for await (const change of live) recovered.push(change.recovered)
    })()
    proxy.cut()
    await admin.query`insert into fills values (3, 1)`
    proxy.mend()
    await until('the missed row is here', LATE_MS, () => live.rows.length === 3)
    assert.ok(recovered.includes(true) && !recovered.includes(false), String(recovered))
    // Another one goes the same way at once.
    const count = gate.live<{ n: number }>`select count(*) as n from fills`
    await count.ready()
    await admin.query`insert into fills values (4, 1)`
    await until('both have changed', LATE_MS, () => live.rows.length === 4 && count.rows[0]?.n === 4)
    live.close()
    await reading
    await until('the server has only one left', LATE_MS, async () => {
      const queries = await Array.fromAsync(admin.admin.queries.list())
      return queries.filter(({ kind }) => kind === 'live').length === 1
    })
  } finally {
    await proxy.close()
  }
})

test('where there is no WebSocket at all, they go by server-sent events at once', async () => {
  const { WebSocket: usual } = globalThis
  Reflect.deleteProperty(globalThis, 'WebSocket')
  try {
    const { gate } = open()
    const live = gate.live<Fill>`select id from fills`
    await live.ready()
    assert.equal(live.rows.length, 2)
    const wrong = gate.live`select pric from trades`
    const error: unknown = await wrong.ready().catch((reason) => reason)
    assert.ok(error instanceof QueryError)
    assert.equal(error.caret, '1 | select pric from trades\n           ^')
    await assert.rejects(gate.stream.request('Platform', 'QueryServerInfo'), { code: 'client.no_websocket' })
    gate.close()
    await assert.rejects(
      async () => {
        for await (const _ of live);
      },
      { code: 'client.closed' },
    )
  } finally {
    globalThis.WebSocket = usual
  }
})

test('without a stream: an expired token is replaced, and nothing is missed', async () => {
  const { gate } = open()
  const losses: string[] = []
  const live = createLive(
    new LiveEvents(gate, { onLost: ({ message }) => losses.push(message) }),
    gate.values,
  )<Fill>`select id, quantity from fills`
  await live.ready()
  const kept = live.rows[0]
  // By the clock of the server the token is over.
  clock.advance(3_700_000)
  await until('the end of the token is noticed', LATE_MS, () => losses.length > 0)
  await admin.query`insert into fills values (5, 1)`
  await until('the row is here', LATE_MS, () => live.rows.length === 3)
  assert.equal(live.rows[0], kept, 'what did not change was not sent again')
  assert.match(losses[0] ?? '', /token/)
  live.close()
})

test('a statement that the server ends, and a session that is over, end it', async () => {
  const { gate } = open()
  const live = createLive(new LiveEvents(gate), gate.values)
  const first = live`select id from fills`
  const second = live`select quantity from fills`
  await Promise.all([first.ready(), second.ready()])
  const queries = await Array.fromAsync(admin.admin.queries.list())
  const found = queries.find(({ statement }) => String(statement).includes('select id from fills'))
  await admin.admin.queries.delete(String(found?.id))
  await assert.rejects(
    async () => {
      for await (const _ of first);
    },
    { code: 'Limit.Cancelled', status: 499 },
  )
  // The token is revoked, and there is no other.
  const token = await gate.auth.token()
  const held = new Gatehouse(server.issuer, { auth: getToken(() => token) })
  clients.push(held)
  const third = createLive(new LiveEvents(held), held.values)`select id from fills`
  await third.ready()
  await post(server, '/connect/revocation', { token, client_id: 'demo-cli' })
  await assert.rejects(async () => {
    for await (const _ of third);
  }, AuthError)
  assert.equal(second.error, undefined)
})

test('the raw messages, with options in the query string, until the caller stops reading', async () => {
  const { gate } = open()
  const request = { Statement: 'select id, quantity from fills where id <= :most', MaxRate: 5 }
  const search = { rows: 'arrays', 'p.most': '1' }
  for await (const text of liveMessages(gate, request, { search })) {
    assert.deepEqual(JSON.parse(text).Put, [{ Key: [1], Row: [1, 5] }])
    break
  }
  await until('the server has ended it', LATE_MS, async () => {
    const queries = await Array.fromAsync(admin.admin.queries.list())
    return queries.every(({ kind }) => kind !== 'live')
  })
  const refused = liveMessages(gate, { Statement: 'delete from fills' }).next()
  await assert.rejects(refused, QueryError)
  // What `onLost` throws ends it: this caller does not want to wait.
  const away = new Gatehouse('http://127.0.0.1:1', { auth: getToken(() => 'x'), attempts: 1 })
  const impatient = liveMessages(away, request, {
    onLost(error) {
      throw error
    },
  })
  await assert.rejects(impatient.next(), { code: 'client.offline' })
})

test('when a server falls silent, another connection replaces it and continues from the same position', async (t) => {
  const silent = await startScripted((count, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`id: p${count}\ndata: ${count}\n\n`)
  })
  try {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const losses: string[] = []
    const gate = new Gatehouse(silent.url, { auth: getToken(() => 'x') })
    clients.push(gate)
    const messages = liveMessages(gate, { Statement: '' }, { onLost: ({ message }) => losses.push(message) })
    assert.equal((await messages.next()).value, '1')
    // A reader may take its time: only the silence of the server counts.
    t.mock.timers.tick(60_000)
    for (const [expected, position] of [
      ['2', 'p1'],
      ['3', 'p2'],
    ]) {
      const next = messages.next()
      await passing(t, next)
      assert.equal((await next).value, expected)
      assert.equal(silent.ids.at(-1), position)
    }
    assert.deepEqual(losses, ['The server is silent', 'The server is silent'])
    const last = messages.next()
    gate.close()
    await assert.rejects(last, { code: 'client.closed' })
  } finally {
    silent.close()
  }
})

test('the wait that a busy server asks for is kept, although it is longer than a silence', async (t) => {
  const asked: number[] = []
  let now = 0
  const busy = await startScripted((count, response) => {
    asked.push(now)
    if (count === 1) response.writeHead(503, { 'retry-after': '60' }).end()
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
  })
  try {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const gate = new Gatehouse(busy.url, { auth: getToken(() => 'x') })
    clients.push(gate)
    const losses: string[] = []
    const messages = liveMessages(gate, { Statement: '' }, { onLost: ({ message }) => losses.push(message) })
    const next = messages.next()
    await passing(t, next, (milliseconds) => {
      now += milliseconds
    })
    assert.equal((await next).value, '1')
    assert.deepEqual(losses, ['The server answered 503'])
    assert.ok((asked[1] ?? 0) >= 60_000, `came back after ${asked[1]} ms`)
    await messages.return()
  } finally {
    busy.close()
  }
})

test('a position that the server no longer knows is dropped, and the whole result follows', async () => {
  const forgetful = await startScripted((count, response) => {
    if (count === 2) {
      response.writeHead(400, { 'content-type': 'application/problem+json' })
      response.end('{"Code":"Request.BadPosition","status":400}')
    } else {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`id: p${count}\nretry: soon\ndata: ${count}\n\n`)
      if (count === 1) response.end()
    }
  })
  try {
    const gate = new Gatehouse(forgetful.url, { auth: getToken(() => 'x') })
    clients.push(gate)
    const messages = liveMessages(gate, { Statement: '' })
    assert.equal((await messages.next()).value, '1')
    assert.equal((await messages.next()).value, '3')
    assert.deepEqual(forgetful.ids, [undefined, 'p1', undefined])
    await messages.return()
  } finally {
    forgetful.close()
  }
})

/** A server that answers each request as the test says; `ids` has the Last-Event-IDs. */
async function startScripted(answer: (count: number, response: ServerResponse) => void) {
  const ids: (string | string[] | undefined)[] = []
  const scripted = createServer(({ headers }, response) => {
    ids.push(headers['last-event-id'])
    answer(ids.length, response)
  })
  await new Promise<void>((resolve) => void scripted.listen(0, '127.0.0.1', resolve))
  const close = (): void => {
    scripted.closeAllConnections()
    scripted.close()
  }
  return { url: `http://127.0.0.1:${(scripted.address() as AddressInfo).port}`, ids, close }
}

/** Moves the mocked timers on by steps of a second, between which sockets are served, until the promise is settled. */
async function passing(t: TestContext, promise: Promise<unknown>, onStep = (_: number): void => {}): Promise<void> {
  let isSettled = false
  const settle = (): void => {
    isSettled = true
  }
  promise.then(settle, settle)
  const end = performance.now() + LATE_MS
  while (!isSettled && performance.now() < end) {
    t.mock.timers.tick(1000)
    onStep(1000)
    for (let turn = 0; turn < 20 && !isSettled; turn++) await new Promise(setImmediate)
  }
}

test('events in pieces of any size, comments, and lines that are not known; a page is not taken for events', async () => {
  const script =
    ': hello\n\nevent: snapshot\nid: p1\nfoo: bar\ndata: {"a":\ndata:"é"}\n\nretry: 1\n\nevent: change\ndata: 2\n\ndata: cut'
  const ids: (string | string[] | undefined)[] = []
  const scripted = createServer(async ({ headers }, response) => {
    ids.push(headers['last-event-id'])
    response.writeHead(200, { 'content-type': ids.length < 3 ? 'text/event-stream' : 'text/html' })
    for (const byte of Buffer.from(script)) {
      response.write(Buffer.of(byte))
      await new Promise(setImmediate)
    }
    response.end()
  })
  await new Promise<void>((resolve) => void scripted.listen(0, '127.0.0.1', resolve))
  try {
    const url = `http://127.0.0.1:${(scripted.address() as AddressInfo).port}`
    const gate = new Gatehouse(url, { auth: getToken(() => 'x') })
    const texts: string[] = []
    await assert.rejects(
      async () => {
        for await (const text of liveMessages(gate, { Statement: '' })) texts.push(text)
      },
      { code: 'client.no_events' },
    )
    assert.deepEqual(texts, ['{"a":"é"}', '2', '{"a":"é"}', '2'])
    assert.deepEqual(ids, [undefined, 'p1', 'p1'])
  } finally {
    scripted.closeAllConnections()
    scripted.close()
  }
})
