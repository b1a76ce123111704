/**
 * Memory that connections keep between messages: long messages of which the rest is to come, prepared statements, portals, and rows of
 * blocks. An owner may have as much as is left over: one alone half of all, two a third each.
 */
export class SharedMemory {
  readonly #maxBytes: number
  readonly #byOwner = new Map<string, number>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** False if it is too much. */
  take(owner: string, bytes: number): boolean {
    const sum = (this.#byOwner.get(owner) ?? 0) + bytes
    if (sum > this.#maxBytes - this.#bytes - bytes) return false
    this.takeAnyway(owner, bytes)
    return true
  }

  /** What an owner may still take. */
  available(owner: string): number {
    return Math.max(0, Math.floor((this.#maxBytes - this.#bytes - (this.#byOwner.get(owner) ?? 0)) / 2))
  }

  /** Also if it is too much: for what exists already. Nothing more can be taken until it is given back. */
  takeAnyway(owner: string, bytes: number): void {
    this.#byOwner.set(owner, (this.#byOwner.get(owner) ?? 0) + bytes)
    this.#bytes += bytes
  }

  give(owner: string, bytes: number): void {
    const sum = (this.#byOwner.get(owner) ?? 0) - bytes
    if (sum > 0) this.#byOwner.set(owner, sum)
    else this.#byOwner.delete(owner)
    this.#bytes -= bytes
  }
}

/** SQLSTATE 53000. */
export class NoMemoryLeft extends Error {
  constructor() {
    super(
      'Your connections keep too much in memory: prepared statements, portals, rows of blocks, or unfinished messages',
    )
  }
}

/** Taken and given back in such steps, so that small amounts cost nothing; the first one is not counted. */
const STEP_BYTES = 64 * 1024

/** The part of one connection. */
export class ConnectionMemory {
  readonly #memory: SharedMemory
  readonly #owner: string
  #used = 0
  #taken = 0
  #hasEnded = false

  constructor(memory: SharedMemory, owner: string) {
    this.#memory = memory
    this.#owner = owner
  }

  take(bytes: number): void {
    const step = this.#stepFor(bytes)
    if (step > 0 && !this.#memory.take(this.#owner, step)) throw new NoMemoryLeft()
    this.#taken += step
    this.#used += bytes
  }

  /** For the rows of a write that is committed: an error would say that it did not happen. */
  takeAnyway(bytes: number): void {
    const step = this.#stepFor(bytes)
    if (step > 0) this.#memory.takeAnyway(this.#owner, step)
    this.#taken += step
    this.#used += bytes
  }

  #stepFor(bytes: number): number {
    const more = this.#used + bytes - this.#taken - STEP_BYTES
    return more > 0 && !this.#hasEnded ? Math.ceil(more / STEP_BYTES) * STEP_BYTES : 0
  }

  /** What can be taken now, in whole steps. */
  get available(): number {
    const steps = Math.floor(this.#memory.available(this.#owner) / STEP_BYTES)
    return Math.max(0, this.#taken - this.#used + STEP_BYTES * (1 + steps))
  }

  give(bytes: number): void {
    this.#used -= bytes
    const spare = this.#taken - this.#used
    if (spare >= STEP_BYTES && this.#taken > 0) this.#giveBack(Math.floor(spare / STEP_BYTES) * STEP_BYTES)
  }

  /** The bytes belong to a write, which may outlive the connection; the result gives them back. */
  handOver(bytes: number): () => void {
    const moved = Math.min(bytes, this.#taken)
    this.#used -= bytes
    this.#taken -= moved
    return () => {
      if (moved > 0) this.#memory.give(this.#owner, moved)
    }
  }

  /** The connection is closed. */
  end(): void {
    this.#hasEnded = true
    this.#giveBack(this.#taken)
  }

  #giveBack(bytes: number): void {
    const given = Math.min(bytes, this.#taken)
    this.#taken -= given
    if (given > 0) this.#memory.give(this.#owner, given)
  }
}
