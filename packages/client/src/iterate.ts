/** Values that arrive on their own, for `for await`: bounded, with a rule for consumers that are too slow. */
import { GatehouseError } from './errors.ts'

export interface QueueOptions<T> {
  /** How many values may wait; one more ends the iteration with the error `client.slow`. */
  readonly limit?: number | undefined
  /** Makes one value of the one that waits and the new one, so that at most one waits. */
  readonly merge?: ((waiting: T, value: T) => T) | undefined
  /** What stays of the values that wait when there are too many; undefined ends the iteration. */
  readonly onFull?: ((waiting: T[]) => T[] | undefined) | undefined
  /** All that waited was read. */
  readonly onEmpty?: (() => void) | undefined
  /** The consumer has left the loop, or the queue has overflowed. */
  readonly onLeave?: (() => void) | undefined
}

export class Queue<T> implements AsyncIterableIterator<T, undefined> {
  readonly #options: QueueOptions<T>
  readonly #steps = this.#read()
  #values: T[] = []
  #limit: number
  #end: { readonly error: unknown } | undefined
  #wake: (() => void) | undefined

  constructor(options: QueueOptions<T> = {}) {
    this.#options = options
    this.#limit = options.limit ?? 1000
  }

  push(value: T): void {
    if (this.#end !== undefined) return
    const { merge, onFull, onLeave } = this.#options
    const kept = this.#values.length < this.#limit ? this.#values : onFull?.(this.#values)
    if (merge !== undefined && this.#values.length > 0) this.#values = [merge(this.#values[0] as T, value)]
    else if (kept !== undefined) {
      // Not again for each of the next values.
      if (kept !== this.#values) this.#limit = Math.max(this.#limit, 2 * kept.length)
      this.#values = kept
      kept.push(value)
    } else {
      this.end(
        new GatehouseError('Too many messages wait to be read', {
          code: 'client.slow',
          hint: "read faster, or use { slow: 'latest' }",
        }),
      )
      onLeave?.()
    }
    this.#wake?.()
  }

  /** What waits is still read; then the iteration ends, with the error if there is one. */
  end(error?: unknown): void {
    this.#end ??= { error }
    this.#wake?.()
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return this.#steps.next()
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#values = []
    this.end()
    this.#options.onLeave?.()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async *#read(): AsyncGenerator<T, undefined, undefined> {
    for (;;) {
      while (this.#values.length > 0) yield this.#values.shift() as T
      this.#options.onEmpty?.()
      if (this.#end !== undefined) break
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    if (this.#end.error !== undefined) throw this.#end.error
    return undefined
  }
}
