/** The listener before the pipeline is ready, when requests wait, and while it closes, when none is cut off. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { type ListenerOptions, openListener } from '../../packages/server/src/http/listener.ts'
import { trustedCertificate } from '../support/certificate.ts'

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

test('a request and an upgrade that arrive before the pipeline is ready are answered once it is', async (t) => {
  const listener = await startListener(t)
  const asking = ask(t, listener.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const upgrading = ask(t, listener.port, UPGRADE)
  await once(listener.server, 'upgrade')
  const gone = ask(t, listener.port, UPGRADE)
  const [, left] = (await once(listener.server, 'upgrade')) as [unknown, Socket]
  assert.equal(asking.bytesRead + upgrading.bytesRead, 0)
  gone.resetAndDestroy()
  await new Promise((resolve) => left.once('close', resolve))
  let taken = 0
  listener.answerWith({
    handle: (_request, response) => void response.end('ready'),
    upgrade(_request, socket) {
      taken++
      socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n')
    },
  })
  assert.match(String((await once(asking, 'data'))[0]), /ready$/)
  assert.match(String((await once(upgrading, 'data'))[0]), /^HTTP\/1.1 101 /)
  assert.equal(taken, 1, 'a client that has left is not handed over')
  const later = ask(t, listener.port, UPGRADE)
  assert.match(String((await once(later, 'data'))[0]), /^HTTP\/1.1 101 /)
  assert.equal(taken, 2)
})

test('an upgrade without a handler, or during a failed start, is closed', async (t) => {
  const ready = await startListener(t)
  const untaken = ask(t, ready.port, UPGRADE)
  await once(ready.server, 'upgrade')
  ready.answerWith({ handle: (_request, response) => void response.end() })
  await once(untaken, 'close')
  const failing = await startListener(t)
  const waiting = ask(t, failing.port, UPGRADE)
  await once(failing.server, 'upgrade')
  failing.close(0)
  await once(waiting, 'close')
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
