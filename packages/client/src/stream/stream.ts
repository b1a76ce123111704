/** The stream: requests and subscriptions on one connection that reconnects automatically. */
import { Emitter } from '../emitter.ts'
import { ConnectionError, closedError, GatehouseError, StepUpNeeded } from '../errors.ts'
import type { Http } from '../http.ts'
import type { CallOptions } from '../query.ts'
import { abortable, backoff, type Deferred, deferred, either } from '../wait.ts'
import { type Channel, type Channels, channelKey } from './channel.ts'
import { Connection } from './connection.ts'
import { errorOfMessage, type Message, type State, type StateChange } from './protocol.ts'
import { type Shared, type SubscribeOptions, Subscription } from './subscription.ts'

interface Subscribed {
  readonly channel: Channel
  phase: 'waiting' | 'sent' | 'open'
  wasOpen: boolean
  failures: number
  /** The user has signed in again for it, and it was not opened since. */
  isStronger?: boolean
  retry?: ReturnType<typeof setTimeout>
  /** Precedes an Unsub of the server. */
  error?: GatehouseError
}

/** Options of a request on the stream. */
export interface StreamRequestOptions extends CallOptions {
  /** Milliseconds; 40,000 by default. */
  readonly timeout?: number | undefined
}

/**
 * The stream of a server.
 *
 * @example
 * ```ts
 * const prices = gate.stream.subscribe<Price>('Ticker', 'Price/ACME', { slow: 'latest' })
 * for await (const price of prices) show(price)
 *
 * const info = await gate.stream.request('Platform', 'QueryServerInfo')
 * gate.stream.on('state', ({ state, reason }) => show(`${state}: ${reason}`))
 * ```
 */
export class Stream implements Channels {
  readonly http: Http
  readonly #connection: Connection
  readonly #states = new Emitter<StateChange>()
  readonly #subscribed = new Map<string, Subscribed>()
  readonly #shared = new Map<string, Shared>()
  readonly #pending = new Map<number, Deferred<Message>>()
  /** For callers that wait until the connection is online. */
  #online: Deferred<void> | undefined
  #lastId = 0

