/** Request bodies that are sent slowly or never completed: they are kept for known callers only, and up to a limit. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Principal } from 'gatehouse-protocol'
import { openListener } from '../../packages/server/src/http/listener.ts'
import { Pipeline } from '../../packages/server/src/http/pipeline.ts'
import { connectionAddress } from '../../packages/server/src/http/request/request-head.ts'
import { HeldBytes } from '../../packages/server/src/lib/held-bytes.ts'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'
import { Metrics } from '../../packages/server/src/telemetry/metrics.ts'
import { until } from '../support/until.ts'

const BODY = 64 * 1024

async function start(t: TestContext, times: { arrivalMs?: number } = {}) {
  const listener = await openListener({ host: '127.0.0.1', port: 0, tls: undefined })
  const logger = createLogger({ level: 'fatal', format: 'json' })
  const revoked = new Set<string>()
  const authenticate = (token: string) =>
    revoked.has(token) ? undefined : ({ subject: token, kind: 'user', clientId: 'app' } as Principal)
  const groups = [
    {
      at: ['/'],
      routes: [
        {
          method: 'POST' as const,
          path: '/',
          body: { limit: 10 * BODY },
          access: () => {},
          handle: (context: { body: Buffer; json(body: unknown): void }) =>
            context.json({ length: context.body.length }),
        },
      ],
    },
  ]
  const options = { groups, logger, metrics: new Metrics(), readAddress: connectionAddress, authenticate }
  const arriving = new HeldBytes(2.5 * BODY)
  listener.answerWith(new Pipeline({ ...options, ...times, arriving }))
  t.after(() => listener.close(0))
  /** Sends the head of a request and a part of its body. */
  const send = (token: string | undefined, sent: number) => {
    let reply = ''
    const socket: Socket = connect(listener.port, '127.0.0.1')
    t.after(() => socket.destroy())
    const authorization = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`
    socket.on('error', () => {}).setEncoding('utf8')
    socket.on('data', (text: string) => {
      reply += text
    })
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${authorization}Content-Length: ${BODY}\r\n\r\n${'x'.repeat(sent)}`)
    return {
      get status() {
        return reply.slice(9, 12)
      },
      write: (part: string) => socket.write(part),
      complete: () => socket.write('x'.repeat(BODY - sent)),
    }
  }
  return Object.assign(send, { arriving, revoked })
}

test('a caller without a token is refused before its body arrives', async (t) => {
  const send = await start(t)
  const request = send(undefined, 0)
  await until('it is refused', 5_000, () => request.status === '401')
})

test('a token that is revoked while the body arrives is refused', async (t) => {
  const send = await start(t)
  const request = send('alice', BODY - 1)
  await until('it has arrived in part', 5_000, () => send.arriving.bytes >= BODY - 1)
  send.revoked.add('alice')
  request.complete()
  await until('it is refused', 5_000, () => request.status === '401')
  assert.equal(send.arriving.bytes, 0)
})

test('a body in tiny parts counts with the memory that its parts take', async (t) => {
  const send = await start(t)
  const request = send('alice', 0)
  for (let count = 1; count <= 5; count++) {
    request.write('x')
    await until('the part is here', 5_000, () => send.arriving.bytes >= count * 200)
  }
})

test('past the limit of the node, the caller with the most bytes loses its oldest body, and others are served', async (t) => {
  const send = await start(t)
  const other = send('bob', BODY - 1)
  const first = send('alice', BODY - 1)
  await until('both have arrived in part', 5_000, () => send.arriving.bytes >= 2 * (BODY - 1))
  const second = send('alice', BODY - 1)
  await until('the oldest is refused', 5_000, () => first.status === '503')
  assert.deepEqual([other.status, second.status], ['', ''])
  other.complete()
  second.complete()
  await until('the others are served', 5_000, () => other.status === '200' && second.status === '200')
  const next = send('alice', BODY - 1)
  next.complete()
  await until('released bytes count no more', 5_000, () => next.status === '200')
})

test('a body that does not arrive in time is refused, and what was kept of it is released', async (t) => {
  const send = await start(t, { arrivalMs: 200 })
  const [stopped, whole] = [send('alice', 100), send('ben', 100)]
  whole.complete()
  await until('the reply', 2_000, () => stopped.status !== '')
  assert.deepEqual([stopped.status, whole.status, send.arriving.bytes], ['408', '200', 0])
})
