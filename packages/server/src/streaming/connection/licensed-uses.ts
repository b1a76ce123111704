/** The uses of licences of one connection: what its subscriptions of covered controllers need. */
import { licenceContext, type Principal, Refusal } from 'gatehouse-protocol'
import type { StreamUse } from '../licences.ts'
import { refuse } from '../topics/controller.ts'
import { topicKey } from '../topics/hub.ts'
import type { ConnectionCaller } from './caller.ts'
import { publicError } from './messages.ts'
import type { StreamRequest } from './request.ts'
import type { ConnectionEnv } from './types.ts'

type Used = Pick<StreamRequest, 'controller' | 'topic'>

export class LicensedUses {
  readonly #caller: ConnectionCaller
  readonly #env: ConnectionEnv
  /** The subscription has lost its licence. */
  readonly #onLost: (key: string, reason: Refusal) => void
  #uses: Map<string, StreamUse> | undefined

  constructor(caller: ConnectionCaller, env: ConnectionEnv, onLost: (key: string, reason: Refusal) => void) {
    this.#caller = caller
    this.#env = env
    this.#onLost = onLost
  }

  /** Throws unless the caller has real-time access. */
  async open({ controller, topic }: Used): Promise<StreamUse> {
    const { auth, address } = this.#caller
    const { principal } = auth
    const key = topicKey(controller, topic)
    if (principal === undefined || this.#env.licences === undefined) throw refuse('Authority')
    await this.#env.licences.catchUp()
    const onChange = () => this.#check(key)
    const use = await this.#env.licences.open({ controller, topic, principal, address, onChange }).catch(failOnStream)
    if (use.refusal === undefined) return use
    use.close()
    throw toStreamError(use.refusal)
  }

  /** Of a subscription that was opened. */
  add({ controller, topic }: Used, use: StreamUse): void {
    const key = topicKey(controller, topic)
    this.#uses ??= new Map()
    this.#uses.get(key)?.close()
    this.#uses.set(key, use)
    const { principal } = this.#caller.auth
    if (principal !== undefined) use.setPrincipal(principal)
    this.#check(key)
  }

  /** A subscription that needed no licence when it was opened. */
  cover(key: string, used: Used): void {
    if (this.#uses?.has(key) === true || this.#env.licences?.covers(used.controller) !== true) return
    this.open(used).then(
      (use) => this.add(used, use),
      (error: unknown) => this.#onLost(key, publicError(error, this.#env, this.#caller.connectionId)),
    )
  }

  /** Undefined: the subscription needs no licence, or this node knows that it has it. Otherwise resolves when it knows. */
  catchUp(key: string): Promise<void> | undefined {
    return this.#uses?.has(key) === true ? this.#env.licences?.catchUp() : undefined
  }

  setPrincipal(principal: Principal): void {
    for (const use of this.#uses?.values() ?? []) use.setPrincipal(principal)
  }

  drop(key: string): void {
    this.#uses?.get(key)?.close()
    this.#uses?.delete(key)
    if (this.#uses?.size === 0) this.#uses = undefined
  }

  #check(key: string): void {
    const refusal = this.#uses?.get(key)?.refusal
    if (refusal !== undefined) this.#onLost(key, toStreamError(refusal))
  }
}

function failOnStream(error: unknown): never {
  throw error instanceof Refusal ? toStreamError(error) : error
}

function toStreamError(refusal: Refusal): Refusal {
  return refusal.code === 'Licence.Unavailable' ? refuse('Fault') : refuse('Authority', licenceContext(refusal))
}
