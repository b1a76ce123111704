/** The listening socket. It opens first, holds requests until the pipeline is ready, and closes without dropping any. */
import type http from 'node:http'
import type { Duplex } from 'node:stream'
import { Server as TlsServer } from 'node:tls'
import { ListenerClose } from './listener-close.ts'
import { nodeHttp, nodeHttps } from './node-http.ts'
import type { Pipeline } from './pipeline.ts'

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

/** All of TLS 1.3; of TLS 1.2 the four that RFC 9325 §4.2 recommends, the only ones that FAPI 2.0 §5.2.2 allows. */
const CIPHERS = [
  ...['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
  ...['AES128-GCM-SHA256', 'AES256-GCM-SHA384'].flatMap((name) => [`ECDHE-ECDSA-${name}`, `ECDHE-RSA-${name}`]),
]
export const TLS_OPTIONS = { minVersion: 'TLSv1.2', ciphers: CIPHERS.join(':') } as const
const LIMITS = { maxHeaderSize: 16 * 1024, requestTimeout: 660_000, keepAliveTimeout: 72_000 }

export async function openListener(options: ListenerOptions): Promise<Listener> {
  const listener = new Listener(options)
  if (options.isLater !== true) await listener.listen()
  return listener
}

type Upgraded = [request: http.IncomingMessage, socket: Duplex, head: Buffer]

export class Listener {
  readonly server: http.Server
  readonly #options: ListenerOptions
  readonly #closing: ListenerClose
  /** What answers; before the first one, requests wait for it. */
  #answer: Partial<Pipeline> | undefined
  readonly #started = Promise.withResolvers<http.RequestListener>()
  /** Upgrades that arrived before there was an answer. */
  readonly #held: Upgraded[] = []

  constructor(options: ListenerOptions) {
    this.#options = options
    this.server = this.#createServer(options)
    // The pipeline sends 100 Continue, so that a body that is too long is refused before it is sent.
    this.server.on('checkContinue', this.#waitForAnswer)
    this.server.on('upgrade', this.#hold)
    // Replaced once there is a log. Until then, failed handshakes must be closed too.
    this.server.on('clientError', (_error, socket) => {
      if (this.server.listenerCount('clientError') === 1) socket.destroy()
    })
    // Errors of one connection, such as too many open files. Errors of `listen` are handled there.
    this.server.on('error', () => {})
    this.#closing = new ListenerClose(this.server)
  }

  get port(): number {
    const address = this.server.address()
    return address !== null && typeof address === 'object' ? address.port : this.#options.port
  }

  /** Opens the port if it was not opened at creation. */
  listen(): Promise<void> {
    return listen(this.server, this.#options.host, this.#options.port)
  }

  /** From now on requests are answered; earlier requests have waited until now. May be called again, with another pipeline. */
  answerWith({ handle, upgrade }: Pick<Pipeline, 'handle'> & Partial<Pipeline>): void {
    const { server } = this
    const before = this.#answer
    this.#answer = { handle, ...(upgrade && { upgrade }) }
    server.removeListener('upgrade', before?.upgrade ?? this.#hold)
    if (upgrade !== undefined) server.on('upgrade', upgrade)
    for (const event of ['request', 'checkContinue']) {
      server.removeListener(event, before?.handle ?? this.#waitForAnswer)
      server.on(event, handle)
    }
    this.#started.resolve(handle)
    for (const held of this.#held.splice(0)) {
      const [, socket] = held
      if (upgrade === undefined) socket.destroy()
      else if (!socket.destroyed) server.emit('upgrade', ...held)
    }
  }

  /** New connections use this certificate; open ones keep theirs. */
  setCertificate(certificate: Certificate): void {
    if (this.server instanceof TlsServer) this.server.setSecureContext({ ...certificate, ...TLS_OPTIONS })
  }

  /** From now on every reply says `Connection: close`, so that clients and proxies open their next connection elsewhere. */
  announceClose(): void {
    this.#closing.announce()
  }

  /** Stops accepting, waits up to the grace period for requests in flight, then closes the rest. */
  close(graceMs: number): Promise<void> {
    for (const [, socket] of this.#held.splice(0)) socket.destroy()
    return this.#closing.close(graceMs)
  }

  #createServer({ tls, headerTimeoutMs = 10_000 }: ListenerOptions): http.Server {
    const options = {
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
        headers.upgrade?.toLowerCase() === 'websocket' && httpVersion !== '1.0' && this.#takesUpgrades,
    }
    return tls === undefined
      ? nodeHttp.createServer(options, this.#waitForAnswer)
      : nodeHttps.createServer(
          { ...tls, ...options, ...TLS_OPTIONS, handshakeTimeout: headerTimeoutMs },
          this.#waitForAnswer,
        )
  }

  get #takesUpgrades(): boolean {
    return this.#answer === undefined || this.#answer.upgrade !== undefined
  }

  readonly #waitForAnswer: http.RequestListener = (request, response) => {
    void this.#started.promise.then((handle) => handle(request, response))
  }

  readonly #hold = (...upgrade: Upgraded): void => {
    upgrade[1].on('error', () => {})
    this.#held.push(upgrade)
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
