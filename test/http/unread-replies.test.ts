/** Clients that send many requests and do not read the replies: they take neither the time of others nor unbounded memory. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { UnreadReplies, type UnreadRepliesOptions } from '../../packages/server/src/http/limits/unread-replies.ts'
import { openListener } from '../../packages/server/src/http/listener.ts'
import { Pipeline } from '../../packages/server/src/http/pipeline.ts'
import { connectionAddress } from '../../packages/server/src/http/request/request-head.ts'
import type { Route } from '../../packages/server/src/http/route.ts'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'
import { Metrics } from '../../packages/server/src/telemetry/metrics.ts'
import { until } from '../support/until.ts'

/** More than the buffers of a socket hold. */
const LARGE = Buffer.alloc(16 * 1024 * 1024, 'x')

async function start(t: TestContext, options: UnreadRepliesOptions = {}) {
  const log: string[] = []
  const logger = createLogger({ level: 'info', format: 'json', destination: { write: (line) => void log.push(line) } })
  const metrics = new Metrics()
  let served = 0
  const get = (path: string, handle: Route['handle']): Route => ({ method: 'GET', path, handle })
  const routes = [
    get('/', (context) => context.json({ served })),
    get('/slow', (context) => {
      served++
      for (const end = performance.now() + 5; performance.now() < end; );
      context.json({})
    }),
    get('/large', (context) => context.send('text/plain', LARGE)),
  ]
  const listener = await openListener({ host: '127.0.0.1', port: 0, tls: undefined })
  const unread = new UnreadReplies({ metrics, ...options })
  const groups = [{ at: ['/'], routes }]
  listener.answerWith(
    new Pipeline({
      groups,
      logger,
      metrics,
      unread,
      readAddress: connectionAddress,
    }),
  )
  t.after(() => listener.close(0))
  return {
    log,
    served: () => served,
    metric: (line: RegExp): number => Number(line.exec(metrics.render())?.[1] ?? 0),
    get: (path: string) => fetch(`http://127.0.0.1:${listener.port}${path}`),
    /** A connection that sends these requests and reads nothing. */
    send(path: string, count = 1): Socket {
      const socket = connect(listener.port, '127.0.0.1').on('error', () => {})
      t.after(() => socket.destroy())
      socket.pause().write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(count))
      return socket
    },
  }
}

const HELD = /^gatehouse_query_send_queue_bytes (\d+)/m
const CLOSED = /^gatehouse_query_answers_aborted_total\{reason="queue"\} (\d+)/m

test('a client that sends far more requests than it has replies is closed before they are served', async (t) => {
  const server = await start(t)
  const socket = server.send('/slow', 1000)
  const closed = once(socket, 'close')
  socket.resume()
  await closed
  assert.ok(server.served() <= 1, `${server.served()} were served`)
  assert.equal((await server.get('/')).status, 200)
  assert.equal(server.metric(HELD), 0)
})

test('requests that wait for earlier ones on their connection are served in turns with those of others', async (t) => {
  const server = await start(t)
  const sockets = Array.from({ length: 8 }, () => server.send('/slow', 30))
  await until('the first are served', 5000, () => server.served() > 8)
  const { served } = (await (await server.get('/')).json()) as { served: number }
  assert.ok(served < 120, `${served} were served before`)
  let received = ''
  for (const socket of sockets) {
    socket.setEncoding('latin1').on('data', (piece) => {
      received += piece
    })
    socket.resume()
  }
  await until('all are answered', 10_000, () => received.split('HTTP/1.1 200 ').length === 241)
})

test('the replies that clients do not read are bounded for the node; beyond it the oldest are closed', async (t) => {
  const server = await start(t, { maxBytes: 40_000_000 })
  const sockets = Array.from({ length: 6 }, () => server.send('/large'))
  await until('some are closed', 5000, () => server.metric(CLOSED) >= 2)
  assert.ok(server.metric(HELD) <= 40_000_000)
  assert.equal(
    (await (await server.get('/large')).arrayBuffer()).byteLength,
    LARGE.byteLength,
    'others get their reply',
  )
  for (const socket of sockets) socket.destroy()
  await until('nothing is held', 5000, () => server.metric(HELD) === 0)
})

test('a client that reads nothing of a reply for a minute is closed, one that reads slowly is not', async (t) => {
  const server = await start(t, { stallMs: 1000 })
  const stalled = server.send('/large')
  const slow = server.send('/large')
  let read = 0
  slow.on('data', ({ byteLength }: Buffer) => {
    read += byteLength
    slow.pause()
    setTimeout(() => slow.resume(), 5)
  })
  slow.resume()
  await until('one is closed', 5000, () => server.log.some((line) => line.includes('stalled')))
  await until('the other has the reply', 15_000, () => read > LARGE.byteLength)
  assert.equal(server.log.filter((line) => line.includes('stalled')).length, 1)
  stalled.destroy()
})
