/** One peer, without its socket: messages, events and time go in; messages and a close come out. */
import type { GateEvent } from '../events/bus.ts'
import type { CloseName } from '../protocol/close-codes.ts'
import type { Principal } from '../protocol/principal.ts'
import { Refusal } from '../protocol/refusal.ts'
import { isStreamErrorCode } from '../protocol/stream-errors.ts'
import { Allowance } from './allowance.ts'
import { type Authority, inForce, satisfies } from './authority.ts'
import type { Decoded } from './codec.ts'
import { type AuthenticationResult, type Caller, refuse, type Timeouts } from './controller.ts'
import { IDENTIFY } from './controllers/catalogue.ts'
import { countError } from './counters.ts'
import { type Broadcast, type Subscriber, topicKey } from './hub.ts'
import { confirmation, ending, errorAbout, push, reply } from './messages.ts'
import { Operation, type Performer } from './operation.ts'
import { Pipeline } from './pipeline.ts'
import type { Profile } from './profile.ts'
import { type Request, readRequest, UNREADABLE, type Unfit } from './request.ts'
import { type Resumer, Resumptions } from './resumptions.ts'
import type { Member } from './sessions.ts'
import { type Bearer, Standing } from './standing.ts'
import { type Subscription, Subscriptions } from './subscriptions.ts'
import type { ConnectionEnv, Identity, Outlet } from './surroundings.ts'

export class Connection implements Performer, Caller, Subscriber, Member, Bearer, Resumer {
  readonly connectionId: string
  readonly address: string
  readonly profile: Profile
  readonly #env: ConnectionEnv
  readonly #outlet: Outlet
  readonly #pipeline = new Pipeline()
  readonly #allowance: Allowance
  readonly #subscriptions: Subscriptions
  #resumptions: Resumptions | undefined
  readonly #standing: Standing
  #timeouts: Map<string, Timeouts> | undefined
  #unreadable = 0
  /** A sign-in has changed the authority; what follows from it waits until its reply has left. */
  #signedIn = false
  /** What the unanswered requests take in memory; forgotten when all are answered. */
  #pendingBytes = 0
  #congested = false
  #listening = true
  #phase: 'open' | 'finishing' | 'closed' = 'open'

  constructor({ connectionId, address, profile }: Identity, outlet: Outlet, env: ConnectionEnv) {
    this.connectionId = connectionId
    this.address = address
    this.profile = profile
    this.#outlet = outlet
    this.#env = env
    this.#allowance = new Allowance(env.settings, env.clock())
    this.#subscriptions = new Subscriptions(env.hub, this)
    this.#standing = new Standing(this, env)
  }

  /** Starts authenticated, by the Authorization header of the upgrade. */
  begin(principal: Principal, accessToken: string): void {
    this.#standing.begin(principal, accessToken)
  }

  /** A frame's content, undefined when it could not be read, and the bytes that it took. */
  receive(decoded: Decoded | undefined, bytes: number): void {
    if (this.#phase !== 'open') return
    const { settings, counters, clock } = this.#env
    const now = clock()
    const allowed = this.#allowance.take(now)
    counters.messagesIn++
    this.#pendingBytes += bytes + REQUEST_BYTES
    this.#unreadable = decoded === undefined ? this.#unreadable + 1 : 0
    if (this.#unreadable >= settings.streamMaxUnreadable) {
      this.#close('invalidData', 'too many unreadable messages')
      return
    }
    const request = decoded === undefined ? UNREADABLE : readRequest(decoded)
    // An Error of the client is not answered, but it counts.
    if (request !== undefined) this.#enqueue(request, allowed)
    this.#regulate()
  }

  #enqueue(request: Request | Unfit, allowed: boolean): void {
    if (!allowed) {
      const { controller, topic, id } = request
      const context = 'messages per second'
      this.#pipeline.add(new Operation({ kind: 'unfit', controller, topic, id, code: 'Limited', context }, this))
    } else if (request.kind === 'request' && request.action === 'Cancel') this.#pipeline.cancel(request.id)
    else this.#pipeline.add(new Operation(request, this))
  }

