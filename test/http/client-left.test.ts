/** A client that leaves before its reply is complete leaves a log line, a count and a span, exactly once, with status 499. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { type Principal, Refusal } from 'gatehouse-protocol'
import type { Context } from '../../packages/server/src/http/context.ts'
import { openListener } from '../../packages/server/src/http/listener.ts'
import { Pipeline } from '../../packages/server/src/http/pipeline.ts'
import { connectionAddress } from '../../packages/server/src/http/request/request-head.ts'
import type { Route, RouteGroup, Upgrade } from '../../packages/server/src/http/route.ts'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'
import { Metrics } from '../../packages/server/src/telemetry/metrics.ts'
import type { Tracing } from '../../packages/server/src/telemetry/traces.ts'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { openEvents } from '../support/event-client.ts'
import { useServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const PRINCIPAL: Principal = {
  ...{ subject: 'alice', kind: 'user', clientId: 'demo-cli', scopes: new Set(), roles: [], audiences: ['platform'] },
  ...{ tokenId: 't1', sessionId: 's1', grantId: 'g1', username: 'alice', displayName: undefined },
  ...{ issuedAt: 0, expiresAt: 4e9, authTime: undefined },
}

interface Served {
  readonly port: number
  /** Status and route of the log lines of requests, in order. */
  readonly logged: () => [status: number, path: string][]
  /** Status and route of the ended spans. */
  readonly spans: [status: number, route: string][]
  readonly counted: (route: string, status: number) => number
}

async function serve(t: TestContext, routes: readonly Route[], group: Partial<RouteGroup> = {}) {
  const log: string[] = []
  const logger = createLogger({ level: 'info', format: 'json', destination: { write: (line) => void log.push(line) } })
  const metrics = new Metrics()
  const spans: Served['spans'] = []
  const tracing: Pick<Tracing, 'open'> = {
    open: () => ({
      header: 'x',
      run: (act) => act(),
      end: ({ status, route }) => void spans.push([status, route]),
    }),
  }
  const listener = await openListener({ host: '127.0.0.1', port: 0, tls: undefined })
  t.after(() => listener.close(0))
  const groups = [{ at: ['/'], routes, ...group }]
  listener.answerWith(
    new Pipeline({ groups, logger, metrics, readAddress: connectionAddress, tracing: tracing as Tracing }),
  )
  return {
    port: listener.port,
    server: listener.server,
    logged: () =>
      log
        .map((line) => JSON.parse(line))
        .filter(({ msg }) => msg === 'request')
        .map(({ req, res }) => [res.status, req.path]),
    spans,
    counted(route: string, status: number) {
      const line = metrics
        .render()
        .split('\n')
        .find(
          (each) =>
            each.startsWith('gatehouse_http_requests_total{') &&
            each.includes(`route="${route}"`) &&
            each.includes(`status="${status}"`),
        )
      return Number(line?.split(' ')[1] ?? 0)
    },
  }
}

/** A route whose handler waits for `answer` and reports when it was called. */
function waitingRoute(path: string, more: Partial<Route> = {}) {
  const called: Context[] = []
  const answers: (() => void)[] = []
  const route: Route = {
    method: 'GET',
    path,
    handle(context) {
      called.push(context)
      return new Promise((resolve) => {
        answers.push(() => {
          context.json({})
          resolve()
        })
      })
    },
    ...more,
  }
  return { route, called, answer: () => answers.shift()?.() }
}

