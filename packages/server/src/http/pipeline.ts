/** The path of every request: context, route, rate limit, body, authentication, handler, then log line, metrics and span. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Authenticate, type Principal, Refusal } from 'gatehouse-protocol'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { RequestSpan, Tracing } from '../telemetry/traces.ts'
import { createAccessLog } from './access-log.ts'
import { CLIENT_LEFT, Context, type ProblemPage } from './context.ts'
import { answerPreflight, setCorsHeaders } from './cors.ts'
import { PipelinedRequests } from './limits/pipelined-requests.ts'
import { callerOf, type RateLimits } from './limits/rate-limits.ts'
import { UnreadReplies } from './limits/unread-replies.ts'
import { logFailure, replyWithProblem } from './problem.ts'
import { authenticateRequest } from './request/authentication.ts'
import { hasBody, readBody } from './request/body.ts'
import { checkHost } from './request/host-header.ts'
import { checkTargetLength, localTarget, segmentsOf } from './request/request-target.ts'
import type { BodyRule, LazyRouteGroups, Route, RouteGroup, Upgrade } from './route.ts'
import { type Match, Router, type WrongMethod } from './router.ts'

export interface PipelineOptions {
  readonly groups: readonly (RouteGroup | LazyRouteGroups)[]
  readonly logger: Logger
  readonly metrics: Metrics
  readonly addressOf: (request: IncomingMessage) => string
  /** Path of the issuer: requests below it are served as if it were not there. */
  readonly base?: string
  readonly authenticate?: Authenticate
  readonly rateLimits?: RateLimits
  /** Throws while the server cannot take a request, unless it is one of a probe. */
  readonly admit?: (request: IncomingMessage) => void
  readonly tracing?: Tracing | undefined
  /** Shows errors to people. */
  readonly problemPage?: ProblemPage
  /** The reply where no route is; a 404 by default. */
  readonly unmatched?: Refusal
  readonly unread?: UnreadReplies
}

