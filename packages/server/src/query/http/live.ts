/** Live statements over HTTP: server-sent events on POST and GET /query. */

import type { ParameterInput } from 'gatehouse-iql'
import { type Authenticate, type Clock, type Principal, Refusal } from 'gatehouse-protocol'
import type { Bus, GateEvent } from '../../events/bus.ts'
import type { Context } from '../../http/context.ts'
import { readBearer } from '../../http/request/authentication.ts'
import type { Json } from '../../lib/exact-json.ts'
import { refuse } from '../errors.ts'
import { DEFAULT_RATE, type LiveQueries, MAX_RATE, MIN_RATE } from '../live/contract.ts'
import { shuttingDown } from '../live/limits.ts'
import { EventResponse } from './event-response.ts'
import { checkContentType, EVENT_STREAM, prefersEvents, requirePlatformAccess, valueEncoding } from './request.ts'
import { queryParameters, readStatement, type StatementRequest } from './statement.ts'

export interface LiveEndpointEnv {
  readonly live: LiveQueries
  readonly authenticate: Authenticate
  readonly bus: Pick<Bus, 'subscribe'>
  readonly clock: Clock
}

/** How often the expiry of tokens and the need for comment lines are checked. */
const SWEEP_MS = 250

export class LiveEndpoint {
  readonly #env: LiveEndpointEnv
  readonly #open = new Map<EventResponse, string>()
  #unsubscribe: (() => void) | undefined
  #sweep: NodeJS.Timeout | undefined
  readonly #toCheck = new Set<EventResponse>()
  #willCheck = false
  #isStopping = false

  constructor(env: LiveEndpointEnv) {
    this.#env = env
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
    this.#isStopping = true
    for (const response of [...this.#open.keys()]) response.stop()
  }

  async #answer(context: Context, { text, values, maxRate }: StatementRequest): Promise<void> {
    const { live, clock } = this.#env
    const { principal } = context
    if (this.#isStopping) throw shuttingDown()
    const response = new EventResponse(context, { clock, onClosed: () => this.#remove(response) })
    const left = new AbortController()
    const leave = (): void => left.abort(refuse('Limit.Cancelled', 'The client disconnected'))
    context.response.once('close', leave)
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
    context.response.off('close', leave)
    response.begin(subscription)
    if (context.method === 'HEAD') context.response.end()
    if (response.isClosed) return
    this.#add(response, readBearer(context.headers.authorization ?? '') ?? '')
    if (this.#isStopping) response.stop()
    // Rights may have changed while the statement was prepared.
    else this.#check(response)
  }

  #add(response: EventResponse, token: string): void {
    this.#open.set(response, token)
    this.#unsubscribe ??= this.#env.bus.subscribe((event) => this.#onEvent(event))
    if (this.#sweep !== undefined) return
    this.#sweep = setInterval(() => {
      for (const open of [...this.#open.keys()]) open.tick()
    }, SWEEP_MS)
    this.#sweep.unref()
  }

  #remove(response: EventResponse): void {
    if (!this.#open.delete(response) || this.#open.size > 0) return
    clearInterval(this.#sweep)
    this.#sweep = undefined
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
  }

  /** Tokens are checked in a later turn, when every listener of the bus has handled the event. Many events cause one check. */
  #onEvent(event: GateEvent): void {
    for (const response of this.#open.keys()) if (concerns(event, response.principal)) this.#toCheck.add(response)
    if (this.#willCheck || this.#toCheck.size === 0) return
    this.#willCheck = true
    setImmediate(() => {
      const responses = [...this.#toCheck]
      this.#toCheck.clear()
      this.#willCheck = false
      for (const response of responses) this.#check(response)
    })
  }

  /** Authenticates the caller again: rights may have changed, or the token may be revoked. */
  async #check(response: EventResponse): Promise<void> {
    const token = this.#open.get(response)
    if (token === undefined) return
    try {
      const principal = await this.#env.authenticate(token)
      if (principal === undefined) throw refuse('Auth.InvalidToken', 'The access token is no longer valid')
      requirePlatformAccess(principal)
      response.setPrincipal(principal)
    } catch (error) {
      // Without the database, changes to the token cannot be known; it ends at its expiry anyway.
      if (error instanceof Refusal) response.end(error)
      else response.context.log.warn({ err: error }, 'the token of a live statement could not be checked')
    }
  }
}

/** Whether the event can change the validity or the rights of the caller's token. */
function concerns(event: GateEvent, principal: Principal): boolean {
  switch (event.kind) {
    case 'token-revoked':
      return event.tokenId === principal.tokenId
    case 'grant-revoked':
      return event.grantId === principal.grantId
    case 'session-ended':
      return event.sessionId === principal.sessionId
    case 'subject-cut':
    case 'rights-changed':
    case 'user-changed':
      return event.subject === principal.subject
    case 'subjects-cut':
      return event.subjects.includes(principal.subject)
    case 'client-cut':
    case 'client-scopes-changed':
      return event.clientId === principal.clientId
    case 'roles-changed':
      return principal.kind === 'user'
    case 'keys-changed':
      return event.withdrawn !== undefined && event.withdrawn === principal.keyId
    default:
      return false
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
