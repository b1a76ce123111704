/** How many connections may be open: by address and node before the sign-in, by user and node after it. */
import type { Socket } from 'node:net'
import { decrement, increment } from '../../lib/counts.ts'

export interface AdmissionLimits {
  /** Signed in, on this node. */
  readonly connections: number
  readonly perUser: number
  /** Not signed in, on this node. */
  readonly waiting: number
  readonly waitingPerAddress: number
}

export type Limit = 'node' | 'user' | 'waiting' | 'address'

export class Admission {
  readonly #limits: AdmissionLimits
  /** The network that an address is counted as; undefined for one that is exempt. */
  readonly #countedNetwork: (address: string) => string | undefined
  /** Not signed in, the oldest first, with the time at which they are closed. */
  readonly #waiting = new Map<Socket, { readonly network: string | undefined; readonly closeAt: number }>()
  readonly #byNetwork = new Map<string, number>()
  readonly #byUser = new Map<string, number>()
  #signedIn = 0

  constructor(limits: AdmissionLimits, countedNetwork: (address: string) => string | undefined) {
    this.#limits = limits
    this.#countedNetwork = countedNetwork
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** The limit that refuses the connection; undefined if it is admitted. */
  admit(socket: Socket, closeAt: number): Limit | undefined {
    const network = this.#countedNetwork(socket.remoteAddress ?? '')
    if (this.#waiting.size >= this.#limits.waiting) return 'waiting'
    if (network !== undefined && (this.#byNetwork.get(network) ?? 0) >= this.#limits.waitingPerAddress) return 'address'
    if (network !== undefined) increment(this.#byNetwork, network)
    this.#waiting.set(socket, { network, closeAt })
    return undefined
  }

  /** It has signed in, or is closed. */
  leave(socket: Socket): void {
    const entry = this.#waiting.get(socket)
    if (entry === undefined) return
    this.#waiting.delete(socket)
    if (entry.network !== undefined) decrement(this.#byNetwork, entry.network)
  }

  /** Those whose time for the sign-in is over. */
  *overdue(now: number): Generator<Socket> {
    for (const [socket, { closeAt }] of this.#waiting) {
      if (closeAt > now) return
      yield socket
    }
  }

  *all(): Generator<Socket> {
    yield* this.#waiting.keys()
  }

  /** Whether no sign-in can succeed now. */
  get isFull(): boolean {
    return this.#signedIn >= this.#limits.connections
  }

  signIn(subject: string): Limit | undefined {
    if (this.isFull) return 'node'
    if ((this.#byUser.get(subject) ?? 0) >= this.#limits.perUser) return 'user'
    increment(this.#byUser, subject)
    this.#signedIn += 1
    return undefined
  }

  signOut(subject: string): void {
    decrement(this.#byUser, subject)
    this.#signedIn -= 1
  }
}