  constructor(http: Http) {
    this.http = http
    this.#connection = new Connection(http, {
      onState: (change) => this.#states.emit(change),
      onOnline: (isNew) => this.#onOnline(isNew),
      onMessage: (message) => this.#onMessage(message),
      onLost: (error) => this.#onLost(error),
      onEnded: (error) => this.#onEnded(error),
    })
  }

  get state(): State {
    return this.#connection.state
  }

  /** Calls the listener after each change of state. Returns a function that removes the listener. */
  on(_event: 'state', listener: (change: StateChange) => void): () => void {
    return this.#states.on(listener)
  }

  /** Resolves once the connection is online. All other calls connect automatically. */
  async connect({ signal }: CallOptions = {}): Promise<void> {
    const wanted = either(signal, this.http.closed)
    wanted.throwIfAborted()
    if (this.state === 'online') return
    this.#online ??= deferred()
    this.#connection.open()
    return abortable(this.#online.promise, wanted)
  }

  /** Sends a request and resolves with the `Data` of its reply. */
  async request<T = unknown>(
    controller: string,
    topic: string,
    data?: unknown,
    options: StreamRequestOptions = {},
  ): Promise<T> {
    const { timeout = 40_000 } = options
    const abort = new AbortController()
    const timer = setTimeout(
      () =>
        abort.abort(new ConnectionError(`${controller}/${topic} was not answered in time`, { code: 'client.timeout' })),
      timeout,
    )
    const signal = either(options.signal, abort.signal)
    try {
      for (let isStronger = false; ; isStronger = true) {
        await this.connect({ signal })
        try {
          const { Data } = await this.#send({ Controller: controller, Topic: topic, Data: data }, signal)
          return Data as T
        } catch (error) {
          if (!(error instanceof StepUpNeeded) || isStronger) throw error
          // The user may take longer than the server.
          clearTimeout(timer)
          await abortable(this.#connection.signInAgain(error), signal)
        }
      }
    } finally {
      clearTimeout(timer)
    }
  }

  /** Messages of a topic, until the loop is left. */
  subscribe<T = unknown>(controller: string, topic: string, options: SubscribeOptions = {}): Subscription<T> {
    return new Subscription<T>(this, this.#shared, controller, topic, options)
  }

  /** Ends the connection; another request or subscription opens a new one. */
  close(): void {
    this.#connection.end(closedError('stream'))
  }

  /** Opens a channel; it stays over all connections until `detach` or `onEnd`. */
  attach(channel: Channel): void {
    const subscribed: Subscribed = { channel, phase: 'waiting', wasOpen: false, failures: 0 }
    const key = channelKey(channel)
    if (this.#subscribed.has(key)) {
      // A connection has one subscription of each topic.
      const message = `${channel.controller}/${channel.topic} is subscribed to in another way`
      this.#fail(subscribed, new GatehouseError(message, { code: 'client.subscribed', hint: 'close the other first' }))
      return
    }
    this.#subscribed.set(key, subscribed)
    if (this.state === 'online') this.#subscribe(subscribed)
    else if (this.http.closed.aborted) this.#fail(subscribed, this.http.closed.reason)
    else this.#connection.open()
  }

  detach(channel: Channel): void {
    const key = channelKey(channel)
    const subscribed = this.#subscribed.get(key)
    if (subscribed?.channel !== channel) return
    this.#subscribed.delete(key)
    clearTimeout(subscribed.retry)
    if (subscribed.phase !== 'waiting')
      this.#connection.send({ Controller: channel.controller, Topic: channel.topic, Action: 'Unsub' })
  }

  #send(message: Message, signal?: AbortSignal): Promise<Message> {
    const id = ++this.#lastId
    const pending = deferred<Message>()
    this.#pending.set(id, pending)
    this.#connection.send({ ...message, TransactionID: id })
    return abortable(pending.promise, signal).finally(() => {
      // Only after an abort: a reply takes it out before.
      if (this.#pending.delete(id)) this.#connection.send({ Action: 'Cancel', TransactionID: id })
    })
  }

  #subscribe(subscribed: Subscribed): void {
    const { channel } = subscribed
    subscribed.phase = 'sent'
    const { controller, topic } = channel
    this.#send({ Controller: controller, Topic: topic, Action: 'Sub', Confirm: true, Data: channel.data() }).then(
      () => {
        if (this.#subscribed.get(channelKey(channel)) !== subscribed) return
        Object.assign(subscribed, { phase: 'open', wasOpen: true, failures: 0, isStronger: false })
      },
      (error: GatehouseError) => {
        // After a lost connection, the library subscribes again automatically.
        if (this.#subscribed.get(channelKey(channel)) !== subscribed || error instanceof ConnectionError) return
        subscribed.phase = 'waiting'
        this.#onSubscriptionEnd(subscribed, error)
      },
    )
  }

  /** A subscription was refused, or ended by the server: it is opened again if that can help. */
  #onSubscriptionEnd(subscribed: Subscribed, error: GatehouseError): void {
    subscribed.phase = 'waiting'
    // With a fresh token it is opened again.
    if (error.code === 'Authority' && this.state !== 'online') return
    if (error instanceof StepUpNeeded && !subscribed.isStronger) {
      subscribed.isStronger = true
      // With the new authority it is opened again.
      this.#connection.signInAgain(error).catch(() => this.#onSubscriptionEnd(subscribed, error))
      return
    }
    const again = subscribed.channel.onRefused?.(error) === true
    if (!again && !(error.retryable && subscribed.wasOpen)) {
      this.#subscribed.delete(channelKey(subscribed.channel))
      this.#fail(subscribed, error)
      return
    }
    subscribed.retry = setTimeout(
      () => {
        if (this.state === 'online' && subscribed.phase === 'waiting') this.#subscribe(subscribed)
      },
      again ? 0 : backoff(subscribed.failures++, 1000),
    )
  }

  #fail({ channel, retry }: Subscribed, error: GatehouseError): void {
    clearTimeout(retry)
    channel.onEnd(error)
  }

  #onOnline(isNew: boolean): void {
    this.#online?.resolve()
    this.#online = undefined
    for (const subscribed of [...this.#subscribed.values()])
      if (isNew || subscribed.phase === 'waiting') this.#subscribe(subscribed)
  }

  #onLost(error: GatehouseError): void {
    for (const subscribed of this.#subscribed.values()) {
      subscribed.phase = 'waiting'
      clearTimeout(subscribed.retry)
    }
    for (const [id, { reject }] of [...this.#pending]) {
      this.#pending.delete(id)
      reject(error)
    }
  }

  #onEnded(error: GatehouseError): void {
    this.#onLost(error)
    this.#online?.reject(error)
    this.#online = undefined
    const all = [...this.#subscribed.values()]
    this.#subscribed.clear()
    for (const subscribed of all) this.#fail(subscribed, error)
  }

  #onMessage(message: Message): void {
    const { TransactionID: id, Action, Controller: controller = '', Topic, Pattern: topic = Topic ?? '' } = message
    const pending = id === undefined ? undefined : this.#pending.get(id)
    const subscribed = this.#subscribed.get(channelKey({ controller, topic }))
    if (pending !== undefined && id !== undefined) {
      this.#pending.delete(id)
      if (Action === 'Error') pending.reject(errorOfMessage(message, subscribed?.channel.statement))
      else {
        // Before the next message, which may be the first of the subscription.
        if (Action === 'Sub') subscribed?.channel.onConfirmed(message.Data)
        pending.resolve(message)
      }
    } else if (subscribed === undefined || id !== undefined) return
    else if (Action === 'Error') subscribed.error = errorOfMessage(message, subscribed.channel.statement)
    else if (Action === 'Unsub') {
      const error =
        subscribed.error ?? new GatehouseError('The server ended the subscription', { code: 'client.ended' })
      delete subscribed.error
      this.#onSubscriptionEnd(subscribed, error)
    } else if (Action === undefined) subscribed.channel.onData(message.Data, message)
  }
}
