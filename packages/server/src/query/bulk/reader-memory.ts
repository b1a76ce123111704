/** The memory that readers of bulk inserts hold for long: pages and dictionaries, over all columns of a body and over all bodies. */
import { refuse } from '../errors.ts'

/** A small body can claim any amount, so what one holds is bounded, and what all of them hold. */
const BYTES_PER_BODY = 32 * 1024 * 1024
const BYTES = 128 * 1024 * 1024

export class ReaderMemory {
  #bytes = 0

  open(): BodyMemory {
    return new BodyMemory((bytes) => this.#count(bytes))
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
  readonly #count: (bytes: number) => boolean
  #bytes = 0

  constructor(count: (bytes: number) => boolean) {
    this.#count = count
  }

  /** Before the memory is reserved. `tooLarge` makes the error for a body that needs more than one may have. */
  take(bytes: number, tooLarge: (most: number) => Error): void {
    if (this.#bytes + bytes > BYTES_PER_BODY) throw tooLarge(BYTES_PER_BODY)
    if (!this.#count(bytes)) throw refuse('Limit.Overload', 'The bulk inserts that are running need too much memory')
    this.#bytes += bytes
  }

  /** For what can be done without. */
  tryTake(bytes: number): boolean {
    if (this.#bytes + bytes > BYTES_PER_BODY || !this.#count(bytes)) return false
    this.#bytes += bytes
    return true
  }

  give(bytes: number): void {
    this.#bytes -= bytes
    this.#count(-bytes)
  }

  /** Nothing is held any more. */
  end(): void {
    this.give(this.#bytes)
  }
}
