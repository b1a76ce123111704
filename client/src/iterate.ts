/** Values that arrive on their own, for `for await`: bounded, with a rule for consumers that are too slow. */
import { GatehouseError } from './errors.ts'

export interface QueueOptions<T> {
  /** How many values may wait; one more ends the iteration with the error `client.slow`. */
  readonly limit?: number | undefined
  /** Makes one value of the one that waits and the new one, so that at most one waits. */
  readonly merge?: ((waiting: T, value: T) => T) | undefined
  /** The consumer has left the loop, or the queue has overflowed. */
  readonly onLeave?: (() => void) | undefined
}

type Step<T> = IteratorResult<T, undefined>

export class Queue<T> implements AsyncIterableIterator<T, undefined> {
  readonly #options: QueueOptions<T>
  #values: T[] = []
  #readers: { resolve(step: Step<T>): void; reject(error: unknown): void }[] = []
  #end: { readonly error: unknown } | undefined

  constructor(options: QueueOptions<T> = {}) {
    this.#options = options
  }

  push(value: T): void {
    if (this.#end !== undefined) return
    const { limit = 1000, merge, onLeave } = this.#options
    const reader = this.#readers.shift()
    if (reader !== undefined) reader.resolve({ done: false, value })
    else if (merge !== undefined && this.#values.length > 0) this.#values = [merge(this.#values[0] as T, value)]
    else if (this.#values.length < limit) this.#values.push(value)
    else {
      this.end(
        new GatehouseError(`More than ${limit} messages wait to be read`, {
          code: 'client.slow',
          hint: "read faster, or ask for the latest only: { slow: 'latest' }",
        }),
      )
      onLeave?.()
    }
  }

  /** What waits is still read; then the iteration ends, with the error if there is one. */
  end(error?: unknown): void {
    if (this.#end !== undefined) return
    this.#end = { error }
    for (const { resolve, reject } of this.#readers.splice(0))
      if (error === undefined) resolve({ done: true, value: undefined })
      else reject(error)
  }

  next(): Promise<Step<T>> {
    if (this.#values.length > 0) return Promise.resolve({ done: false, value: this.#values.shift() as T })
    if (this.#end === undefined) return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }))
    const { error } = this.#end
    // Told once; after that the iteration is just over.
    this.#end = { error: undefined }
    return error === undefined ? Promise.resolve({ done: true, value: undefined }) : Promise.reject(error)
  }

  return(): Promise<Step<T>> {
    this.#values = []
    this.end()
    this.#options.onLeave?.()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
