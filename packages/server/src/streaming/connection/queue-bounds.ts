/**
 * Bounds the bytes that are queued for clients that read slowly, and those received of incomplete messages and unanswered
 * requests, for the node and for each network address. When a bound is exceeded, the connection with the longest queue
 * is closed: at the bound of the node, one of the address that has the most bytes queued.
 */
import { addressNetwork } from '../../lib/network.ts'
import type { StreamSettings } from '../settings.ts'

export type QueueLimit = 'node' | 'address'

export interface QueueOwner {
  readonly isClosing: boolean
  readonly address: string
  readonly queuedBytes: number
  readonly receivedBytes: number
  /** Closes the connection and discards its send queue. */
  closeAsSlow(limit: QueueLimit): void
  /** Closes the connection and discards what was received. */
  closeAsFlooding(limit: QueueLimit): void
}

export interface Queues {
  readonly send: QueueBounds
  readonly receive: QueueBounds
}

export function createQueues(settings: QueueSettings): Queues {
  return {
    send: new QueueBounds({
      perAddress: settings.streamSendQueueBytesPerAddress,
      perNode: settings.streamSendQueueBytesPerNode,
      countBytes: (owner) => owner.queuedBytes,
      close: (owner, limit) => owner.closeAsSlow(limit),
    }),
    receive: new QueueBounds({
      perAddress: settings.streamReceiveQueueBytesPerAddress,
      perNode: settings.streamReceiveQueueBytesPerNode,
      countBytes: (owner) => owner.receivedBytes,
      close: (owner, limit) => owner.closeAsFlooding(limit),
    }),
  }
}

type QueueSettings = Pick<
  StreamSettings,
  | 'streamSendQueueBytesPerNode'
  | 'streamSendQueueBytesPerAddress'
  | 'streamReceiveQueueBytesPerNode'
  | 'streamReceiveQueueBytesPerAddress'
>

interface BoundOptions {
  readonly perAddress: number
  readonly perNode: number
  countBytes(owner: QueueOwner): number
  close(owner: QueueOwner, limit: QueueLimit): void
}

interface Network {
  bytes: number
  /** The bytes that each connection had queued when it was last counted. */
  readonly owners: Map<QueueOwner, number>
}

export class QueueBounds {
  readonly #options: BoundOptions
  /** The networks with connections that have something queued. */
  readonly #networks = new Map<string, Network>()
  #total = 0

  constructor(options: BoundOptions) {
    this.#options = options
  }

  /** Counts the queue of a connection again, and closes connections if a bound is exceeded. */
  update(owner: QueueOwner): void {
    const key = addressNetwork(owner.address)
    const network = this.#count(key, owner)
    if (network === undefined) return
    const { perAddress, perNode } = this.#options
    let closes = true
    while (closes && network.bytes > perAddress) closes = this.#closeLongest(key, network, 'address')
    closes = true
    while (closes && this.#total > perNode) {
      const [worstKey, worst] = this.#longest() ?? []
      closes = worstKey !== undefined && worst !== undefined && this.#closeLongest(worstKey, worst, 'node')
    }
  }

  /** The network with the most bytes queued for connections that can be closed. */
  #longest(): [string, Network] | undefined {
    let longest: [string, Network] | undefined
    for (const [key, network] of this.#networks) {
      if (network.bytes <= (longest?.[1].bytes ?? 0)) continue
      if ([...network.owners.keys()].some(({ isClosing }) => !isClosing)) longest = [key, network]
    }
    return longest
  }

  /** False if there is nothing to close. The counts may be out of date, so they are brought up to date first. */
  #closeLongest(key: string, network: Network, limit: QueueLimit): boolean {
    const { countBytes, close } = this.#options
    let longest: QueueOwner | undefined
    let most = 0
    for (const owner of [...network.owners.keys()]) {
      this.#count(key, owner)
      const bytes = countBytes(owner)
      if (owner.isClosing || bytes <= most) continue
      longest = owner
      most = bytes
    }
    if (longest === undefined) return false
    close(longest, limit)
    this.#count(key, longest)
    return true
  }

  /** Returns the network, or undefined if nothing is queued for it any longer. */
  #count(key: string, owner: QueueOwner): Network | undefined {
    const bytes = this.#options.countBytes(owner)
    let network = this.#networks.get(key)
    const before = network?.owners.get(owner) ?? 0
    if (bytes === 0 && before === 0) return network
    if (network === undefined) {
      network = { bytes: 0, owners: new Map() }
      this.#networks.set(key, network)
    }
    network.bytes += bytes - before
    this.#total += bytes - before
    if (bytes > 0) network.owners.set(owner, bytes)
    else network.owners.delete(owner)
    if (network.owners.size > 0) return network
    this.#networks.delete(key)
    return undefined
  }
}
