/** Live statements over HTTP: server-sent events on POST and GET /query. */

import type { ParameterInput } from 'gatehouse-iql'
import type { Authenticate, Clock } from 'gatehouse-protocol'
import type { Bus } from '../../events/bus.ts'
import type { Context } from '../../http/context.ts'
import { dataLines, EVENT_STREAM, EventResponse, type EventRules } from '../../http/events/event-response.ts'
import { OpenResponses } from '../../http/events/open-responses.ts'
import type { Json } from '../../lib/exact-json.ts'
import { refuse } from '../errors.ts'
import { DEFAULT_RATE, type LiveMessage, type LiveQueries, MAX_RATE, MIN_RATE } from '../live/contract.ts'
import { shuttingDown } from '../live/limits.ts'
import { problemFor } from './problem.ts'
import { checkContentType, prefersEvents, requirePlatformAccess, valueEncoding } from './request.ts'
import { queryParameters, readStatement, type StatementRequest } from './statement.ts'

export interface LiveEndpointEnv {
  readonly live: LiveQueries
  readonly authenticate: Authenticate
  readonly bus: Pick<Bus, 'subscribe'>
  readonly clock: Clock
}

const EVENTS: EventRules<LiveMessage> = {
  route: '/query as events',
  encode: (message) => `event: ${message.kind.toLowerCase()}\n${idLine(message)}${dataLines(message.text)}`,
  problem: problemFor,
  expired: () => refuse('Auth.InvalidToken', 'The access token has expired'),
  stopping: shuttingDown,
  tooSlow: () => refuse('Limit.Overload', 'The client reads too slowly'),
}

/** A Reset clears the id: a client that then reconnects must not resume from a state that it no longer holds. */
function idLine({ kind, position }: LiveMessage): string {
  if (kind === 'Reset') return 'id\n'
  return position === undefined ? '' : `id: ${position}\n`
}

export class LiveEndpoint {
  readonly #env: LiveEndpointEnv
  readonly #open: OpenResponses<LiveMessage>

  constructor(env: LiveEndpointEnv) {
    this.#env = env
    this.#open = new OpenResponses({
      authenticate: env.authenticate,
      bus: env.bus,
      requireAccess: requirePlatformAccess,
      invalidToken: () => refuse('Auth.InvalidToken', 'The access token is no longer valid'),
    })
  }

  /** POST /query with `Accept: text/event-stream`. */
  post(context: Context): Promise<void> {
    checkContentType(context.headers['content-type'])
    return this.#answer(context, readStatement(context, 'live'))
  }

  /** GET /query?statement=… */
  get(context: Context): Promise<void> {
    if (!prefersEvents(context.headers.accept)) {
      throw refuse(
        'Request.NotAcceptable',
        `GET offers live statements only, as ${EVENT_STREAM}; use POST for a result`,
        { members: { Expected: [EVENT_STREAM] } },
      )
    }
    const text = single(context, 'statement')
    if (text === undefined) throw refuse('Request.BadParameter', 'The query parameter statement is missing')
    return this.#answer(context, { text, values: queryParameters(context) })
  }

  /** Ends every response: the clients reconnect to another node. */
  stop(): void {
    this.#open.stop()
  }

  async #answer(context: Context, { text, values, maxRate }: StatementRequest): Promise<void> {
    const { live, clock } = this.#env
    const { principal } = context
    if (this.#open.isStopping) throw shuttingDown()
    const response = new EventResponse(context, EVENTS, { clock, onClosed: () => this.#open.remove(response) })
    const left = new AbortController()
    const leave = (): void => left.abort(refuse('Limit.Cancelled', 'The client disconnected'))
    const stay = context.onClose(leave)
    const request = {
      principal,
      signal: left.signal,
      statement: text,
      parameters: values satisfies ReadonlyMap<string, ParameterInput>,
      maxRate: readMaxRate(single(context, 'maxrate') ?? maxRate),
      resume: readLastEventId(context),
      encoding: valueEncoding(context.query),
      connectionId: context.id,
      requestId: context.id,
      address: context.address,
    }
    const subscription = await live.subscribe(request, response)
    stay()
    response.begin(subscription)
    if (context.method === 'HEAD') context.response.end()
    this.#open.add(response)
  }
}

function single({ query }: Context, name: string): string | undefined {
  const value = query.get(name)
  if (value === undefined || typeof value === 'string') return value
  throw refuse('Request.BadParameter', `The query parameter ${name} occurs twice`)
}

function readMaxRate(given: Json | undefined): number {
  if (given === undefined) return DEFAULT_RATE
  const rate = typeof given === 'string' && /^\d{1,3}$/.test(given) ? Number(given) : given
  if (typeof rate === 'number' && Number.isInteger(rate) && rate >= MIN_RATE && rate <= MAX_RATE) return rate
  throw refuse('Request.BadParameter', `MaxRate is an integer from ${MIN_RATE} to ${MAX_RATE}, in changes per second`)
}

const POSITION = /^[\x21-\x7e]{1,512}$/

/** A browser that reconnects sends the id of the last event that it received. */
function readLastEventId({ headers }: Context): string | undefined {
  const given = headers['last-event-id']
  if (given === undefined || given === '') return undefined
  if (typeof given === 'string' && POSITION.test(given)) return given
  throw refuse('Request.BadPosition', 'Last-Event-ID is the id of an event: 1 to 512 visible ASCII characters')
}
