/** The Fastify application that every service adds its routes to: limits, request ids, headers, and the replies to what no route takes. */
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Metrics } from '../protocol/metrics.ts'
import { Refusal } from '../protocol/refusal.ts'
import { checkLength, readable, URL_LIMIT } from './address.ts'
import { tidyForwarded } from './client-address.ts'
import type { DirectRoute } from './direct-routes.ts'
import { noteAnswers, requestIdOf, SECURITY_HEADERS } from './every-answer.ts'
import type { Listener } from './listener.ts'
import type { Logger } from './log.ts'
import { allowedMethods } from './methods.ts'
import { FAULT, problem } from './problem.ts'
import { RequestLog } from './request-log.ts'

export interface AppOptions {
  readonly logger: Logger
  readonly trustedProxies: readonly string[]
  readonly listener: Listener
  readonly metrics: Metrics
  /** Answered before the application is asked: it knows no more of them than that they are there. */
  readonly direct?: readonly Pick<DirectRoute, 'method' | 'path'>[]
}

const BODY_LIMIT = 64 * 1024

/** Doors read what comes in by themselves; the compilers of route schemas would only make every start longer. */
const NO_COMPILERS = { buildValidator: noSchemas, buildSerializer: noSchemas }

export function createApp({ logger, trustedProxies, listener, metrics, direct = [] }: AppOptions): FastifyInstance {
  const requestLog: FastifyBaseLogger = new RequestLog(logger)
  const app = Fastify({
    loggerInstance: requestLog,
    // One line for each request, written when it is answered, is enough.
    logController: new LogController({ disableRequestLogging: true }),
    // What the router itself refuses is answered by no hook, and so neither counted nor logged: it is left nothing to refuse.
    routerOptions: { caseSensitive: false, ignoreTrailingSlash: false, maxParamLength: 2 * URL_LIMIT },
    // The first that sees a request.
    rewriteUrl(request) {
      if (trustedProxies.length > 0) tidyForwarded(request)
      return readable(request.url ?? '/')
    },
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    bodyLimit: BODY_LIMIT,
    return503OnClosing: false,
    genReqId: requestIdOf,
    serverFactory: () => listener.server,
    schemaController: { compilersFactory: NO_COMPILERS },
  })

  // No body format is understood unless a service says so for its own routes.
  app.removeAllContentTypeParsers()
  const note = noteAnswers(logger, metrics)
  // Hooks with a callback: a promise for each would cost every request.
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(SECURITY_HEADERS)
    reply.header('request-id', request.id)
    // What is thrown here refuses the request, as an error given to `done` would.
    checkLength(request.url)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    note({ id: request.id, request, route, status: reply.statusCode, milliseconds: reply.elapsedTime })
    done()
  })
  const methods = allowedMethods(app, direct)
  app.setNotFoundHandler((request, reply) => {
    const allowed = methods(request.url)
    if (allowed.length === 0)
      return problem(reply, new Refusal('http.not_found', 404, 'Nothing is served at this address'))
    const text = `This address takes ${allowed.join(' and ')}`
    const headers = { allow: allowed.join(', ') }
    return problem(reply, new Refusal('http.method_not_allowed', 405, text, { headers }))
  })
  app.setErrorHandler(replyToError)
  return app
}

/** The default face of a failure: RFC 9457. A service may set its own for its routes, and call this for what is not its own. */
export function replyToError(
  error: FastifyError | Refusal | Error,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const refusal = asRefusal(error)
  if (refusal !== undefined) {
    if (refusal.cause !== undefined) request.log.info({ err: refusal.cause, code: refusal.code }, 'refused')
    return problem(reply, refusal)
  }
  request.log.error({ err: error }, 'failed')
  return problem(reply, FAULT)
}

/** Our own refusals, and Fastify's (a body too large, an unsupported media type, …), which are the caller's fault too. */
export function asRefusal(error: FastifyError | Refusal | Error): Refusal | undefined {
  if (error instanceof Refusal) return error
  const status = 'statusCode' in error ? error.statusCode : undefined
  if (status === undefined || status < 400 || status >= 500) return undefined
  const code = REFUSED_BY_HTTP[status] ?? 'http.bad_request'
  return new Refusal(
    code,
    status,
    status === 413 ? 'The body is too large' : status === 415 ? 'The content type is not accepted here' : error.message,
  )
}

const REFUSED_BY_HTTP: Readonly<Record<number, string>> = {
  408: 'http.timeout',
  413: 'http.body_too_large',
  415: 'http.unsupported_media_type',
}

function noSchemas(): never {
  throw new Error('Routes here have no schemas')
}
