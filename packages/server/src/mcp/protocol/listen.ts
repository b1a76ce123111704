/** `subscriptions/listen`: a stream of events that says which resources have changed, until the client leaves or its token ends. */
import {
  type Authenticate,
  type Clock,
  type GateEvent,
  type Principal,
  Refusal,
  type RunningSubscription,
} from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { EVENT_STREAM, EventResponse, type EventRules } from '../../http/events/event-response.ts'
import { OpenResponses } from '../../http/events/open-responses.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { ProtocolError } from './errors.ts'
import type { Call } from './features.ts'
import { isObject, type JsonObject } from './json.ts'
import { META, type Message, type MessageId } from './message.ts'
import type { ServerInfo } from './methods.ts'

/** The source of changes. */
export interface Subscriptions {
  /** Observes those among the URIs that the caller may read, and the list of resources if `list` is true. */
  open(wanted: Wanted, call: Call, observer: Observer): Promise<Listening>
}

export interface Wanted {
  readonly uris: readonly string[]
  readonly list: boolean
}

export interface Observer {
  updated(uri: string): void
  listChanged(): void
  /** Something that is listened to has ended. */
  ended(): void
}

export interface Listening {
  readonly uris: readonly string[]
  setPrincipal(principal: Principal): void
  close(): void
}

export interface ListenEnv {
  readonly subscriptions: Subscriptions
  readonly authenticate: Authenticate
  readonly requireAccess: (principal: Principal) => void
  readonly bus: { subscribe(listener: (event: GateEvent) => void): () => void }
  readonly clock: Clock
  readonly serverInfo: ServerInfo
  readonly metrics: Metrics
}

const PER_GRANT = 5
const PER_NODE = 1_000
const MOST_URIS = 20
/** From one notification about a URI, or the list, to the next. */
const PAUSE_MS = 1_000
/** The list of resources, beside URIs, none of which is empty. */
const LIST = ''
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'
const [EXPIRED, STOPPING, GONE] = ['mcp.expired', 'mcp.stopping', 'mcp.gone']
/** After these the client can listen again; the acknowledgment says what is left. */
const ENDS: ReadonlySet<string> = new Set([EXPIRED, STOPPING, GONE])

interface Event {
  readonly text: string
}

export class Listeners {
  readonly #env: ListenEnv
  readonly #open: OpenResponses<Event>
  readonly #byGrant = new Map<string, number>()
  #count = 0

