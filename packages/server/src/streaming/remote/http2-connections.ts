/**
 * HTTP/2 to a program that offers it (ALPN): one session for all requests, opened for the first of them and closed when idle. By HTTP/1.1
 * 64 requests after a pause take 6 times as long, because each opens a connection, and 32 at a time 2.3 times the processor time; one
 * at a time takes 0.6 of it (docs/decisions/0031-fast-ways.md).
 */
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { abortable } from '../../lib/abortable.ts'
import { type HttpReply, type Post, readReply } from './http-reply.ts'

const http2 = process.getBuiltinModule('node:http2')
const tls = process.getBuiltinModule('node:tls')

export class Http2Connections {
  readonly #url: URL
  readonly #idleMs: number
  /** The open session, or undefined where HTTP/2 is not offered; absent until a connection has shown it. */
  #offered: Promise<Http2Session | undefined> | undefined

  constructor(url: URL, idleMs: number) {
    this.#url = url
    this.#idleMs = idleMs
  }

  /** Undefined if the program does not offer HTTP/2. Rejects if it cannot be reached before the signal. */
  async session(signal: AbortSignal): Promise<Http2Session | undefined> {
    for (;;) {
      this.#offered ??= this.#connect()
      const offered = this.#offered
      const session = await abortable(offered, signal)
      if (session === undefined || session.isOpen) return session
      if (this.#offered === offered) this.#offered = undefined
    }
  }

  /** The next request finds out again which protocol is offered. */
  forget(): void {
    this.#offered = undefined
  }

  close(): void {
    this.#offered?.then((session) => session?.close()).catch(() => {})
    this.#offered = undefined
  }

  async #connect(): Promise<Http2Session | undefined> {
    try {
      const socket = await connectSecurely(this.#url)
      if (socket.alpnProtocol === 'h2') return new Http2Session(this.#url, socket, this.#idleMs)
      socket.destroy()
      return undefined
    } catch (error) {
      this.#offered = undefined
      throw error
    }
  }
}

/** Other requests may wait for it longer than the first, which ends at its own time. */
const CONNECT_MS = 30_000

function connectSecurely({ hostname, port }: URL): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    const socket = tls.connect({
      host,
      port: port === '' ? 443 : Number(port),
      // RFC 6066 §3: an address is no server name.
      ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
      ALPNProtocols: ['h2', 'http/1.1'],
    })
    socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error('the connection could not be opened in time')))
    // Not once: a later error without a listener would end the process.
    socket.on('error', reject)
    socket.once('secureConnect', () => {
      socket.setTimeout(0)
      resolve(socket)
    })
  })
}

class Http2Session {
  readonly #url: URL
  readonly #session: ClientHttp2Session
  readonly #idleMs: number
  #requests = 0
  #idle: NodeJS.Timeout | undefined
  #isOpen = true

  constructor(url: URL, socket: TLSSocket, idleMs: number) {
    this.#url = url
    this.#idleMs = idleMs
    this.#session = http2.connect(url.origin, { createConnection: () => socket })
    const end = (): void => {
      this.#isOpen = false
      clearTimeout(this.#idle)
    }
    // Each request that an error concerns gets it too.
    this.#session.on('error', end)
    this.#session.on('goaway', end)
    this.#session.on('close', end)
    this.#rest()
  }

  /** Whether it takes further requests. */
  get isOpen(): boolean {
    return this.#isOpen && !this.#session.closed && !this.#session.destroyed
  }

  close(): void {
    this.#isOpen = false
    clearTimeout(this.#idle)
    this.#session.close()
  }

  async post({ headers, body, signal, maxBytes }: Post): Promise<HttpReply> {
    clearTimeout(this.#idle)
    this.#requests++
    try {
      const { pathname, search } = this.#url
      const head = { ...headers, ':method': 'POST', ':path': `${pathname}${search}` }
      const stream = this.#session.request(head, { endStream: false, signal })
      const replied = replyHead(stream)
      stream.end(body)
      const { ':status': status = 0, ...others } = await replied
      return await readReply(stream, status, others, maxBytes)
    } finally {
      this.#requests--
      if (this.#requests === 0 && this.isOpen) this.#rest()
    }
  }

  /** Until it is closed, before the other side would do so. */
  #rest(): void {
    this.#idle = setTimeout(() => this.close(), this.#idleMs)
    this.#idle.unref()
  }
}

function replyHead(stream: ClientHttp2Stream): Promise<IncomingHttpHeaders & IncomingHttpStatusHeader> {
  return new Promise((resolve, reject) => {
    stream.once('response', resolve)
    stream.on('error', reject)
    stream.once('close', () => reject(new Error('the stream was closed without a reply')))
  })
}
