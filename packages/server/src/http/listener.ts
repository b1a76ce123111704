/** The listening socket. It opens first, holds requests until the pipeline is ready, and closes without dropping any. */
import type http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { Server as TlsServer } from 'node:tls'
import { ListenerClose } from './listener-close.ts'
import { nodeHttp, nodeHttps } from './node-http.ts'
import type { Pipeline } from './pipeline.ts'

export interface Listener {
  readonly server: http.Server
  readonly port: number
  /** Opens the port if it was not opened at creation. */
  listen(): Promise<void>
  /** From now on requests are answered; those that came earlier have waited. May be called again, with another pipeline. */
  answerWith(pipeline: Pick<Pipeline, 'handle'> & Partial<Pipeline>): void
  /** New connections use this certificate; open ones keep theirs. */
  setCertificate(tls: Certificate): void
  /** From now on every reply says `Connection: close`, so that clients and proxies open their next connection elsewhere. */
  announceClose(): void
  /** Stops accepting, waits up to the grace period for requests in flight, then closes the rest. */
  close(graceMs: number): Promise<void>
}

export interface Certificate {
  readonly cert: Buffer | string
  readonly key: Buffer | string
}

export interface ListenerOptions {
  readonly host: string
  readonly port: number
  readonly tls: Certificate | undefined
  /** The time for a TLS handshake, and again for the header of a request: 10 s by default. */
  readonly headerTimeoutMs?: number
  /** The port is opened by `listen`; it must not be 0 then. */
  readonly isLater?: boolean
}

const TLS = { minVersion: 'TLSv1.2' } as const
const LIMITS = { maxHeaderSize: 16 * 1024, requestTimeout: 60_000, keepAliveTimeout: 72_000 }

export async function openListener(options: ListenerOptions): Promise<Listener> {
  const { host, port, tls, headerTimeoutMs = 10_000, isLater = false } = options
  let started: (handler: http.RequestListener) => void = () => {}
  const handler = new Promise<http.RequestListener>((resolve) => {
    started = resolve
  })
  const waitForHandler: http.RequestListener = (request, response) => {
    handler.then((answer) => answer(request, response))
  }
  let takesUpgrades = true
  const serverOptions = {
    ...LIMITS,
    headersTimeout: headerTimeoutMs,
    // With Node's default of 30 s, a connection could live three times as long as allowed.
    connectionsCheckingInterval: headerTimeoutMs / 10,
    // Of two Authorization headers Node would keep the first and drop the second; joined, they are not valid credentials.
    joinDuplicateHeaders: true,
    // checkHost answers with a problem document, where Node would send an empty 400 that is not logged.
    requireHostHeader: false,
    // RFC 9110 §7.8: offers of other protocols, such as HTTP/2 in clear text, are ignored, and so are all offers over HTTP/1.0.
    shouldUpgradeCallback: ({ headers, httpVersion }: http.IncomingMessage): boolean =>
      headers.upgrade?.toLowerCase() === 'websocket' && httpVersion !== '1.0' && takesUpgrades,
  }
  const server: http.Server =
    tls === undefined
      ? nodeHttp.createServer(serverOptions, waitForHandler)
      : nodeHttps.createServer({ ...tls, ...serverOptions, ...TLS, handshakeTimeout: headerTimeoutMs }, waitForHandler)
  // The pipeline sends 100 Continue, so that a body that is too long is refused before it is sent.
  server.on('checkContinue', waitForHandler)
  // Replaced once there is a log. Until then, failed handshakes must be closed too.
  server.on('clientError', (_error, socket) => void (server.listenerCount('clientError') === 1 && socket.destroy()))
  const early = holdUpgrades(server)
  // Errors of one connection, such as too many open files. Errors of `listen` are handled there.
  server.on('error', () => {})
  const closing = new ListenerClose(server)
  let answer: { readonly handle: http.RequestListener; readonly upgrade: Pipeline['upgrade'] | undefined } = {
    handle: waitForHandler,
    upgrade: undefined,
  }
  if (!isLater) await listen(server, host, port)
  return {
    server,
    port: isLater ? port : (server.address() as AddressInfo).port,
    listen: () => listen(server, host, port),
    answerWith({ handle, upgrade }) {
      if (answer.upgrade !== undefined) server.removeListener('upgrade', answer.upgrade)
      const { handle: before } = answer
      answer = { handle, upgrade }
      takesUpgrades = upgrade !== undefined
      if (upgrade !== undefined) server.on('upgrade', upgrade)
      early.handOver(takesUpgrades)
      for (const event of ['request', 'checkContinue']) {
        server.removeListener(event, before)
        server.on(event, handle)
      }
      started(handle)
    },
    setCertificate(certificate) {
      if (server instanceof TlsServer) server.setSecureContext({ ...certificate, ...TLS })
    },
    announceClose: () => closing.announce(),
    close(graceMs) {
      early.end()
      return closing.close(graceMs)
    },
  }
}

/** Upgrades that arrive before the pipeline is ready wait for it. */
function holdUpgrades(server: http.Server): { handOver(areTaken: boolean): void; end(): void } {
  const held: [http.IncomingMessage, Duplex, Buffer][] = []
  const hold = (request: http.IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => {})
    held.push([request, socket, head])
  }
  server.on('upgrade', hold)
  return {
    handOver(areTaken) {
      server.removeListener('upgrade', hold)
      for (const upgrade of held.splice(0)) {
        const [, socket] = upgrade
        if (!areTaken) socket.destroy()
        else if (!socket.destroyed) server.emit('upgrade', ...upgrade)
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
