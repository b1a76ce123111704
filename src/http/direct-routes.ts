/** Routes that are answered before the application is asked, for doors that most requests come to: the same limits, ids, headers, log, metrics and traces, with less work around each. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Refusal } from '../protocol/refusal.ts'
import { checkLength, readable } from './address.ts'
import { readBody } from './body.ts'
import { type Door, type Doors, doorOf } from './doors.ts'
import type { Answered } from './every-answer.ts'
import { Exchange } from './exchange.ts'
import type { Logger } from './log.ts'
import type { Tracing } from './traces.ts'

export interface DirectRoute {
  readonly method: string
  /** In lower case; a part that begins with a colon, of which there is at most one, stands for any. */
  readonly path: string
  readonly bodyLimit: number
  /** Answers, at once or in time; whatever it throws is told by `fail`. */
  readonly answer: (exchange: Exchange) => Promise<void> | void
  readonly fail: (exchange: Exchange, error: unknown) => void
}

export interface DirectEnv {
  readonly doors?: Pick<Doors, 'enter'> | undefined
  readonly addressOf: (request: IncomingMessage) => string
  readonly note: (answered: Answered) => void
  readonly logger: Logger
  readonly tracing?: Tracing | undefined
}

/** Whatever no route takes is left to `otherwise`. */
export function directFirst(
  routes: readonly DirectRoute[],
  env: DirectEnv,
  otherwise: RequestListener,
): RequestListener {
  const places = routes.map(placeOf)
  const find = (method: string | undefined, parts: readonly string[]): Place | undefined =>
    places.find(({ route, pattern }) => route.method === method && matches(pattern, parts))
  return (request, response) => {
    const url = readable(request.url ?? '/')
    const parts = partsOf(url)
    const place = find(request.method, parts)
    if (place === undefined) otherwise(request, response)
    else serve(place, { request, response, url, parts }, env)
  }
}

interface Place {
  readonly route: DirectRoute
  readonly pattern: readonly string[]
  readonly door: Door | undefined
  /** Where the named part stands. */
  readonly namedAt: number
}

function placeOf(route: DirectRoute): Place {
  const pattern = route.path.split('/')
  return { route, pattern, door: doorOf(route.path), namedAt: pattern.findIndex((part) => part.startsWith(':')) }
}

/** Each part is decoded by itself: an encoded slash parts nothing. */
function partsOf(url: string): readonly string[] {
  const end = url.indexOf('?')
  const path = end < 0 ? url : url.slice(0, end)
  const parts = path.split('/')
  return path.includes('%') ? parts.map((part) => decodeURIComponent(part)) : parts
}

function matches(pattern: readonly string[], parts: readonly string[]): boolean {
  if (pattern.length !== parts.length) return false
  for (let index = 0; index < pattern.length; index++) {
    const expected = pattern[index]
    const part = parts[index]
    if (part === expected || part?.toLowerCase() === expected) continue
    if (part === '' || !expected?.startsWith(':')) return false
  }
  return true
}

interface Arrived {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly url: string
  readonly parts: readonly string[]
}

function serve(
  { route, door, namedAt }: Place,
  { request, response, url, parts }: Arrived,
  { addressOf, doors, logger, note, tracing }: DirectEnv,
): void {
  const began = performance.now()
  const address = addressOf(request)
  const exchange = new Exchange({
    request,
    response,
    url,
    address,
    route: route.path,
    named: parts[namedAt] ?? '',
    logger,
  })
  const { id } = exchange
  const { method } = route
  const span = tracing?.open(request.headers.traceparent)
  if (span !== undefined) exchange.header('traceresponse', span.header)
  response.on('finish', () => {
    // A body that was read in one piece has not come to its end yet.
    request.read()
    const { statusCode: status } = response
    const milliseconds = performance.now() - began
    note({ id, request: { method, url, ip: address }, route: route.path, status, milliseconds })
    span?.end({ method, route: route.path, status, id })
  })
  // Unheard it would end the process; the client, who is to blame or gone, hears of nothing.
  response.on('error', (error) => exchange.log.info({ err: error }, 'an answer could not be sent'))
  const act = (): void => {
    try {
      route.answer(exchange)?.catch((error) => route.fail(exchange, error))
    } catch (error) {
      route.fail(exchange, error)
    }
  }
  try {
    checkLength(url)
    if (door !== undefined && doors !== undefined) exchange.say(doors.enter(door, address))
  } catch (error) {
    route.fail(exchange, error)
    return
  }
  readBody(request, route.bodyLimit, (body) => {
    if (body instanceof Refusal) return route.fail(exchange, body)
    exchange.body = body
    if (span === undefined) act()
    else span.run(act)
  })
}