export interface Pipeline {
  readonly handle: RequestListener
  /** For the server's `upgrade` event. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}

export function createPipeline(options: PipelineOptions): Pipeline {
  const {
    groups,
    logger,
    metrics,
    addressOf,
    base = '',
    authenticate = noPrincipal,
    rateLimits,
    admit,
    tracing,
    problemPage,
    unmatched,
    unread = new UnreadReplies(),
  } = options
  const router = new Router()
  const loaders = new Map<RouteGroup, () => Promise<void>>()
  const prefixes: [prefix: string, group: RouteGroup][] = []
  for (const group of groups) {
    if ('load' in group) addLazy(group)
    else add(group)
  }
  const finish = createAccessLog(logger, metrics)
  const pipelined = new PipelinedRequests(unread)

  return {
    handle(request, response) {
      if (!pipelined.concerns(request, response)) begin(request, response)
      else pipelined.add(request, response, addressOf(request), () => begin(request, response))
    },
    upgrade(request, socket, head) {
      const context = new Context(request, undefined, addressOf(request), targetOf(request), logger)
      socket.on('error', ignore)
      // The writer of the 101 response reads the id from here.
      request.headers['request-id'] = context.id
      let taken: void | Promise<void>
      try {
        taken = takeUpgrade(context, { request, socket, head })
      } catch (error) {
        refuse(context, socket, error)
        return
      }
      const accepted = (): void => finish(context, socket.destroyed ? CLIENT_LEFT : 101)
      if (taken === undefined) accepted()
      else taken.then(accepted, (error) => refuse(context, socket, error))
    },
  }

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const context = new Context(request, response, addressOf(request), targetOf(request), logger)
    context.problemPage = problemPage
    context.unread = unread
    const span = tracing?.open(request.headers.traceparent)
    if (span !== undefined) context.setHeader('traceresponse', span.header)
    /** After the end of the reply as well as after the client has left. */
    const observe = (): void => {
      // A body that was read in one piece has not reached its end yet.
      request.read()
      const status = statusOf(context)
      finish(context, status)
      span?.end({ method: context.method, route: context.route, status, id: context.id })
    }
    // It left while the server was starting.
    if (response.closed) {
      observe()
      return
    }
    response.on('close', observe)
    // Without a listener the error would end the process; the client is gone.
    response.on('error', ignore)
    try {
      checkHost(request)
      dispatch(context, span)
    } catch (error) {
      fail(context, undefined, error)
    }
  }

  function targetOf({ url = '/' }: IncomingMessage): string {
    return localTarget(url, base)
  }

  function dispatch(context: Context, span: RequestSpan | undefined): void {
    const found = router.find(context.method, context.path)
    if (found !== undefined && 'route' in found) {
      serve(context, found, span)
      return
    }
    const group = found?.group ?? groupOf(context.path)
    const load = group === undefined ? undefined : loaders.get(group)
    const fallback = found === undefined ? group?.fallback : undefined
    if (group !== undefined && fallback !== undefined) {
      if (isRead(context.method)) serve(context, { route: fallback, group, params: undefined }, span)
      else refuseUnmatched(context, group, { group, allow: ['GET', 'HEAD'] })
    } else if (load === undefined || found !== undefined) refuseUnmatched(context, group, found)
    else
      load().then(
        () => dispatch(context, span),
        (error) => fail(context, undefined, error),
      )
  }

  function serve(context: Context, match: Match, span: RequestSpan | undefined): void {
    const { route, group, params } = match
    context.route = route.path
    if (route.isProbe === true) context.logLevel = 'debug'
    if (params !== undefined) context.params = params
    if (group.headers !== undefined) context.setHeaders(group.headers)
    enter(context, group, () => {
      const { body } = route
      const act = span === undefined ? () => run(context, match) : () => span.run(() => run(context, match))
      if (body === undefined) return act()
      checkMediaType(context.request, body)
      readBody(context, body.limit, (read) => {
        if (read instanceof Refusal) return fail(context, group, read)
        context.body = read
        act()
      })
    })
  }

  /** What every request of a group passes first, whether or not it matches a route. */
  function enter(context: Context, group: RouteGroup | undefined, next: () => void): void {
    const begin = (): void => {
      try {
        if (group?.isProbe === undefined) admit?.(context.request)
        checkTargetLength(context.target)
        if (group?.limit !== undefined && rateLimits !== undefined)
          context.setLimits(rateLimits.countAddress(group.limit, context.address))
        next()
      } catch (error) {
        fail(context, group, error)
      }
    }
    withCors(context, group, begin)
  }

  /** Only a page's request waits for its origin to be checked. */
  function withCors(context: Context, group: RouteGroup | undefined, next: () => void): void {
    const isSet = group?.cors === undefined ? undefined : setCorsHeaders(context, group.cors)
    if (isSet === undefined) next()
    else isSet.then(next).catch((error) => fail(context, group, error))
  }

  function run(context: Context, { route, group }: Match): void {
    try {
      const replied = route.access === undefined ? route.handle(context) : authorize(context, route, group)
      if (replied instanceof Promise) replied.catch((error) => fail(context, group, error))
    } catch (error) {
      fail(context, group, error)
    }
  }

  /** A token that is known already is checked without a promise, and the whole request is served in one turn. */
  function authorize(context: Context, { access, handle }: Route, { limit }: RouteGroup): void | Promise<void> {
    const admit = (principal: Principal): void | Promise<void> => {
      context.principal = principal
      access?.(principal, context)
      if (limit !== undefined && rateLimits !== undefined)
        context.setLimits(rateLimits.countCaller(limit, context.address, callerOf(principal)))
      return handle(context)
    }
    const principal = authenticateRequest(context, authenticate)
    return principal instanceof Promise ? principal.then(admit) : admit(principal)
  }

  function refuseUnmatched(context: Context, group: RouteGroup | undefined, found: WrongMethod | undefined): void {
    if (context.method === 'OPTIONS' && context.target === '*') context.end(204)
    // Not counted: a refused preflight hides from the page why, and each call of a page would count twice.
    else if (context.method === 'OPTIONS' && group?.cors !== undefined)
      withCors(context, group, () => answerPreflight(context, found?.allow))
    else
      enter(context, group, () => {
        if (found === undefined)
          throw unmatched ?? new Refusal('http.not_found', 404, 'Nothing is served at this address')
        throw new Refusal('http.method_not_allowed', 405, `This address takes ${found.allow.join(' and ')}`, {
          headers: { allow: found.allow.join(', ') },
        })
      })
  }

  /** Never throws: what fails here is the matter of this request alone. */
  function fail(context: Context, group: RouteGroup | undefined, error: unknown): void {
    try {
      if (context.isReplied) {
        context.log.error({ err: error }, 'request failed after the reply had begun')
        context.cutOff()
      } else replyToError(context, group, error)
    } catch (failure) {
      // Such as a header that cannot be sent, which the error reply would have too.
      context.log.error({ err: failure }, 'the error reply failed')
      if (context.isReplied) context.cutOff()
      else context.response.writeHead(500, { 'content-length': '0' }).end()
    }
  }

  /** Paths that match no route get a problem document or a page, whatever the group sends for its own errors. */
  function replyToError(context: Context, group: RouteGroup | undefined, error: unknown): void {
    if (group?.fail === undefined || context.route === 'none') replyWithProblem(context, error)
    else group.fail(context, error)
  }

  function takeUpgrade(context: Context, taken: Upgrade): void | Promise<void> {
    checkHost(context.request)
    // RFC 6455 §4.1: the method is GET.
    if (context.method !== 'GET')
      throw new Refusal('http.method_not_allowed', 405, 'An upgrade is a GET request', { headers: { allow: 'GET' } })
    const found = router.find('GET', context.path)
    if (found === undefined || !('route' in found) || found.route.upgrade === undefined)
      throw unmatched ?? new Refusal('stream.not_found', 404, 'There is no stream at this path')
    const { route, group } = found
    context.route = route.path
    admit?.(context.request)
    checkTargetLength(context.target)
    if (group.limit !== undefined && rateLimits !== undefined)
      context.setLimits(rateLimits.countAddress(group.limit, context.address))
    return route.upgrade?.(context, taken)
  }

  function refuse(context: Context, socket: Duplex, error: unknown): void {
    if (socket.destroyed) {
      logFailure(context, error)
      finish(context, CLIENT_LEFT)
      return
    }
    context.response.on('close', () => finish(context, statusOf(context)))
    refuseUpgrade(context, socket, () => fail(context, undefined, error))
  }

  /** The group for an unmatched path: the one with the longest prefix. */
  function groupOf(path: string): RouteGroup | undefined {
    const lower = `${segmentsOf(path).join('/').toLowerCase()}/`
    return prefixes.find(([prefix]) => lower.startsWith(prefix))?.[1]
  }

  function add(group: RouteGroup): void {
    router.add(group)
    addPrefixes(group)
  }

  /** Loads once; after a failure the next request tries again. */
  function addLazy({ at, limit, load }: LazyRouteGroups): void {
    const group: RouteGroup = { at, routes: [], ...(limit === undefined ? {} : { limit }) }
    let loading: Promise<void> | undefined
    addPrefixes(group)
    loaders.set(group, () => {
      loading ??= load().then(
        (loaded) => {
          for (const each of loaded) add(each)
          loaders.delete(group)
        },
        (error) => {
          loading = undefined
          throw error
        },
      )
      return loading
    })
  }

  /** The longest prefix first; of equal ones that of the loaded group, not of the one that loads it. */
  function addPrefixes(group: RouteGroup): void {
    for (const at of group.at) prefixes.unshift([at === '/' ? '/' : `${at.toLowerCase()}/`, group])
    prefixes.sort(([a], [b]) => b.length - a.length)
  }
}

function statusOf({ response, incompleteStatus }: Context): number {
  return response.writableFinished ? response.statusCode : incompleteStatus
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

function checkMediaType(request: IncomingMessage, { types }: BodyRule): void {
  const type = request.headers['content-type']
  if (types === undefined || (type === undefined && !hasBody(request))) return
  if (type === undefined || !types.includes(type.split(';', 1)[0]?.trim().toLowerCase() ?? ''))
    throw new Refusal('http.unsupported_media_type', 415, 'The content type is not accepted here')
}

/** The reply to an upgrade that is refused is an ordinary one, after which the connection ends. */
function refuseUpgrade(context: Context, socket: Duplex, reply: () => void): void {
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
  reply()
}

function noPrincipal(): undefined {}

/** Shared by all sockets: a closure would keep the upgrade request in memory as long as its connection. */
function ignore(): void {}
