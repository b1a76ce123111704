/** Connections that are opened and not used: each is closed in time, with and without TLS, and their number per address is limited. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { createClientErrorHandler } from '../../packages/server/src/http/client-errors.ts'
import { boundConnections } from '../../packages/server/src/http/limits/connections.ts'
import { type ListenerOptions, openListener } from '../../packages/server/src/http/listener.ts'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'
import { Metrics } from '../../packages/server/src/telemetry/metrics.ts'
import { trustedCertificate } from '../support/certificate.ts'
import { until } from '../support/until.ts'

const TIMEOUT_MS = 400
/** One round of checks, the second that a reply may take to be read, and a busy machine. */
const CLOSED_WITHIN_MS = 3000

async function start(t: TestContext, tls: ListenerOptions['tls']) {
  const listener = await openListener({ host: '127.0.0.1', port: 0, tls, headerTimeoutMs: TIMEOUT_MS })
  const upgraded = new Set<Duplex>()
  t.after(() => {
    for (const socket of upgraded) socket.destroy()
    return listener.close(0)
  })
  const logger = createLogger({ level: 'silent', format: 'json', destination: { write: () => {} } })
  listener.server.on('clientError', createClientErrorHandler(logger, new Metrics()))
  listener.answerWith({
    handle: (_request, response) => void response.end('ok'),
    upgrade(_request, socket) {
      upgraded.add(socket)
      socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n')
    },
  })
  return listener
}

/** Stays open until the other side closes: our side is not ended when the other one is. */
function open(t: TestContext, port: number, allowHalfOpen = true): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen })
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  socket.resume()
  return socket
}

async function isClosedByServer(server: Awaited<ReturnType<typeof start>>['server']): Promise<void> {
  const count = () => new Promise<number>((resolve) => server.getConnections((_error, number) => resolve(number)))
  await until('the connection is accepted', CLOSED_WITHIN_MS, async () => (await count()) === 1)
  const began = performance.now()
  await until('the server has closed the connection', CLOSED_WITHIN_MS, async () => (await count()) === 0)
  assert.ok(performance.now() - began > TIMEOUT_MS / 2, 'not before its time')
}

describe('a connection that is not used is closed, also if the client keeps its side open', () => {
  const PLAIN = [
    ['that sends nothing', ''],
    ['that sends half a request line', 'GET /'],
    ['that sends a header without its end', 'GET / HTTP/1.1\r\nHost: x\r\n'],
  ] as const
  for (const [name, bytes] of PLAIN)
    test(`one ${name}`, async (t) => {
      const { server, port } = await start(t, undefined)
      open(t, port).write(bytes)
      await isClosedByServer(server)
    })

  const SHAKING = [
    ['that begins no handshake', Buffer.alloc(0)],
    ['that sends half a ClientHello', Buffer.from('16030102000100', 'hex')],
  ] as const
  for (const [name, bytes] of SHAKING)
    test(`under TLS, one ${name}`, async (t) => {
      const { server, port } = await start(t, trustedCertificate())
      open(t, port).write(bytes)
      await isClosedByServer(server)
    })

  for (const [name, bytes] of PLAIN)
    test(`under TLS, one ${name} after the handshake`, async (t) => {
      const { server, port } = await start(t, trustedCertificate())
      const socket = connectTls({ socket: open(t, port), servername: 'localhost' })
      t.after(() => socket.destroy())
      socket.on('error', () => {})
      socket.write(bytes)
      await isClosedByServer(server)
    })

  test('plain HTTP on the port of TLS is closed at once', async (t) => {
    const { port } = await start(t, trustedCertificate())
    const socket = open(t, port)
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'end')
  })
})

describe('connections of one address', () => {
  for (const tls of [undefined, trustedCertificate()])
    test(`beyond the bound they are closed${tls === undefined ? '' : ' under TLS too'}; streams do not count`, async (t) => {
      const { server, port } = await start(t, tls)
      let refused = 0
      boundConnections(server, { most: 2, exempt: [] }, () => void refused++)
      const ask = (text: string): Socket => {
        const raw = open(t, port, false)
        const socket = tls === undefined ? raw : connectTls({ socket: raw, servername: 'localhost' })
        socket.on('error', () => {})
        socket.write(text)
        return socket
      }
      const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
      const first = ask(GET)
      await once(first, 'data')
      const second = ask(GET)
      await once(second, 'data')
      await new Promise((resolve) => ask(GET).once('close', resolve))
      assert.equal(refused, 1)
      first.destroy()
      await until('a place is free', 2000, async () => {
        const third = ask('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
        return new Promise((resolve) => {
          third.once('data', () => resolve(true)).once('close', () => resolve(false))
        })
      })
      await once(ask(GET), 'data')
    })

  test('exempt addresses, such as those of proxies, have no bound', async (t) => {
    const { server, port } = await start(t, undefined)
    boundConnections(server, { most: 1, exempt: ['127.0.0.0/8'] }, () => assert.fail('refused'))
    const sockets = Array.from({ length: 5 }, () => open(t, port))
    for (const socket of sockets) {
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
      await once(socket, 'data')
    }
  })
})
