/** One request on a connection: executed when its turn comes, answered exactly once. */
import { COMMON_TOPIC_NAMES, type Principal, type TransactionId } from 'gatehouse-protocol'
import { IDENTIFY } from '../controllers/auth.ts'
import type { StreamUse } from '../licences.ts'
import { AcceptedSignIn, type Call, refuse, type Topic } from '../topics/controller.ts'
import { topicKey } from '../topics/hub.ts'
import { CallAbort } from './call-abort.ts'
import type { ConnectionCaller } from './caller.ts'
import { confirmation, publicError, push, reply, sendError } from './messages.ts'
import type { InvalidRequest, StreamRequest } from './request.ts'
import type { Subscriptions } from './subscriptions.ts'
import { TopicRunSubscription } from './topic-run-subscription.ts'
import type { ConnectionEnv, Transport } from './types.ts'

/** What an operation uses of its connection. */
export interface OperationHost {
  readonly caller: ConnectionCaller
  readonly subscriptions: Subscriptions
  readonly transport: Transport
  readonly env: ConnectionEnv
  /** The operation could not even be answered. */
  onFault(error: unknown): void
  /** An operation that did not complete synchronously has ended. */
  onOperationEnd(operation: Operation): void
}

export type AbortReason = 'cancelled' | 'timeout' | 'closed' | 'ended'

export class Operation implements Call {
  readonly request: StreamRequest | InvalidRequest
  readonly caller: ConnectionCaller
  /** When it times out on the monotonic clock, once it runs asynchronously. */
  deadline = Number.POSITIVE_INFINITY
  readonly #host: OperationHost
  #topic: Topic | undefined
  /** Of a licence, until the subscription is open, or the request is answered. */
  #use: StreamUse | undefined
  #abort: CallAbort | undefined
  #state: 'waiting' | 'cancelled' | 'running' | 'answered' = 'waiting'

  constructor(request: StreamRequest | InvalidRequest, host: OperationHost) {
    this.request = request
    this.caller = host.caller
    this.#host = host
  }

  get controller(): string {
    return this.request.controller ?? ''
  }

  get topic(): string {
    return this.request.topic ?? ''
  }

  get data(): unknown {
    return this.request.kind === 'request' ? this.request.data : undefined
  }

  get source(): string | undefined {
    return this.request.kind === 'request' ? this.request.source : undefined
  }

  get transactionId(): TransactionId | undefined {
    return this.request.id
  }

  get principal(): Principal | undefined {
    return this.caller.auth.principal
  }

