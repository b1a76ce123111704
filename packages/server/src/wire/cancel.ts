/** Cancel keys: a CancelRequest comes on a connection of its own, to any node, and is never answered. */
import { hash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { LruMap } from '../lib/lru-map.ts'
import { NEWEST_MINOR } from './protocol/start-up.ts'

export interface CancelKey {
  readonly processId: number
  /** 4 bytes in protocol 3.0, 32 from 3.2 on. */
  readonly key: Buffer
}

interface Entry {
  readonly subject: string
  readonly digest: Buffer
  readonly cancel: () => void
}

export interface CancelEnv {
  /** Asks the other nodes; the answer says whether one of them had the key. */
  readonly passOn: (processId: number, digest: string) => Promise<boolean>
  /** The same for a connection of the subject. */
  readonly passOwnOn: (processId: number, subject: string) => Promise<boolean>
  /** The network that an address is counted as. */
  readonly addressNetwork: (address: string) => string
  readonly monotonic: () => number
}

/** Wrong keys of one address in a minute, after which its requests are dropped. */
const MOST_WRONG = 20
const FORGET_MS = 60_000
const MAX_TRACKED = 10_000
const LONG_KEY_BYTES = 32
const SHORT_KEY_BYTES = 4

export class CancelKeys {
  readonly #env: CancelEnv
  readonly #entries = new Map<number, Entry>()
  readonly #wrong = new LruMap<{ readonly count: number; readonly since: number }>(MAX_TRACKED)

  constructor(env: CancelEnv) {
    this.#env = env
  }

  /** A new key for a connection of the subject. */
  add(minor: number, subject: string, cancel: () => void): CancelKey {
    let processId = randomInt(1, 2 ** 31 - 1)
    while (this.#entries.has(processId)) processId = randomInt(1, 2 ** 31 - 1)
    const key = randomBytes(minor >= NEWEST_MINOR ? LONG_KEY_BYTES : SHORT_KEY_BYTES)
    this.#entries.set(processId, { subject, digest: digestKey(key), cancel })
    return { processId, key }
  }

  remove(processId: number): void {
    this.#entries.delete(processId)
  }

  /** A request from a client. The other nodes get a digest of the key only. */
  async request(processId: number, key: Uint8Array, address: string): Promise<void> {
    const network = this.#env.addressNetwork(address)
    if (this.#isBlocked(network)) return
    const digest = digestKey(key)
    if (this.#cancel(processId, digest)) return
    // Counted before the answer, so that many at once cannot pass.
    this.#count(network, 1)
    if (!this.#entries.has(processId) && (await this.#env.passOn(processId, digest.toString('base64url'))))
      this.#count(network, -1)
  }

  /** A request that another node passes on. */
  requestPassedOn(processId: number, digest: string): boolean {
    return this.#cancel(processId, Buffer.from(digest, 'base64url'))
  }

  /**
   * pg_cancel_backend: a caller stops statements of its own connections, on any node. A connection of another subject is as unknown as
   * one that does not exist, so that nobody learns which process ids are in use.
   */
  async cancelOwn(processId: number, subject: string): Promise<boolean> {
    if (this.#entries.has(processId)) return this.cancelOwnHere(processId, subject)
    return await this.#env.passOwnOn(processId, subject)
  }

  /** As above, on this node only. */
  cancelOwnHere(processId: number, subject: string): boolean {
    const entry = this.#entries.get(processId)
    if (entry === undefined || entry.subject !== subject) return false
    entry.cancel()
    return true
  }

  #cancel(processId: number, digest: Buffer): boolean {
    const entry = this.#entries.get(processId)
    if (entry === undefined || digest.length !== entry.digest.length || !timingSafeEqual(entry.digest, digest))
      return false
    entry.cancel()
    return true
  }

  #isBlocked(network: string): boolean {
    const known = this.#wrong.get(network)
    return known !== undefined && this.#env.monotonic() - known.since < FORGET_MS && known.count >= MOST_WRONG
  }

  #count(network: string, by: 1 | -1): void {
    const known = this.#wrong.get(network)
    const now = this.#env.monotonic()
    const isRecent = known !== undefined && now - known.since < FORGET_MS
    this.#wrong.set(network, {
      count: Math.max(0, (isRecent ? known.count : 0) + by),
      since: isRecent ? known.since : now,
    })
  }
}

function digestKey(key: Uint8Array): Buffer {
  return hash('sha256', key, 'buffer')
}
