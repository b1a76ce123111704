/** Limits the number of open connections, in total and for each network address; none is opened while the server is stopping. */

import { Refusal } from 'gatehouse-protocol'
import { decrement, increment } from '../../lib/counts.ts'
import { addressNetwork } from '../../lib/network.ts'
import type { StreamSettings } from '../settings.ts'

export const RETRY_LATER = { 'retry-after': '10' }

export class StreamLimits {
  readonly #settings: StreamSettings
  readonly #byNetwork = new Map<string, number>()
  #total = 0
  #isStopping = false

  constructor(settings: StreamSettings) {
    this.#settings = settings
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  stop(): void {
    this.#isStopping = true
  }

  /** Throws if the server is stopping. */
  checkOpen(): void {
    if (this.#isStopping)
      throw new Refusal('stream.stopping', 503, 'The server is stopping', { headers: { 'retry-after': '1' } })
  }

  /** Throws if another connection from the address would be refused. */
  check(address: string): void {
    this.checkOpen()
    const count = this.#byNetwork.get(addressNetwork(address)) ?? 0
    if (this.#total >= this.#settings.streamMaxConnections)
      throw new Refusal('stream.full', 503, 'The server accepts no more connections', { headers: RETRY_LATER })
    if (count >= this.#settings.streamMaxConnectionsPerAddress)
      throw new Refusal('stream.address_full', 429, 'This address has too many connections', { headers: RETRY_LATER })
  }

  /** Counts a connection; returns the function to call when it is closed. */
  acquire(address: string): () => void {
    this.check(address)
    const network = addressNetwork(address)
    this.#total++
    increment(this.#byNetwork, network)
    return () => {
      this.#total--
      decrement(this.#byNetwork, network)
    }
  }
}
