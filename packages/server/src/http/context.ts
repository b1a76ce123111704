/** One request and its reply, from the listener to the log line: every route handler gets one. */
import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Principal, Problem } from 'gatehouse-protocol'
import type { Logger } from '../telemetry/log.ts'
import { type LimitState, limitHeaders } from './limits/rate-limits.ts'
import type { UnreadReplies } from './limits/unread-replies.ts'
import { nodeHttp } from './node-http.ts'
import type { ResourceHint } from './protected-resource.ts'
import { type QueryValues, readQuery, targetPath } from './request/request-head.ts'

/** On every reply; replies to browsers have more (identity/browser/page-reply.ts). */
const SECURITY_HEADERS = ['strict-transport-security', 'max-age=31536000', 'x-content-type-options', 'nosniff']
/** Without a charset: RFC 8259 §11 defines none, and the contract's discovery and token responses have none. */
export const JSON_TYPE = 'application/json'
const ANONYMOUS = {}
const NO_BODY = Buffer.alloc(0)
/** The client closed the connection before the end of the reply. As in nginx, this status is logged and never sent. */
export const CLIENT_LEFT = 499
const NO_LIMITS: readonly LimitState[] = []
/** Shorter bodies are left to the buffers of the operating system. */
const LEAST_UNREAD_BYTES = 16 * 1024

export type HeaderFields = Readonly<Record<string, string>>

export type ProblemPage = (context: Context, problem: Problem) => void

export class Context {
  readonly request: IncomingMessage
  /** The caller's Request-Id, or a new one. */
  readonly id: string
  /** The client's IP address, also behind trusted proxies. */
  readonly address: string
  readonly method: string
  /** Origin-form, below the base path. */
  readonly target: string
  readonly path: string
  readonly startedAt = performance.now()
  /** The pattern of the matched route; 'none' until one matches. Never the path itself, because metrics need few labels. */
  route = 'none'
  /** The log level of replies that are not errors. */
  logLevel: 'info' | 'debug' = 'info'
  /** The bytes of the body, read before the handler runs. */
  body: Buffer = NO_BODY
  /** The outcome in log, metrics and span if the reply is not sent to its end. By default: the client has left. */
  incompleteStatus = CLIENT_LEFT
  /** Counts the bytes that the client does not read; undefined for an upgrade. */
  unread: UnreadReplies | undefined
  /** Authenticates the caller again, for a handler that has read a body which took time to arrive. */
  authenticateAgain: (() => Promise<void>) | undefined
  /** The DPoP proof of the request has been accepted (RFC 9449); it is not checked a second time. */
  isProven = false
  /** Shows a problem document to a person; undefined where the server has no pages. */
  problemPage: ProblemPage | undefined
  /** What challenges say about the resource at a path; undefined where there is none. */
  resourceMetadata: ((path: string) => ResourceHint) | undefined
  #response: ServerResponse | undefined
  #principal: Principal | undefined
  #caller: Context['caller'] = ANONYMOUS
  #params: ReadonlyMap<string, string> | undefined
  #query: QueryValues | undefined
  #limits = NO_LIMITS
  #headers: string[] | undefined
  readonly #logger: Logger

  /** `response` is undefined for an upgrade, which has none unless it is refused. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse | undefined,
    address: string,
    target: string,
    logger: Logger,
  ) {
    this.request = request
    this.#response = response
    this.id = chooseRequestId(request.headers)
    this.address = address
    this.method = request.method ?? 'GET'
    this.target = target
    this.path = targetPath(target)
    this.#logger = logger
  }

  get response(): ServerResponse {
    this.#response ??= new nodeHttp.ServerResponse(this.request)
    return this.#response
  }

  get headers(): IncomingHttpHeaders {
    return this.request.headers
  }

  get query(): QueryValues {
    this.#query ??= readQuery(this.target)
    return this.#query
  }

  /** A logger whose lines carry the request id. */
  get log(): Logger {
    return this.#logger.child({ reqId: this.id })
  }

