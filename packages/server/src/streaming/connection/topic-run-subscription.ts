/** A connection's end of a subscription that its topic runs: when the topic may send, and which events it is notified of. */
import { JsonText, type Principal, type Refusal, type RunningSubscription, type UrgentSink } from 'gatehouse-protocol'
import {
  type Call,
  type Need,
  refuse,
  type Topic,
  type TopicMessage,
  type TopicRunRules,
} from '../topics/controller.ts'
import { type Broadcast, topicKey } from '../topics/hub.ts'
import type { ConnectionAuth } from './authentication.ts'
import type { ConnectionEnv, Transport } from './types.ts'

export interface TopicRunHost {
  readonly auth: Pick<ConnectionAuth, 'principal' | 'satisfies'>
  readonly transport: Transport
  readonly env: ConnectionEnv
  /** The subscription has ended while it was open. */
  readonly onEnd: (reason: Refusal) => void
  readonly onFault: (error: unknown) => void
}

export class TopicRunSubscription implements UrgentSink<JsonText | TopicMessage> {
  readonly key: string
  readonly controller: string
  readonly name: string
  readonly needs: Need
  readonly stepUp: Topic['stepUp']
  /** The token whose sign-in was judged last. */
  tokenId: string | undefined
  /** It ends after as many Unsub as Sub. */
  count = 1
  readonly #host: TopicRunHost
  #state: 'opening' | 'open' | 'paused' | 'ended' = 'opening'
  #running: RunningSubscription | undefined
  #principal: Principal | undefined
  #endReason: Refusal | undefined

  constructor(
    { controller, topic, principal }: Pick<Call, 'controller' | 'topic' | 'principal'>,
    { needs, stepUp }: Pick<Topic, 'needs' | 'stepUp'>,
    host: TopicRunHost,
  ) {
    this.key = topicKey(controller, topic)
    this.controller = controller
    this.name = topic
    this.needs = needs
    this.stepUp = stepUp
    this.tokenId = principal?.tokenId
    this.#host = host
  }

  /** Why it ended before it was confirmed, if it did. */
  get endReason(): Refusal | undefined {
    return this.#endReason
  }

  /** The `Data` of its confirmation. */
  get confirmation(): object | undefined {
    return this.#running?.confirmation
  }

  async open(rules: TopicRunRules, call: Call): Promise<void> {
    this.#principal = call.principal
    this.#running = await rules.open(call, this)
  }

  /** The subscription is confirmed: from now on messages may be sent. */
  start(): void {
    const { principal } = this.#host.auth
    this.#state = 'open'
    if (principal !== undefined && principal !== this.#principal) this.setPrincipal(principal)
    else this.drained()
  }

  /** False from the millisecond in which the token expires; `pause` follows at the next sweep. */
  get maySend(): boolean {
    const { auth, transport, env } = this.#host
    return this.#state === 'open' && !transport.topicsMustWait && auth.satisfies(this.needs, env.clock())
  }

  get isOpen(): boolean {
    const { auth, env } = this.#host
    return this.#state === 'open' && auth.satisfies(this.needs, env.clock())
  }

  send(data: JsonText | TopicMessage): void {
    if (this.#state === 'open') this.#host.transport.sendBroadcast(this.#findBroadcast(data), 'queue')
  }

  sendOrClose(data: JsonText | TopicMessage): void {
    if (this.#state === 'open') this.#host.transport.sendBroadcast(this.#findBroadcast(data), 'close')
  }

  #findBroadcast(data: JsonText | TopicMessage): Broadcast {
    const { hub } = this.#host.env
    return data instanceof JsonText
      ? hub.share(this.controller, this.name, data)
      : hub.sharedBroadcast(this.controller, data)
  }

  end(reason: Refusal): void {
    if (this.#state === 'ended') return
    if (this.#state === 'opening') {
      this.#state = 'ended'
      this.#endReason = reason
    } else {
      // Its topic has closed it already.
      this.#running = undefined
      this.#tellEnd(reason)
    }
  }

  /** If the end cannot be sent, the connection is closed: the client would wait for messages that never come. */
  #tellEnd(reason: Refusal): void {
    const { transport, onEnd } = this.#host
    try {
      onEnd(reason)
    } catch (error) {
      transport.close('internalError', 'the server failed')
      throw error
    }
  }

  drained(): void {
    if (this.#state === 'open') this.#tell((running) => running.drained())
  }

  /** The authority was replaced, and is enough for the topic. */
  setPrincipal(principal: Principal): void {
    if (this.#state === 'ended') return
    this.#principal = principal
    if (this.#state === 'paused') {
      this.#state = 'open'
      this.#tell((running) => running.resume(principal))
    } else this.#tell((running) => running.setPrincipal(principal))
    this.drained()
  }

  pause(): void {
    if (this.#state !== 'open') return
    this.#state = 'paused'
    this.#tell((running) => running.pause())
  }

  close(reason?: Refusal): void {
    this.#endReason ??= reason
    const running = this.#running
    this.#running = undefined
    this.#state = 'ended'
    try {
      running?.close()
    } catch (error) {
      this.#host.onFault(error)
    }
  }

  /** A fault of the topic ends this subscription, not the connection. */
  #tell(act: (running: RunningSubscription) => void): void {
    const running = this.#running
    if (running === undefined) return
    try {
      act(running)
    } catch (error) {
      this.#host.onFault(error)
      // Ending the subscription also closes it.
      if (this.#running !== undefined) this.#host.onEnd(refuse('Fault', '', error))
    }
  }
}
