/** Posts to the URL of a remote controller, each request once: nothing here follows a redirect or repeats a request. */
import { nodeHttp, nodeHttps } from '../../http/node-http.ts'
import { type HttpReply, type Post, readReply } from './http-reply.ts'
import { Http2Connections } from './http2-connections.ts'

/**
 * A connection that the other side has just closed cannot be distinguished from one that broke during the request, which must not be repeated then.
 * So idle connections are closed before other servers close theirs: few keep them for less than two seconds. Where a reply names a shorter
 * time (`Keep-Alive: timeout=…`), Node closes the connection a second before it.
 */
const IDLE_MS = 1_500

export class Endpoint {
  readonly #url: URL
  readonly #isSecure: boolean
  readonly #agent: InstanceType<typeof nodeHttp.Agent>
  readonly #http2: Http2Connections | undefined

  constructor(url: string) {
    this.#url = new URL(url)
    this.#isSecure = this.#url.protocol === 'https:'
    const options = { keepAlive: true, scheduling: 'lifo', timeout: IDLE_MS } as const
    this.#agent = this.#isSecure
      ? new nodeHttps.Agent({ ...options, ALPNProtocols: ['http/1.1'] })
      : new nodeHttp.Agent(options)
    this.#http2 = this.#isSecure ? new Http2Connections(this.#url, IDLE_MS) : undefined
  }

  /** Rejects if there is no whole reply, for whatever reason. */
  async post(post: Post): Promise<HttpReply> {
    const session = await this.#http2?.session(post.signal)
    return session === undefined ? this.#postByHttp1(post) : session.post(post)
  }

  /** Ends idle connections, and those in use. */
  close(): void {
    this.#agent.destroy()
    this.#http2?.close()
  }

  #postByHttp1({ headers, body, signal, maxBytes }: Post): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      const request = (this.#isSecure ? nodeHttps : nodeHttp).request(this.#url, {
        method: 'POST',
        agent: this.#agent,
        signal,
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      })
      let hasReply = false
      request.once('response', (response) => {
        hasReply = true
        readReply(response, response.statusCode ?? 0, response.headers, maxBytes).then(resolve, reject)
      })
      // Not once: a later error without a listener would end the process.
      request.on('error', (error) => {
        // The program may offer another protocol when it is reached again.
        if (!signal.aborted) this.#http2?.forget()
        reject(error)
      })
      // For example after an upgrade that was not asked for.
      request.once('close', () => {
        if (!hasReply) reject(new Error('the connection was closed without a reply'))
      })
      request.end(body)
    })
  }
}