  /** An event of the bus; it may have nothing to do with this connection. */
  feel(event: GateEvent): void {
    if (this.#phase === 'closed') return
    if (event.kind === 'stream-kick' && event.connectionId === this.connectionId)
      this.sessionEnded('ended by an operator')
    else this.#standing.feel(event)
  }

  /** When time next matters to this connection. */
  due(): number {
    const resumed = this.#resumptions?.due ?? Number.POSITIVE_INFINITY
    return Math.min(this.#pipeline.due, this.#standing.due(), this.#allowance.due, resumed)
  }

  tick(now: number): void {
    if (this.#phase === 'closed') return
    if (this.#pipeline.due <= now) this.#pipeline.expire()
    if (this.#allowance.due <= now) {
      this.#allowance.tick(now)
      this.#regulate()
    }
    this.#resumptions?.expire(now)
    this.#standing.tick(now)
  }

  /** Answers what is in flight, then closes because the server stops. */
  finish(): void {
    if (this.#phase !== 'open') return
    this.#phase = 'finishing'
    this.#regulate()
  }

  /** While replies cannot be taken away, requests wait. */
  congest(congested: boolean): void {
    this.#congested = congested
    this.#pipeline.hold(congested)
    this.#regulate()
  }

  /** The socket is gone. */
  closed(): void {
    if (this.#phase === 'closed') return
    this.#phase = 'closed'
    this.#pipeline.end('closed')
    this.#resumptions?.clear()
    this.#subscriptions.clear()
    if (this.subject !== undefined) this.#env.sessions.release(this, this.subject)
  }

  get authority(): Authority {
    return this.#standing.authority
  }

  get subject(): string | undefined {
    return this.#standing.subject
  }

  get subscriptionCount(): number {
    return this.#subscriptions.size
  }

  // Subscriber: what the hub publishes.

  take(broadcast: Broadcast, now: number): void {
    const subscription = this.#subscriptions.get(broadcast.key)
    if (subscription === undefined) this.#subscriptions.keep(broadcast)
    if (subscription === undefined || subscription.quiet) return
    if (this.#resumptions?.keep(subscription, broadcast)) return
    if (satisfies(this.authority, subscription.topic.needs, now)) this.#outlet.deliver(broadcast, subscription.slow)
  }

  // Member and Bearer: what happens to the authority.

  displace(): void {
    this.sessionEnded('displaced by a newer session')
  }

  admit(principal: Principal): void {
    this.#env.sessions.admit(this, principal)
  }

  sessionEnded(reason: string): void {
    if (this.#phase === 'closed') return
    this.#pipeline.end('ended')
    this.#close('sessionEnded', reason)
  }

  ranOutOfTime(reason: string): void {
    this.#close('policy', reason)
  }

  /** Subscriptions go on, wait for a renewal, or end. */
  authorityChanged(): void {
    this.#announce()
    const now = this.#env.clock()
    for (const subscription of this.#subscriptions.all()) {
      if (satisfies(this.authority, subscription.topic.needs, now)) {
        if (subscription.quiet) this.#resume(subscription)
      } else if (this.authority.state === 'lapsed') {
        subscription.quiet = true
        this.#resumptions?.cancel(subscription)
      } else this.#lose(subscription, refuse('Authority'))
    }
  }

  // Resumer: what comes of subscriptions whose rights are back.

  resumed(subscription: Subscription, state: unknown, missed: readonly Broadcast[]): void {
    const { controller, name, key, topic } = subscription
    if (this.#subscriptions.get(key) !== subscription) return
    const now = this.#env.clock()
    if (state !== undefined && satisfies(this.authority, topic.needs, now))
      this.#outlet.send(push(controller, name, state))
    for (const broadcast of missed) this.take(broadcast, now)
  }

  /** The client would not know what it has missed. */
  notResumed(subscription: Subscription, error: unknown): void {
    if (this.#subscriptions.get(subscription.key) === subscription) this.#lose(subscription, this.#knownTo(error))
  }

  // Caller: what the built-in controllers ask of a connection.

  get caller(): Caller {
    return this
  }

  identify(): AuthenticationResult {
    return this.#standing.describe()
  }

  async signIn(provider: string, accessToken: string, signal: AbortSignal): Promise<AuthenticationResult> {
    const result = await this.#standing.signIn(provider, accessToken, signal)
    this.#signedIn = result !== undefined
    if (result === undefined) this.#env.onSignInRefused(this, provider)
    return result ?? { Result: this.profile.rejected }
  }

  timeouts(controller: string): Timeouts {
    return this.#timeouts?.get(controller) ?? DEFAULT_TIMEOUTS
  }

  setTimeouts(controller: string, timeouts: Timeouts): void {
    this.#timeouts ??= new Map()
    this.#timeouts.set(controller, timeouts)
  }

  // Performer: what an operation asks of a connection.

  principal(): Principal | undefined {
    return inForce(this.authority, this.#env.clock())?.principal
  }

  perform(operation: Operation, request: Request): unknown {
    const topic = this.#env.controllers.topic(request.controller, request.topic)
    operation.topicRules = topic
    const taken = request.action === 'Publish' ? topic.publish : topic.subscription
    if (taken === undefined) throw refuse('Operation.Unknown', request.topic)
    const key = topicKey(request.controller, request.topic)
    if (request.action === 'Unsub') {
      this.#subscriptions.remove(key)
      return undefined
    }
    if (!satisfies(this.authority, topic.needs, this.#env.clock())) throw refuse('Authority')
    if (request.action === 'Publish') return topic.publish?.(operation)
    if (this.#subscriptions.repeat(key)) return undefined
    if (this.#subscriptions.size >= this.#env.settings.streamMaxSubscriptions) throw refuse('Limited', 'subscriptions')
    const state = topic.subscription?.snapshot?.(operation)
    if (state instanceof Promise) this.#subscriptions.prepare(request.controller, request.topic, topic)
    return state
  }

  complete(operation: Operation, request: Request, result: unknown): void {
    const { action } = request
    if (action === 'Publish') this.#reply(operation, request, result)
    else if (action === 'Sub') this.#begin(operation, request, result)
    else this.#confirm(request, true)
    if (!this.#signedIn) return
    this.#signedIn = false
    this.authorityChanged()
  }

  fail({ request }: Operation, error: unknown): void {
    const known = this.#knownTo(error)
    this.#sendError(request, known.code, known.message)
    if (request.kind !== 'request' || request.action !== 'Sub') return
    this.#subscriptions.abandon(topicKey(request.controller, request.topic))
    this.#confirm(request, false)
  }

  dueOf(request: Request): number {
    const timeouts = this.timeouts(request.controller)
    return this.#env.clock() + (request.action === 'Sub' ? timeouts.subscription : timeouts.action)
  }

  finished(operation: Operation): void {
    this.#pipeline.finish(operation)
    this.#regulate()
  }

  /** Reads on, or stops reading, by what waits; a connection that finishes is closed when nothing does. */
  #regulate(): void {
    if (this.#phase === 'finishing' && this.#pipeline.idle) this.#close('restart', 'the server is stopping')
    if (this.#pipeline.idle) this.#pendingBytes = 0
    const { streamReceiveQueueBytes: most } = this.#env.settings
    const listening = !this.#congested && this.#allowance.isHeard && this.#pendingBytes < most
    if (listening !== this.#listening) this.#outlet.listen(listening)
    this.#listening = listening
  }

  #close(name: CloseName, reason: string): void {
    if (this.#phase === 'closed') return
    this.closed()
    this.#outlet.close(name, reason)
  }

  /** What was missed is made good by the state of now, for topics that have one. */
  #resume(subscription: Subscription): void {
    subscription.quiet = false
    if (subscription.topic.subscription?.snapshot === undefined) return
    const request: Request = { ...RESUMPTION, controller: subscription.controller, topic: subscription.name }
    this.#resumptions ??= new Resumptions(this)
    this.#resumptions.begin(subscription, new Operation(request, this), this.dueOf(request))
  }

  /** Ends a subscription that the client still counts on. */
  #lose(subscription: Subscription, { code, message }: Refusal): void {
    const { controller, name: topic } = subscription
    this.#resumptions?.cancel(subscription)
    this.#subscriptions.drop(subscription)
    this.#sendError({ controller, topic, id: undefined }, code, message)
    this.#outlet.send(ending(subscription))
  }

  /** What a client is told of a failure; what is our own fault is told to the operator. */
  #knownTo(error: unknown): Refusal {
    if (error instanceof Refusal && isStreamErrorCode(error.code)) return error
    this.#env.onFault(error, this.connectionId)
    return refuse('Fault', '', error)
  }

  #announce(): void {
    if (this.#subscriptions.get(IDENTIFY.key) === undefined) return
    this.#outlet.send(push(IDENTIFY.controller, IDENTIFY.topic, this.identify()))
  }

  #reply(operation: Operation, request: Request, result: unknown): void {
    const { controller, id } = request
    const topic = operation.topicRules?.replyTopic?.(operation) ?? request.topic
    if (id !== undefined) {
      this.#outlet.send(reply(request, topic, result))
      return
    }
    const key = topicKey(controller, topic)
    if (this.#subscriptions.get(key) === undefined) this.#sendError(request, 'Operation.NoResult')
    // The changed authority is pushed there anyway.
    else if (!this.#signedIn || key !== IDENTIFY.key) this.#outlet.send(push(controller, topic, result))
  }

  /** Opens a subscription: confirms it, sends its state, then what was published while that was fetched. */
  #begin({ topicRules: topic }: Operation, request: Request, state: unknown): void {
    const { controller, topic: name } = request
    const now = this.#env.clock()
    if (topic === undefined) return
    // The rights to it may have gone while the state was fetched.
    if (!satisfies(this.authority, topic.needs, now)) throw refuse('Authority')
    const missed = this.#subscriptions.open(controller, name, topic)
    try {
      this.#confirm(request, true)
      if (state !== undefined) this.#outlet.send(push(controller, name, state))
      for (const broadcast of missed) this.take(broadcast, now)
    } catch (error) {
      // What it begins with cannot be written: the client is told that there is no subscription, so there is none.
      this.#subscriptions.remove(topicKey(controller, name))
      throw error
    }
  }

  #confirm(request: Request, confirmed: boolean): void {
    if (request.confirm) this.#outlet.send(confirmation(request, confirmed))
  }

  #sendError(about: Pick<Operation['request'], 'controller' | 'topic' | 'id'>, code: string, context = ''): void {
    countError(this.#env.counters, code, context)
    this.#outlet.send(errorAbout(about, code, context))
  }
}

/** What a waiting request takes beside its own bytes. */
const REQUEST_BYTES = 256
const DEFAULT_TIMEOUTS: Timeouts = { action: 35_000, subscription: 35_000 }
const RESUMPTION = { kind: 'request', action: 'Sub', id: undefined, data: undefined, confirm: false } as const
