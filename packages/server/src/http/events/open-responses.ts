/** The open responses of server-sent events of one service: their callers lose them with their token or their rights. */
import { type Authenticate, type GateEvent, type Principal, Refusal } from 'gatehouse-protocol'
import { readCredentials } from '../request/authentication.ts'
import type { EventResponse } from './event-response.ts'

export interface OpenResponsesEnv {
  readonly authenticate: Authenticate
  /** The event bus. */
  readonly bus: { subscribe(listener: (event: GateEvent) => void): () => void }
  /** Throws unless the caller may still be sent events. */
  readonly requireAccess: (principal: Principal) => void
  readonly invalidToken: () => Refusal
}

/** How often the expiry of tokens and the need for comment lines are checked. */
const SWEEP_MS = 250

export class OpenResponses<Message extends object> {
  readonly #env: OpenResponsesEnv
  readonly #open = new Map<EventResponse<Message>, string>()
  #unsubscribe: (() => void) | undefined
  #sweep: NodeJS.Timeout | undefined
  readonly #toCheck = new Set<EventResponse<Message>>()
  #willCheck = false
  #isStopping = false

  constructor(env: OpenResponsesEnv) {
    this.#env = env
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  /** Ends every response: the clients reconnect to another node. */
  stop(): void {
    this.#isStopping = true
    for (const response of [...this.#open.keys()]) response.stop()
  }

  /** Call it once the response has begun. */
  add(response: EventResponse<Message>): void {
    if (response.isClosed) return
    this.#open.set(response, readCredentials(response.context.headers.authorization ?? '')?.token ?? '')
    this.#unsubscribe ??= this.#env.bus.subscribe((event) => this.#onEvent(event))
    this.#startSweep()
    if (this.#isStopping) response.stop()
    // Rights may have changed while the subscription was prepared.
    else this.#check(response)
  }

  remove(response: EventResponse<Message>): void {
    if (!this.#open.delete(response) || this.#open.size > 0) return
    clearInterval(this.#sweep)
    this.#sweep = undefined
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
  }

  #startSweep(): void {
    if (this.#sweep !== undefined) return
    this.#sweep = setInterval(() => {
      for (const open of [...this.#open.keys()]) open.tick()
    }, SWEEP_MS)
    this.#sweep.unref()
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
  async #check(response: EventResponse<Message>): Promise<void> {
    const token = this.#open.get(response)
    if (token === undefined) return
    try {
      const principal = await this.#env.authenticate(token)
      if (principal === undefined) throw this.#env.invalidToken()
      this.#env.requireAccess(principal)
      response.setPrincipal(principal)
    } catch (error) {
      // Without the database, changes to the token cannot be known; it ends at its expiry anyway.
      if (error instanceof Refusal) response.end(error)
      else response.context.log.warn({ err: error }, 'the token of an event stream could not be checked')
    }
  }
}

/** Whether the event can change the validity or the rights of the caller's token, or of one from which it came by token exchange. */
function concerns(event: GateEvent, principal: Principal): boolean {
  const { ancestors = [] } = principal
  return concernsToken(event, principal) || ancestors.some((token) => concernsToken(event, { ...principal, ...token }))
}

function concernsToken(event: GateEvent, principal: Principal): boolean {
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
