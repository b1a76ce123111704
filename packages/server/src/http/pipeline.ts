/** The path of every request: context, route, rate limit, authentication, body, handler, then log line, metrics and span. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Authenticate, type Principal, Refusal } from 'gatehouse-protocol'
import { HeldBytes } from '../lib/held-bytes.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { RequestSpan, Tracing } from '../telemetry/traces.ts'
import { createAccessLog } from './access-log.ts'
import { CLIENT_LEFT, Context, type ProblemPage } from './context.ts'
import { answerPreflight, setCorsHeaders } from './cors.ts'
import { PipelinedRequests } from './limits/pipelined-requests.ts'
import { limitedCaller, type RateLimits } from './limits/rate-limits.ts'
import { UnreadReplies } from './limits/unread-replies.ts'
import { pendingReply } from './pending-reply.ts'
import { logFailure, replyWithProblem } from './problem.ts'
import type { ResourceHint } from './protected-resource.ts'
import { type Authentication, authenticateRequest } from './request/authentication.ts'
import { hasBody, readBody } from './request/body.ts'
import { setInteractionId } from './request/interaction-id.ts'
import type { CheckProof } from './request/proof.ts'
import { checkHost, checkTargetLength, checkTransferCoding, localTarget } from './request/request-head.ts'
import type { BodyRule, LazyRouteGroups, Route, RouteGroup, Upgrade } from './route.ts'
import { type Match, Router, type Unmatched } from './router.ts'

export interface PipelineOptions {
  readonly groups: readonly (RouteGroup | LazyRouteGroups)[]
  readonly logger: Logger
  readonly metrics: Metrics
  readonly readAddress: (request: IncomingMessage) => string
  /** Path of the issuer: requests below it are served as if it were not there. */
  readonly base?: string
  readonly authenticate?: Authenticate
  readonly checkProof?: CheckProof
  readonly rateLimits?: Pick<RateLimits, 'countAddress' | 'countCaller'>
  /** Throws while the server cannot accept requests. Not called for probes. */
  readonly admit?: (request: IncomingMessage) => void
  readonly tracing?: Tracing | undefined
  /** Shows errors to people. */
  readonly problemPage?: ProblemPage
  /** What challenges say about the resource at a path (RFC 9728). */
  readonly resourceMetadata?: (path: string) => ResourceHint
  /** The reply if no route matches; a 404 by default. */
  readonly unmatched?: Refusal
  readonly unread?: UnreadReplies
  /** The bodies that are arriving, up to a limit. */
  readonly arriving?: HeldBytes
  /** The time that a body has to arrive; of tests. */
  readonly arrivalMs?: number
}

const MAX_ARRIVING = 128 * 1024 * 1024

export class Pipeline {
  readonly #options: PipelineOptions
  readonly #router: Router
  readonly #unread: UnreadReplies
  readonly #arriving: HeldBytes
  readonly #pipelined: PipelinedRequests
  readonly #finish: (context: Context, status: number) => void
  readonly #authentication: Authentication

  constructor(options: PipelineOptions) {
    this.#options = options
    this.#router = new Router(options.groups)
    this.#unread = options.unread ?? new UnreadReplies()
    this.#arriving = options.arriving ?? new HeldBytes(MAX_ARRIVING)
    this.#pipelined = new PipelinedRequests(this.#unread)
    this.#finish = createAccessLog(options.logger, options.metrics)
    this.#authentication = { authenticate: options.authenticate ?? noPrincipal, checkProof: options.checkProof }
  }

  readonly handle: RequestListener = (request, response) => {
    if (!this.#pipelined.concerns(request, response)) this.#begin(request, response)
    else
      this.#pipelined.add(request, response, this.#options.readAddress(request), () => this.#begin(request, response))
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    const context = this.#createContext(request, response)
    context.problemPage = this.#options.problemPage
    context.unread = this.#unread
    const span = this.#options.tracing?.open(request.headers.traceparent)
    if (span !== undefined) context.setHeader('traceresponse', span.header)
    /** Runs at the end of the reply, or when the client has left. */
    const observe = (): void => {
      // A body that was read in one piece has not reached its end yet.
      request.read()
      const status = sentStatus(context)
      this.#finish(context, status)
      span?.end({ method: context.method, route: context.route, status, id: context.id })
    }
    // The client left while earlier requests of its connection were served.
    if (response.closed || request.socket.destroyed) {
      observe()
      return
    }
    response.on('close', observe)
    // Without a listener the error would end the process; the client has disconnected.
    response.on('error', ignore)
    try {
      checkHost(request)
      checkTransferCoding(request)
      this.#dispatch(context, span)
    } catch (error) {
      this.#fail(context, undefined, error)
    }
  }

  #createContext(request: IncomingMessage, response: ServerResponse | undefined): Context {
    const { readAddress, base = '', logger, resourceMetadata } = this.#options
    const context = new Context(request, response, readAddress(request), localTarget(request.url ?? '/', base), logger)
    context.resourceMetadata = resourceMetadata
    return context
  }

