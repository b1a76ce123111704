/** One connection over time: token, socket, authentication, renewal, heartbeat, and the way back after each loss. */
import { AuthError, asObject, ConnectionError, GatehouseError, readError, type StepUpNeeded } from '../errors.ts'
import type { Http, WebSocketClass, WebSocketLike } from '../http.ts'
import { backoff, either, pause, unref } from '../wait.ts'
import { afterClose, type Message, NO_WEBSOCKET, readTimeSpan, type State, type StateChange } from './protocol.ts'
import { listenForWakes } from './wake.ts'

/** The events of a connection for its users. */
export interface ConnectionEvents {
  onState(change: StateChange): void
  /** Authenticated; `isNew` after a reconnect, when nothing is subscribed to on the server. */
  onOnline(isNew: boolean): void
  onMessage(message: Message): void
  /** The socket was lost; another one will be opened. */
  onLost(error: GatehouseError): void
  onEnded(error: GatehouseError): void
}

/** How a session of the socket ended. */
interface Lost {
  readonly code: number | string
  readonly reason: string
  /** The token should not be used again. */
  readonly refused?: boolean
  readonly retryAfter?: number | undefined
}

/** Opening and authenticating together. */
const OPEN_MS = 15_000
/** How long an answer to a heartbeat may take, and to the test after a wake. */
const ANSWER_MS = 5_000
/** A connection that held this long has not failed in a row. */
const STABLE_MS = 5_000
const LONGEST_TIMER_MS = 2 ** 31 - 1
/** Transaction ids of the requests that the connection itself sends. */
const [AUTHENTICATE, HEARTBEAT, IDENTIFY] = [-1, -2, -3]

export class Connection {
  readonly #http: Http
  readonly #events: ConnectionEvents
  #state: State = 'ended'
  #socket: WebSocketLike | undefined
  /** The current run; another may start while the previous one is still ending. */
  #run: AbortController | undefined
  #token = ''
  /** Ends the current session, regardless of the state of the socket. */
  #drop: ((lost: Lost) => void) | undefined
  /** Ends the wait between two attempts. */
  #hurry: (() => void) | undefined
  /** Takes the reply to AuthToken. */
  #authenticated: ((reply: Message) => void) | undefined
  #renewing = false
  #renewal: ReturnType<typeof setTimeout> | undefined
  #heartbeat: ReturnType<typeof setTimeout> | undefined
  #heardAt = 0

  constructor(http: Http, events: ConnectionEvents) {
    this.#http = http
    this.#events = events
    http.closed.addEventListener('abort', () => this.end(http.closed.reason), { once: true })
  }

  get state(): State {
    return this.#state
  }

