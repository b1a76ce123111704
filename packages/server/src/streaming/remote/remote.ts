/** Remote controllers: each request of a stream is posted to the URL of the controller, and the reply of the program there is its reply. */
import { randomUUID } from 'node:crypto'
import { type JsonText, type Principal, Refusal } from 'gatehouse-protocol'
import { FairQueue, type FairQueueLimits } from '../../lib/fair-queue.ts'
import type { RemoteController, RemoteTopic } from '../../store/controllers/controllers.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { CallTrace } from '../../telemetry/trace.ts'
import { type Call, type Controller, refuse } from '../topics/controller.ts'
import { dataText } from '../topics/data-text.ts'
import { readAnswer } from './answer.ts'
import { Endpoint } from './endpoint.ts'

export interface RemoteOptions {
  /** A token for one call, whose audience is the URL. */
  readonly callToken: (url: string, caller: Principal, requestId: string) => Promise<string>
  readonly logger: Logger
  readonly metrics: Metrics
  readonly trace: CallTrace | undefined
  /** The longest reply, in bytes; read at each call. */
  readonly maxReplyBytes: () => number
  /** The processes of this node, which share the concurrency of a controller. */
  readonly processes: number
}

/** Requests that wait for each one that may run. They wait for no longer than the timeout of the controller. */
const WAITING_PER_SLOT = 16

export class Remotes {
  readonly #options: RemoteOptions
  readonly #byName = new Map<string, Remote>()

  constructor(options: RemoteOptions) {
    this.#options = options
    options.metrics.watch('gatehouse_remote_calls', () =>
      [...this.#byName].flatMap(([controller, { queue }]) => [
        [{ controller, state: 'running' }, queue.held] as const,
        [{ controller, state: 'waiting' }, queue.waiting] as const,
      ]),
    )
  }

  /** The controllers as they are declared now. Requests that run already end with the definition with which they began. */
  set(definitions: readonly RemoteController[]): Controller[] {
    const names = new Set(definitions.map(({ name }) => name))
    for (const name of this.#byName.keys()) if (!names.has(name)) this.#byName.delete(name)
    return definitions.map((definition) => {
      const remote = this.#byName.get(definition.name) ?? new Remote(definition, this.#options)
      this.#byName.set(definition.name, remote)
      return remote.controllerFor(definition)
    })
  }

  close(): void {
    for (const { endpoint } of this.#byName.values()) endpoint.close()
  }
}

type Outcome = 'ok' | 'refused' | 'fault' | 'timeout' | 'cancelled' | 'limited'

/** What stays of a controller while its definition changes. */
class Remote {
  readonly queue: FairQueue
  endpoint: Endpoint
  #url: string
  readonly #options: RemoteOptions

  constructor({ url, concurrency }: RemoteController, options: RemoteOptions) {
    this.queue = new FairQueue(queueLimits(concurrency, options.processes))
    this.endpoint = new Endpoint(url)
    this.#url = url
    this.#options = options
  }

  controllerFor(definition: RemoteController): Controller {
    const { name, feedClass, url, topics, concurrency } = definition
    this.queue.setLimits(queueLimits(concurrency, this.#options.processes))
    // Idle connections to the former URL end by themselves.
    if (url !== this.#url) this.endpoint = new Endpoint(url)
    this.#url = url
    const { endpoint } = this
    const entries = topics.map((topic) => {
      const publish = (call: Call): Promise<JsonText> => this.#answer(call, definition, topic, endpoint)
      const { name, needs, stepUp } = topic
      return [name, { summary: 'Answered by a program of the operator.', needs, stepUp, publish }] as const
    })
    return {
      name,
      summary: 'A remote controller: its requests are answered by a program of the operator.',
      feedClass,
      topics: Object.fromEntries(entries),
    }
  }

  async #answer(call: Call, definition: RemoteController, topic: RemoteTopic, endpoint: Endpoint): Promise<JsonText> {
    const { metrics, trace } = this.#options
    const { name: controller } = definition
    const body = writeBody(call)
    const span = trace?.openCall(call.caller.traceParent)
    const time = new CallTime(call.signal, definition.timeoutMs)
    const requestId = randomUUID()
    const started = performance.now()
    let outcome: Outcome = 'ok'
    try {
      const traceParent = span?.header ?? call.caller.traceParent
      return await this.#post({ call, definition, topic, endpoint, requestId, body, traceParent, signal: time.signal })
    } catch (error) {
      const failure = time.isOver ? TIMED_OUT : call.isAborted ? CANCELLED : classifyFailure(error)
      outcome = failure.outcome
      if (outcome === 'fault' || outcome === 'timeout') this.#log(call, requestId, error, outcome)
      throw failure.refusal
    } finally {
      time.clear()
      const milliseconds = performance.now() - started
      metrics.count('gatehouse_remote_calls_total', { controller, outcome })
      metrics.observe('gatehouse_remote_call_seconds', { controller }, milliseconds / 1000)
      const attributes = {
        'http.request.method': 'POST',
        'gatehouse.request_id': requestId,
        'gatehouse.outcome': outcome,
      }
      span?.end(`${controller}/${topic.name}`, attributes, outcome === 'fault' || outcome === 'timeout')
    }
  }

  async #post(request: RemoteCall): Promise<JsonText> {
    const { call, definition, topic, endpoint, requestId, body, traceParent, signal } = request
    const { callToken, maxReplyBytes } = this.#options
    const release = await this.queue.acquire(requireCaller(call, topic).subject, signal)
    if (release === 'full') throw refuse('Limited', 'requests to this controller')
    if (release === 'aborted') throw new Error('no other request ended in time')
    try {
      // With the rights that the caller has by now.
      const token = await callToken(definition.url, requireCaller(call, topic), requestId)
      const headers = {
        accept: 'application/json, application/problem+json',
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'x-request-id': requestId,
        ...(traceParent === undefined ? {} : { traceparent: traceParent }),
      }
      return readAnswer(await endpoint.post({ headers, body, signal, maxBytes: maxReplyBytes() }))
    } finally {
      release()
    }
  }

  #log({ controller, topic, caller }: Call, requestId: string, error: unknown, outcome: Outcome): void {
    const reason = outcome === 'timeout' ? 'no reply in time' : describeError(error)
    this.#options.logger.warn(
      { controller, topic, requestId, connectionId: caller.connectionId, reason },
      'a request to a remote controller failed',
    )
  }
}

