/** The listener before the pipeline is ready, when requests are refused, and while it closes, when none is cut off. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { type ListenerOptions, openListener } from '../../packages/server/src/http/listener.ts'
import { trustedCertificate } from '../support/certificate.ts'
import { freePort } from '../support/free-port.ts'

const UPGRADE = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

async function startListener(t: TestContext) {
  const listener = await openListener({ host: '127.0.0.1', port: 0, tls: undefined })
  t.after(() => listener.close(0))
  return listener
}

function ask(t: TestContext, port: number, text: string): Socket {
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  socket.write(text)
  return socket
}

test('a request and an upgrade before there is a pipeline are refused with 503 and Retry-After', async (t) => {
  const listener = await startListener(t)
  for (const request of ['GET / HTTP/1.1\r\nHost: x\r\n\r\n', UPGRADE]) {
    const reply = await text(ask(t, listener.port, request))
    assert.match(reply, /^HTTP\/1.1 503 /)
    assert.match(reply, /\r\nretry-after: 1\r\n/i)
    assert.match(reply, /\r\nconnection: close\r\n/i)
  }
  listener.answerWith({
    handle: (_request, response) => void response.end('ready'),
    upgrade: (_request, socket) => void socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
  })
  const asking = ask(t, listener.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  assert.match(String((await once(asking, 'data'))[0]), /ready$/)
  assert.match(await text(ask(t, listener.port, UPGRADE)), /^HTTP\/1.1 101 /)
})

test('a port that is opened later is checked at once, refuses connections, and is open after listen', async (t) => {
  const taken = await startListener(t)
  const options = { host: '127.0.0.1', tls: undefined, opening: 'later' } as const
  await assert.rejects(openListener({ ...options, port: taken.port }), { code: 'EADDRINUSE', port: taken.port })
  const port = await freePort()
  const listener = await openListener({ ...options, port })
  t.after(() => listener.close(0))
  listener.answerWith({ handle: (_request, response) => void response.end('ready') })
  const [refused] = await once(connect(port, '127.0.0.1'), 'error').catch((error) => [error])
  assert.equal(refused.code, 'ECONNREFUSED')
  await listener.listen()
  assert.match(String((await once(ask(t, port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'), 'data'))[0]), /ready$/)
})

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
const LONG = 'x'.repeat(32 * 1024 * 1024)

for (const tls of [undefined, trustedCertificate()])
  describe(`a listener that closes${tls === undefined ? '' : ', with TLS'}`, () => {
    async function start(t: TestContext, body: string) {
      const options: ListenerOptions = { host: '127.0.0.1', port: 0, tls }
      const listener = await openListener(options)
      t.after(() => listener.close(0))
      listener.answerWith({ handle: (_request, response) => void response.end(body) })
      return listener
    }
    function open(t: TestContext, port: number): Socket {
      const socket =
        tls === undefined
          ? connect(port, '127.0.0.1')
          : connectTls({ port, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false })
      t.after(() => socket.destroy())
      return socket
    }

    test('accepts and serves the connections that wait in the backlog of the kernel', async (t) => {
      const listener = await start(t, 'served')
      const replies = Array.from({ length: 40 }, () => {
        const socket = open(t, listener.port)
        socket.write(GET)
        return text(socket)
      })
      // The kernel completes the connections now; the event loop accepts one in each of its turns.
      await new Promise((resolve) => process.nextTick(resolve))
      const closed = listener.close(5000)
      for (const reply of await Promise.all(replies)) {
        assert.match(reply, /^HTTP\/1.1 200 /)
        assert.match(reply, /\r\nconnection: close\r\n/i)
      }
      await closed
    })

    test('answers a request that has arrived on an idle connection', async (t) => {
      const listener = await start(t, 'served')
      const socket = open(t, listener.port).setEncoding('utf8')
      socket.write(GET)
      await once(socket, 'data')
      socket.write(GET)
      const closed = listener.close(5000)
      assert.match(await text(socket), /^HTTP\/1.1 200 .*\r\nconnection: close\r\n.*served$/is)
      await closed
    })

    test('does not cut off a reply that its client has yet to read', async (t) => {
      const listener = await start(t, LONG)
      const socket = open(t, listener.port)
      socket.write(GET)
      await once(socket, 'readable')
      const closed = listener.close(10_000)
      // Idle connections are closed meanwhile, several times.
      await pause(200)
      const reply = await text(socket)
      assert.ok(reply.endsWith(LONG), `${reply.length} characters`)
      await closed
    })

    test('does not wait for a connection on which nothing was sent', async (t) => {
      const listener = await start(t, 'served')
      const socket = open(t, listener.port)
      await once(socket, tls === undefined ? 'connect' : 'secureConnect')
      const since = performance.now()
      await listener.close(20_000)
      assert.ok(performance.now() - since < 8000)
    })
  })
