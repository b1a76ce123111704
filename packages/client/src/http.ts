/** Requests with the access token: retried where that is safe, with errors that say what went wrong. */
import type { Auth, TokenSource } from './auth/token-source.ts'
import { defined } from './defined.ts'
import { discover, type Fetch, reach } from './discovery.ts'
import { safely } from './emitter.ts'
import { AuthError, ConnectionError, closedError, GatehouseError, readError } from './errors.ts'
import { type ValueOptions, Values } from './values.ts'
import { abortable, backoff, either, pause } from './wait.ts'

/** Passed to `onRequest` after each attempt. */
export interface RequestReport {
  readonly method: string
  readonly url: string
  /** From 0. */
  readonly attempt: number
  readonly milliseconds: number
  /** Undefined when there was no reply. */
  readonly status: number | undefined
  readonly requestId: string | undefined
  readonly error: unknown
}

/** The least that a WebSocket must have; the one of browsers, Node 22, Deno and Bun, and that of the package `ws`, do. */
export type WebSocketClass = new (url: string, protocols: string) => WebSocketLike

/** A socket as the stream uses it. */
export interface WebSocketLike {
  readonly readyState: number
  onopen: ((event: never) => void) | null
  onmessage: ((event: never) => void) | null
  onclose: ((event: never) => void) | null
  onerror: ((event: never) => void) | null
  send(data: string): void
  close(code?: number, reason?: string): void
}

/** The options of a client; usually only `auth` is needed. */
export interface GatehouseOptions<Source extends TokenSource = TokenSource> {
  /** Where the access tokens come from: `browser()`, `password()`, `clientCredentials()`, `device()`, `getToken()` … */
  readonly auth?: Auth<Source> | undefined
  /** The issuer, where it is not the address itself. */
  readonly issuer?: string | undefined
  /** How values of results are given. */
  readonly values?: ValueOptions | undefined
  /** In place of the global `fetch`. */
  readonly fetch?: Fetch | undefined
  /** In place of the global `WebSocket`; Node 20 has none: `import WebSocket from 'ws'`. */
  readonly WebSocket?: WebSocketClass | undefined
  /** How often a request is sent at most; 4 by default. */
  readonly attempts?: number | undefined
  /** Milliseconds without a message after which the stream is tested; 10,000 by default. */
  readonly heartbeat?: number | undefined
  /** Called after each attempt of each request, for logs. */
  readonly onRequest?: ((report: RequestReport) => void) | undefined
  /** The `traceparent` of the current span, for traces (W3C Trace Context). */
  readonly trace?: (() => string | undefined) | undefined
}

/** One request to the server. */
export interface RequestOptions {
  readonly method?: string | undefined
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
  /** Text, or anything that JSON can hold. */
  readonly body?: unknown
  /** Whether it may be sent again when it is not known whether it arrived. Without it, as the method says. */
  readonly idempotent?: boolean | undefined
  /** How often it is sent at most, in place of the option of the client. */
  readonly attempts?: number | undefined
  /** Called before each attempt is sent, when there is a token. */
  readonly onSend?: (() => void) | undefined
  /** Shown in errors. */
  readonly statement?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** A wait that is longer than this is left to the caller. */
const LONGEST_WAIT_S = 60
const IDEMPOTENT = ['GET', 'HEAD', 'PUT', 'DELETE']

/**
 * The server, its tokens and its requests: the part of `Gatehouse` that the other parts build on. Use it with `createQuery`,
 * `createTable`, `createAdmin` or `Stream` where the size of a page matters.
 *
 * @example
 * ```ts
 * const http = new Http('https://gate.example.com', { auth: getToken(() => token) })
 * const query = createQuery(http)
 * const rows = await query`select * from trades limit 10`
 * ```
 */
export class Http<Source extends TokenSource = TokenSource> {
  /** The address of the server, without a slash at the end. */
  readonly url: string
  readonly options: GatehouseOptions<Source>
  readonly auth: Source
  readonly values: Values
  readonly #closed = new AbortController()
  /** The option `fetch`, or the global one, as the source of tokens needs it. */
  readonly fetch: Fetch