async function send(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

test('one that leaves before the reply begins', async (t) => {
  const slow = waitingRoute('/slow')
  const { port, logged, spans, counted } = await serve(t, [slow.route])
  const socket = await send(port, get('/slow'))
  await until('the handler runs', 1000, () => slow.called.length === 1)
  socket.destroy()
  await until('it is logged', 1000, () => logged().length === 1)
  // The reply that comes later changes nothing.
  slow.answer()
  const other = await send(port, get('/none'))
  await until('another is logged', 1000, () => logged().length === 2)
  other.destroy()
  assert.deepEqual(logged(), [
    [499, '/slow'],
    [404, '/none'],
  ])
  assert.deepEqual(spans[0], [499, '/slow'])
  assert.deepEqual([counted('/slow', 499), counted('/slow', 200)], [1, 0])
})

test('one that leaves before its body has arrived', async (t) => {
  const { port, logged } = await serve(t, [
    { method: 'POST', path: '/body', body: { limit: 100 }, handle: (context) => context.json({}) },
  ])
  const socket = await send(port, 'POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nbegin')
  socket.end()
  socket.destroy()
  await until('it is logged', 1000, () => logged().length === 1)
  assert.deepEqual(logged(), [[499, '/body']])
})

for (const method of ['GET', 'POST'] as const)
  test(`one that leaves while it is authenticated: a ${method} is not carried out`, async (t) => {
    const { promise: checked, resolve: check } = Promise.withResolvers<void>()
    const [asked, handled]: string[][] = [[], []]
    const route: Route = {
      ...{ method, path: '/guarded', access: () => {} },
      ...(method === 'POST' ? { body: { limit: 100 } } : {}),
      handle: (context) => void handled?.push(context.path),
    }
    const authenticate = async (token: string): Promise<Principal> => {
      asked?.push(token)
      await checked
      return PRINCIPAL
    }
    const { port, server, logged } = await serve(t, [route], { authenticate })
    const closed = new Promise<void>((done) =>
      server.once('request', (_request, response) => response.on('close', () => done())),
    )
    const socket = await send(
      port,
      `${method} /guarded HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\nContent-Length: ${method === 'GET' ? 0 : 50}\r\n\r\n`,
    )
    await until('the token is checked', 1000, () => asked?.length === 1)
    socket.destroy()
    await closed
    check()
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.deepEqual([logged(), handled], [[[499, '/guarded']], []])
  })

test('what a handler holds until the end of the reply is released although the client has left before', async (t) => {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const events: string[] = []
  const { port, logged } = await serve(t, [
    {
      method: 'GET',
      path: '/held',
      async handle(context) {
        events.push('begun')
        await ended
        context.onClose(() => events.push('released'))
        context.json({})
      },
    },
  ])
  const socket = await send(port, get('/held'))
  await until('the handler runs', 1000, () => events.length === 1)
  socket.destroy()
  await until('it is logged', 1000, () => logged().length === 1)
  end()
  await until('it is released', 1000, () => events.length === 2)
})

test('one that leaves in the middle of a reply', async (t) => {
  let response: Context['response'] | undefined
  const { port, logged, spans } = await serve(t, [
    {
      method: 'GET',
      path: '/stream',
      handle(context) {
        response = context.stream('text/plain')
        response.write('some')
      },
    },
  ])
  const socket = await send(port, get('/stream'))
  await once(socket, 'data')
  socket.destroy()
  await until('it is logged', 1000, () => logged().length === 1)
  response?.end('more')
  assert.deepEqual([logged(), spans], [[[499, '/stream']], [[499, '/stream']]])
})

test('a reply that we cut off is not a client that left', async (t) => {
  const { port, logged, counted } = await serve(t, [
    {
      method: 'GET',
      path: '/broken',
      async handle(context) {
        context.stream('text/plain').write('some')
        throw new Error('in the middle')
      },
    },
  ])
  const socket = await send(port, get('/broken'))
  await once(socket.resume(), 'close')
  await until('it is logged', 1000, () => logged().length === 1)
  assert.deepEqual([logged(), counted('/broken', 500)], [[[500, '/broken']], 1])
})

test('pipelined requests whose turn had not come', async (t) => {
  const [first, second, third] = [waitingRoute('/slow'), waitingRoute('/second'), waitingRoute('/third')]
  const { port, logged } = await serve(t, [first.route, second.route, third.route])
  const socket = await send(port, get('/slow') + get('/second') + get('/third'))
  await until('all handlers run', 1000, () => third.called.length === 1)
  let hasClosed = false
  second.called[0]?.response.on('close', () => {
    hasClosed = true
  })
  third.answer()
  socket.destroy()
  await until('all are logged', 1000, () => logged().length === 3)
  assert.deepEqual(logged().toSorted(), [
    [499, '/second'],
    [499, '/slow'],
    [499, '/third'],
  ])
  assert.ok(hasClosed, 'the handler learns of it too')
})

test('pipelined requests that no handler has seen when the client leaves', async (t) => {
  const closing: Route = {
    method: 'GET',
    path: '/closing',
    // After the other requests have been read, and before their turn.
    handle: (context) => void setImmediate(() => context.request.socket.destroy()),
  }
  const other = waitingRoute('/other')
  const { port, logged } = await serve(t, [closing, other.route])
  await send(port, get('/closing') + get('/other') + get('/other'))
  await until('all are logged', 1000, () => logged().length === 3)
  assert.deepEqual([logged().map(([status]) => status), other.called.length], [[499, 499, 499], 0])
})

test('pipelined requests that are answered are logged once', async (t) => {
  const { port, logged } = await serve(t, [{ method: 'GET', path: '/a', handle: (context) => context.json({}) }])
  const socket = await send(port, get('/a') + get('/a') + get('/a'))
  await until('all are logged', 1000, () => logged().length === 3)
  socket.destroy()
  await send(port, get('/none'))
  await until('another is logged', 1000, () => logged().length === 4)
  assert.deepEqual(
    logged().map(([status]) => status),
    [200, 200, 200, 404],
  )
})

const UPGRADE =
  'GET /up HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

for (const outcome of ['accepted', 'refused'] as const)
  test(`an upgrade whose client leaves before it is ${outcome}`, async (t) => {
    const taken: Upgrade[] = []
    const { promise: decided, resolve: decide } = Promise.withResolvers<void>()
    const { port, logged, counted } = await serve(t, [
      {
        method: 'GET',
        path: '/up',
        handle: () => {},
        async upgrade(_context, upgrade) {
          taken.push(upgrade)
          await decided
          if (outcome === 'refused') throw new Refusal('stream.invalid_token', 401, 'no')
        },
      },
    ])
    const socket = await send(port, UPGRADE)
    await until('the handler runs', 1000, () => taken.length === 1)
    socket.resetAndDestroy()
    await until('the connection is closed', 1000, () => taken[0]?.socket.destroyed === true)
    decide()
    await until('it is logged', 1000, () => logged().length === 1)
    assert.deepEqual([logged(), counted('/up', 499)], [[[499, '/up']], 1])
  })

describe('of the whole server', () => {
  let token: string
  const server = useServer({ flags: { '--demo': 'true' } }, async () => {
    token = (await signIn(server, ADMIN)).access_token
  })

  async function readStatuses(requestId: string): Promise<number[]> {
    const lines = () =>
      server.log
        .map((line) => JSON.parse(line))
        .filter(({ reqId, msg }) => reqId === requestId && msg === 'request')
        .map(({ res }) => res.status)
    await until('the request is logged', 1000, () => lines().length > 0)
    return lines()
  }

  test('server-sent events are ended by their client: 200', async () => {
    const headers = { 'request-id': 'events', 'content-type': 'text/plain' }
    const url = `http://127.0.0.1:${server.port}/query`
    const events = await openEvents(url, { token, headers, body: 'SELECT id FROM trades' })
    await events.next()
    events.close()
    assert.deepEqual(await readStatuses('events'), [200])
  })

  test('a streamed result whose client leaves: 499', async () => {
    const body = "SELECT n, repeat('x', 1000) AS t FROM generate_series(1, 200000) AS n"
    const socket = await send(
      server.port,
      `POST /query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nRequest-Id: streamed\r\nAccept: text/csv\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    const [begin] = await once(socket, 'data')
    assert.match(String(begin), /^HTTP\/1.1 200 /)
    socket.destroy()
    assert.deepEqual(await readStatuses('streamed'), [499])
  })
})
