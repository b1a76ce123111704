/** The places for connections: so many in all, so many for one address. */
import { networkOf } from '../http/doors.ts'
import { Refusal } from '../protocol/refusal.ts'
import type { StreamSettings } from './settings.ts'

export class Places {
  readonly #settings: StreamSettings
  readonly #byAddress = new Map<string, number>()
  #taken = 0

  constructor(settings: StreamSettings) {
    this.#settings = settings
  }

  /** Returns the function that gives the place back. */
  take(address: string): () => void {
    const network = networkOf(address)
    const here = this.#byAddress.get(network) ?? 0
    if (this.#taken >= this.#settings.streamMaxConnections)
      throw new Refusal('stream.full', 503, 'The server has no place for another connection', { headers: RETRY_LATER })
    if (here >= this.#settings.streamMaxConnectionsPerAddress)
      throw new Refusal('stream.address_full', 429, 'This address has too many connections', { headers: RETRY_LATER })
    this.#taken++
    this.#byAddress.set(network, here + 1)
    return () => this.#giveBack(network)
  }

  #giveBack(network: string): void {
    const left = (this.#byAddress.get(network) ?? 1) - 1
    this.#taken--
    if (left === 0) this.#byAddress.delete(network)
    else this.#byAddress.set(network, left)
  }
}

/** Seconds after which a place may be free. */
export const RETRY_LATER = { 'retry-after': '10' }