  constructor(env: ListenEnv) {
    this.#env = env
    this.#open = new OpenResponses({
      authenticate: env.authenticate,
      bus: env.bus,
      requireAccess: env.requireAccess,
      invalidToken: () => new Refusal('access.invalid_token', 401, 'The access token is no longer valid'),
    })
    env.metrics.watch('gatehouse_mcp_listeners', () => [[{}, this.#count]])
  }

  /** Ends all streams: clients listen again on other nodes. */
  stop(): void {
    this.#open.stop()
  }

  async listen(context: Context, message: Message, id: MessageId, call: Call): Promise<void> {
    if (this.#open.isStopping) throw new ProtocolError('busy', 'The server is stopping: listen again')
    requireEvents(context)
    const { filter, wanted } = readFilter(message)
    context.onClose(this.#take(call.principal))
    const { clock, serverInfo, subscriptions } = this.#env
    const end = { resultType: 'complete', _meta: { [SUBSCRIPTION]: id, [META.serverInfo]: serverInfo } }
    const rules = createRules(eventText({ jsonrpc: '2.0', id, result: end }))
    const response = new EventResponse<Event>(context, rules, { clock, onClosed: () => this.#open.remove(response) })
    const notify = (method: string, params: JsonObject = {}): void =>
      response.sendOrClose({
        text: eventText({ jsonrpc: '2.0', method, params: { ...params, _meta: { [SUBSCRIPTION]: id } } }),
      })
    const paced = new Paced((what) =>
      what === LIST
        ? notify('notifications/resources/list_changed')
        : notify('notifications/resources/updated', { uri: what }),
    )
    const listening = await subscriptions.open(wanted, call, {
      updated: (uri) => paced.notify(uri),
      listChanged: () => paced.notify(LIST),
      ended: () => response.end(new Refusal(GONE, 410, 'What was listened to has ended: listen again')),
    })
    const subscription: RunningSubscription = {
      drained() {},
      pause() {},
      resume: (principal) => listening.setPrincipal(principal),
      setPrincipal: (principal) => listening.setPrincipal(principal),
      close() {
        paced.stop()
        listening.close()
      },
    }
    try {
      response.begin(subscription)
    } catch (error) {
      subscription.close()
      throw error
    }
    const honoured = {
      ...(filter.resourcesListChanged === true && { resourcesListChanged: true }),
      ...(listening.uris.length > 0 && { resourceSubscriptions: listening.uris }),
    }
    notify('notifications/subscriptions/acknowledged', { notifications: honoured })
    paced.begin()
    this.#open.add(response)
  }

  /** Returns the function that gives the place back. */
  #take({ grantId, subject, clientId }: Principal): () => void {
    const grant = grantId ?? `${subject} ${clientId}`
    const count = this.#byGrant.get(grant) ?? 0
    if (count >= PER_GRANT) throw new ProtocolError('busy', `This grant listens ${count} times, which is the limit`)
    if (this.#count >= PER_NODE) throw new ProtocolError('busy', 'Too many clients listen to this node')
    this.#byGrant.set(grant, count + 1)
    this.#count++
    return () => {
      const rest = (this.#byGrant.get(grant) ?? 1) - 1
      if (rest === 0) this.#byGrant.delete(grant)
      else this.#byGrant.set(grant, rest)
      this.#count--
    }
  }
}

function requireEvents({ headers: { accept } }: Context): void {
  if (accept === undefined || /text\/event-stream|text\/\*|\*\/\*/i.test(accept)) return
  throw new ProtocolError('notAcceptable', `The answer is ${EVENT_STREAM}, which Accept excludes`)
}

function readFilter({ params: { notifications } }: Message): { filter: JsonObject; wanted: Wanted } {
  if (!isObject(notifications)) throw new ProtocolError('badParams', 'notifications says what to listen to')
  const { resourceSubscriptions: uris = [] } = notifications
  if (!Array.isArray(uris) || uris.length > MOST_URIS || uris.some((uri) => typeof uri !== 'string'))
    throw new ProtocolError('badParams', `resourceSubscriptions is a list of at most ${MOST_URIS} URIs`)
  const wanted = { uris: [...new Set<string>(uris)], list: notifications.resourcesListChanged === true }
  return { filter: notifications, wanted }
}

/** Expiry, a stopping server, and the end of what is listened to end it with the result; a revocation cuts it. */
function createRules(result: string): EventRules<Event> {
  return {
    route: '/mcp as events',
    encode: ({ text }) => text,
    problem: () => ({}),
    expired: () => new Refusal(EXPIRED, 401, 'The access token has expired'),
    stopping: () => new Refusal(STOPPING, 503, 'The server is stopping'),
    tooSlow: () => new Refusal('mcp.too_slow', 503, 'The client reads too slowly'),
    lastEvent: ({ code }) => (ENDS.has(code) ? `${result}\n\n` : ''),
  }
}

function eventText(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}`
}

/** At most one a second for each URI, and for the list; the last one is never lost. None comes before the acknowledgment. */
class Paced {
  readonly #send: (what: string) => void
  /** What has changed while other URIs were being opened. */
  readonly #early = new Set<string>()
  #hasBegun = false
  readonly #timers = new Map<string, { timer: NodeJS.Timeout; isWaiting: boolean }>()

  constructor(send: (what: string) => void) {
    this.#send = send
  }

  begin(): void {
    this.#hasBegun = true
    for (const what of this.#early) this.notify(what)
    this.#early.clear()
  }

  notify(what: string): void {
    if (!this.#hasBegun) {
      this.#early.add(what)
      return
    }
    const paused = this.#timers.get(what)
    if (paused !== undefined) {
      paused.isWaiting = true
      return
    }
    this.#send(what)
    const timer = setTimeout(() => {
      const isWaiting = this.#timers.get(what)?.isWaiting === true
      this.#timers.delete(what)
      if (isWaiting) this.notify(what)
    }, PAUSE_MS)
    this.#timers.set(what, { timer, isWaiting: false })
  }

  stop(): void {
    this.#early.clear()
    for (const { timer } of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }
}