  /** Created on first use: most handlers answer synchronously and never read it. */
  get signal(): AbortSignal {
    this.#abort ??= new CallAbort()
    if (this.#state === 'answered') this.#abort.abort()
    return this.#abort.signal
  }

  get isAborted(): boolean {
    return this.#state === 'answered'
  }

  /** Whether it may run at the same time as others that may. */
  get mayOverlap(): boolean {
    const { request } = this
    if (request.kind !== 'request' || request.action !== 'Publish') return false
    this.#topic ??= this.#host.env.controllers.find(request.controller, request.topic)
    return this.#topic?.mayOverlap === true
  }

  /** Resolves when it has ended or was answered; undefined if there is nothing to wait for. */
  #ended: PromiseWithResolvers<void> | undefined
  /** Resolves when those before it have been answered. */
  #previousEnded: Promise<void> | undefined

  /** True if it completed; otherwise the host is notified when it ends. It is answered after `previous`. */
  start(previous?: Operation): boolean {
    const { request } = this
    const cancelled = this.#state === 'cancelled'
    this.#state = 'running'
    try {
      if (cancelled) throw refuse('Operation.Abort')
      if (request.kind === 'invalid') throw refuse(request.code, request.context)
      const result = previous === undefined ? this.#execute(request) : this.#executeAfter(request, previous)
      if (result instanceof Promise) {
        const { action, subscription } = this.caller.timeouts(request.controller)
        this.deadline = this.#host.env.monotonic() + (request.action === 'Sub' ? subscription : action)
        this.#completeLater(request, result).catch((error) => this.#host.onFault(error))
        return false
      }
      this.#complete(request, result)
    } catch (error) {
      this.#fail(error)
    }
    this.#state = 'answered'
    return true
  }

  abort(reason: AbortReason): void {
    this.#abort?.abort()
    if (reason === 'cancelled' && this.#state === 'waiting') this.#state = 'cancelled'
    else if (reason === 'closed') this.#state = 'answered'
    else if (this.#claimAnswer()) this.#fail(refuse(ABORT_CODES[reason]))
    // What it was to write may take longer: those after it wait for the answers before theirs only.
    if (this.#state === 'answered') this.#ended?.resolve(this.#previousEnded)
  }

  /** Whether a Cancel with this TransactionID refers to this operation. */
  isCancellable(id: unknown): boolean {
    return this.request.id === id && (this.#state === 'waiting' || this.#state === 'running')
  }

  /** Finds the topic, checks the caller's authority and calls the handler: returns its result, or a promise of it. */
  #execute(request: StreamRequest): unknown {
    const { env, subscriptions } = this.#host
    const topic = env.controllers.topic(request.controller, request.topic)
    this.#topic = topic
    if ((request.action === 'Publish' ? topic.publish : topic.subscription) === undefined)
      throw refuse('Operation.Unknown', request.topic)
    if (request.action === 'Unsub') {
      subscriptions.remove(topicKey(request.controller, request.topic))
      return undefined
    }
    const needs = request.action === 'Publish' ? (topic.publishNeeds ?? topic.needs) : topic.needs
    if (!this.caller.auth.satisfies(needs, env.clock())) {
      const isHidden = this.principal !== undefined && topic.isHidden?.(this.principal) === true
      throw isHidden ? refuse('Controller', request.controller) : refuse('Authority')
    }
    if (topic.stepUp !== undefined) {
      const { controller, topic: name } = request
      const fault = this.caller.auth.stepUpFault({ controller, name, stepUp: topic.stepUp })
      if (fault !== undefined) throw fault
    }
    if (this.#needsLicence(request)) return this.#executeLicensed(request, topic)
    return request.action === 'Publish' ? topic.publish?.(this) : this.#subscribe(request, topic)
  }

  #needsLicence({ controller, topic, action }: StreamRequest): boolean {
    const { env, subscriptions } = this.#host
    if (env.licences?.covers(controller) !== true || COMMON_TOPIC_NAMES.includes(topic)) return false
    return action === 'Publish' || !subscriptions.has(topicKey(controller, topic))
  }

  async #executeLicensed(request: StreamRequest, topic: Topic): Promise<unknown> {
    const { subscriptions, env } = this.#host
    this.#use = await subscriptions.openUse(request)
    // The authority may have changed meanwhile.
    const needs = request.action === 'Publish' ? (topic.publishNeeds ?? topic.needs) : topic.needs
    if (!this.caller.auth.satisfies(needs, env.clock())) throw refuse('Authority')
    if (request.action === 'Publish') return topic.publish?.(this)
    // What is published while the snapshot is made is not lost.
    if (topic.subscription?.open === undefined) subscriptions.prepare(request.controller, request.topic, topic)
    return this.#subscribe(request, topic)
  }

  #subscribe(request: StreamRequest, topic: Topic): unknown {
    const { env, subscriptions } = this.#host
    const key = topicKey(request.controller, request.topic)
    if (topic.subscription?.open !== undefined && subscriptions.has(key)) {
      if (topic.subscription.isCounted === undefined || request.data !== undefined) throw refuse('Data', 'Topic')
    }
    if (subscriptions.repeat(key)) return undefined
    if (subscriptions.size >= env.settings.streamMaxSubscriptions) throw refuse('Limited', 'subscriptions')
    if (topic.subscription?.open !== undefined) return subscriptions.openTopicRun(topic.subscription, this, topic)
    const snapshot = topic.subscription?.snapshot?.(this)
    if (snapshot instanceof Promise) subscriptions.prepare(request.controller, request.topic, topic)
    return snapshot
  }

  /** Executes it now, and has its result, or its error, when the previous one has ended. */
  async #executeAfter(request: StreamRequest, previous: Operation): Promise<unknown> {
    const result = (async () => this.#execute(request))()
    // The error is handled below.
    result.catch(() => {})
    this.#previousEnded = previous.whenEnded()
    await this.#previousEnded
    return result
  }

  whenEnded(): Promise<void> {
    this.#ended ??= Promise.withResolvers()
    if (this.#state === 'answered') this.#ended.resolve(this.#previousEnded)
    return this.#ended.promise
  }

  async #completeLater(request: StreamRequest, promise: Promise<unknown>): Promise<void> {
    let claimed = false
    try {
      const result = await promise
      claimed = this.#claimAnswer()
      if (claimed) this.#complete(request, result)
      // The operation was aborted in the meantime.
      else if (result instanceof TopicRunSubscription) result.close()
      else if (result instanceof AcceptedSignIn) this.#host.subscriptions.onAuthorityChanged()
    } catch (error) {
      if (claimed || this.#claimAnswer()) this.#fail(error)
    }
    // Of a subscription that is open it has been handed over.
    this.#use?.close()
    this.#ended?.resolve()
    this.#host.onOperationEnd(this)
  }

  #handOverUse(request: StreamRequest): void {
    if (this.#use !== undefined) this.#host.subscriptions.addUse(request, this.#use)
    this.#use = undefined
  }

  /** True for the first caller only: an operation is answered once. */
  #claimAnswer(): boolean {
    if (this.#state === 'answered') return false
    this.#state = 'answered'
    return true
  }

  #complete(request: StreamRequest, result: unknown): void {
    if (result instanceof TopicRunSubscription) this.#startTopicRun(request, result)
    else if (request.action === 'Publish') this.#reply(request, result)
    else if (request.action === 'Sub') this.#openSubscription(request, result)
    else this.#confirm(request, true)
    if (result instanceof AcceptedSignIn) this.#host.subscriptions.onAuthorityChanged()
  }

  #reply(request: StreamRequest, result: unknown): void {
    const { transport, env, subscriptions } = this.#host
    const { controller, id } = request
    const topic = this.#topic?.replyTopic?.(this) ?? request.topic
    const isSignIn = result instanceof AcceptedSignIn
    const data = isSignIn ? result.reply : result
    if (id !== undefined) {
      transport.send(reply(request, topic, data))
      return
    }
    if (this.#topic?.repliesOnlyToId) return
    const key = topicKey(controller, topic)
    if (!subscriptions.has(key)) sendError(transport, env, request, refuse('Operation.NoResult'))
    // After a sign-in the new authority is pushed to Identify anyway.
    else if (!isSignIn || key !== IDENTIFY.key) transport.send(push(controller, topic, data))
  }

  /** Confirms the subscription, sends its snapshot, then what was published while the snapshot was fetched. */
  #openSubscription(request: StreamRequest, snapshot: unknown): void {
    const { transport, env, subscriptions } = this.#host
    const { controller, topic: name } = request
    const topic = this.#topic
    const now = env.clock()
    if (topic === undefined) return
    // The authority may have changed while the snapshot was fetched.
    if (!this.caller.auth.satisfies(topic.needs, now)) throw refuse('Authority')
    const missed = subscriptions.open(controller, name, topic)
    try {
      this.#confirm(request, true)
      if (snapshot !== undefined) transport.send(push(controller, name, snapshot))
      for (const broadcast of missed) subscriptions.deliver(broadcast, now)
      this.#handOverUse(request)
    } catch (error) {
      // The snapshot cannot be encoded. The client gets an error for its Sub, so the subscription must not exist.
      subscriptions.remove(topicKey(controller, name))
      throw error
    }
  }

  /** Confirms the subscription; from then on its topic sends. */
  #startTopicRun(request: StreamRequest, subscription: TopicRunSubscription): void {
    const { env, subscriptions } = this.#host
    // The authority may have changed while it was opened.
    if (!this.caller.auth.satisfies(subscription.needs, env.clock())) subscription.close(refuse('Authority'))
    if (subscription.endReason !== undefined) throw subscription.endReason
    subscriptions.addTopicRun(subscription)
    this.#confirm(request, true, subscription.confirmation)
    subscription.start()
    this.#handOverUse(request)
  }

  #fail(error: unknown): void {
    const { transport, env, subscriptions } = this.#host
    const { request } = this
    sendError(transport, env, request, publicError(error, env, this.caller.connectionId))
    if (request.kind !== 'request' || request.action !== 'Sub') return
    subscriptions.abandon(topicKey(request.controller, request.topic))
    this.#confirm(request, false)
  }

  #confirm(request: StreamRequest, confirmed: boolean, data?: object): void {
    if (request.confirm) this.#host.transport.send(confirmation(request, confirmed, this.caller.profile, data))
  }
}

const ABORT_CODES = { cancelled: 'Operation.Abort', timeout: 'Operation.Timeout', ended: 'Session' } as const
