/** The memory that readers of bulk inserts hold for long: pages and dictionaries, over all columns of a body and over all bodies. */
import { FairQueue } from '../../lib/fair-queue.ts'
import { refuse } from '../errors.ts'

/** A small body can claim any amount, so what one holds is bounded, and what all of them hold. */
const BYTES_PER_BODY = 32 * 1024 * 1024
const BYTES = 128 * 1024 * 1024
/** What can be done without leaves the rest to what cannot. */
const OPTIONAL_SHARE = 0.75

export class ReaderMemory {
  readonly #perBody: number
  readonly #alone = new FairQueue({ slots: 1, waiting: Number.POSITIVE_INFINITY })
  #bytes = 0

  constructor(perBody = BYTES_PER_BODY) {
    this.#perBody = perBody
  }

  open(owner: string): BodyMemory {
    return new BodyMemory(owner, this.#perBody, (bytes) => this.#count(bytes), this.#alone)
  }

  /** Whether there is room for more. */
  #count(bytes: number): boolean {
    if (bytes > 0 && this.#bytes + bytes > BYTES) return false
    this.#bytes += bytes
    return true
  }
}

/** What the reader of one body holds. */
export class BodyMemory {
  readonly #owner: string
  /** It may have this. */
  readonly most: number
  readonly #count: (bytes: number) => boolean
  readonly #alone: FairQueue
  #bytes = 0

  constructor(owner: string, most: number, count: (bytes: number) => boolean, alone: FairQueue) {
    this.#owner = owner
    this.most = most
    this.#count = count
    this.#alone = alone
  }

  /** Before the memory is reserved. `tooLarge` makes the error for a body that needs more than one may have. */
  take(bytes: number, tooLarge: (most: number) => Error): void {
    if (this.#bytes + bytes > this.most) throw tooLarge(this.most)
    if (!this.#count(bytes)) throw refuse('Limit.Overload', 'The bulk inserts that are running need too much memory')
    this.#bytes += bytes
  }

  /** For what can be done without. */
  tryTake(bytes: number): boolean {
    if (this.#bytes + bytes > OPTIONAL_SHARE * this.most || !this.#count(bytes)) return false
    this.#bytes += bytes
    return true
  }

  give(bytes: number): void {
    this.#bytes -= bytes
    this.#count(-bytes)
  }

  /** For work that needs more memory for a while: such work of all bodies is done one by one, in turns by owner. */
  async runAlone<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    const release = await this.#alone.acquire(this.#owner, signal)
    if (release === 'aborted') throw signal.reason
    if (release === 'full') throw new Error('A queue without a limit is full')
    try {
      return await work()
    } finally {
      release()
    }
  }

  /** Nothing is held any more. */
  end(): void {
    this.give(this.#bytes)
  }
}
