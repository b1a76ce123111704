/** The pool of reader processes: none before the first query that needs one, killed to stop a query, ended when idle. */
import { refuse } from '../../errors.ts'
import type { ReadOutcome } from '../engine.ts'
import type { ReadJob } from './execute.ts'
import { Reader, ReaderGone } from './reader.ts'

export interface ReadersOptions {
  readonly path: string
  readonly maximum: number
  /** Jobs that may wait for a reader before further ones are turned away. */
  readonly maximumWaiting: number
  readonly idleMilliseconds: number
}

export class Readers {
  readonly #options: ReadersOptions
  readonly #idle: Reader[] = []
  readonly #all = new Set<Reader>()
  readonly #waiting: { give: (reader: Reader) => void; refuse: (error: unknown) => void }[] = []
  readonly #timers = new Map<Reader, NodeJS.Timeout>()

  constructor(options: ReadersOptions) {
    this.#options = options
  }

  /** The signal's reason is thrown when it stops the job; the process is then gone, not merely told. */
  async *run(job: ReadJob, signal: AbortSignal): AsyncGenerator<Uint8Array, ReadOutcome, void> {
    const reader = await this.#take(signal)
    const stop = (): void => reader.kill()
    // Stopped in the moment between being given a reader and having it: no event will come any more.
    if (signal.aborted) {
      this.#giveBack(reader)
      throw signal.reason
    }
    signal.addEventListener('abort', stop, { once: true })
    let isClean = false
    try {
      const outcome = yield* reader.run(job)
      isClean = true
      return outcome
    } catch (error) {
      if (error instanceof ReaderGone) throw signal.aborted ? signal.reason : error
      isClean = true
      throw error
    } finally {
      signal.removeEventListener('abort', stop)
      // A consumer that leaves early leaves chunks in the pipe: such a reader is of no further use.
      if (!isClean) reader.kill()
      this.#giveBack(reader)
    }
  }

  get size(): number {
    return this.#all.size
  }

  get busy(): number {
    return this.#all.size - this.#idle.length
  }

  async close(): Promise<void> {
    for (const { refuse: turnAway } of this.#waiting.splice(0))
      turnAway(refuse('Limit.Overload', 'The service is shutting down'))
    for (const timer of this.#timers.values()) clearTimeout(timer)
    const all = [...this.#all]
    for (const reader of all) reader.kill()
    await Promise.all(all.map((reader) => reader.exited))
  }

  async #take(signal: AbortSignal): Promise<Reader> {
    signal.throwIfAborted()
    for (let reader = this.#idle.pop(); reader !== undefined; reader = this.#idle.pop()) {
      clearTimeout(this.#timers.get(reader))
      this.#timers.delete(reader)
      if (reader.isAlive) return reader
    }
    if (this.#all.size < this.#options.maximum) return this.#start()
    if (this.#waiting.length >= this.#options.maximumWaiting) {
      throw refuse('Limit.Overload', 'Too many queries are waiting', { headers: { 'Retry-After': '1' } })
    }
    return new Promise((resolve, reject) => {
      const place = { give: resolve, refuse: reject }
      this.#waiting.push(place)
      signal.addEventListener('abort', () => {
        const index = this.#waiting.indexOf(place)
        if (index >= 0) this.#waiting.splice(index, 1)
        reject(signal.reason)
      })
    })
  }

  #start(): Reader {
    const reader = new Reader(this.#options.path)
    this.#all.add(reader)
    void reader.exited.then(() => {
      this.#all.delete(reader)
      const index = this.#idle.indexOf(reader)
      if (index >= 0) this.#idle.splice(index, 1)
      if (this.#all.size < this.#options.maximum) this.#startForNext()
    })
    return reader
  }

  /** Whoever waits is told when there is none to be had, and does not wait for its whole time. */
  #startForNext(): void {
    const next = this.#waiting.shift()
    if (next === undefined) return
    try {
      next.give(this.#start())
    } catch (error) {
      next.refuse(error)
      // Nobody who waits would be served by the end of another reader if there is no other.
      if (this.#all.size === 0) this.#startForNext()
    }
  }

  #giveBack(reader: Reader): void {
    if (!reader.isAlive) return
    const next = this.#waiting.shift()
    if (next !== undefined) {
      next.give(reader)
      return
    }
    this.#idle.push(reader)
    const timer = setTimeout(() => {
      const index = this.#idle.indexOf(reader)
      if (index >= 0) this.#idle.splice(index, 1)
      reader.kill()
    }, this.#options.idleMilliseconds)
    timer.unref()
    this.#timers.set(reader, timer)
  }
}