  /** Starts, unless it is running. */
  open(): void {
    if (this.#run !== undefined || this.#http.closed.aborted) return
    this.#run = new AbortController()
    const { signal } = this.#run
    const offline = (): void => this.#drop?.({ code: 'client.offline', reason: 'the network is gone' })
    listenForWakes({ wake: () => this.#wake(), offline }, signal)
    void this.#keepOpen(signal)
  }

  send(message: Message): void {
    this.#socket?.send(JSON.stringify(message))
  }

  /** Lets the user sign in again, and presents the new token. */
  async signInAgain(need: StepUpNeeded): Promise<void> {
    await this.#http.auth.token(this.#token, need)
    if (this.#socket !== undefined) this.#setState('lapsed', need.code, need.message)
    await this.#renew(false)
  }

  /** Permanently: the library does not reconnect automatically. */
  end(error: GatehouseError, code: number | string = error.code): void {
    if (this.#run === undefined) return
    this.#run.abort()
    this.#run = undefined
    this.#drop?.({ code, reason: error.message })
    this.#drop = undefined
    this.#hurry?.()
    this.#setState('ended', code, error.message)
    this.#events.onEnded(error)
  }

  async #keepOpen(run: AbortSignal): Promise<void> {
    let failures = 0
    /** Upgrades in a row that failed although the server would have accepted them. */
    let blocked = 0
    let refused: string | undefined
    let reason = 'opening'
    while (!run.aborted) {
      this.#setState('connecting', undefined, reason)
      let lost: Lost
      let onlineMs = 0
      try {
        const token = await this.#http.auth.token(refused)
        if (run.aborted) return
        this.#token = token
        ;({ lost, onlineMs } = await this.#session())
        if (onlineMs > 0) blocked = 0
        else if (lost.code === 1006) {
          const { status, retryAfter } = await this.#askWhy()
          blocked = status === 426 ? blocked + 1 : 0
          lost = blocked > 1 ? { code: NO_WEBSOCKET, reason: 'no WebSocket can be opened' } : { ...lost, retryAfter }
        }
      } catch (error) {
        const known = asError(error)
        if (run.aborted) return
        if (!known.retryable) {
          this.end(known)
          return
        }
        lost = { code: known.code, reason: known.message, retryAfter: known.retryAfter }
      }
      if (run.aborted) return
      const after = afterClose(lost.code)
      const error = new ConnectionError(`The connection was lost: ${lost.reason}`, { details: { code: lost.code } })
      if (after === 'end') {
        this.#http.auth.refuse?.(this.#token)
        this.end(endError(lost.code, error.message), lost.code)
        return
      }
      if (lost.refused && refused !== undefined) {
        this.end(new AuthError(error.message, { code: 'invalid_token', status: 401 }))
        return
      }
      if (onlineMs > 0) refused = undefined
      if (onlineMs >= STABLE_MS) failures = 0
      if (lost.refused || after === 'renew') refused = this.#token
      this.#events.onLost(error)
      const wait = lost.refused ? 0 : (lost.retryAfter ?? 0) * 1000 + backoff(failures)
      failures++
      reason = lost.reason
      this.#setState('offline', lost.code, reason, wait)
      const hurry = new AbortController()
      this.#hurry = () => hurry.abort()
      await pause(wait, hurry.signal).catch(() => {})
    }
  }

  /** From opening a socket until it is closed. */
  async #session(): Promise<{ lost: Lost; onlineMs: number }> {
    const { url, options } = this.#http
    const Socket: WebSocketClass | undefined =
      options.WebSocket ?? (globalThis as unknown as { WebSocket?: WebSocketClass }).WebSocket
    if (Socket === undefined)
      throw new ConnectionError('No WebSocket here: use Node 22, or give the option WebSocket', {
        code: NO_WEBSOCKET,
        retryable: false,
      })
    let onlineAt = 0
    const socket = new Socket(`${url.replace(/^http/, 'ws')}/Platform?version=2.0`, 'PlatformJson')
    let opening: ReturnType<typeof setTimeout> | undefined
    const lost = await new Promise<Lost>((resolve) => {
      this.#drop = resolve
      opening = setTimeout(() => resolve({ code: 'client.timeout', reason: 'no answer' }), OPEN_MS)
      socket.onopen = () => {
        this.#socket = socket
        this.#authenticate((reply) => {
          clearTimeout(opening)
          onlineAt = performance.now()
          this.#onAuthenticated(reply, true)
        })
      }
      socket.onmessage = ({ data }: { data: unknown }) => this.#receive(String(data))
      socket.onclose = ({ code, reason }: { code: number; reason: unknown }) => {
        resolve({ code, reason: String(reason) || (onlineAt > 0 ? 'closed' : 'not accepted') })
      }
      socket.onerror = () => {}
    })
    clearTimeout(opening)
    this.#forget(socket)
    return { lost, onlineMs: onlineAt && performance.now() - onlineAt }
  }

  /** A browser hides the reply to a refused upgrade; a plain request to the same address gets the reason, or 426. */
  async #askWhy(): Promise<Partial<GatehouseError>> {
    const { fetch, url, closed } = this.#http
    const signal = either(closed, AbortSignal.timeout(ANSWER_MS))
    const response = await fetch(`${url}/Platform`, { signal }).catch(() => undefined)
    return response === undefined ? {} : readError(response)
  }

  /** A dead socket may take minutes to close, so this does not wait for it. */
  #forget(socket: WebSocketLike): void {
    if (this.#socket === socket) this.#socket = undefined
    clearTimeout(this.#renewal)
    clearTimeout(this.#heartbeat)
    socket.onmessage = null
    socket.onclose = null
    socket.onopen = () => socket.close(1000)
    if (socket.readyState <= 1) socket.close(1000)
  }

  #receive(text: string): void {
    this.#heardAt = performance.now()
    const message = this.#http.values.parse(text) as Message
    const { TransactionID: id, Controller, Topic, Action, Data } = message
    if (id === HEARTBEAT || id === IDENTIFY) return
    if (id === AUTHENTICATE) this.#authenticated?.(message)
    else {
      if (Controller === 'Auth' && Topic === 'Identify' && Action === undefined) this.#onIdentify(asObject(Data))
      this.#events.onMessage(message)
    }
  }

  /** A token that is bound to a key comes with a proof, which has the nonce of the connection. */
  #authenticate(then: (reply: Message) => void): void {
    const { auth, url } = this.#http
    const socket = this.#socket
    const ask = (Topic: string, answered: (reply: Message) => void, Data?: object): void => {
      if (this.#socket !== socket) return
      this.#authenticated = answered
      this.send({ Controller: 'Auth', Topic, TransactionID: AUTHENTICATE, Data })
    }
    const present = (proof?: object): void =>
      ask('AuthToken', then, { Provider: 'Bearer', AccessToken: this.#token, ...proof })
    const { prove } = auth
    if (prove)
      ask('QueryNonce', ({ Data }) => {
        prove(`${url}/Platform`, this.#token, Data).then(present, (error) => this.end(asError(error)))
      })
    else present()
  }

  #onAuthenticated({ Action, Data }: Message, isNew: boolean): void {
    const { Result, ExpiresIn } = asObject(Data)
    if (Action === 'Error') {
      // Too many connections, or the database is away.
      if (isNew) this.#drop?.({ code: String(Data), reason: String(Data), retryAfter: 1 })
      else this.#renewIn(backoff(3, 1000))
      return
    }
    if (Result !== 'Success') {
      if (isNew) this.#drop?.({ code: 'invalid_token', reason: 'the access token was rejected', refused: true })
      else this.#renewIn(backoff(2, 1000), true)
      return
    }
    this.#scheduleRenewal(ExpiresIn)
    if (isNew) {
      this.send({ Controller: 'Auth', Topic: 'Identify', Action: 'Sub', TransactionID: IDENTIFY })
      this.#watch()
    }
    this.#setState('online', undefined, isNew ? 'connected' : 'renewed')
    this.#events.onOnline(isNew)
  }

  /** The authority was renewed, is about to expire, has expired, was revoked or has changed. */
  #onIdentify({ Result, ExpiresIn }: Readonly<Record<string, unknown>>): void {
    if (Result === 'Success') {
      this.#scheduleRenewal(ExpiresIn)
      return
    }
    this.#setState('lapsed', 'invalid_token', 'the token has expired or was revoked')
    this.#renewIn(0, true)
  }

  /** By the clock of the server: `ExpiresIn` is what is left of the token. */
  #scheduleRenewal(expiresIn: unknown): void {
    const left = readTimeSpan(expiresIn)
    if (left !== undefined) this.#renewIn(Math.max(left - 55_000, left * 0.82, 500))
  }

  #renewIn(milliseconds: number, isRefused = false): void {
    clearTimeout(this.#renewal)
    this.#renewal = setTimeout(() => void this.#renew(isRefused), Math.min(milliseconds, LONGEST_TIMER_MS))
    unref(this.#renewal)
  }

  async #renew(isRefused: boolean): Promise<void> {
    const socket = this.#socket
    if (this.#renewing || socket === undefined) return
    this.#renewing = true
    try {
      const before = this.#token
      let token = await this.#http.auth.token(isRefused ? before : undefined)
      if (token === before) token = await this.#http.auth.token(before)
      if (this.#socket !== socket) return
      this.#token = token
      this.#authenticate((reply) => this.#onAuthenticated(reply, false))
    } catch (error) {
      const known = asError(error)
      if (this.#socket !== socket) return
      // The old token still works for a while; without one the server closes after a minute.
      if (known.retryable) this.#renewIn((known.retryAfter ?? 0) * 1000 + backoff(3, 1000), isRefused)
      else this.end(known)
    } finally {
      this.#renewing = false
    }
  }

  /** Tests a silent socket: pages do not see the pings of the server, and a lost network says nothing. */
  #watch(): void {
    const { heartbeat = 10_000 } = this.#http.options
    clearTimeout(this.#heartbeat)
    const wait = this.#heardAt + heartbeat - performance.now()
    this.#heartbeat = setTimeout(() => (wait > 0 ? this.#watch() : this.#test(ANSWER_MS)), Math.max(0, wait))
    unref(this.#heartbeat)
  }

  #test(withinMs: number): void {
    const asked = performance.now()
    clearTimeout(this.#heartbeat)
    this.send({ Topic: 'QueryServerInfo', TransactionID: HEARTBEAT })
    this.#heartbeat = setTimeout(() => {
      if (this.#heardAt > asked) this.#watch()
      else this.#drop?.({ code: 'client.dead', reason: 'the server does not answer' })
    }, withinMs)
    unref(this.#heartbeat)
  }

  #wake(): void {
    if (this.#state === 'offline') this.#hurry?.()
    else if (this.#socket !== undefined && this.#state !== 'connecting') this.#test(ANSWER_MS / 2)
  }

  #setState(state: State, code: number | string | undefined, reason: string, retryIn?: number): void {
    if (state === this.#state && state !== 'offline') return
    this.#state = state
    this.#events.onState({ state, code, reason, retryIn })
  }
}

function asError(error: unknown): GatehouseError {
  return error instanceof GatehouseError
    ? error
    : new GatehouseError(error instanceof Error ? error.message : String(error), { code: 'client.token', cause: error })
}

function endError(code: number | string, message: string): GatehouseError {
  return code === 4000
    ? new AuthError(message, { code: 'session_ended' })
    : new ConnectionError(message, { code: `close.${code}`, retryable: false })
}