  #dispatch(context: Context, span: RequestSpan | undefined): void {
    const found = this.#router.find(context.method, context.path)
    if ('route' in found) this.#serve(context, found, span)
    else if (found.load === undefined) this.#refuseUnmatched(context, found)
    else
      found.load().then(
        () => this.#dispatch(context, span),
        (error) => this.#fail(context, undefined, error),
      )
  }

  #serve(context: Context, match: Match, span: RequestSpan | undefined): void {
    const { route, group, params } = match
    context.route = route.path
    if (route.isProbe === true) context.logLevel = 'debug'
    if (params !== undefined) context.params = params
    if (group.headers !== undefined) context.setHeaders(group.headers)
    if (route.access !== undefined) setInteractionId(context)
    this.#enter(context, group, () => {
      const inSpan = (act: () => void): void => (span === undefined ? act() : span.run(act))
      inSpan(() => this.#authorize(context, match, () => this.#readBody(context, match, inSpan)))
    })
  }

  /** Not before the caller is known: for others, no body is kept in memory. */
  #readBody(context: Context, { route, group }: Match, inSpan: (act: () => void) => void): void {
    // The client left while it was authenticated.
    if (context.response.closed) return
    const { body } = route
    const handle = (): void => this.#handle(context, route, group)
    if (body === undefined) {
      handle()
      return
    }
    if (body.isStreamed?.(context)) {
      context.authenticateAgain = () =>
        new Promise((resolve, reject) => {
          try {
            this.#authenticate(context, { route, group: { ...group, fail: (_context, error) => reject(error) } }, () =>
              resolve(),
            )
          } catch (error) {
            reject(error)
          }
        })
      handle()
      return
    }
    checkMediaType(context.request, body)
    readBody(context, {
      limit: body.limit,
      arriving: this.#arriving,
      arrivalMs: this.#options.arrivalMs,
      done: (read, isLate) => {
        if (read instanceof Refusal) return this.#fail(context, group, read)
        context.body = read
        inSpan(isLate ? () => this.#checkAgain(context, { route, group }, handle) : handle)
      },
    })
  }

  /** The token may have expired or been revoked while the body was arriving. */
  #checkAgain(context: Context, match: Pick<Match, 'route' | 'group'>, next: () => void): void {
    try {
      this.#authenticate(context, match, next)
    } catch (error) {
      this.#fail(context, match.group, error)
    }
  }

  /** What every request of a group passes first, whether or not it matches a route. */
  #enter(context: Context, group: RouteGroup | undefined, next: () => void): void {
    this.#withCors(context, group, () => {
      try {
        if (group?.isProbe === undefined) this.#options.admit?.(context.request)
        this.#checkLimits(context, group)
        next()
      } catch (error) {
        this.#fail(context, group, error)
      }
    })
  }

  /** Only a page's request waits for its origin to be checked. */
  #withCors(context: Context, group: RouteGroup | undefined, next: () => void): void {
    const policy = group?.cors
    // RFC 9110 §12.5.5: a cache must not give this reply to a page.
    if (policy !== undefined && policy !== '*') context.addVary('origin')
    const isOfPage = policy === '*' || context.headers.origin !== undefined
    const isSet = policy === undefined || !isOfPage ? undefined : setCorsHeaders(context, policy)
    if (isSet === undefined) next()
    else isSet.then(next).catch((error) => this.#fail(context, group, error))
  }

  #checkLimits(context: Context, group: RouteGroup | undefined): void {
    const { rateLimits } = this.#options
    checkTargetLength(context.target)
    if (group?.limit !== undefined && rateLimits !== undefined)
      context.setLimits(rateLimits.countAddress(group.limit, context.address))
  }

  #authorize(context: Context, match: Match, next: () => void): void {
    const { rateLimits } = this.#options
    const { limit } = match.group
    this.#authenticate(context, match, (principal) => {
      if (principal !== undefined && limit !== undefined && rateLimits !== undefined)
        context.setLimits(rateLimits.countCaller(limit, context.address, limitedCaller(principal)))
      next()
    })
  }

  /** A token that is known already is checked without a promise, and the whole request is served in one turn. */
  #authenticate(
    context: Context,
    { route: { access }, group }: Pick<Match, 'route' | 'group'>,
    next: (principal?: Principal) => void,
  ): void {
    if (access === undefined) {
      next()
      return
    }
    const act = (principal: Principal): void => {
      context.principal = principal
      access(principal, context)
      next(principal)
    }
    const own = group.authenticate
    const authentication = own === undefined ? this.#authentication : { ...this.#authentication, authenticate: own }
    const principal = authenticateRequest(context, authentication, group.sharesProofs)
    if (principal instanceof Promise) principal.then(act).catch((error) => this.#fail(context, group, error))
    else act(principal)
  }

  /** A request whose client has left is not carried out: its reply would reach nobody, and what it holds until the end of the reply would never be released. */
  #handle(context: Context, route: Route, group: RouteGroup): void {
    if (context.response.closed) return
    try {
      const replied = route.handle(context)
      if (replied instanceof Promise) replied.catch((error) => this.#fail(context, group, error))
    } catch (error) {
      this.#fail(context, group, error)
    }
  }

  #refuseUnmatched(context: Context, { group, allow }: Unmatched): void {
    if (context.method === 'OPTIONS' && context.target === '*') context.end(204)
    // Not counted: each call of a page would count twice, and a page cannot see why its preflight was refused.
    else if (context.method === 'OPTIONS' && group?.cors !== undefined)
      this.#withCors(context, group, () => answerPreflight(context, allow))
    else
      this.#enter(context, group, () => {
        if (allow === undefined)
          throw this.#options.unmatched ?? notFound('http.not_found', 'Nothing is served at this address')
        throw new Refusal('http.method_not_allowed', 405, `This address takes ${allow.join(' and ')}`, {
          headers: { allow: allow.join(', ') },
        })
      })
  }

  /** Never throws: a failure here affects only this request. */
  #fail(context: Context, group: RouteGroup | undefined, error: unknown): void {
    try {
      if (context.isReplied) {
        context.log.error({ err: error }, 'request failed after the reply had begun')
        context.cutOff()
      } else if (group?.fail === undefined || context.route === 'none') {
        // Paths that match no route get a problem document or a page, even if the group has its own error format.
        replyWithProblem(context, error)
      } else group.fail(context, error)
    } catch (failure) {
      // For example a header that cannot be sent, which the error reply would contain too.
      context.log.error({ err: failure }, 'the error reply failed')
      if (context.isReplied) context.cutOff()
      else context.response.writeHead(500, { 'content-length': '0' }).end()
    }
  }

  /** For the server's `upgrade` event. */
  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const context = this.#createContext(request, undefined)
    socket.on('error', ignore)
    // RFC 9112 §9.3.2: replies come in the order of the requests, but the replies that are pending could only follow the 101.
    if (pendingReply(socket) !== undefined) {
      this.#finish(context, CLIENT_LEFT)
      socket.destroy()
      return
    }
    // The writer of the 101 response reads the id from here.
    request.headers['request-id'] = context.id
    let taken: void | Promise<void>
    try {
      taken = this.#takeUpgrade(context, { request, socket, head })
    } catch (error) {
      this.#refuseUpgrade(context, socket, error)
      return
    }
    const accepted = (): void => this.#finish(context, socket.destroyed ? CLIENT_LEFT : 101)
    if (taken === undefined) accepted()
    else taken.then(accepted, (error) => this.#refuseUpgrade(context, socket, error))
  }

  #takeUpgrade(context: Context, taken: Upgrade): void | Promise<void> {
    checkHost(context.request)
    // RFC 6455 §4.1: the method is GET.
    if (context.method !== 'GET')
      throw new Refusal('http.method_not_allowed', 405, 'An upgrade is a GET request', { headers: { allow: 'GET' } })
    const found = this.#router.find('GET', context.path)
    if (!('route' in found) || found.route.upgrade === undefined)
      throw this.#options.unmatched ?? notFound('stream.not_found', 'There is no stream at this path')
    const { route, group } = found
    context.route = route.path
    this.#options.admit?.(context.request)
    this.#checkLimits(context, group)
    return route.upgrade?.(context, taken)
  }

  #refuseUpgrade(context: Context, socket: Duplex, error: unknown): void {
    if (socket.destroyed) {
      logFailure(context, error)
      this.#finish(context, CLIENT_LEFT)
      return
    }
    context.response.on('close', () => this.#finish(context, sentStatus(context)))
    replyToUpgrade(context, socket)
    this.#fail(context, undefined, error)
  }
}

