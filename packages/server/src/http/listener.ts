/** The listening socket. A server opens it once it can answer, and closes it without dropping a request. */
import type http from 'node:http'
import { createServer } from 'node:net'
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
  readonly opening?: Opening
}

/**
 * When the port is opened: at creation, or by `listen`, so that until then connections are refused, and clients and proxies try another
 * node. `later` finds out at creation whether the port can be opened; `shared` does not, because other workers have it open. The port 0
 * is always opened at creation, because its number is needed.
 */
export type Opening = 'now' | 'later' | 'shared'

/** All of TLS 1.3; of TLS 1.2 the four that RFC 9325 §4.2 recommends, the only ones that FAPI 2.0 §5.2.2 allows. */
const CIPHERS = [
  ...['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
  ...['AES128-GCM-SHA256', 'AES256-GCM-SHA384'].flatMap((name) => [`ECDHE-ECDSA-${name}`, `ECDHE-RSA-${name}`]),
]
export const TLS_OPTIONS = { minVersion: 'TLSv1.2', ciphers: CIPHERS.join(':') } as const
const LIMITS = { maxHeaderSize: 16 * 1024, requestTimeout: 660_000, keepAliveTimeout: 72_000 }

export async function openListener(options: ListenerOptions): Promise<Listener> {
  const listener = new Listener(options)
  if (opensNow(options)) await listener.listen()
  else if (options.opening === 'later') await checkPort(options.host, options.port)
  return listener
}

export function opensNow({ port, opening = 'now' }: Pick<ListenerOptions, 'port' | 'opening'>): boolean {
  return opening === 'now' || port === 0
}

/** Rejects as `listen` would if the port cannot be opened. `exclusive`: by this process, where it is a worker. */
export async function checkPort(host: string, port: number): Promise<void> {
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, exclusive: true }, resolve)
  })
  await new Promise((resolve) => server.close(resolve))
}

export class Listener {
  readonly server: http.Server
  readonly #options: ListenerOptions
  readonly #closing: ListenerClose
  /** What answers; before the first one, requests are refused. */
  #answer: Partial<Pipeline> | undefined

  constructor(options: ListenerOptions) {
    this.#options = options
    this.server = this.#createServer(options)
    // The pipeline sends 100 Continue, so that a body that is too long is refused before it is sent.
    this.server.on('checkContinue', refuseRequest)
    this.server.on('upgrade', refuseUpgrade)
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
  async listen(): Promise<void> {
    if (!this.server.listening) await listen(this.server, this.#options.host, this.#options.port)
  }

  /** From now on requests are answered. May be called again, with another pipeline. */
  answerWith({ handle, upgrade }: Pick<Pipeline, 'handle'> & Partial<Pipeline>): void {
    const { server } = this
    const before = this.#answer
    this.#answer = { handle, ...(upgrade && { upgrade }) }
    server.removeListener('upgrade', before?.upgrade ?? refuseUpgrade)
    if (upgrade !== undefined) server.on('upgrade', upgrade)
    for (const event of ['request', 'checkContinue']) {
      server.removeListener(event, before?.handle ?? refuseRequest)
      server.on(event, handle)
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
      ? nodeHttp.createServer(options, refuseRequest)
      : nodeHttps.createServer({ ...tls, ...options, ...TLS_OPTIONS, handshakeTimeout: headerTimeoutMs }, refuseRequest)
  }

  get #takesUpgrades(): boolean {
    return this.#answer === undefined || this.#answer.upgrade !== undefined
  }
}

/** Only where the port is open early: at the port 0, whose real number is not known yet. */
const STARTING = 'HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'

function refuseRequest(_request: http.IncomingMessage, response: http.ServerResponse): void {
  response.writeHead(503, { 'retry-after': '1', connection: 'close' }).end()
}

function refuseUpgrade(_request: http.IncomingMessage, socket: Duplex): void {
  socket.on('error', () => {}).end(STARTING)
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
