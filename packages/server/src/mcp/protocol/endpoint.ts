/** POST /mcp: one message of the Model Context Protocol and its reply. There are no sessions; any node answers anything. */
import { type Principal, Refusal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { FAULT, logFailure } from '../../http/problem.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { ProtocolError } from './errors.ts'
import { EventReply } from './event-reply.ts'
import type { Call, Features, JsonObject } from './features.ts'
import { type Era, META, type Message, type MessageId, readMessage } from './message.ts'
import { createMethods, type Method, type ServerInfo } from './methods.ts'

export interface EndpointEnv {
  readonly features: Features
  readonly serverInfo: ServerInfo
  readonly metrics: Metrics
}

export const BODY = { limit: 1024 * 1024, types: ['application/json'] } as const

/** A call that takes longer tells a client that asked for it, by events. */
const PROGRESS_AFTER_MS = 1_000

export class Endpoint {
  readonly #env: EndpointEnv
  readonly #methods: ReadonlyMap<string, Method>

  constructor(env: EndpointEnv) {
    this.#env = env
    this.#methods = createMethods(env.serverInfo)
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
      await this.#answer(context, message, message.id)
    } catch (error) {
      const known = error instanceof ProtocolError ? error : asProtocolError(context, error)
      this.#count(message, known.kind)
      const { code, message: text, data, status } = known
      const body = { code, message: text, ...(data === undefined ? {} : { data }) }
      context.json({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: body }, status)
    }
  }

  async #answer(context: Context, message: Message, id: MessageId): Promise<void> {
    const method = this.#methods.get(message.method)
    if (method === undefined || (method.era !== undefined && method.era !== message.era))
      throw new ProtocolError('unknownMethod', `There is no method ${JSON.stringify(message.method.slice(0, 100))}`)
    const left = new AbortController()
    const stay = context.onClose(() => left.abort())
    const call = describeCall(context, left.signal)
    const events = progressEvents(context, message)
    try {
      const result = await method.answer({ message, features: this.#env.features, call })
      const whole = message.era === 'modern' ? this.#complete(result, method) : result
      this.#count(message, result.isError === true ? 'tool-error' : 'ok')
      const reply = { jsonrpc: '2.0', id, result: whole }
      if (events?.isOpen === true) events.end(reply)
      else context.json(reply)
    } catch (error) {
      if (events?.isOpen !== true) throw error
      const { code, message: text, kind } = error instanceof ProtocolError ? error : asProtocolError(context, error)
      this.#count(message, kind)
      events.end({ jsonrpc: '2.0', id, error: { code, message: text } })
    } finally {
      stay()
      events?.stop()
    }
  }

  #complete(result: JsonObject, { caching }: Method): JsonObject {
    const meta = { [META.serverInfo]: this.#env.serverInfo }
    return { resultType: 'complete', ...result, ...caching, _meta: meta }
  }

  /** Methods that do not exist are one series. */
  #count(message: Message | undefined, outcome: string): void {
    const known = message !== undefined && this.#methods.has(message.method)
    const method = known ? message.method : 'other'
    const era: Era | 'none' = message?.era ?? 'none'
    this.#env.metrics.count('gatehouse_mcp_requests_total', { method, era, outcome })
  }
}

function describeCall(context: Context, signal: AbortSignal): Call {
  const { principal, address, id: requestId, log } = context
  return { principal, address, requestId, log, signal }
}

/** Undefined unless the client asked for progress. */
function progressEvents(context: Context, { meta, method }: Message): EventReply | undefined {
  const { progressToken } = meta
  if (method !== 'tools/call') return undefined
  if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return undefined
  return new EventReply(context, progressToken, PROGRESS_AFTER_MS)
}

/** Refusals outside of a tool: the reason is for the caller. Anything else is a fault, which the log has. */
function asProtocolError(context: Context, error: unknown): ProtocolError {
  const refusal = logFailure(context, error)
  return new ProtocolError('internal', (refusal ?? FAULT).message)
}

/** An access rule: at least one right that agents can have. */
export function requireAgentScope(scopes: () => readonly string[]): (principal: Principal, context: Context) => void {
  return (principal, context) => {
    checkOrigin(context)
    if (scopes().some((scope) => principal.scopes.has(scope))) return
    const document = context.resourceMetadata?.(context.path).document
    const scope = scopes().join(' ')
    throw new Refusal('access.insufficient_scope', 403, 'No right is left to the access token: connect anew', {
      headers: {
        'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}", resource_metadata="${document}"`,
      },
    })
  }
}

/** A page of an origin that may not call has no header that would let it read; here it may not even ask (DNS rebinding). */
function checkOrigin(context: Context): void {
  if (context.headers.origin === undefined || context.hasHeader('access-control-allow-origin')) return
  throw new Refusal('mcp.origin', 403, 'Pages of this origin may not call')
}
