/** The listener before the pipeline is ready: requests wait. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openListener } from '../../src/http/listener.ts'

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
  const gone = ask(t, listener.port, UPGRADE)
  await pause(50)
  assert.equal(asking.bytesRead + upgrading.bytesRead, 0)
  gone.resetAndDestroy()
  await pause(20)
  let taken = 0
  listener.server.on('upgrade', (_request, socket) => {
    taken++
    socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n')
  })
  listener.answerWith({ handle: (_request, response) => void response.end('ready') })
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
  await pause(50)
  ready.answerWith({ handle: (_request, response) => void response.end() })
  await once(untaken, 'close')
  const failing = await startListener(t)
  const waiting = ask(t, failing.port, UPGRADE)
  await pause(50)
  failing.close(0)
  await once(waiting, 'close')
})
