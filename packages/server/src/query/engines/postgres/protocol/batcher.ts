/** Batches short statements of many requests: those that arrive while every connection is busy share the next round trip. */
import type { Pool, PoolClient } from 'pg'
import { BatchQueue } from '../../../../lib/batch-queue.ts'
import { destroyConnection } from '../../../../store/database/servers/pool-client.ts'
import { refuse } from '../../../errors.ts'
import { unavailable } from '../../../unavailable.ts'

export interface BatchOptions {
  readonly pool: Pool
  /** Batches that run at the same time. */
  readonly connections: number
  /** Items that may wait before further ones are refused. */
  readonly waiting: number
  /** The time after which a connection to a server that does not answer is given up. */
  readonly milliseconds: number
  /** Called with a connection that was given up: the database may continue its statement. */
  readonly onLate: (client: PoolClient) => void
}

interface BatcherOptions<Item> extends BatchOptions {
  /** Settles every item. Rejects when the connection broke: the items that are not settled fail. */
  readonly run: (client: PoolClient, items: readonly Item[]) => Promise<void>
  readonly fail: (item: Item, error: unknown) => void
}

/** In a larger batch, the first items would wait for the last. */
const MAX_BATCH = 100

export class Batcher<Item> {
  readonly #options: BatcherOptions<Item>
  readonly #queue: BatchQueue<Item>
  #running = 0

  constructor(options: BatcherOptions<Item>) {
    this.#options = options
    this.#queue = new BatchQueue({
      maxTurns: 4,
      isReady: () => this.#running < options.connections,
      start: () => this.#start(),
    })
  }

  add(item: Item): void {
    if (this.#queue.length >= this.#options.waiting) throw refuse('Limit.Overload', 'Too many queries are waiting')
    this.#queue.push(item)
  }

  /** Divides the items that are waiting among the idle connections. */
  #start(): void {
    const { connections } = this.#options
    while (this.#queue.length > 0 && this.#running < connections) {
      const share = Math.ceil(this.#queue.length / (connections - this.#running))
      const items = this.#queue.take(Math.min(share, MAX_BATCH))
      this.#running++
      void this.#run(items).then(() => {
        this.#running--
        this.#queue.schedule()
      })
    }
  }

  async #run(items: readonly Item[]): Promise<void> {
    const { pool, milliseconds, onLate, run, fail } = this.#options
    let client: PoolClient | undefined
    let isLate = false
    try {
      const connected = await pool.connect()
      client = connected
      const timer = setTimeout(() => {
        isLate = true
        destroyConnection(connected, milliseconds)
      }, milliseconds)
      try {
        await run(connected, items)
      } finally {
        clearTimeout(timer)
      }
      connected.release()
    } catch (cause) {
      client?.release(true)
      if (isLate && client !== undefined) onLate(client)
      const error = isLate ? unavailable('The database did not answer in time') : cause
      for (const item of items) fail(item, error)
    }
  }
}
