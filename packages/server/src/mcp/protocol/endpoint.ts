/** POST /mcp: one message of the Model Context Protocol and its reply. There are no sessions; any node answers anything. */
import { type Principal, Refusal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { FAULT, logFailure } from '../../http/problem.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { ProtocolError } from './errors.ts'
import { EventReply } from './event-reply.ts'
import { type Call, type Features, toolError } from './features.ts'
import { askingResult, canAsk, InputRequired, type StateSeal, statePurpose } from './input.ts'
import { isObject, type JsonObject } from './json.ts'
import type { Listeners } from './listen.ts'
import { hasExtension, isShortText, META, type Message, type MessageId, readMessage } from './message.ts'
import { createMethods, LISTEN, type Method, type ServerInfo } from './methods.ts'

export interface EndpointEnv {
  readonly features: Features
  readonly serverInfo: ServerInfo
  readonly metrics: Metrics
  readonly states: StateSeal
  /** Whether the caller of a request may still call, with the rights that it had. */
  readonly isUnchanged: (context: Context) => Promise<boolean>
  /** Undefined where nothing can be listened to. */
  readonly listeners?: Listeners | undefined
}

export const BODY = { limit: 1024 * 1024, types: ['application/json'] } as const

/** A longer call sends its progress as events, if the client asked for it. */
const PROGRESS_AFTER_MS = 1_000
const RECHECK_MS = 250

export class Endpoint {
  readonly #env: EndpointEnv
  readonly #methods: ReadonlyMap<string, Method>

  constructor(env: EndpointEnv) {
    this.#env = env
    this.#methods = createMethods(env.serverInfo, env.listeners !== undefined)
  }

  async handle(context: Context): Promise<void> {
    let id: MessageId | undefined
    let message: Message | undefined
    try {
      message = readMessage(context.body, context.headers, (known) => {
        id = known
      })
      if (message.id === undefined) {
        this.#count(message, 'notification')
        context.end(202)
        return
      }
      await this.#serve(context, message, message.id)
    } catch (error) {
      const known = asProtocolError(context, error)
      this.#count(message, known.kind)
      context.json(errorReply(id, known), known.status)
    }
  }

  async #serve(context: Context, message: Message, id: MessageId): Promise<void> {
    const { listeners } = this.#env
    if (listeners !== undefined && message.method === LISTEN && message.era === 'modern') {
      const left = new AbortController()
      context.onClose(() => left.abort())
      await listeners.listen(context, message, id, this.#describeCall(context, message, left.signal, undefined))
      this.#count(message, 'ok')
      return
    }
    const method = this.#methods.get(message.method)
    if (method === undefined || (method.era !== undefined && method.era !== message.era))
      throw new ProtocolError('unknownMethod', `There is no method ${JSON.stringify(message.method.slice(0, 100))}`)
    const left = new AbortController()
    const stay = context.onClose(() => left.abort())
    const events = openEvents(context, message)
    try {
      const started = performance.now()
      const result = await this.#answer(method, message, this.#describeCall(context, message, left.signal, events))
      // What took long must not reach a caller who has lost the right meanwhile.
      if (performance.now() - started > RECHECK_MS && !(await this.#env.isUnchanged(context)))
        throw new ProtocolError('revoked', 'The access token is no longer valid, or has other rights')
      this.#count(message, result.isError === true ? 'tool-error' : 'ok')
      const reply = { jsonrpc: '2.0', id, result }
      if (events?.isOpen === true) events.end(reply)
      else context.json(reply)
    } catch (error) {
      if (events?.isOpen !== true) throw error
      const known = asProtocolError(context, error)
      this.#count(message, known.kind)
      events.end(errorReply(id, known))
    } finally {
      stay()
      events?.stop()
    }
  }

  async #answer(method: Method, message: Message, call: Call): Promise<JsonObject> {
    const isModern = message.era === 'modern'
    const meta = { [META.serverInfo]: this.#env.serverInfo }
    try {
      const result = await method.answer({ message, features: this.#env.features, call })
      if (!isModern) return result
      const own = isObject(result._meta) ? result._meta : {}
      return { resultType: 'complete', ...result, ...method.caching, _meta: { ...own, ...meta } }
    } catch (error) {
      if (!(error instanceof InputRequired) || method.mayAsk === undefined) throw error
      if (!isModern)
        return {
          ...toolError('This needs an answer of the person, for which clients of this version cannot be asked.'),
        }
      const sealState = () => this.#env.states.write(error.state, statePurpose(message, call.principal))
      return { ...askingResult(error, message, sealState), _meta: meta }
    }
  }

  #describeCall(context: Context, message: Message, signal: AbortSignal, events: EventReply | undefined): Call {
    const { principal, address, id: requestId, log, headers } = context
    const { requestState, inputResponses } = message.params
    const { traceparent } = message.meta
    const isFirst = requestState === undefined
    const state = isFirst ? undefined : this.#env.states.read(requestState, statePurpose(message, principal))
    return {
      principal,
      address,
      requestId,
      languages: headers['accept-language'],
      log,
      traceparent: typeof traceparent === 'string' ? traceparent : undefined,
      signal,
      state,
      // Answers count only with the state of the round that asked.
      answers: !isFirst && isObject(inputResponses) ? inputResponses : {},
      isUnchanged: () => this.#env.isUnchanged(context),
      canAsk: (method) => canAsk(message, method),
      hasExtension: (name) => hasExtension(message, name),
      ask(requests, kept) {
        throw new InputRequired(requests, kept)
      },
      progress: (done, total, text) => events?.report(done, total, text),
    }
  }

  /** Methods that do not exist are one series. */
  #count(message: Message | undefined, outcome: string): void {
    const known = message !== undefined && (this.#methods.has(message.method) || message.method === LISTEN)
    const method = known ? message.method : 'other'
    this.#env.metrics.count('gatehouse_mcp_requests_total', { method, era: message?.era ?? 'none', outcome })
  }
}

/** Without an id where it could not be read. */
function errorReply(id: MessageId | undefined, { code, message, data }: ProtocolError): object {
  const error = { code, message, ...(data === undefined ? {} : { data }) }
  return { jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error }
}

/** Undefined unless the client asked for progress. */
function openEvents(context: Context, { meta, method }: Message): EventReply | undefined {
  const { progressToken } = meta
  if (method !== 'tools/call') return undefined
  if (!isShortText(progressToken) && typeof progressToken !== 'number') return undefined
  return new EventReply(context, progressToken, PROGRESS_AFTER_MS)
}

/** Refusals outside of a tool: the reason is for the caller. Anything else is a fault, which the log has. */
function asProtocolError(context: Context, error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error
  const refusal = logFailure(context, error)
  if (refusal === undefined) return new ProtocolError('internal', FAULT.message)
  return new ProtocolError('refused', `${refusal.code}: ${refusal.message}`, undefined, refusal.status)
}

/** An access rule: at least one right that agents can have. */
export function requireAgentScope(scopes: () => readonly string[]): (principal: Principal, context: Context) => void {
  return (principal, context) => {
    checkOrigin(context)
    requireRight(principal, scopes(), context.resourceMetadata?.(context.path).document)
  }
}

export function requireRight({ scopes }: Principal, needed: readonly string[], document?: string): void {
  if (needed.some((scope) => scopes.has(scope))) return
  const metadata = document === undefined ? '' : `, resource_metadata="${document}"`
  throw new Refusal('access.insufficient_scope', 403, 'No right is left to the access token: connect anew', {
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${needed.join(' ')}"${metadata}` },
  })
}

/** A page of an origin that may not call has no header that would let it read; here it may not even ask (DNS rebinding). */
function checkOrigin(context: Context): void {
  if (context.headers.origin === undefined || context.hasHeader('access-control-allow-origin')) return
  throw new Refusal('mcp.origin', 403, 'Pages of this origin may not call')
}