  /** Ids of the user and the client, for the log: those of the token, or what a handler has found out. */
  get caller(): { readonly user?: string | undefined; readonly client?: string | undefined } {
    if (this.#principal === undefined) return this.#caller
    const { subject, kind, clientId } = this.#principal
    return { user: kind === 'user' ? subject : undefined, client: clientId }
  }

  /** For routes without an access rule. */
  identify(caller: { readonly user?: string; readonly client?: string }): void {
    this.#caller = { ...this.#caller, ...caller }
  }

  /** The caller; only on routes with an access rule, and where a handler has set it. */
  get principal(): Principal {
    if (this.#principal === undefined) throw new Error(`${this.route} has no access rule`)
    return this.#principal
  }

  set principal(principal: Principal) {
    this.#principal = principal
  }

  set params(params: ReadonlyMap<string, string>) {
    this.#params = params
  }

  /** A named segment of the path. */
  param(name: string): string {
    const value = this.#params?.get(name)
    if (value === undefined) throw new Error(`${this.route} has no :${name}`)
    return value
  }

  /** The RateLimit headers show the state after the last count. */
  setLimits(limits: readonly LimitState[]): void {
    if (limits.length > 0) this.#limits = limits
  }

  /** Replaces a header of the same name, which must be in lower case. */
  setHeader(name: string, value: string): void {
    this.#headers ??= []
    const at = this.#headers.indexOf(name)
    if (at >= 0 && at % 2 === 0) this.#headers[at + 1] = value
    else this.#headers.push(name, value)
  }

  /** The reply depends on this request header (RFC 9110 §12.5.5). */
  addVary(name: string): void {
    const at = this.#headers?.indexOf('vary') ?? -1
    const known = at >= 0 ? this.#headers?.[at + 1] : undefined
    this.setHeader('vary', known === undefined ? name : `${known}, ${name}`)
  }

  hasHeader(name: string): boolean {
    return this.#headers?.includes(name) === true
  }

  setHeaders(headers: HeaderFields): void {
    for (const name in headers) this.setHeader(name, headers[name] ?? '')
  }

  /** Set-Cookie is the one header that is sent once for each value. */
  addCookie(cookie: string): void {
    this.#headers ??= []
    this.#headers.push('set-cookie', cookie)
  }

  get isReplied(): boolean {
    return this.response.headersSent
  }

  /**
   * Calls the listener when the reply has ended or the client has left: at once, if that has happened before. For everything that is held until then;
   * a listener for the response's own event would miss a client that left earlier. Returns the function that removes it.
   */
  onClose(listener: () => void): () => void {
    const { response } = this
    if (response.closed) {
      listener()
      return () => {}
    }
    response.once('close', listener)
    return () => response.off('close', listener)
  }

  json(body: unknown, status = 200): void {
    this.send(JSON_TYPE, JSON.stringify(body), status)
  }

  /** Head and body leave in one write. */
  send(type: string, body: string | Buffer, status = 200): void {
    if (status === 401) this.#completeChallenge()
    const head = this.#head()
    head.push('content-type', type, 'content-length', String(Buffer.byteLength(body)))
    const { response } = this
    response.writeHead(status, head).end(body)
    // The operating system accepts a few of these immediately, and the rest soon.
    if (response.writableLength >= LEAST_UNREAD_BYTES) this.#holdUntilRead(response, this.unread)
  }

  /** For a reply that was begun: calls it if the client leaves before the reply is sent. */
  whenUnsent(act: () => void): void {
    const { response } = this
    const check = (): void => {
      if (!response.writableFinished) act()
    }
    if (response.closed) check()
    else response.once('close', check)
  }

  /** Counts bytes that wait in memory for the client, until they are released. Past the limit of the node, connections are closed. */
  holdUnread(bytes: number): () => void {
    return this.unread?.hold(this.holder, bytes, () => this.#closeUnread('queue')) ?? (() => {})
  }

  /** To whom bytes in memory are charged. */
  get holder(): string {
    const { user, client } = this.caller
    return user ?? client ?? this.address
  }

  /** The timeout of the socket sees progress within one large write. */
  #holdUntilRead(response: ServerResponse, unread: UnreadReplies | undefined): void {
    if (unread === undefined) return
    this.onClose(this.holdUnread(response.writableLength))
    // Before Node's own listener, which sets the timeout of an idle connection; the next response must not inherit this one.
    response.prependOnceListener('finish', () => void response.setTimeout(0))
    response.setTimeout(unread.stallMs, () => this.#closeUnread('stalled'))
  }

  #closeUnread(reason: string): void {
    this.log.info({ reason }, 'closed a connection whose client does not read the reply')
    this.response.destroy()
  }

  /** A reply without a body. */
  end(status: number): void {
    const head = this.#head()
    if (status !== 204 && status !== 304) head.push('content-length', '0')
    this.response.writeHead(status, head).end()
  }

  redirect(location: string, status = 303): void {
    this.setHeader('location', location)
    this.end(status)
  }

  /** For a body that the caller writes piece by piece, and ends. */
  stream(type: string, status = 200): ServerResponse {
    const head = this.#head()
    head.push('content-type', type)
    return this.response.writeHead(status, head)
  }

  /** Ends the connection in the middle of a reply that cannot be completed. */
  cutOff(): void {
    this.incompleteStatus = 500
    this.response.destroy()
  }

  /** RFC 9728 §5.1: the first challenge says where the metadata of the resource is. */
  #completeChallenge(): void {
    const at = this.#headers?.indexOf('www-authenticate') ?? -1
    const challenge = this.#headers?.[at + 1]
    if (at < 0 || this.resourceMetadata === undefined || !/^(Bearer|DPoP)\b/.test(challenge ?? '')) return
    const [first = '', ...others] = challenge?.split(/, (?=DPoP )/) ?? []
    const { document, scopes } = this.resourceMetadata(this.path)
    const scope = scopes.length === 0 || first.includes('scope="') ? '' : `, scope="${scopes.join(' ')}"`
    const completed = `${first}${first.includes('=') ? ', ' : ' '}resource_metadata="${document}"${scope}`
    this.setHeader('www-authenticate', [completed, ...others].join(', '))
  }

  #head(): string[] {
    const head = [...SECURITY_HEADERS, 'request-id', this.id]
    if (this.#limits.length > 0 && !this.hasHeader('ratelimit')) head.push(...limitHeaders(this.#limits))
    if (this.#headers !== undefined) head.push(...this.#headers)
    return head
  }
}

const REQUEST_ID = /^[\x21-\x7e]{1,128}$/

function chooseRequestId(headers: IncomingHttpHeaders): string {
  const given = headers['request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}
