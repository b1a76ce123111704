/** The socket: taken before anything else is built, answered once the application is ready, closed without losing a request. */
import type http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { nodeHttp, nodeHttps } from './node-http.ts'

export interface Listener {
  readonly server: http.Server
  readonly port: number
  /** From now on requests are answered; those that came earlier have waited. */
  answerWith(handler: http.RequestListener): void
  /** Stops accepting, lets what is in flight finish within the grace, then cuts the rest. */
  close(graceMs: number): Promise<void>
}

export interface ListenerOptions {
  readonly host: string
  readonly port: number
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined
}

const LIMITS = { maxHeaderSize: 16 * 1024, headersTimeout: 10_000, requestTimeout: 60_000, keepAliveTimeout: 72_000 }

export async function openListener({ host, port, tls }: ListenerOptions): Promise<Listener> {
  let started: (handler: http.RequestListener) => void = () => {}
  const handler = new Promise<http.RequestListener>((resolve) => {
    started = resolve
  })
  const waitForHandler: http.RequestListener = (request, response) => {
    handler.then((answer) => answer(request, response))
  }
  const options = {
    ...LIMITS,
    // Of two Authorization headers Node would keep the first and drop the other unseen; joined, they are no credentials at all.
    joinDuplicateHeaders: true,
    // RFC 9110 §7.8: who offers another protocol, such as HTTP/2 in clear text, is answered in the one it asked in; what
    // HTTP/1.0 offers is ignored.
    shouldUpgradeCallback: ({ headers, httpVersion }: http.IncomingMessage): boolean =>
      headers.upgrade?.toLowerCase() === 'websocket' && httpVersion !== '1.0' && server.listenerCount('upgrade') > 0,
  }
  const server: http.Server =
    tls === undefined
      ? nodeHttp.createServer(options, waitForHandler)
      : nodeHttps.createServer({ ...tls, ...options, minVersion: 'TLSv1.2' }, waitForHandler)
  const early = holdUpgrades(server)
  await listen(server, host, port)
  return {
    server,
    port: (server.address() as AddressInfo).port,
    answerWith(answer) {
      early.handOver()
      server.removeListener('request', waitForHandler)
      server.on('request', answer)
      started(answer)
    },
    close(graceMs) {
      early.end()
      return close(server, graceMs)
    },
  }
}

/** Upgrades too wait until there is somebody to take them. */
function holdUpgrades(server: http.Server): { handOver(): void; end(): void } {
  const held: [http.IncomingMessage, Duplex, Buffer][] = []
  const hold = (request: http.IncomingMessage, socket: Duplex, head: Buffer): void => {
    if (server.listenerCount('upgrade') > 1) return
    socket.on('error', () => {})
    held.push([request, socket, head])
  }
  server.on('upgrade', hold)
  return {
    handOver() {
      server.removeListener('upgrade', hold)
      for (const upgrade of held.splice(0)) {
        const [, socket] = upgrade
        if (!socket.destroyed && !server.emit('upgrade', ...upgrade)) socket.destroy()
      }
    },
    end() {
      for (const [, socket] of held.splice(0)) socket.destroy()
    },
  }
}

function listen(server: http.Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog: 1024 }, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
}

async function close(server: http.Server, graceMs: number): Promise<void> {
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  // A connection that becomes idle only now would otherwise be kept alive until its own time is up.
  const sweep = setInterval(() => server.closeIdleConnections(), 50)
  const cut = setTimeout(() => server.closeAllConnections(), graceMs)
  await closed
  clearInterval(sweep)
  clearTimeout(cut)
}
