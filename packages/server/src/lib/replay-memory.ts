/** What may be used once, such as DPoP proofs, remembered until it expires, in bounded memory. */
import { hash, randomBytes } from 'node:crypto'

/** What became of an id: `full` if there is no room to remember it. */
export type Remembered = 'new' | 'used' | 'full'

/** Something that was used. */
export interface UsedOnce {
  readonly id: string
  readonly expiresAt: number
  /** Valid for minutes, not seconds. */
  readonly isLong: boolean
}

/** What is valid for seconds apart from what is valid for minutes, so that the first is soon forgotten. */
export class ReplayMemories {
  readonly #short: ReplayMemory
  readonly #long: ReplayMemory

  constructor(clock: () => number) {
    this.#short = new ReplayMemory(clock, 60_000)
    this.#long = new ReplayMemory(clock, 5 * 60_000)
  }

  get size(): number {
    return this.#short.size + this.#long.size
  }

  add({ id, expiresAt, isLong }: UsedOnce): Remembered {
    return (isLong ? this.#long : this.#short).add(id, expiresAt)
  }
}

/** 2 MiB slots of eight bytes in a slice; the operating system provides the memory of a page when it is first written to. */
const SLOTS = 2 ** 21
const MOST = SLOTS * 0.75

/** A set of digests for each slice of time in which the ids in it expire; a slice is dropped as a whole. */
export class ReplayMemory {
  readonly #clock: () => number
  readonly #sliceMs: number
  readonly #most: number
  readonly #slices = new Map<number, DigestSet>()
  /** Ids whose digests are close together cannot be chosen on purpose. */
  readonly #salt = randomBytes(16).toString('base64')

  constructor(clock: () => number, sliceMs: number, most = MOST) {
    this.#clock = clock
    this.#sliceMs = sliceMs
    this.#most = most
  }

  get size(): number {
    this.#dropExpired()
    let size = 0
    for (const slice of this.#slices.values()) size += slice.size
    return size
  }

  add(id: string, expiresAt: number): Remembered {
    const number = Math.floor(expiresAt / this.#sliceMs)
    let slice = this.#slices.get(number)
    if (slice === undefined) {
      this.#dropExpired()
      slice = new DigestSet()
      this.#slices.set(number, slice)
    }
    return slice.add(hash('sha256', `${this.#salt}${id}`, 'buffer'), this.#most)
  }

  #dropExpired(): void {
    const now = Math.floor(this.#clock() / this.#sliceMs)
    for (const number of this.#slices.keys()) if (number < now) this.#slices.delete(number)
  }
}

/** Open addressing with linear probing: 63 bits of a digest identify an id. 10⁶ of them take 16 MiB; as strings in a Set they would take 100. */
class DigestSet {
  size = 0
  /** Two numbers for each slot: 64-bit integers would be objects. */
  readonly #slots = new Uint32Array(SLOTS * 2)

  add(digest: Buffer, most: number): Remembered {
    const high = digest.readUInt32LE(0)
    // Zero marks an empty slot.
    const low = (digest.readUInt32LE(4) | 1) >>> 0
    let slot = digest.readUInt32LE(8) & (SLOTS - 1)
    while (this.#slots[slot * 2 + 1] !== 0) {
      if (this.#slots[slot * 2] === high && this.#slots[slot * 2 + 1] === low) return 'used'
      slot = (slot + 1) & (SLOTS - 1)
    }
    if (this.size >= most) return 'full'
    this.#slots[slot * 2] = high
    this.#slots[slot * 2 + 1] = low
    this.size++
    return 'new'
  }
}