interface RemoteCall {
  readonly call: Call
  readonly definition: RemoteController
  readonly topic: RemoteTopic
  readonly endpoint: Endpoint
  readonly requestId: string
  readonly body: string
  readonly traceParent: string | undefined
  readonly signal: AbortSignal
}

/** With one slot, a user could keep it from all others. */
const LEAST_SLOTS = 2

function queueLimits(concurrency: number, processes: number): FairQueueLimits {
  const slots = Math.max(Math.ceil(concurrency / processes), Math.min(LEAST_SLOTS, concurrency))
  return { slots, waiting: slots * WAITING_PER_SLOT }
}

/** `Data` is inserted as the client has written it, so that numbers keep their digits. */
function writeBody(call: Call): string {
  const { controller, topic, transactionId: id } = call
  const data = dataText(call)
  const parts = [
    `"Controller":${JSON.stringify(controller)}`,
    `"Topic":${JSON.stringify(topic)}`,
    ...(id === undefined ? [] : [`"TransactionID":${Object.is(id, -0) ? '-0' : id}`]),
    ...(data === undefined ? [] : [`"Data":${data}`]),
  ]
  return `{${parts.join(',')}}`
}

/** The caller may have lost the right while the request waited. */
function requireCaller({ principal }: Call, { needs }: RemoteTopic): Principal {
  if (principal === undefined || (needs !== 'identity' && !principal.scopes.has(needs))) throw refuse('Authority')
  return principal
}

/** Ends a call when its time is over, or when it is cancelled. */
class CallTime {
  readonly #abort = new AbortController()
  readonly #timer: NodeJS.Timeout
  readonly #cancelled: AbortSignal
  readonly #onCancel = (): void => this.#abort.abort()
  isOver = false

  constructor(cancelled: AbortSignal, milliseconds: number) {
    this.#cancelled = cancelled
    cancelled.addEventListener('abort', this.#onCancel, { once: true })
    if (cancelled.aborted) this.#abort.abort()
    this.#timer = setTimeout(() => {
      this.isOver = true
      this.#abort.abort()
    }, milliseconds)
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#cancelled.removeEventListener('abort', this.#onCancel)
  }
}

interface Failure {
  readonly outcome: Outcome
  readonly refusal: Refusal
}

const TIMED_OUT: Failure = { outcome: 'timeout', refusal: refuse('Operation.Timeout') }
/** The client has been answered already, or has left. */
const CANCELLED: Failure = { outcome: 'cancelled', refusal: refuse('Operation.Abort') }

/** What is no Refusal is a fault of the program, or of the way to it. */
function classifyFailure(error: unknown): Failure {
  if (!(error instanceof Refusal)) return { outcome: 'fault', refusal: refuse('Fault', '', error) }
  return { outcome: error.code === 'Limited' ? 'limited' : 'refused', refusal: error }
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''
  return `${error.message}${code}`
}