  constructor(url: string, options: GatehouseOptions<Source> = {}) {
    if (!/^https?:\/\//.test(url)) throw new TypeError(`Not http: or https: "${url}"`)
    this.url = withoutSlash(url)
    this.options = options
    this.values = new Values(options.values)
    // A global `fetch` must not be called as a method of something else.
    const { fetch = (address, init) => globalThis.fetch(address, init) } = options
    const auth: Auth<TokenSource> = options.auth ?? noAuth
    const issuer = withoutSlash(options.issuer ?? url)
    const signal = this.#closed.signal
    let known: ReturnType<typeof discover> | undefined
    const metadata = (): ReturnType<typeof discover> => {
      known ??= discover(issuer, fetch).catch((error) => {
        known = undefined
        throw error
      })
      return known
    }
    this.auth = auth({
      issuer,
      fetch: (address, init) => fetch(address, { signal, ...init }),
      metadata,
      endpoint: async (name) => String((await metadata())[`${name}_endpoint`]),
    }) as Source
    this.fetch = this.auth.wrap?.(fetch) ?? fetch
  }

  /** Aborted by `close()`. */
  get closed(): AbortSignal {
    return this.#closed.signal
  }

  /** Sends a request and resolves with its reply if that is a success. */
  async request(path: string, options: RequestOptions = {}): Promise<Response> {
    const { method = 'GET', idempotent = IDEMPOTENT.includes(method), statement } = options
    const signal = either(options.signal, this.closed)
    const { attempts = this.options.attempts ?? 4 } = options
    let refused: string | undefined
    let reason: unknown
    for (let attempt = 0; ; attempt++) {
      let error: unknown
      let isSent = false
      try {
        const token = await abortable(this.auth.token(refused, reason), signal)
        isSent = true
        options.onSend?.()
        const response = await this.#send(path, options, token, signal, attempt)
        if (response.ok) return response
        error = await readError(response, statement)
        // Nothing was done yet, so anything may be repeated; once, and only with another token.
        if (response.status === 401 && refused === undefined) {
          refused = token
          reason = error
          continue
        }
      } catch (failure) {
        signal.throwIfAborted()
        error = failure
      }
      const wait = attempt + 1 < attempts ? waitBefore(error, attempt, idempotent || !isSent) : undefined
      if (wait === undefined) throw error
      await pause(wait, signal)
    }
  }

  /** The reply as JSON, with exact integers; undefined if it has no body. */
  async json(path: string, options: RequestOptions = {}): Promise<unknown> {
    const response = await this.request(path, options)
    const text = await read(() => response.text(), options.signal)
    return text === '' ? undefined : this.values.parse(text)
  }

  /** Ends what is open. Everything that waits rejects. */
  close(): void {
    this.auth.close?.()
    this.#closed.abort(closedError('client'))
  }

  async #send(
    path: string,
    { method = 'GET', headers, body }: RequestOptions,
    token: string,
    signal: AbortSignal,
    attempt: number,
  ): Promise<Response> {
    const { onRequest, trace } = this.options
    const url = this.url + path
    const started = performance.now()
    let response: Response | undefined
    let error: unknown
    try {
      response = await reach(this.fetch, url, {
        method,
        signal,
        headers: defined({
          authorization: token === '' ? undefined : `Bearer ${token}`,
          'content-type': body === undefined ? undefined : 'application/json',
          traceparent: trace?.(),
          ...headers,
        }),
        body: typeof body === 'string' || body instanceof Blob ? body : JSON.stringify(body),
      })
      return response
    } catch (failure) {
      error = failure
      throw failure
    } finally {
      const report = {
        method,
        url,
        attempt,
        milliseconds: performance.now() - started,
        status: response?.status,
        requestId: response?.headers.get('request-id') ?? undefined,
        error,
      }
      safely(() => onRequest?.(report))
    }
  }
}

/** Milliseconds to wait, or undefined if the request should not be repeated. A 429 was refused before it did anything. */
function waitBefore(error: unknown, attempt: number, idempotent: boolean): number | undefined {
  if (!(error instanceof GatehouseError) || !error.retryable) return undefined
  const seconds = error.retryAfter ?? 0
  if ((!idempotent && error.status !== 429) || seconds > LONGEST_WAIT_S) return undefined
  // A server that cannot be reached may be starting, which takes seconds.
  return seconds * 1000 + backoff(error.status === undefined ? 2 * attempt : attempt, 250)
}

/** Reads a body; if the connection breaks meanwhile, throws a ConnectionError. */
export async function read<T>(act: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await act()
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof GatehouseError) throw error
    throw new ConnectionError('The reply broke off', { cause: error })
  }
}

/** What can be in the query string of an address. */
export type Search = Readonly<Record<string, string | number | boolean | undefined>>

/** The path with a query string of what is given. */
export function withSearch(path: string, search: Search): string {
  const text = String(new URLSearchParams(defined(search as Record<string, string>)))
  return path + (text && `?${text}`)
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}

/** Without `auth`, anything that needs a token fails with this error. */
const noAuth: Auth<TokenSource> = () => ({
  token: () => Promise.reject(new AuthError('Give the option auth', { code: 'client.no_auth' })),
})