function sentStatus({ response, incompleteStatus }: Context): number {
  return response.writableFinished ? response.statusCode : incompleteStatus
}

function checkMediaType(request: IncomingMessage, { types }: BodyRule): void {
  const type = request.headers['content-type']
  if (types === undefined || (type === undefined && !hasBody(request))) return
  if (type === undefined || !types.includes(type.split(';', 1)[0]?.trim().toLowerCase() ?? ''))
    throw new Refusal(
      'http.unsupported_media_type',
      415,
      `The content type is not accepted here: send ${types.join(' or ')}`,
    )
}

function notFound(code: string, text: string): Refusal {
  return new Refusal(code, 404, text)
}

/** The reply to an upgrade that is refused is an ordinary one, after which the connection ends. */
function replyToUpgrade(context: Context, socket: Duplex): void {
  if (!(socket instanceof Socket)) throw new Error('Not the socket of an HTTP/1.1 server')
  const { response } = context
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  context.setHeader('cache-control', 'no-store')
  response.on('finish', () => {
    socket.end()
    socket.destroy()
  })
  // Anything else the client sends is discarded.
  socket.resume()
}

function noPrincipal(): undefined {}

/** Shared by all sockets: a closure would keep the upgrade request in memory as long as its connection. */
function ignore(): void {}
