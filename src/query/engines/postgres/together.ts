/** Short statements of many requests travel together: whoever comes while every connection is under way shares the next journey. */
import type { Pool, PoolClient } from 'pg'
import { refuse } from '../../errors.ts'
import { breakOff } from './wire.ts'

export interface TogetherOptions<Item> {
  readonly pool: Pool
  /** Connections that travel at once. */
  readonly connections: number
  readonly waiting: number
  /** A server that has not answered after so long is given up. */
  readonly milliseconds: number
  /** Tells every item what became of it; rejects where the connection broke, which fails those that were not told. */
  readonly run: (client: PoolClient, items: readonly Item[]) => Promise<void>
  readonly fail: (item: Item, error: unknown) => void
}

/** More would hold up the first for the sake of the last. */
const MOST_TOGETHER = 100
/** Turns of the event loop for which a journey may wait for more while each brings some. */
const MOST_TURNS = 4

export class Together<Item> {
  readonly #options: TogetherOptions<Item>
  #waiting: Item[] = []
  #travelling = 0
  #isGathering = false

  constructor(options: TogetherOptions<Item>) {
    this.#options = options
  }

  add(item: Item): void {
    if (this.#waiting.length >= this.#options.waiting)
      throw refuse('Limit.Overload', 'Too many queries are waiting', { headers: { 'Retry-After': '1' } })
    this.#waiting.push(item)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isGathering || this.#waiting.length === 0 || this.#travelling >= this.#options.connections) return
    this.#isGathering = true
    this.#gather(this.#waiting.length, MOST_TURNS)
  }

  /** Requests come in bursts, not least those of callers who were just answered: one who waits for them waits for little. */
  #gather(seen: number, turns: number): void {
    setImmediate(() => {
      if (this.#waiting.length > seen && turns > 0) return this.#gather(this.#waiting.length, turns - 1)
      this.#isGathering = false
      this.#depart()
    })
  }

  #depart(): void {
    const { connections } = this.#options
    while (this.#waiting.length > 0 && this.#travelling < connections) {
      const share = Math.ceil(this.#waiting.length / (connections - this.#travelling))
      const items = this.#waiting.splice(0, Math.min(share, MOST_TOGETHER))
      this.#travelling++
      void this.#travel(items).then(() => {
        this.#travelling--
        this.#schedule()
      })
    }
  }

  async #travel(items: readonly Item[]): Promise<void> {
    const { pool, milliseconds, run, fail } = this.#options
    let client: PoolClient | undefined
    let isLate = false
    try {
      const taken = await pool.connect()
      client = taken
      const giveUp = setTimeout(() => {
        isLate = true
        breakOff(taken)
      }, milliseconds)
      try {
        await run(taken, items)
      } finally {
        clearTimeout(giveUp)
      }
      taken.release()
    } catch (cause) {
      client?.release(true)
      const error = isLate ? refuse('Limit.Time', 'The database did not answer in time', { cause }) : cause
      for (const item of items) fail(item, error)
    }
  }
}
